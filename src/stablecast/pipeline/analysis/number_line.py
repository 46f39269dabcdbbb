"""The messages of each source in the order of their numbers: how far all is stable, what is out of line.

A source may have most of a trace, so nothing here sorts a whole source: runs of numbers are added up one
by one, a small table of runs tells each what was before it, and only within a run are messages sorted.

What was before a part of a trace may be carried over from earlier parts: one row a source with src,
messages, first_seq, last_seq, last_sent, latest (when the last was stable), stable_seq and stable_us (the
end of its stable prefix).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from stablecast.pipeline.analysis.workspace import empty

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EARLIEST = "earliest"
FirstSeq = int | str
"""The number that every source begins with, or ``earliest``: the smallest that it sent."""
CARRY = (
    "src int, messages bigint, first_seq bigint, last_seq bigint, last_sent bigint, latest bigint,"
    " stable_seq bigint, stable_us bigint"
)
CARRY_COLUMNS = tuple(column.split()[0] for column in CARRY.split(","))
LINE = ("src", "run", "seq", "sent", "stable")


def nothing_before(frame: DataFrame) -> DataFrame:
    """Return what a whole trace carries over: nothing."""
    return empty(frame.sparkSession, CARRY)


def runs_of(messages: DataFrame, packed: DataFrame, carry: DataFrame) -> DataFrame:
    """Return for each source and run of numbers what is in it and what was before it.

    Runs without messages are there if anything is told of their numbers.
    """
    runs = messages.groupBy("src", "run").agg(
        F.count("*").alias("messages"),
        F.count("stable").alias("stables"),
        F.max("stable").alias("latest"),
        F.min("seq").alias("first_seq"),
        F.max("seq").alias("last_seq"),
        F.max_by("sent", "seq").alias("last_sent"),
    )
    whole = packed.select("src", "run").union(messages.select("src", "run")).distinct()
    earlier = carry.drop("stable_seq", "stable_us").toDF(
        *("src", *(f"c_{name}" for name in carry.columns[1:6]))
    )
    known = whole.join(runs, ["src", "run"], "left").join(F.broadcast(earlier), "src", "left")
    source = Window.partitionBy("src")
    before = source.orderBy("run").rowsBetween(Window.unboundedPreceding, -1)
    carried, none = F.coalesce("c_messages", F.lit(0)), F.lit(0)
    return known.select(
        "src",
        "run",
        F.coalesce("messages", none).alias("messages"),
        (F.coalesce(F.sum("messages").over(before), none) + carried).alias("messages_before"),
        F.coalesce(F.sum(F.col("messages") - F.col("stables")).over(before), none).alias("open_before"),
        F.greatest(F.max("latest").over(before), "c_latest").alias("latest_before"),
        F.coalesce(F.max("last_seq").over(before), "c_last_seq").alias("seq_before"),
        F.coalesce(F.last("last_sent", ignorenulls=True).over(before), "c_last_sent").alias("sent_before"),
        F.coalesce("c_first_seq", F.min("first_seq").over(source)).alias("first_seq"),
        F.greatest(F.max("last_seq").over(source), "c_last_seq").alias("last_seq"),
        (F.coalesce(F.sum("messages").over(source), none) + carried).alias("all_messages"),
    )


def line_of(messages: DataFrame, runs: DataFrame, first_seq: FirstSeq) -> DataFrame:
    """Return messages with what is true of all of their source up to them.

    Adds latest (when the last of them was stable), open (how many are not), whole (whether no number is
    missing from the first on), seq_before and sent_before (of the message before).
    """
    first = F.col("first_seq") if first_seq == EARLIEST else F.lit(int(first_seq)).cast("long")
    before = (
        runs.where("messages > 0").drop("messages", "last_seq", "all_messages").withColumn("first", first)
    )
    run = Window.partitionBy("src", "run").orderBy("seq")
    up_to = run.rowsBetween(Window.unboundedPreceding, 0)
    place = F.row_number().over(run) + F.col("messages_before")
    return (
        messages.select(*LINE)
        .join(before, ["src", "run"])
        .select(
            *LINE,
            "first",
            F.greatest(F.col("latest_before"), F.max("stable").over(up_to)).alias("latest"),
            (F.col("open_before") + F.sum(F.col("stable").isNull().cast("int")).over(up_to)).alias("open"),
            (place == F.col("seq") - F.col("first") + 1).alias("whole"),
            F.coalesce(F.lag("seq").over(run), F.col("seq_before")).alias("seq_before"),
            F.coalesce(F.lag("sent").over(run), F.col("sent_before")).alias("sent_before"),
        )
    )


def frontiers_of(line: DataFrame, carry: DataFrame) -> DataFrame:
    """Return src, time_us, sent, stable: one row for each change of a source's stable prefix.

    Of what is carried over only the last change is there, unless it can no longer grow.
    """
    prefix = line.where("open = 0 and whole").select("src", F.col("latest").alias("time_us"), "seq")
    last = carry.where("stable_us = latest").select("src", "stable_us", "stable_seq")
    changes = prefix.union(last).groupBy("src", "time_us").agg(F.max("seq").alias("stable"))
    return _with_sent(changes, line, carry)


def _with_sent(changes: DataFrame, line: DataFrame, carry: DataFrame) -> DataFrame:
    """Add the largest number that had been sent by then, in cells of time as numbers are in runs."""
    sends = line.select("src", F.col("sent").alias("at"), "seq", F.lit(None).cast("long").alias("stable"))
    asked = changes.select(
        "src", F.col("time_us").alias("at"), F.lit(None).cast("long").alias("seq"), "stable"
    )
    points = sends.union(asked)
    spans = (
        points.groupBy("src")
        .agg(F.min("at").alias("since"), F.max("at").alias("until"), F.count("*").alias("points"))
        .select("src", "since", F.expr("(until - since) div greatest(points div 256, 1) + 1").alias("width"))
    )
    cell = F.expr("(at - since) div width").alias("cell")
    placed = points.join(F.broadcast(spans), "src").select("src", "at", "seq", "stable", cell)
    cells = placed.groupBy("src", "cell").agg(F.max("seq").alias("most"))
    before = Window.partitionBy("src").orderBy("cell").rowsBetween(Window.unboundedPreceding, -1)
    earlier = carry.select("src", F.col("last_seq").alias("earlier"))
    cells = cells.select("src", "cell", F.max("most").over(before).alias("most_before"))
    cells = cells.join(F.broadcast(earlier), "src", "left")
    so_far = Window.partitionBy("src", "cell").orderBy("at")  # all of the same time together
    sent = F.greatest(F.col("most_before"), F.col("earlier"), F.max("seq").over(so_far))
    told = placed.join(F.broadcast(cells), ["src", "cell"]).withColumn("sent", sent)
    return told.where("stable is not null").select("src", F.col("at").alias("time_us"), "sent", "stable")
