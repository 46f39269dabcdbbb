"""Stability of events or positions on any Spark session: DataFrames in, DataFrames out.

:func:`stability` takes a user's own DataFrame, :func:`stability_of_files` files that workers read themselves.
Both give :class:`Tables`.  Nothing is written but what Spark itself puts on its disks, and nothing is used
that Spark Connect lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F

from stablecast.analysis.local import tables_for
from stablecast.analysis.options import Options, check_kinds
from stablecast.analysis.reading.addresses import can_open
from stablecast.analysis.reading.bad_rows import NO_EVENTS, explain_bad_rows
from stablecast.analysis.reading.events import FAIL, check_unseen
from stablecast.analysis.reading.files import Piece, pieces
from stablecast.analysis.reading.foreign import Foreign
from stablecast.analysis.reading.heads import PARQUET, Head
from stablecast.analysis.reading.inputs import Input, Inputs
from stablecast.analysis.reading.mapping import Part, plan_parts
from stablecast.analysis.summary import (
    Counts,
    counted,
    counted_positions,
    is_of_positions,
    summary_of,
)
from stablecast.delivery.kinds import FirstSeq
from stablecast.delivery.positions.schemas import SCHEMAS as POSITION_SCHEMAS
from stablecast.delivery.positions.tables import readers_membership
from stablecast.errors import InvalidInput, unknown_name
from stablecast.pipeline.analysis.raw_rows import raw_rows, spark_columns
from stablecast.pipeline.analysis.spread.jobs import (
    ON_DISK,
    Jobs,
    expanded,
    frame_of,
    only,
    tasks_for,
    together,
)
from stablecast.pipeline.analysis.spread.pack import EVENTS_OF, SEEN, Packing, Seen, events_in
from stablecast.pipeline.analysis.spread.positions import LARGE, SMALL, Following, put_together
from stablecast.pipeline.analysis.spread.rows import COLUMNS, Stepped, collected, unpacked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL_EVENTS = 4_000_000
"""Up to so many events the driver is done sooner than several jobs would be."""
EVENTS_PER_BUCKET = 500_000
TEXT_BYTES_PER_EVENT = 60
UNKNOWN_BUCKETS = 256
MOST_BUCKETS = 8192
SMALL_PIECE_BYTES, SMALL_TASKS = 1_000_000, 2
"""Pieces below that size share a few tasks, of which each costs some 50 ms."""
ENGINES = SPARK, LOCAL = ("spark", "local")


@dataclass(frozen=True)
class Tables:
    """The tables of an analysis, and what they come to.

    A table is an attribute: ``tables.frontiers``.  What was computed on the way stays on Spark's disks until
    :meth:`release`, or the end of a ``with`` block.
    """

    spark: SparkSession
    large: Mapping[str, DataFrame]
    """Those that are spread over workers."""
    small: Mapping[str, pa.Table]
    """Those that are at the driver."""
    summary: Mapping[str, Any]
    kept: Sequence[DataFrame] = ()

    @property
    def names(self) -> list[str]:
        """The tables that there are."""
        return [*self.large, *self.small]

    def __getattr__(self, name: str) -> DataFrame:
        if name.startswith("_") or name not in self.names:
            raise AttributeError(f"this analysis has no table '{name}' (it has {', '.join(self.names)})")
        return self.large[name] if name in self.large else frame_of(self.spark, self.small[name])

    def _repr_html_(self) -> str:
        from stablecast.analysis.showing import card_of_analysis

        return card_of_analysis(self.summary, self.small, self.large).html()

    def release(self) -> None:
        """Let go of what was computed on the way; tables that were not at the driver are computed anew."""
        for frame in self.kept:
            frame.unpersist()

    def __enter__(self) -> Tables:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.release()


def stability(
    events: DataFrame,
    *,
    first_seq: FirstSeq = 1,
    columns: Mapping[str, str] | None = None,
    constants: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    time_unit: str = "us",
    on_bad_rows: str = FAIL,
    cumulative: bool = False,
    next_offset: bool = False,
    numbers_are_bytes: bool = False,
    engine: str = SPARK,
) -> Tables:
    """Find what is stable since when, who holds the rest back, and what is wrong.

    Parameters
    ----------
    events
        Rows of events or of positions, in any order: ``group``, ``kind``, ``member``, ``source``, ``seq``,
        ``time_us``, and ``bytes`` if it is known.  It is read twice where Spark loses a share of it, so it
        should give the same rows each time.
    first_seq
        The number that every source begins with; ``earliest``: the smallest that each sent.
    columns, constants, kinds, time_unit
        How a log says what the schema says: the names of its columns, columns that it lacks, names of its
        kinds, and the unit of its times (``ns``, ``us``, ``ms``, ``s``, ``timestamp``).
    on_bad_rows
        ``fail``, or ``count`` to leave them out and count them in the summary.
    cumulative
        Sends are heads and receipts are positions: each stands for everything up to its number.
    next_offset
        Positions name the next number to be read, as Kafka's commits do.
    numbers_are_bytes
        Numbers count bytes, as positions in PostgreSQL's log do.
    engine
        ``spark``, or ``local`` to fetch the rows and compute in this process.

    Examples
    --------
    ``stability(spark.table("trace")).sources.where("waiting > 0").show()``
    """
    options = Options(
        first_seq=first_seq,
        foreign=Foreign(columns or {}, constants or {}, kinds or {}, time_unit),
        on_bad_rows=on_bad_rows,
        cumulative=cumulative,
        next_offset=next_offset,
        numbers_are_bytes=numbers_are_bytes,
    )
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    part = _part_of(events, options.foreign)
    packing = Packing(options.foreign, first_seq, UNKNOWN_BUCKETS, cumulative=cumulative)
    needed = [F.col(f"`{column.place[0]}`") for column in part.columns.values()]
    raw = events.select(*needed) if needed else events
    rows = raw.mapInArrow(partial(packing.raw, part), COLUMNS)
    return _tables(events.sparkSession, rows, options, packing.buckets, at_driver=engine == LOCAL)


def _part_of(events: DataFrame, foreign: Foreign) -> Part:
    """Find the schema's columns in a DataFrame."""
    head = Head(tuple(spark_columns(events.schema)))
    [part] = plan_parts(Inputs((Input("", "the DataFrame", PARQUET, head=head),)), foreign)
    return part


def stability_of_files(spark: SparkSession, inputs: Inputs, options: Options) -> Tables:
    """Do the same with files, which workers read themselves where Arrow can open them."""
    here = [file for file in inputs.files if file.head is not None or can_open(file.path)]
    found = pieces(Inputs(tuple(here)), options.foreign) if here else []
    others = replace(inputs, files=tuple(file for file in inputs.files if file not in here))
    buckets = _bucket_count(found) if not others.files else UNKNOWN_BUCKETS
    packing = Packing(options.foreign, options.first_seq, buckets, cumulative=options.cumulative)
    raw = raw_rows(spark, others, options.foreign) if others.files else []
    frames = [_read(spark, found, packing)] if found else []
    frames += [rows.frame.mapInArrow(partial(packing.raw, rows.part), COLUMNS) for rows in raw]
    if not frames:
        raise InvalidInput(NO_EVENTS)
    rows = frames[0]
    for frame in frames[1:]:
        rows = rows.union(frame)
    parts = [*(piece.part for piece in found), *(one.part for one in raw)]
    return _tables(spark, rows, options, buckets, parts)


def _read(spark: SparkSession, found: Sequence[Piece], packing: Packing) -> DataFrame:
    """Return rows of buckets, from pieces of files: a task for each of the larger ones, the largest first."""
    largest_first = sorted(found, key=lambda piece: -(piece.rows or piece.size))
    small = sum(piece.size < SMALL_PIECE_BYTES for piece in found)
    tasks = len(found) - small + min(small, SMALL_TASKS)
    numbers = spark.range(0, len(found), 1, tasks)
    return numbers.mapInArrow(partial(packing.pieces, largest_first), COLUMNS)


def _bucket_count(found: Sequence[Piece]) -> int:
    """Return how many buckets hold about half a million events each."""
    events = sum(piece.rows or piece.size // TEXT_BYTES_PER_EVENT for piece in found)
    return int(min(max(events // EVENTS_PER_BUCKET, 4), MOST_BUCKETS))


def _tables(
    spark: SparkSession,
    rows: DataFrame,
    options: Options,
    buckets: int,
    parts: Sequence[Part] = (),
    *,
    at_driver: bool = False,
) -> Tables:
    """Make tables of packed rows: at the driver if there are few, else in jobs."""
    rows = rows.persist(ON_DISK)
    try:
        seen = Seen.all_of(unpacked(row.data) for row in collected(only(rows, SEEN)))
        _check(seen, options, parts)
        if at_driver or seen.scan.events <= SMALL_EVENTS:
            return _at_driver(spark, rows, seen, options)
        if is_of_positions(seen.scan.kinds):
            return _positions(spark, rows, seen, options, buckets)
        made = Jobs(rows, seen.scan, first_seq=options.first_seq).run(buckets)
        return _told(spark, made.frames, made.small, made.counts, seen, made.kept)
    finally:
        rows.unpersist()


def _check(seen: Seen, options: Options, parts: Sequence[Part]) -> None:
    if seen.refused:
        raise InvalidInput(seen.refused)
    check_unseen(parts, seen.columns, options.foreign)
    if seen.bad.problems and options.on_bad_rows == FAIL:
        raise InvalidInput(explain_bad_rows(seen.bad.problems, seen.bad.examples))
    if not seen.scan.events:
        raise InvalidInput(NO_EVENTS)
    check_kinds(set(seen.scan.kinds))


def _at_driver(spark: SparkSession, rows: DataFrame, seen: Seen, options: Options) -> Tables:
    """Fetch the events, which are few, and compute here."""
    events = events_in(row.data for row in collected(only(rows, EVENTS_OF)))
    made = tables_for(events.combine_chunks(), seen.scan, options)
    of_positions = is_of_positions(seen.scan.kinds)
    counts = counted_positions(made) if of_positions else counted(made)
    return _told(spark, {}, made, counts, seen, ())


def _positions(spark: SparkSession, rows: DataFrame, seen: Seen, options: Options, buckets: int) -> Tables:
    following = Following(readers_membership(seen.scan), options)
    followed = (
        together(rows, tasks_for(seen.scan.events, buckets), EVENTS_OF)
        .mapInArrow(Stepped(following), COLUMNS)
        .persist(ON_DISK)
    )
    fetched = collected(followed.where(F.col("what").isin(*SMALL, "violations")))
    parts: dict[str, list[pa.Table]] = {}
    for row in fetched:
        parts.setdefault(row.what, []).append(pa.ipc.open_stream(row.data).read_all())
    small = put_together(parts, options)
    nothing = POSITION_SCHEMAS["violations"].empty_table()
    violations = pa.concat_tables([nothing, *parts.get("violations", [])])
    frames = {name: expanded(only(followed, name), POSITION_SCHEMAS[name]) for name in LARGE}
    counts = counted_positions({**small, "violations": violations})
    return _told(spark, frames, small, counts, seen, (followed,))


def _told(
    spark: SparkSession,
    frames: Mapping[str, DataFrame],
    small: Mapping[str, pa.Table],
    counts: Counts,
    seen: Seen,
    kept: Sequence[DataFrame],
) -> Tables:
    return Tables(spark, frames, small, summary_of(seen.scan, seen.bad.problems, counts), kept)
