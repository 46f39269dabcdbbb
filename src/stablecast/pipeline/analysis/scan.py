"""The first look at events: who is in them, how many of each kind, when, and which rows are bad."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from stablecast.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from stablecast.pipeline.analysis.workspace import WorkFolder

CHANGES = ("join", "leave", "fail")
ON_BAD_ROWS = ("fail", "count")


@dataclass(frozen=True)
class Scan:
    """Events, and the table of what is in them."""

    good: DataFrame
    """The events, without bad rows."""
    table: DataFrame
    """group, kind, member, source, change_us, events, first_us, last_us: one row each combination"""
    events: int
    kinds: Mapping[str, int]
    bad_rows: Mapping[str, int]
    """By reason."""


def scan_table(events: DataFrame) -> DataFrame:
    """Return what is in classified events; joins and departures have a row for each time."""
    change = F.when(F.col("kind").isin(*CHANGES) & F.col("problem").isNull(), F.col("time_us"))
    good = F.col("problem").isNull()
    return events.groupBy(
        "problem",
        F.when(good, F.col("group")).alias("group"),
        F.when(good, F.col("kind")).alias("kind"),
        F.when(good, F.col("member")).alias("member"),
        F.when(good, F.col("source")).alias("source"),
        change.alias("change_us"),
    ).agg(F.count("*").alias("events"), F.min("time_us").alias("first_us"), F.max("time_us").alias("last_us"))


def scanned(events: DataFrame, work: WorkFolder, explain: Callable[[Mapping[str, int]], str] | None) -> Scan:
    """Look through events once; if bad rows are to be explained, they are refused."""
    # What a source sends, it sends: who wrote it down does not matter.
    sender = F.when(F.col("kind") == "send", F.col("source")).otherwise(F.col("member"))
    events = work.in_place(events.withColumn("member", F.coalesce(sender, F.col("member"))))
    table = work.keep("scan", scan_table(events))
    rows = table.groupBy("problem", "kind").agg(F.sum("events").alias("events")).collect()
    bad = {row["problem"]: row["events"] for row in rows if row["problem"] is not None}
    if bad and explain is not None:
        raise InvalidInput(explain(bad))
    kinds = {row["kind"]: row["events"] for row in rows if row["problem"] is None}
    good = table.where("problem is null").drop("problem")
    return Scan(
        good=events.where("problem is null").drop("problem"),
        table=good,
        events=sum(kinds.values()),
        kinds=dict(sorted(kinds.items())),
        bad_rows=dict(sorted(bad.items())),
    )
