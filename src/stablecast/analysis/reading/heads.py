"""What a file says about itself before it is read: its columns, and whether its end was cut off.

Only a file's first and last bytes are looked at; of Parquet, the footer.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stablecast.errors import InvalidInput

PARQUET, JSON, CSV = FORMATS = ("parquet", "json", "csv")
HEAD_BYTES = 64 << 10
LINES_LOOKED_AT = 20
"""Of JSON Lines, for columns; those that are not in them are looked for by Spark."""
TAIL_BYTES = 1 << 20
"""A last line without an end that is longer than this is not taken for one that was cut."""
SEPARATORS = (",", ";", "\t", "|")
_NESTED = ("struct", "list", "map")
_MAGIC = {
    b"PAR1": "is Parquet",
    b"\x1f\x8b": "is compressed with gzip",
    b"BZh": "is compressed with bzip2",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd",
    b"\xff\xfe": "is not UTF-8",
    b"\xfe\xff": "is not UTF-8",
}
_UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}


@dataclass(frozen=True)
class Column:
    """A column of a file."""

    name: str
    """With dots into objects."""
    place: tuple[str, ...]
    """Where Spark finds it: a column, then fields of it."""
    type: str = "string"
    """What it is, in Spark's words where it has any."""
    stored: str = "string"
    """The type that Spark is told to read."""
    unit: str | None = None
    """Of timestamps that are stored as numbers."""


@dataclass(frozen=True)
class Head:
    """What a file says about itself."""

    columns: tuple[Column, ...]
    """Of JSON Lines: those that the first lines have."""
    separator: str = ","
    cut: str = ""
    """Names the last line if its writer did not finish it (see :func:`line_key`)."""
    empty: bool = False
    """There is no row in it."""


def read_head(file: Path, format: str, compression: str | None) -> Head:
    """Look into a local file; one that is not what its name says is refused."""
    with told_in_one_line(str(file)), file.open("rb") as content:
        return head_of(content, str(file), format, compression, absolute(file))


def head_of(content: Any, name: str, format: str, compression: str | None, path: str) -> Head:
    """Look into an open file that can be read from any place.

    Parameters
    ----------
    content
        The file.
    name
        What the user calls it.
    format, compression
        What it is said to be.
    path
        What its lines are told apart from those of other files by.
    """
    if format == PARQUET:
        return Head(tuple(_parquet_columns(content, name)))
    text = _beginning(content, name, compression)
    head = text_head(text, format, name)
    return head if format == CSV or compression or not text else replace(head, cut=_cut_line(content, path))


@contextmanager
def told_in_one_line(name: str) -> Iterator[None]:
    """Turn what opening a file raises into an error of ours."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"cannot read '{name}': {_why(error)}") from None


def text_head(text: str, format: str, name: str) -> Head:
    """Return what the first lines of JSON Lines or CSV say."""
    if not text.strip():
        return Head((), empty=format == CSV)
    return _csv_head(text, name) if format == CSV else Head(_json_columns(text, name))


def _why(error: OSError) -> str:
    return error.strerror or " ".join(str(error).split())


def absolute(file: Path) -> str:
    """Return a file's path from the root, with its own name even where that is a link."""
    return str(file.parent.resolve() / file.name)


def line_key(path: str, line: bytes) -> str:
    """Return what stands for a line of a file; Spark computes the same with ``sha2``."""
    return hashlib.sha256(path.encode() + b"\n" + line).hexdigest()


def _parquet_columns(file: Any, name: str) -> Iterator[Column]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_metadata(file).schema
        fields = {field.name: field.type for field in schema.to_arrow_schema()}
    except (pa.ArrowException, ValueError) as error:
        raise InvalidInput(
            f"'{name}' is not Parquet, or is cut short: {' '.join(str(error).split())}"
        ) from None
    for column, kind in fields.items():
        nested = [word for word in _NESTED if getattr(pa.types, f"is_{word}")(kind)]
        if nested or pa.types.is_nested(kind):
            yield Column(column, (column,), (nested or ["list"])[0])
    for leaf in map(schema.column, range(len(schema))):
        if leaf.max_repetition_level == 0:
            place = (leaf.path,) if leaf.path in fields else tuple(leaf.path.split("."))
            yield Column(leaf.path, place, *_parquet_type(leaf))


def _parquet_type(leaf: Any) -> tuple[str, str, str | None]:
    """Return what a column of Parquet is, what Spark is told to read, and its unit of time."""
    physical, logical = leaf.physical_type, leaf.logical_type.type
    if logical == "TIMESTAMP":
        # As numbers: then no time zone of a session has a say, and nanoseconds can be read at all.
        return "timestamp", "bigint", _UNITS[json.loads(leaf.logical_type.to_json())["timeUnit"]]
    if physical == "INT96":
        return "timestamp", "timestamp", None
    if logical == "DECIMAL":
        name = f"decimal({leaf.precision},{leaf.scale})"
    elif logical == "INT":
        name = _whole_type(json.loads(leaf.logical_type.to_json()))
    elif logical == "UNKNOWN":
        name = "void"
    elif physical == "BYTE_ARRAY":
        name = "string"
    elif logical == "NONE":
        name = {"INT32": "int", "INT64": "bigint"}.get(physical, physical.lower())
    else:
        name = logical.lower()
    return name, name, None


def _whole_type(logical: dict[str, Any]) -> str:
    bits, signed = logical["bitWidth"], logical["isSigned"]
    if signed:
        return "bigint" if bits == 64 else "int"
    return {8: "int", 16: "int", 32: "bigint"}.get(bits, "decimal(20,0)")


def _beginning(file: Any, name: str, compression: str | None) -> str:
    """Return the first text of a file, up to the end of a line where there is one."""
    if compression is None:
        content: bytes = file.read(HEAD_BYTES)
    else:
        import pyarrow as pa

        if file.seek(0, os.SEEK_END) == 0:
            return ""
        file.seek(0)
        source = file if isinstance(file, pa.NativeFile) else pa.PythonFile(file, "r")
        with pa.CompressedInputStream(source, compression) as stream:
            content = stream.read(HEAD_BYTES)
    for magic, what in _MAGIC.items():
        if content.startswith(magic):
            raise InvalidInput(
                f"'{name}' {what}, which its name does not say (accepted: lines of UTF-8 text)"
            )
    if len(content) == HEAD_BYTES:
        content = content[: content.rfind(b"\n") + 1] or content
    return content.decode("utf-8-sig", errors="replace")


def _csv_head(text: str, name: str) -> Head:
    line = next(line for line in text.splitlines() if line.strip())
    separator = next((sign for sign in SEPARATORS if sign in line), ",")
    names = [name.strip() for name in next(csv.reader([line], delimiter=separator, skipinitialspace=True))]
    if "\x00" in line or "\ufffd" in line:
        raise InvalidInput(f"'{name}' is not CSV: its first line is not UTF-8 text")
    columns = [Column(name, (f"c{place}",)) for place, name in enumerate(names)]
    return Head(tuple(columns), separator)


def _json_columns(text: str, name: str) -> tuple[Column, ...]:
    """Return the columns that some JSON Lines have, in their order."""
    found: dict[str, Column] = {}
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and lines[0] in ("[", "{"):
        raise InvalidInput(f"'{name}' is one JSON document (accepted: JSON Lines, one object a line)")
    for line in lines[:LINES_LOOKED_AT]:
        value = json.loads(line) if is_json(line) else None
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                for column in _fields(each, ()):
                    found.setdefault(column.name, column)
    return tuple(found.values())


def _fields(value: dict[str, Any], above: tuple[str, ...]) -> Iterator[Column]:
    for key, inner in value.items():
        place = (*above, key)
        yield Column(".".join(place), place)
        if isinstance(inner, dict):
            yield from _fields(inner, place)


def is_json(line: str | bytes) -> bool:
    """Tell whether a line is JSON."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _cut_line(content: Any, path: str) -> str:
    """Return the key of a last line that has no end and is no JSON: its writer was killed while it wrote."""
    size = content.seek(0, os.SEEK_END)
    start = max(0, size - TAIL_BYTES)
    content.seek(start)
    line = unfinished_line(content.read(), begins=start == 0)
    return line_key(path, line) if line else ""


def unfinished_line(tail: bytes, *, begins: bool) -> bytes:
    """Return a last line that has no end and is no JSON, or nothing.

    Parameters
    ----------
    tail
        The end of a file.
    begins
        Whether it begins with a line, or somewhere in one.
    """
    end = max(tail.rfind(b"\n"), tail.rfind(b"\r"))
    line = tail[end + 1 :]
    if not line.strip() or len(line) > TAIL_BYTES or (end < 0 and not begins) or is_json(line):
        return b""
    return line
