"""A folder of results: what was computed before is found, what is finished is kept, whatever happens.

``runs.parquet`` holds the rows of the points last asked for, in their order; ``earlier.parquet`` rows that
were computed for other points before.  While a sweep runs, finished rows go to ``journal/``, a small file
every second at first and every ten in a long sweep; the next sweep finds them there when this one was
killed.  Every file is written beside and renamed, so it is whole or not there.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from stablecast.errors import InvalidInput, StablecastError
from stablecast.pipeline.point import Point
from stablecast.pipeline.schema import (
    DONE,
    SCHEMA,
    SCHEMA_VERSION,
    VERSION_KEY,
    Row,
    further_columns,
    has_layout,
    table_of,
)

RUNS, EARLIER, JOURNAL, LOCK = "runs.parquet", "earlier.parquet", "journal", ".lock"
FLUSH_S, FLUSH_S_MAX = 1.0, 10.0


class CannotKeep(StablecastError):
    """Results could not be written: the disk is full, or the folder went away."""


class Store:
    """The results of one folder, held by one process at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: IO[str] | None = None
        self._rows: dict[str, Row] = {}
        self._further: dict[str, pa.DataType] = {}
        self._unsaved: list[Row] = []
        self._saved_at = time.monotonic()
        self._files = 0

    def __enter__(self) -> Store:
        """Take the folder and read what is there."""
        self._open()
        try:
            self._read()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._close()

    def _open(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = (self.folder / LOCK).open("w")
        except OSError as error:
            raise InvalidInput(
                f"cannot write to the folder '{self.folder}': {error.strerror or error}"
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise InvalidInput(
                f"another sweep is writing to '{self.folder}' (wait for it, or take another folder)"
            ) from None

    def _close(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _read(self) -> None:
        journal = sorted((self.folder / JOURNAL).glob("*.parquet"))
        self._files = len(journal)
        for file in (self.folder / EARLIER, self.folder / RUNS, *journal):
            if file.exists():
                self._rows.update((row["key"], row) for row in read_rows(file))
                self._further |= further_columns(pq.read_schema(file))

    def expect(self, columns: Mapping[str, pa.DataType]) -> None:
        """Learn the types of columns that rows to come may have beyond those of every table."""
        for name, kind in columns.items():
            if self._further.setdefault(name, kind) != kind:
                raise InvalidInput(
                    f"'{self.folder}' has a column {name} of type {self._further[name]}, and not {kind} (take"
                    " another folder)"
                )

    def rows_of(self, points: Iterable[Point]) -> list[Row]:
        """Return the rows that are there for some points, in the points' order."""
        return [self._rows[point.key] for point in points if point.key in self._rows]

    def is_done(self, point: Point) -> bool:
        """Tell whether a point's row is there and has a result."""
        row = self._rows.get(point.key)
        return row is not None and row["status"] == DONE

    def forget(self, points: Iterable[Point]) -> None:
        """Compute some points again: their rows stay on disk until there are new ones."""
        for point in points:
            self._rows.pop(point.key, None)

    def add(self, rows: Sequence[Row]) -> None:
        """Keep rows; they are on disk a second later, in a long sweep ten, or at the next :meth:`save`."""
        self._rows.update((row["key"], row) for row in rows)
        self._unsaved += rows
        # A file has a hundred columns to describe, so a long sweep should not write one every second.
        patience = min(FLUSH_S * (1 + self._files / 20), FLUSH_S_MAX)
        if time.monotonic() - self._saved_at > patience:
            self.save()

    def save(self) -> None:
        """Write what is not on disk yet to the journal."""
        self._saved_at = time.monotonic()
        if not self._unsaved:
            return
        self._files += 1
        file = self.folder / JOURNAL / f"{self._files:08d}-{os.getpid()}.parquet"
        write_table(file, table_of(self._unsaved, self._further))
        self._unsaved = []

    def merge(self, points: Sequence[Point]) -> Path:
        """Write the table of some points, put all other rows aside, and empty the journal."""
        self.save()
        wanted = {point.key for point in points}
        others = [row for key, row in self._rows.items() if key not in wanted]
        file = self.folder / RUNS
        # Rows that leave one file are in the other before, so none is ever in neither.
        if others:
            write_table(self.folder / EARLIER, table_of(others, self._further))
        write_table(file, table_of(self.rows_of(points), self._further))
        if not others:
            (self.folder / EARLIER).unlink(missing_ok=True)
        shutil.rmtree(self.folder / JOURNAL, ignore_errors=True)
        return file


def read_rows(file: Path) -> list[Row]:
    """Read a table of runs, refusing one of another version."""
    try:
        schema = pq.read_schema(file)
    except (OSError, pa.ArrowException) as error:
        raise InvalidInput(f"'{file}' is not a table of runs: {' '.join(str(error).split())}") from None
    version = (schema.metadata or {}).get(VERSION_KEY, b"none").decode()
    if version != SCHEMA_VERSION or not has_layout(schema):
        raise InvalidInput(
            f"'{file}' has another layout: version {version} with {len(schema)} columns"
            f" (accepted: version {SCHEMA_VERSION} with {len(SCHEMA)}; take another folder)"
        )
    rows: list[Row] = pq.read_table(file).to_pylist()
    return rows


def write_table(file: Path, table: pa.Table) -> None:
    """Write a table beside its place, then rename."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, beside, compression="zstd")
        beside.replace(file)
    except OSError as error:
        raise CannotKeep(
            f"cannot write '{file}': {error.strerror or error}; what was written before is intact"
        ) from error
    finally:
        beside.unlink(missing_ok=True)
