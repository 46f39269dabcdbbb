"""The files of a collection: positions as the schema of events has them, deletions, and what was held."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from stablecast.errors import StablecastError
from stablecast.holdback.collecting.history import Deletion, Held, Row
from stablecast.trace.schema import arrow_schema

POSITIONS, DELETIONS, HELD = "positions", "deletions", "held"
SCHEMAS = {
    POSITIONS: arrow_schema(),
    DELETIONS: pa.schema(
        [
            pa.field("group", pa.string(), nullable=False),
            pa.field("source", pa.string(), nullable=False),
            pa.field("time_us", pa.int64(), nullable=False),
            pa.field("from_seq", pa.int64(), nullable=False),
            pa.field("to_seq", pa.int64(), nullable=False),
            pa.field("unknown", pa.list_(pa.string())),
        ]
    ),
    HELD: pa.schema(
        [
            pa.field("group", pa.string(), nullable=False),
            pa.field("source", pa.string(), nullable=False),
            pa.field("time_us", pa.int64(), nullable=False),
            pa.field("blocker", pa.string()),
            pa.field("held_items", pa.int64()),
            pa.field("held_bytes", pa.int64()),
        ]
    ),
}


class CannotCollect(StablecastError):
    """The disk is full, or the folder cannot be written to; what was collected before is there."""


class Rows(NamedTuple):
    """Rows of the three tables."""

    positions: Sequence[Row]
    deletions: Sequence[Deletion]
    held: Sequence[Held]


def file_of(out: Path, table: str, number: int) -> Path:
    """Return where a file of a table is."""
    return out / table / f"{table}-{number:06}.parquet"


def write(out: Path, number: int, rows: Rows) -> None:
    """Write one file of each table that has rows; each appears whole or not at all."""
    positions = [[*row, None] for row in rows.positions]
    for table, some in ((POSITIONS, positions), (DELETIONS, rows.deletions), (HELD, rows.held)):
        if some:
            columns = [list(column) for column in zip(*some, strict=True)]
            schema = SCHEMAS[table]
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            _appear(pa.table(arrays, schema=schema), file_of(out, table, number))


def _appear(table: pa.Table, file: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    beside = file.with_name(f".{file.name}.part")
    try:
        pq.write_table(table, beside, compression="zstd")
        with beside.open("rb+") as written:
            os.fsync(written.fileno())
        beside.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise CannotCollect(f"cannot write '{file}': {error.strerror or error}") from None
