"""Rows of (bucket, what, data), as they go between Spark and its workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = "bucket int, what string, data binary"
SCHEMA = pa.schema([("bucket", pa.int32()), ("what", pa.string()), ("data", pa.binary())])
ROWS_AT_ONCE_BYTES = 64 << 20
"""No batch that goes to Spark is much larger."""


class Row(NamedTuple):
    """One row."""

    bucket: int
    what: str
    data: bytes


Step = Callable[[Iterator[Row]], Iterable[Row]]


def packed(value: Any) -> bytes:
    """Return arrays as bytes; they are ours on both sides, so pickled."""
    return pickle.dumps(value, protocol=5)


def unpacked(data: bytes) -> Any:
    """Return the arrays again."""
    return pickle.loads(data)


def rows_in(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """Yield the rows of batches."""
    for batch in batches:
        columns = [batch.column(place) for place in range(len(SCHEMA))]
        for k in range(batch.num_rows):
            bucket, what, data = (column[k].as_py() for column in columns)
            yield Row(bucket, what, data)


def batches_of(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Yield rows in batches that are not large."""
    waiting: list[Row] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += len(row.data)
        if size > ROWS_AT_ONCE_BYTES:
            yield _batch(waiting)
            waiting, size = [], 0
    if waiting:
        yield _batch(waiting)


def _batch(rows: list[Row]) -> pa.RecordBatch:
    return pa.record_batch([list(column) for column in zip(*rows, strict=True)], schema=SCHEMA)


class Stepped:
    """A step over the rows of a partition, as Spark's ``mapInArrow`` takes it."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the step."""
        return batches_of(self._step(rows_in(batches)))


def by_bucket(rows: Iterable[Row]) -> Iterator[tuple[int, list[Row]]]:
    """Yield the rows of each bucket together; they come one bucket after the other."""
    bucket: int | None = None
    together: list[Row] = []
    for row in rows:
        if row.bucket != bucket:
            if bucket is not None:
                yield bucket, together
            bucket, together = row.bucket, []
        together.append(row)
    if bucket is not None:
        yield bucket, together


def collected(frame: DataFrame) -> list[Row]:
    """Fetch rows to the driver."""
    return list(rows_in(frame.toArrow().to_batches()))
