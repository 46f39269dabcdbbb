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
    claims = packed.select("src", "run", "seq", F.expr("inline(filter(pairs, p -> p.claimed is not null))"))
    return claims.withColumn("who", -F.col("neg")).drop("neg", "have", "released")


def detections_of(claims: DataFrame, messages: DataFrame, runs: DataFrame) -> DataFrame:
    """Return src, run, seq, detected_first, detected_last, by claims of members that must have a message."""
    steps = _steps(claims, runs.where("messages > 0").select("src", "run"))
    always = F.expr("start is null and end is null")
    shared = steps.where(always).groupBy("src", "run", "low", "high")
    plain = shared.agg(F.min("at").alias("first"), F.max("at").alias("last")).select(
        "src", "run", F.explode(F.sequence("low", "high")).alias("seq"), "first", "last"
    )
    sometimes = steps.where(~always).select(
        "src", "run", F.explode(F.sequence("low", "high")).alias("seq"), "who", "own", "start", "end", "at"
    )
    required = "(own and who = sender) or ((start is null or start <= sent) and (end is null or end > sent))"
    chosen = (
        sometimes.join(messages.select("src", "run", "seq", "sent", "sender"), ["src", "run", "seq"])
        .where(required)
        .select("src", "run", "seq", F.col("at").alias("first"), F.col("at").alias("last"))
    )
    return (
        plain.union(chosen)
        .groupBy("src", "run", "seq")
        .agg(F.min("first").alias("detected_first"), F.max("last").alias("detected_last"))
    )


def _steps(claims: DataFrame, runs: DataFrame) -> DataFrame:
    """Return low, high and at: since when each claimer has covered these numbers of a run with messages."""
    claimers = claims.groupBy("src", "who").agg(*(F.first(c).alias(c) for c in ("own", "start", "end")))
    first = claims.groupBy("src", "who", "run").agg(F.min("claimed").alias("first"))
    nothing = runs.join(claimers.select("src", "who"), "src").select(
        "src", "who", "run", F.lit(None).cast("long")
    )
    cells = first.union(nothing).groupBy("src", "who", "run").agg(F.min("first").alias("first"))
    after = Window.partitionBy("src", "who").orderBy(F.desc("run")).rowsBetween(Window.unboundedPreceding, -1)
    later = cells.withColumn("later", F.min("first").over(after)).join(runs, ["src", "run"], "left_semi")
    ends = later.where("later is not null").select(
        "src", "run", "who", F.expr(f"(run + 1) * {RUN} - 1").alias("seq"), F.col("later").alias("claimed")
    )
    within = claims.select("src", "run", "who", "seq", "claimed").join(runs, ["src", "run"], "left_semi")
    points = within.union(ends).groupBy("src", "run", "who", "seq").agg(F.min("claimed").alias("claimed"))
    downwards = Window.partitionBy("src", "run", "who").orderBy(F.desc("seq"))
    steps = points.select(
        "src",
        "run",
        "who",
        (F.coalesce(F.lead("seq").over(downwards), F.expr(f"run * {RUN} - 1")) + 1).alias("low"),
        F.col("seq").alias("high"),
        F.min("claimed").over(downwards.rowsBetween(Window.unboundedPreceding, 0)).alias("at"),
    )
    return steps.join(F.broadcast(claimers), ["src", "who"])


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
