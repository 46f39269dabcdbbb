"""Which messages leave the state of a stream, and which events come too late for that.

A message leaves when it is stable and nothing more is expected of it: it was stable before the watermark,
all that was done with it was before the watermark, and whoever claims or releases messages of its source
at all has claimed and released it, or has had long enough. An event is *untimely* if it is older than the
watermark, names a message that left, or makes the past of a group another one; then everything is computed
anew.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from stablecast.pipeline.analysis.membership import Membership

_LAST_TOUCHED = """
    greatest(array_max(transform(pairs, p -> greatest(p.have, p.released))),
        array_max(transform(claims, c -> c.claimed)))
"""
_DONE = (
    "sent < now and stable < now and coalesce(touched < now, true) and coalesce(detected_last < now, true)"
)
_GOING = "exists(pairs, p -> coalesce(p.end >= now, false) and p.released is null)"
_CLAIMED = "(claimers is null or not exists(claimers, c -> c.start <= sent and c.covered < seq))"
_RELEASED = """
    (releasers is null or size(array_except(
        transform(filter(releasers, r -> r.start <= sent), r -> r.neg),
        transform(filter(pairs, p -> p.released is not null), p -> p.neg))) = 0)
"""


def marked(
    judged: DataFrame,
    marks: DataFrame,
    claimers: DataFrame,
    releasers: DataFrame,
    membership: Membership,
    linger_us: int,
) -> DataFrame:
    """Add ``leaves`` to messages with their detections."""
    staying = membership.incarnations.where("end is null").select("who", "start")
    claiming = (
        claimers.join(staying, "who")
        .groupBy("src")
        .agg(F.collect_list(F.struct("start", "covered")).alias("claimers"))
    )
    releasing = (
        releasers.join(staying, "who")
        .groupBy("src")
        .agg(F.collect_list(F.struct("start", (-F.col("who")).alias("neg"))).alias("releasers"))
    )
    now = marks.select(F.col("mid").alias("src"), "now")
    known = (
        judged.join(F.broadcast(now), "src")
        .join(F.broadcast(claiming), "src", "left")
        .join(F.broadcast(releasing), "src", "left")
        .withColumn("touched", F.expr(_LAST_TOUCHED))
    )
    finished = f"{_DONE} and not {_GOING} and ({_CLAIMED} and {_RELEASED} or stable < now - {linger_us})"
    leaves = F.coalesce(F.expr(finished), F.lit(False)).alias("leaves")
    return known.select(*judged.columns, leaves)


def untimely(
    numbered: DataFrame,
    pairs: DataFrame,
    marks: DataFrame,
    line: DataFrame,
    thin: DataFrame,
    claimers: DataFrame,
    membership: Membership,
) -> DataFrame:
    """Return a row for each event, and pair of the state, that does not fit what has left; see the module."""
    before = marks.where("before is not null").select("mid", "before")
    incarnations = membership.incarnations.select("who", "mid", "start", "end")
    starts = incarnations.select("who", "start")
    left = line.select("src", F.col("last_seq").alias("left_to"), F.col("last_sent").alias("left_sent"))
    gone = thin.groupBy("src").agg(F.max("seq").alias("thin_to"), F.max("sent").alias("thin_sent"))
    known = (
        numbered.join(F.broadcast(before.withColumnRenamed("mid", "src")), "src")
        .join(F.broadcast(left), "src", "left")
        .join(F.broadcast(gone), "src", "left")
    )
    old = known.where("time_us < before")
    of_left = known.where("kind != 'stable' and seq <= left_to")
    of_thin = known.where("kind != 'stable' and seq <= thin_to").join(
        thin.select("src", "seq"), ["src", "seq"]
    )
    claims = (
        known.where("kind = 'stable'")
        .join(F.broadcast(starts), "who")
        .join(F.broadcast(claimers), ["src", "who"], "left")
        .where(
            "coalesce(covered, -1) < greatest(left_to, thin_to) and start <= greatest(left_sent, thin_sent)"
        )
    )
    latest = "greatest(sent, have, released_last, claimed, released)"
    moved = pairs.join(F.broadcast(incarnations), "who").where("have > end")
    nexts = incarnations.select((F.col("who") - 1).alias("who"), "mid", F.col("start").alias("next"))
    again = pairs.join(F.broadcast(nexts), "who").where(f"who >= mid and {latest} >= next")
    return any_of(old, of_left, of_thin, claims, moved, again)


def any_of(*wrong: DataFrame) -> DataFrame:
    """Return a row for each of what was found, whatever its columns."""
    return reduce(DataFrame.union, (one.select(F.lit(1).alias("one")) for one in wrong))


def other_past(before: DataFrame, after: DataFrame, left: DataFrame) -> DataFrame:
    """Return groups that messages have left and that turn out to have other members, for want of joins."""
    return (
        _facts(before)
        .join(_facts(after).toDF("group", "joins_now", "active_now", "last_now"), "group")
        .join(left.select("group").distinct(), "group")
        .where("(joins = 0 and joins_now > 0) or (joins = 0 and active_now > active)")
    )


def _facts(scan: DataFrame) -> DataFrame:
    active = F.when(F.col("kind").isin("send", "receive"), F.col("member"))
    return scan.groupBy("group").agg(
        F.count(F.when(F.col("kind") == "join", 1)).alias("joins"),
        F.size(F.collect_set(active)).alias("active"),
        F.max("last_us").alias("last_us"),
    )


def late_changes(scan: DataFrame, before: DataFrame, delay_us: int) -> DataFrame:
    """Return who joined, left or failed before the watermark of the parts before."""
    marks = before.groupBy("group").agg((F.max("last_us") - delay_us).alias("before"))
    return scan.where("change_us is not null").join(marks, "group").where("change_us < before")
