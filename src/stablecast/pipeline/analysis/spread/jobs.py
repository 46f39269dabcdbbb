"""The jobs of an analysis on Spark, in their order, and the tables that they come to.

Only what Spark Connect has too is used: DataFrames, ``mapInArrow``, ``persist`` and ``toArrow``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import functions as F

from stablecast.analysis.summary import Counts, counted_durations
from stablecast.delivery import tables
from stablecast.delivery.columns import chosen, joined
from stablecast.delivery.durations import added
from stablecast.delivery.holding import Peaks, Totals, anything_ends
from stablecast.delivery.kinds import FirstSeq
from stablecast.delivery.laggards import Laggards
from stablecast.delivery.line import nothing_before
from stablecast.delivery.membership import membership_of
from stablecast.delivery.scan import Scan
from stablecast.delivery.sources import sources_table
from stablecast.pipeline.analysis.spread.judge import CHANGES, JUDGED, SUMS, Judging, Sums
from stablecast.pipeline.analysis.spread.level import OCCUPANCY, PEAKS, Leveling, bases
from stablecast.pipeline.analysis.spread.link import (
    ASKED,
    ENDS,
    MESSAGES,
    SENDS,
    VIOLATIONS_OF,
    Ended,
    Linking,
    Resolving,
    around,
    tables_in,
)
from stablecast.pipeline.analysis.spread.pack import EVENTS_OF
from stablecast.pipeline.analysis.spread.rows import COLUMNS, Step, Stepped, collected, rows_in, unpacked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ON_DISK = StorageLevel.DISK_ONLY
EVENTS_PER_SLAB = 1 << 21
EVENTS_PER_TASK = 3_000_000
TASKS_AT_ONCE = 4
"""Tasks are a multiple of that, so that two or four cores are done at the same time."""


@dataclass(frozen=True)
class Found:
    """What an analysis came to: tables of any size as frames, small ones as they are, and sums."""

    frames: Mapping[str, DataFrame]
    small: Mapping[str, pa.Table]
    counts: Counts
    kept: tuple[DataFrame, ...]
    """Frames that are persisted as long as the tables are needed."""


class Jobs:
    """The steps after packing, each once."""

    def __init__(self, packed: DataFrame, scan: Scan, *, first_seq: FirstSeq) -> None:
        self._packed = packed
        self._scan = scan
        self._first_seq = first_seq
        self._membership = membership_of(scan)
        names = max(self._membership.name_count, 1)
        self._slabs = int(min(64, 2 * scan.events // names // EVENTS_PER_SLAB + 1))

    def run(self, buckets: int) -> Found:
        """Judge, link and level."""
        membership, tasks = self._membership, tasks_for(self._scan.events, buckets)
        ends = anything_ends(self._scan, membership)
        judging = Judging(membership, self._slabs, buckets, ends)
        judged = self._stepped(together(self._packed, tasks, EVENTS_OF), judging)
        sums: list[Sums] = [unpacked(row.data) for row in collected(only(judged, SUMS))]
        self._packed.unpersist()
        linking = Linking(membership, around(sums, membership, self._first_seq))
        linked = self._stepped(only(judged, JUDGED), linking)
        ended: list[Ended] = [unpacked(row.data) for row in collected(only(linked, ENDS))]
        leveling = Leveling(membership, self._slabs, bases(sums, self._slabs))
        leveled = self._stepped(together(judged, tasks, CHANGES), leveling)
        peaks = [unpacked(row.data) for row in collected(only(leveled, PEAKS))]
        judged.unpersist()
        frames = {
            "messages": expanded(only(linked, MESSAGES), tables.SCHEMAS["messages"]),
            "frontiers": self._frontiers(linked, tasks),
            "occupancy": expanded(only(leveled, OCCUPANCY), tables.SCHEMAS["occupancy"]),
        }
        small, counts, schema = (
            self._small(sums, ended, peaks, linking),
            _counts(ended),
            tables.SCHEMAS["violations"],
        )
        if counts.violations:
            frames["violations"] = expanded(only(linked, VIOLATIONS_OF), schema)
        else:  # to find none takes a job half a second
            small["violations"] = schema.empty_table()
        return Found(frames, small, counts, kept=(linked, leveled))

    def _stepped(self, rows: DataFrame, step: Step) -> DataFrame:
        return rows.mapInArrow(Stepped(step), COLUMNS).persist(ON_DISK)

    def _frontiers(self, linked: DataFrame, tasks: int) -> DataFrame:
        resolved = _Resolved(Resolving(self._membership))
        asked = together(linked, tasks, ASKED, SENDS)
        return asked.mapInArrow(resolved, ddl(tables.SCHEMAS["frontiers"]))

    def _small(
        self, sums: list[Sums], ended: list[Ended], peaks: list[Any], linking: Linking
    ) -> dict[str, pa.Table]:
        names = tables.Names(self._membership)
        count = self._membership.name_count
        laggards = Laggards(
            np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros((count, 3), np.int64)
        )
        totals = Totals(np.zeros(count, np.int64), np.zeros(count, np.int64))
        for one in sums:
            for into, columns in ((laggards, one.laggards), (totals, one.totals)):
                for array, column in zip(into, columns, strict=True):
                    np.add.at(array, one.names, column)
        most = Peaks(np.zeros(count, np.int64), np.zeros(count, np.int64))
        for name, found in peaks:
            for array, column in zip(most, found, strict=True):
                np.maximum.at(array, name, column)
        return {
            "buffers": tables.buffers_table(totals, most, names),
            "laggards": tables.laggards_table(laggards, names),
            "sources": self._sources(ended, linking, names),
        }

    def _sources(self, ended: list[Ended], linking: Linking, names: tables.Names) -> pa.Table:
        """Put the ends of all runs in line, which buckets have in the order of their own runs."""
        runs, before, _, bucket = linking.around
        place = np.argsort(bucket, kind="stable")
        in_order = sorted(ended, key=lambda one: one.bucket)
        ends = joined([one.ends for one in in_order])
        back = np.empty(len(place), np.int64)
        back[place] = np.arange(len(place))
        nothing = nothing_before(self._membership.name_count)
        return sources_table(runs, before.open, chosen(ends, back), nothing, names)


class _Resolved:
    """Resolves changes of prefixes, as ``mapInArrow`` takes it."""

    def __init__(self, resolve: Resolving) -> None:
        self._resolve = resolve

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self._resolve(rows_in(batches))


def tasks_for(events: int, buckets: int) -> int:
    """Return how many tasks buckets are shared by; each costs some 50 ms, whatever it does."""
    rounds = -(-events // (EVENTS_PER_TASK * TASKS_AT_ONCE))
    return min(buckets, TASKS_AT_ONCE * max(rounds, 1))


def together(rows: DataFrame, tasks: int, *what: str) -> DataFrame:
    """Bring the rows of each bucket together, one bucket after the other."""
    wanted = rows.where(F.col("what").isin(*what))
    return wanted.repartition(tasks, "bucket").sortWithinPartitions("bucket")


def only(rows: DataFrame, what: str) -> DataFrame:
    """Return the rows of one kind."""
    return rows.where(F.col("what") == what)


def expanded(rows: DataFrame, schema: pa.Schema) -> DataFrame:
    """Return the rows of tables that are in rows as bytes."""
    return rows.mapInArrow(tables_in, ddl(schema))


_SQL = {"string": "string", "int64": "bigint", "int32": "int", "bool": "boolean"}


def ddl(schema: pa.Schema) -> str:
    """Return a schema in Spark's words."""
    return ", ".join(f"`{field.name}` {_sql(field.type)}" for field in schema)


def _sql(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"array<{_sql(kind.value_type)}>"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return _SQL[str(kind)]


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return a table as a frame; Spark Connect takes no empty table without being told its columns."""
    if not table.num_rows:
        return spark.createDataFrame([], ddl(table.schema))
    return spark.createDataFrame(table)


def _counts(ended: list[Ended]) -> Counts:
    violations: dict[str, int] = {}
    for one in ended:
        for kind, count in one.violations.items():
            violations[kind] = violations.get(kind, 0) + count
    return counted_durations(added([one.durations for one in ended]), violations)
