"""Spark's errors as one line: about a file that cannot be read, or about Spark itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from stablecast.errors import InvalidInput, StablecastError
from stablecast.pipeline.session import SparkFailure, first_line

_READING = re.compile(r"while reading file (\S+?)\.(?:\s|$)")
_CAUSE = re.compile(r"Caused by: [\w.$]+(?:Exception|Error): (.+)")
_ABSENT = re.compile(r"\[PATH_NOT_FOUND\] Path does not exist: (.+?)\. SQLSTATE")
_NO_SYSTEM = re.compile(r'No FileSystem for scheme "(\w+)"|Class [\w.]+\.(\w+)FileSystem not found')
_WRONG_ADDRESS = re.compile(r"Incomplete HDFS URI[^\n]*|java\.net\.UnknownHostException: [^\n]*")
_DAMAGED = (
    "unexpected end",
    "not a gzip",
    "eof",
    "uncompress",
    "decode",
    "corrupt",
    "magic number",
    "checksum",
)


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """Turn what Spark raises into errors of ours, which commands tell in one line."""
    try:
        yield
    except StablecastError:
        raise
    except Exception as error:
        if line := readable_error(error):
            raise InvalidInput(line) from error
        if type(error).__module__.partition(".")[0] in ("pyspark", "py4j"):
            raise SparkFailure(f"Spark failed: {first_line(error)}") from error
        raise


def readable_error(error: BaseException) -> str | None:
    """Return one line for an error that is about an input; None for any other."""
    text = str(error)
    if found := _READING.search(text):
        return _not_read(_plain(found[1]), text)
    if found := _ABSENT.search(text):
        return f"'{_plain(found[1])}' does not exist"
    if found := _NO_SYSTEM.search(text):
        scheme = (found[1] or found[2]).lower()
        return f"Spark cannot open {scheme}:// here: {first_line(error)} (its package is missing: see --conf)"
    if found := _WRONG_ADDRESS.search(text):
        return f"cannot open the input: {found[0].strip()}"
    if "[COLUMN_ALREADY_EXISTS]" in text or "duplicate field(s)" in text:
        return f"two columns have names that differ by capitals only: {_first_sentence(text)}"
    return None


def _not_read(file: str, text: str) -> str:
    if "FILE_NOT_EXIST" in text:
        return f"'{file}' is gone: it was there at the start, and was removed since"
    causes = [cause.strip() for cause in _CAUSE.findall(text)]
    cause = causes[-1] if causes else first_line(Exception(text))
    damaged = any(word in cause.lower() for word in _DAMAGED)
    return f"cannot read '{file}': {cause}{' (it is damaged or cut short)' if damaged else ''}"


def _first_sentence(text: str) -> str:
    line = next(line for line in text.splitlines() if "COLUMN_ALREADY_EXISTS" in line or "duplicate" in line)
    return line.rpartition("] ")[2].partition(" SQLSTATE")[0].strip()


def _plain(address: str) -> str:
    """Return a path as the user knows it; other addresses stay as they are."""
    if not address.startswith("file:"):
        return address
    return "/" + unquote(address[len("file:") :]).lstrip("/")
