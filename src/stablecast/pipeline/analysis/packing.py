"""The one wide step: all that a trace tells of a message, brought together in one row.

Events are sent to partitions by source and a run of numbers, so that a source that sends most of a trace
is spread like any other. There, what one incarnation did with one message becomes a *pair*, and the pairs
of a message become its array. Everything after this step works on these rows, most of it row by row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from stablecast.pipeline.analysis.membership import Membership

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RUN = 256
"""Numbers of a source that stay together."""
PAIR_KEY = ("src", "run", "seq", "who")
MESSAGE_KEY = ("src", "run", "seq")
MESSAGE_KINDS = ("send", "receive", "stable", "release")


def numbered_events(events: DataFrame, membership: Membership) -> DataFrame:
    """Return the events of messages with numbers for names: src, seq, who, kind, time_us, bytes, late."""
    shape = membership.shape
    columns: list[str | Column] = ["group", F.col("name").alias("member"), "mid", "end"]
    member = membership.members.select(*columns, *(["starts", "ends"] if shape.returns else []))
    source = membership.members.select("group", F.col("name").alias("source"), F.col("mid").alias("src"))
    of_messages = events.where(F.col("kind").isin(*MESSAGE_KINDS))
    joined = of_messages.join(F.broadcast(member), ["group", "member"]).join(
        F.broadcast(source), ["group", "source"]
    )
    end, who = F.col("end"), F.col("mid")
    if shape.returns:
        place = F.expr("greatest(size(filter(starts, s -> s <= time_us)) - 1, 0)")
        several = F.col("starts").isNotNull()
        end = F.when(several, F.col("ends")[place]).otherwise(end)
        who = F.when(several, who + place).otherwise(who)
    late = (F.col("kind") == "receive") & F.coalesce(end < F.col("time_us"), F.lit(False))
    return joined.select(
        "src",
        F.expr(f"seq div {RUN}").alias("run"),
        "seq",
        who.alias("who"),
        "kind",
        "time_us",
        "bytes",
        (late if shape.departures else F.lit(False)).alias("late"),
    )


def pairs_of(numbered: DataFrame, partitions: int) -> DataFrame:
    """Return what each incarnation did with each message."""
    # A number for a kind, because strings would be compared again for each of the columns below.
    code = F.when(F.col("late"), _LATE)
    for kind, number in _CODES.items():
        code = code.when(F.col("kind") == kind, number)
    thin = numbered.select(*PAIR_KEY, "time_us", "bytes", code.cast("tinyint").alias("code"))
    together = thin.repartition(partitions, "src", "run")
    sends, receives, releases, claims = (
        _times(_CODES[kind]) for kind in ("send", "receive", "release", "stable")
    )
    told = F.when(F.col("code") >= _CODES["receive"], F.col("time_us"))
    return together.groupBy(*PAIR_KEY).agg(
        F.min(sends).alias("sent"),
        F.count(sends).alias("sends"),
        F.max(F.when(F.col("code") == _CODES["send"], F.col("bytes"))).alias("bytes"),
        F.min(receives).alias("have"),
        F.count(receives).alias("receives"),
        F.min(releases).alias("released"),
        F.max(releases).alias("released_last"),
        F.count(releases).alias("releases"),
        F.min(claims).alias("claimed"),
        F.count(claims).alias("claims"),
        F.min(told).alias("told"),
    )


_CODES = {"send": 0, "stable": 1, "receive": 2, "release": 3}
_LATE = 4
"""A receipt that does not count."""


def _times(code: int) -> Column:
    return F.when(F.col("code") == code, F.col("time_us"))


def packed_messages(pairs: DataFrame, membership: Membership) -> DataFrame:
    """Return one row for each message that anything is told of.

    Its columns: src, run, seq, sent, sends, bytes, received_first (by another), released_first,
    released_last, told (the earliest receipt or release and who made it), again (whether anybody did anything
    with it twice), claims (who says that it is stable), and pairs, the latest receipt first, of equals the
    smallest name.
    """
    own, start, end = F.col("who") == F.col("src"), F.lit(None).cast("long"), F.lit(None).cast("long")
    if membership.shape.changes or membership.shape.returns:
        known = membership.incarnations.join(membership.groups.select("gid", "first_send_us"), "gid").select(
            "who", "mid", "end", F.when(F.expr("start > first_send_us"), F.col("start")).alias("start")
        )
        pairs = pairs.join(F.broadcast(known), "who")
        own, start, end = F.col("mid") == F.col("src"), F.col("start"), F.col("end")
    again = F.expr("receives > 1 or releases > 1 or claims > 1")
    pair = F.struct(
        "have",
        (-F.col("who")).alias("neg"),
        "released",
        own.alias("own"),
        again.alias("again"),
        start.alias("start"),
        end.alias("end"),
    )
    claim = F.struct(
        "who", "claimed", own.alias("own"), again.alias("again"), start.alias("start"), end.alias("end")
    )
    return pairs.groupBy(*MESSAGE_KEY).agg(
        F.min("sent").alias("sent"),
        F.sum("sends").alias("sends"),
        F.max("bytes").alias("bytes"),
        F.min(F.when(~own, F.col("have"))).alias("received_first"),
        F.min("released").alias("released_first"),
        F.max("released_last").alias("released_last"),
        F.min(F.when(F.col("told").isNotNull(), F.struct("told", "who"))).alias("told"),
        F.max(again).alias("again"),
        F.collect_list(F.when(F.col("claimed").isNotNull(), claim)).alias("claims"),
        F.sort_array(F.collect_list(pair), asc=False).alias("pairs"),
    )
