"""Spark's data source ``stablecast``: traces that grow, or a running group, as a stream of events.

Spark makes readers in several processes: where a query is planned, where offsets are asked for, and where
rows are read.  Only the second one ever joins a group, and only when it is asked for an offset.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import DataType, IntegerType, LongType, StringType, StructField, StructType

from stablecast.errors import InvalidInput
from stablecast.pipeline.event_lines import read_pieces
from stablecast.pipeline.observer import Observer
from stablecast.pipeline.source_options import SourceOptions, read_options
from stablecast.pipeline.tail import Piece, Positions, Tail
from stablecast.trace.schema import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.datasource import ReadLimit

NAME = "stablecast"
_TYPES: dict[Any, DataType] = {pa.string(): StringType(), pa.int64(): LongType(), pa.int32(): IntegerType()}


def register(spark: SparkSession) -> None:
    """Make ``format("stablecast")`` known to a session."""
    spark.dataSource.register(StablecastSource)


def event_schema() -> StructType:
    """Return the event schema as Spark has it."""
    return StructType(
        [StructField(field.name, _TYPES[field.type], field.nullable) for field in arrow_schema()]
    )


class StablecastSource(DataSource):
    """Events of the trace schema, from a folder of traces or from a group that this process joins."""

    @classmethod
    def name(cls) -> str:
        """Return what ``format`` takes."""
        return NAME

    def schema(self) -> StructType:
        """Return the event schema; wrong options are refused here, when a query is made."""
        read_options(self.options)
        return event_schema()

    def reader(self, schema: StructType) -> EventReader:
        """Return a reader of what is in a folder now."""
        options = read_options(self.options)
        if options.membership is not None:
            raise InvalidInput("a group is read as a stream (accepted: readStream, or a path)")
        if options.bytes_most is not None:
            raise InvalidInput("maxBytesPerTrigger is for streams (accepted: readStream)")
        return EventReader(options, _columns(schema))

    def streamReader(self, schema: StructType) -> EventStreamReader:  # noqa: N802
        """Return a reader of what comes."""
        options = read_options(self.options)
        if options.bytes_most is not None and not _has_limits():
            raise InvalidInput("maxBytesPerTrigger needs Spark 4.2 or newer")
        return EventStreamReader(options, _columns(schema))


class Pieces(InputPartition):
    """What one task reads."""

    def __init__(self, pieces: list[Piece]) -> None:
        super().__init__(pieces)


class EventReader(DataSourceReader):
    """Reads the whole lines that there are."""

    def __init__(self, options: SourceOptions, columns: pa.Schema) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> list[InputPartition]:
        """Divide what there is."""
        tail = Tail(self._options.folder)
        # Spark takes an empty list for one partition with nothing in it.
        return [Pieces(pieces) for pieces in tail.pieces({}, tail.ends())] or [Pieces([])]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield record batches."""
        return read_pieces(partition.value, self._columns, on_bad=self._options.on_bad)


class EventStreamReader(DataSourceStreamReader):
    """Follows traces; offsets are positions in files."""

    def __init__(self, options: SourceOptions, columns: pa.Schema) -> None:
        self._options = options
        self._columns = columns
        self._tail = Tail(options.folder)
        self._target: Positions | None = None
        self._observer: Observer | None = None

    def initialOffset(self) -> Positions:  # noqa: N802
        """Begin with the first byte of every file."""
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the most that a micro-batch reads."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

        most = self._options.bytes_most
        return ReadAllAvailable() if most is None else ReadMaxBytes(most)

    def latestOffset(self, start: Positions | None = None, limit: ReadLimit | None = None) -> Positions:  # noqa: N802
        """Return up to where the next micro-batch goes; before Spark 4.2 nothing is given."""
        self._be_member()
        bytes_most: int | None = getattr(limit, "max_bytes", None)
        return self._tail.latest(start or {}, bytes_most=bytes_most, target=self._target)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Read what there is now and no more."""
        if self._options.membership is not None:
            raise InvalidInput(
                "a group is read for as long as the query runs (accepted: another trigger than availableNow; "
                "the spool alone can be loaded as a path)"
            )
        self._target = self._tail.ends()

    def partitions(self, start: Positions, end: Positions) -> list[InputPartition]:
        """Divide what lies between two offsets."""
        return [Pieces(pieces) for pieces in self._tail.pieces(start, end)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield record batches."""
        return read_pieces(partition.value, self._columns, on_bad=self._options.on_bad)

    def stop(self) -> None:
        """Leave the group, if one was joined."""
        if self._observer is not None:
            self._observer.stop()

    def _be_member(self) -> None:
        if self._options.membership is None:
            return
        if self._observer is None:
            self._observer = Observer(self._options.membership, self._options.folder)
            self._leave_when_terminated()
            self._observer.start()
        self._observer.check()

    def _leave_when_terminated(self) -> None:
        """Leave the group on SIGTERM, with which Spark ends this process when its query stops."""

        def leave(number: int, frame: object) -> None:
            signal.signal(number, signal.SIG_IGN)  # Spark says it twice
            self.stop()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, leave)


def _has_limits() -> bool:
    try:
        import pyspark.sql.streaming.datasource  # noqa: F401
    except ImportError:
        return False
    return True


def _columns(schema: StructType) -> pa.Schema:
    """Return the schema of record batches; a schema that was asked for may differ in what is nullable."""
    ours = event_schema()
    if [(one.name, one.dataType) for one in schema] != [(one.name, one.dataType) for one in ours]:
        raise InvalidInput(
            f"schema '{schema.simpleString()}' is not accepted (accepted: {ours.simpleString()})"
        )
    return pa.schema(
        [pa.field(one.name, arrow_schema().field(one.name).type, one.nullable) for one in schema]
    )


with contextlib.suppress(ImportError):  # new in Spark 4.2
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

    SupportsTriggerAvailableNow.register(EventStreamReader)
