"""Find the files to read: files, folders and patterns of this machine, and addresses that Spark knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePath
from urllib.parse import unquote

from stablecast.analysis.reading.heads import CSV, FORMATS, JSON, PARQUET, Head, absolute, read_head
from stablecast.errors import InvalidInput, unknown_name

_ENDINGS = {".parquet": PARQUET, ".jsonl": JSON, ".ndjson": JSON, ".json": JSON, ".csv": CSV, ".tsv": CSV}
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
ACCEPTED = "*.parquet, *.jsonl, *.ndjson, *.csv or *.tsv, the text ones also with .gz, .bz2 or .zst"
_ALSO_NAMED = {"jsonl": JSON, "ndjson": JSON}
_ADDRESS = re.compile(r"([a-zA-Z][\w+.-]+):/")
_PATTERN = re.compile(r"[\\{}\[\]*?]")
THREADS = 8


@dataclass(frozen=True)
class Input:
    """One file, or something that only Spark can look into."""

    path: str
    """As Spark is told."""
    name: str
    """As the user knows it."""
    format: str
    head: Head | None
    """What the file says about itself; None where only Spark can look."""


@dataclass(frozen=True)
class Inputs:
    """All that is read."""

    files: tuple[Input, ...]


def find_inputs(paths: Sequence[str], *, format: str | None = None, without: Iterable[str] = ()) -> Inputs:
    """Find files and see what each one holds, without Spark.

    Parameters
    ----------
    paths
        Files, folders with all that is below them, patterns, and addresses such as ``hdfs://``.  In folders,
        names that begin with a dot or an underscore are passed over, and so is what has another ending.
    format
        ``parquet``, ``json`` or ``csv``, whatever the names say.
    without
        Folders that are not entered, such as the one that is written to.
    """
    forced = _checked_format(format)
    if not paths:
        raise InvalidInput("no events were given (accepted: files, folders and patterns)")
    closed = {Path(folder).resolve() for folder in without}
    local: dict[Path, Path] = {}
    remote: list[Input] = []
    for given in map(str, paths):
        path = local_path(given)
        if path is None:
            remote.append(Input(given, given, _format_of(given, forced), None))
            continue
        for file in _expand(path, forced, closed):
            # The same file by two ways is read once.
            local.setdefault(file.resolve(), file)
    files = [_described(file, forced) for file in sorted(local.values())]
    if files and not remote and all(file.stat().st_size == 0 for file in local):
        names = _some([file.name for file in files])
        raise InvalidInput(f"no events: {names} {'is' if len(files) == 1 else 'are'} empty")
    return Inputs((*_with_heads(files), *remote))


def local_path(given: str) -> Path | None:
    """Return a path of this machine, or None for an address that is for Spark to open."""
    address = _ADDRESS.match(given)
    if address is None or Path(given).exists():
        return Path(given)
    if address[1].lower() != "file":
        return None
    path = "/" + given[len("file:") :].lstrip("/")
    return Path(unquote(path) if Path(unquote(path)).exists() and not Path(path).exists() else path)


def for_spark(path: str) -> str:
    """Return a path of this machine, from the root, as Spark is told; it takes every path for a pattern."""
    escaped = _PATTERN.sub(r"\\\g<0>", path)
    return f"file://{escaped}"


def plain_name(given: str) -> str:
    """Return an address of a file of this machine as its path; another one as it is."""
    path = local_path(given)
    return given if path is None else str(path)


def compression_of(name: str) -> str | None:
    """Return how a file is compressed, by its name, in Arrow's words."""
    return _COMPRESSIONS.get(_split_ending(name)[1])


def _split_ending(name: str) -> tuple[str, str]:
    """Return the ending that tells the format, and the one that tells the compression; either may be ''."""
    path = PurePath(name.lower())
    if path.suffix in _COMPRESSIONS:
        return PurePath(path.stem).suffix, path.suffix
    return path.suffix, ""


def _checked_format(format: str | None) -> str | None:
    if format is None:
        return None
    known = _ALSO_NAMED.get(format.lower(), format.lower())
    if known not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    return known


def _expand(path: Path, forced: str | None, closed: set[Path]) -> list[Path]:
    if path.is_dir():
        every = list(_walk(path, closed))
        return _wanted(every, forced) or _nothing_in(path, every)
    if path.exists() or path.is_symlink():
        return [path]
    if not set("*?[") & set(str(path)):
        raise InvalidInput(f"'{path}' does not exist (accepted: files, folders and patterns)")
    found = _matches(path)
    files = [entry for entry in found if not entry.is_dir()]
    below = [file for entry in found if entry.is_dir() for file in _walk(entry, closed)]
    # A pattern such as 'out/*' means the events there; '*.json' means those very files.
    return _wanted(files + below, forced) or files or _nothing_in(path, below)


def _matches(pattern: Path) -> list[Path]:
    try:
        found = Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))
        entries = sorted(entry for entry in found if not _hidden(entry))
    except (ValueError, OSError) as error:
        raise InvalidInput(f"pattern '{pattern}' is not accepted: {error}") from None
    if not entries:
        raise InvalidInput(f"nothing matches '{pattern}'")
    return entries


def _wanted(files: Iterable[Path], forced: str | None) -> list[Path]:
    return [file for file in files if _read_in_folders(file, forced)]


def _nothing_in(where: Path, others: Sequence[Path]) -> list[Path]:
    has = f" (has: {_some([file.name for file in others])})" if others else ""
    alone = any(_split_ending(file.name)[0] == ".json" for file in others)
    hint = "; files named *.json are read when they are given themselves" if alone else ""
    raise InvalidInput(f"no events in '{where}'{has}: nothing there is named {ACCEPTED}{hint}")


def _walk(folder: Path, closed: set[Path]) -> Iterator[Path]:
    try:
        entries = [entry for entry in sorted(folder.iterdir()) if not _hidden(entry)]
    except OSError as error:
        raise InvalidInput(f"cannot read '{folder}': {error.strerror or error}") from None
    for entry in entries:
        if not entry.is_dir():
            yield entry
        elif not entry.is_symlink() and entry.resolve() not in closed:
            yield from _walk(entry, closed)


def _hidden(file: Path) -> bool:
    return file.name.startswith((".", "_"))


def _read_in_folders(file: Path, forced: str | None) -> bool:
    ending, compression = _split_ending(file.name)
    if forced is not None:
        return True
    return ending in _ENDINGS and ending != ".json" and not (ending == ".parquet" and compression)


def _format_of(name: str, forced: str | None) -> str:
    ending, compression = _split_ending(name.rstrip("/"))
    found = forced or _ENDINGS.get(ending)
    if found is None:
        raise InvalidInput(
            f"cannot tell the format of '{name}' by its name (accepted: {ACCEPTED};"
            f" or --format {', '.join(FORMATS)})"
        )
    if found == PARQUET and compression:
        raise InvalidInput(f"'{name}' is Parquet compressed once more (accepted: Parquet as it is)")
    return found


def _described(file: Path, forced: str | None) -> Input:
    """Return a local file that Spark can be told of, not yet looked into."""
    if not file.is_file():
        why = "is not a file" if file.exists() else "is a link to nothing"
        raise InvalidInput(f"'{file}' {why} (accepted: files, folders and patterns)")
    if _hidden(file):
        raise InvalidInput(f"'{file}' would be passed over by Spark: its name begins with '{file.name[0]}'")
    path = absolute(file)
    if ":" in (path if _PATTERN.search(path) else file.name):
        raise InvalidInput(f"'{file}' cannot be read by Spark: there is a ':' in its name")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{str(file)!a} cannot be read by Spark: its name is not UTF-8") from None
    return Input(for_spark(path), str(file), _format_of(str(file), forced), None)


def _with_heads(files: Sequence[Input]) -> Iterator[Input]:
    def look(file: Input) -> Input:
        head = read_head(Path(file.name), file.format, compression_of(file.name))
        return Input(file.path, file.name, file.format, head)

    with ThreadPoolExecutor(THREADS) as pool:
        yield from pool.map(look, files)


def _some(names: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"
