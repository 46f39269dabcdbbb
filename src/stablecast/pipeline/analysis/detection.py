"""When members said that a message was stable, and whether they said so too early.

A claim is cumulative: it covers all numbers up to its own. In each run of numbers a member's claims are
steps, and what the member claims in later runs covers what is left; the steps are laid over the numbers,
and the first and the last member to cover each are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from stablecast.pipeline.analysis.packing import RUN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def claims_of(packed: DataFrame) -> DataFrame:
    """Return each one's first claim of a number: src, run, seq, who, own, claimed, start, end, again."""
    return packed.select("src", "run", "seq", F.expr("inline(claims)"))


def detections_of(steps: DataFrame, messages: DataFrame) -> DataFrame:
    """Return src, run, seq, detected_first, detected_last, by claims of members that must have a message."""
    throughout = F.expr("to_the_end and start is null and end is null")
    sometimes = steps.where(~throughout).select(
        "src", "run", F.explode(F.sequence("low", "high")).alias("seq"), "who", "own", "start", "end", "at"
    )
    required = "(own and who = sender) or ((start is null or start <= sent) and (end is null or end > sent))"
    chosen = (
        sometimes.join(messages.select("src", "run", "seq", "sent", "sender"), ["src", "run", "seq"])
        .where(required)
        .select("src", "run", "seq", F.col("at").alias("first"), F.col("at").alias("last"))
    )
    return (
        _covered(steps.where(throughout), messages)
        .union(chosen)
        .groupBy("src", "run", "seq")
        .agg(F.min("first").alias("detected_first"), F.max("last").alias("detected_last"))
    )


def _covered(steps: DataFrame, messages: DataFrame) -> DataFrame:
    """Return src, run, seq, first and last: when messages were covered by the first and the last claimer.

    For claimers that cover whole runs, whoever they are. Each covers later numbers no earlier, so the last
    to cover a number did so at the latest time of all steps that begin up to it, and the first at the
    earliest of all that end there or later.
    """
    nothing = F.lit(None).cast("long")
    ends = F.explode(
        F.array(
            F.struct(F.col("low").alias("seq"), F.lit(0).alias("what")),
            F.struct(F.col("high").alias("seq"), F.lit(2).alias("what")),
        )
    ).alias("one")
    points = steps.select("src", "run", ends, "at").select("src", "run", "one.*", "at")
    points = points.union(messages.select("src", "run", "seq", F.lit(1), nothing))
    # Both ways: a frame that reaches to the end would be gone through again for each row.
    run, so_far = Window.partitionBy("src", "run"), (Window.unboundedPreceding, 0)
    upwards = run.orderBy("seq", "what").rowsBetween(*so_far)
    downwards = run.orderBy(F.desc("seq"), F.desc("what")).rowsBetween(*so_far)
    begun = F.when(F.col("what") == 0, F.col("at"))
    ended = F.when(F.col("what") == 2, F.col("at"))
    told = points.select(
        "src",
        "run",
        "seq",
        "what",
        F.min(ended).over(downwards).alias("first"),
        F.max(begun).over(upwards).alias("last"),
    )
    return told.where("what = 1 and first is not null").drop("what")


def steps_of(claims: DataFrame, runs: DataFrame) -> DataFrame:
    """Return low, high and at: since when each claimer has covered these numbers of a run with messages.

    Further columns: src, run, who, own, start, end, and to_the_end, which tells of those that cover all of
    the run, sooner or later.
    """
    asked = runs.where("messages > 0").select("src", "run")
    claimer = ("src", "who", "own", "start", "end")
    nothing = asked.join(claims.select(*claimer).distinct(), "src").select(
        *claimer, "run", F.lit(None).cast("long"), F.lit(True)
    )
    every = claims.select(*claimer, "run", "claimed", F.lit(False).alias("asked")).union(nothing)
    cells = every.groupBy(*claimer, "run").agg(F.min("claimed").alias("first"), F.max("asked").alias("asked"))
    after = Window.partitionBy("src", "who").orderBy(F.desc("run")).rowsBetween(Window.unboundedPreceding, -1)
    later = cells.withColumn("later", F.min("first").over(after)).where("asked and later is not null")
    last = F.expr(f"(run + 1) * {RUN} - 1")
    ends = later.select(*claimer, "run", last.alias("seq"), F.col("later").alias("claimed"))
    within = claims.join(F.broadcast(asked), ["src", "run"], "left_semi")
    downwards = Window.partitionBy("src", "run", "who").orderBy(F.desc("seq"))
    steps = (
        within.select(*ends.columns)
        .union(ends)
        .select(
            *claimer,
            "run",
            (F.coalesce(F.lead("seq").over(downwards), F.expr(f"run * {RUN} - 1")) + 1).alias("low"),
            F.col("seq").alias("high"),
            (F.first("seq").over(downwards) == last).alias("to_the_end"),
            F.min("claimed").over(downwards.rowsBetween(Window.unboundedPreceding, 0)).alias("at"),
        )
    )
    # Of two claims of the same number, one covers nothing.
    return steps.where("low <= high")


def early_claims(claims: DataFrame, line: DataFrame, runs: DataFrame) -> DataFrame:
    """Return claims made before everything that they cover was stable: src, seq, who, claimed, truth, again.

    ``truth`` is when it was, or null.
    """
    nothing = F.lit(None)
    points = line.select(
        "src", "run", "seq", F.lit(0).alias("is_claim"), "latest", "open", nothing, nothing, nothing
    ).union(
        claims.select(
            "src",
            "run",
            "seq",
            F.lit(1),
            nothing.cast("long"),
            nothing.cast("long"),
            "who",
            "claimed",
            "again",
        )
    )
    points = points.toDF("src", "run", "seq", "is_claim", "latest", "open", "who", "claimed", "again")
    so_far = (
        Window.partitionBy("src", "run").orderBy("seq", "is_claim").rowsBetween(Window.unboundedPreceding, 0)
    )
    before = runs.where("all_messages > 0").select("src", "run", "latest_before", "open_before")
    told = points.join(F.broadcast(before), ["src", "run"]).select(
        "src",
        "seq",
        "is_claim",
        "who",
        "claimed",
        "again",
        F.coalesce(F.last("latest", ignorenulls=True).over(so_far), F.col("latest_before")).alias("latest"),
        F.coalesce(F.last("open", ignorenulls=True).over(so_far), F.col("open_before")).alias("open"),
    )
    early = told.where("is_claim = 1 and (open > 0 or claimed < latest)")
    return early.select(
        "src", "seq", "who", "claimed", F.expr("if(open > 0, null, latest)").alias("truth"), "again"
    )


def claims_of_unsent(claims: DataFrame, runs: DataFrame) -> DataFrame:
    """Return claims that reach beyond the last message of their source: src, seq, time_us, who."""
    last = runs.groupBy("src").agg(F.max("last_seq").alias("last_seq"))
    beyond = claims.join(F.broadcast(last), "src").where("seq > last_seq")
    return beyond.select("src", "seq", F.col("claimed").alias("time_us"), "who")
