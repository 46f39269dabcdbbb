"""The folder of an analysis: it appears whole or not at all."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from stablecast.analysis.reading.inputs import local_path
from stablecast.analysis.version import HIDDEN
from stablecast.errors import InvalidInput, StablecastError

COMPRESSION = "zstd"
SUMMARY = "summary.json"


class CannotWrite(StablecastError):
    """The disk is full, or a folder cannot be written to."""


def place_of(given: str | Path) -> Path | str:
    """Return a path of this machine, also of one that is given as ``file://``, or an address as it is."""
    path = local_path(str(given))
    return str(given).rstrip("/") if path is None else path


@contextmanager
def new_folder(out: Path, *, replace: bool = False) -> Iterator[Path]:
    """Give a folder beside the output, which takes its place at the end, unless something fails."""
    out = out.absolute()
    check_free(out, replace=replace)
    lock = locked(out.with_name(f".{out.name}.lock"), out)
    try:
        folder = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
        try:
            folder.chmod(0o755)
            with told_of_writing(out):
                yield folder
                _take_place(folder, out)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        Path(lock.name).unlink(missing_ok=True)
        lock.close()


@contextmanager
def told_of_writing(out: Path | str) -> Iterator[None]:
    """Turn what a disk or a store says into one line."""
    try:
        yield
    except OSError as error:
        why = " ".join(str(error.strerror or error).split())
        raise CannotWrite(f"cannot write '{out}': {why}") from error


def _take_place(folder: Path, out: Path) -> None:
    aside = folder.with_name(f"{folder.name}.old")
    if out.exists():
        out.rename(aside)
    folder.rename(out)
    shutil.rmtree(aside, ignore_errors=True)


def write_table(folder: Path, name: str, table: pa.Table) -> None:
    """Write a table as Parquet."""
    place = folder / name
    place.mkdir(parents=True)
    pq.write_table(table, place / "part-0.parquet", compression=COMPRESSION)


def write_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    """Write the summary, which comes last: a folder with one is whole."""
    beside = folder / f".{SUMMARY}.{os.getpid()}"
    beside.write_text(json.dumps(dict(summary), indent=1) + "\n", encoding="utf-8")
    beside.replace(folder / SUMMARY)


def locked(file: Path, out: Path) -> IO[str]:
    """Hold a file for this process alone, for as long as it is open."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = file.open("w")
    except OSError as error:
        raise InvalidInput(f"cannot write to '{out}': {error.strerror or error}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise InvalidInput(
            f"the output folder '{out}' is in use by another run (wait for it, or take another folder)"
        ) from None
    return lock


def check_free(out: Path, *, replace: bool) -> None:
    """Refuse an output that cannot be written, holds something else, or an analysis that is to be kept."""
    if out.exists() and not out.is_dir():
        raise InvalidInput(f"the output '{out}' is a file (accepted: a new or empty folder)")
    _check_writable(out)
    if not out.exists() or not any(out.iterdir()):
        return
    tables = any((out / name).is_dir() for name in ("messages", "readers"))
    if not (out / SUMMARY).exists() or not tables or (out / HIDDEN).exists():
        raise InvalidInput(
            f"the output folder '{out}' holds something else (accepted: a new or empty folder)"
        )
    if not replace:
        raise InvalidInput(
            f"the output folder '{out}' holds an analysis"
            " (accepted: a new or empty folder, or --force to replace it)"
        )


def _check_writable(out: Path) -> None:
    """Refuse a folder that nothing can be written beside, before anything is computed."""
    above = out.absolute().parent
    while not above.exists():
        above = above.parent
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise InvalidInput(f"cannot write to '{out}': '{above}' cannot be written to")
