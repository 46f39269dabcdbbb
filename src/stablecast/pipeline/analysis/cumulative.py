"""Receipts that stand for everything up to their number, as a consumer's commits do, one by one.

A number was first covered by the earliest receipt of it or of any larger one. So receipts need no order:
a member's earliest receipt in each run of numbers is found, a small table of runs tells each run the
earliest of those in later ones, and within a run the receipts are steps over its numbers. A receipt that
goes back, or comes again, is never the earliest of any number and adds nothing.

Only numbers that were sent are covered: each run has a bit for each of them, and no range is longer than
a run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from stablecast.pipeline.analysis.packing import RUN
from stablecast.pipeline.analysis.workspace import partitions_for
from stablecast.trace.schema import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from stablecast.pipeline.analysis.scan import Scan
    from stablecast.pipeline.analysis.workspace import WorkFolder

WORD = 64
"""Numbers of a run that have their bits in one long."""
_RUN_KEY = ("group", "source", "run")
_RUN_OF_SEQ = f"seq div {RUN}"
_WAS_SENT = f"getbit(sent[int(n % {RUN} div {WORD})], int(n % {WORD})) = 1"


def one_by_one(scan: Scan, work: WorkFolder) -> Scan:
    """Return a scan whose events have a receipt for each number that a cumulative one covered first.

    What was found in the original events stays as it is, but for their number.
    """
    with partitions_for(scan.table.sparkSession, scan.events) as partitions:
        runs = work.keep("sent-runs", sent_runs(scan.good))
        commits = work.keep("commits", commits_of(scan.good))
        steps = work.keep("steps", steps_of(commits, runs, partitions))
    most = steps.agg(F.sum(F.expr("high - low + 1"))).collect()[0][0] or 0
    others = scan.events - scan.kinds.get("receive", 0)
    return replace(scan, good=expanded(scan.good, steps), events=others + most)


def sent_runs(events: DataFrame) -> DataFrame:
    """Return the runs of numbers in which anything was sent, with a bit for each number that was."""
    bit = F.expr(f"shiftleft(1L, int(seq % {WORD}))")
    word = F.expr(f"seq % {RUN} div {WORD}")
    words = [F.bit_or(F.when(word == place, bit).otherwise(0)) for place in range(RUN // WORD)]
    sends = events.where("kind = 'send'").withColumn("run", F.expr(_RUN_OF_SEQ))
    return sends.groupBy(*_RUN_KEY).agg(F.array(*words).alias("sent"))


def commits_of(events: DataFrame) -> DataFrame:
    """Return each member's earliest receipt of each number that it names."""
    receipts = events.where("kind = 'receive'").groupBy("group", "source", "member", "seq")
    return receipts.agg(F.min("time_us").alias("time_us")).withColumn("run", F.expr(_RUN_OF_SEQ))


def steps_of(commits: DataFrame, runs: DataFrame, partitions: int) -> DataFrame:
    """Return group, source, member, low, high, time_us and sent: who first covered these numbers when.

    A step is within one run, in which something was sent; ``sent`` has the bits of that run.
    """
    point = (*_RUN_KEY, "member", "seq")
    within = commits.join(runs, [*_RUN_KEY], "left_semi").select(*point, "time_us")
    points = within.union(_ends(commits, runs).select(*point, "time_us"))
    # From here on everything about a run of numbers is in one place.
    together = points.repartition(partitions, *_RUN_KEY).groupBy(*point).agg(F.min("time_us").alias("at"))
    downwards = Window.partitionBy(*_RUN_KEY, "member").orderBy(F.desc("seq"))
    earliest = F.min("at").over(downwards.rowsBetween(Window.unboundedPreceding, 0))
    steps = together.select(
        *_RUN_KEY,
        "member",
        (F.coalesce(F.lead("seq").over(downwards), F.expr(f"run * {RUN} - 1")) + 1).alias("low"),
        F.col("seq").alias("high"),
        earliest.alias("time_us"),
    )
    return steps.join(runs, [*_RUN_KEY]).select("group", "source", "member", "low", "high", "time_us", "sent")


def _ends(commits: DataFrame, runs: DataFrame) -> DataFrame:
    """Return the last number of each run with when each member first committed anything in a later run."""
    cell = (*_RUN_KEY, "member")
    first = commits.groupBy(*cell).agg(F.min("time_us").alias("time_us"))
    members = first.select("group", "source", "member").distinct()
    every = runs.drop("sent").join(members, ["group", "source"])
    asked = every.select(*cell, F.lit(None).cast("long").alias("time_us"), F.lit(True).alias("asked"))
    cells = (
        asked.union(first.select(*cell, "time_us", F.lit(False)))
        .groupBy(*cell)
        .agg(F.min("time_us").alias("first"), F.max("asked").alias("asked"))
    )
    downwards = Window.partitionBy("group", "source", "member").orderBy(F.desc("run"))
    later = F.min("first").over(downwards.rowsBetween(Window.unboundedPreceding, -1))
    last = F.expr(f"run * {RUN} + {RUN - 1}")
    ends = cells.select(*cell, "asked", last.alias("seq"), later.alias("time_us"))
    return ends.where("asked and time_us is not null")


def expanded(events: DataFrame, steps: DataFrame) -> DataFrame:
    """Return events with one receipt for each number of each step in place of the receipts that they had."""
    numbers = F.expr(f"filter(sequence(low, high), n -> {_WAS_SENT})")
    receipts = steps.select(
        "group",
        F.lit("receive").alias("kind"),
        "member",
        "source",
        F.explode(numbers).alias("seq"),
        "time_us",
        F.lit(None).cast("int").alias("bytes"),
    )
    return events.where("kind != 'receive'").select(*COLUMNS).union(receipts.select(*COLUMNS))
