"""Who was a member when: names as numbers, incarnations, and how many had to receive what was sent at a time.

A member that left and came back is a new one under the same name; each of its stays is an *incarnation*.
Everything here is small, made from the table of a first scan, and is joined to events by broadcast.

Numbers follow the order of names, so that the smaller of two numbers is the smaller name. ``mid`` is a
name in a group, ``who`` one of its incarnations: ``mid``, ``mid + 1`` and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

EVER, NEVER = -(2**63), 2**63 - 1
"""When one joined who was there before the trace began, and one who never did."""

_STAYS = """
    aggregate(joins, cast(array() as array<struct<start: bigint, end: bigint>>), (stays, join) ->
        if(size(stays) > 0 and (element_at(stays, -1).end is null or join < element_at(stays, -1).end),
           stays,
           concat(stays, array(struct(join as start, array_min(filter(departures, d -> d >= join)) as end)))))
"""


@dataclass(frozen=True)
class Shape:
    """What a trace has at all; where it has none of it, a simpler plan does."""

    returns: bool
    """Whether somebody left and came back."""
    changes: bool
    """Whether somebody came, went, or was no member."""
    departures: bool


@dataclass(frozen=True)
class Membership:
    """The tables of who was there, and how many."""

    members: DataFrame
    """group, name, gid, mid, start, end (of the first incarnation), starts, ends (null for a single one)"""
    incarnations: DataFrame
    """who, mid, gid, group, name, start, end"""
    epochs: DataFrame
    """gid, cell, since, until, staying, leaving: how many were members and would stay or go, by time"""
    groups: DataFrame
    """gid, group, first_us, last_us, first_send_us, width (of the epochs' cells), leavers (who goes when),
    returns, departures, changes (as :class:`Shape` has them)"""
    shape: Shape


def members_of(scan: DataFrame) -> DataFrame:
    """Return every name that a scan found, with its number and its stays."""
    told = _told(scan)
    whole_group = Window.partitionBy("group")
    stays = told.withColumn("joined", F.max(F.size("joins") > 0).over(whole_group)).withColumn(
        "joins",
        F.when(F.col("joined"), F.col("joins"))
        .when(F.col("active"), F.array(F.lit(EVER)))
        .otherwise(F.col("joins")),
    )
    outsider = F.array(F.struct(F.lit(NEVER).alias("start"), F.array_min("departures").alias("end")))
    stays = stays.withColumn("stays", F.when(F.size("joins") > 0, F.expr(_STAYS)).otherwise(outsider))
    in_order = Window.orderBy("group", "name")
    several = F.size("stays") > 1
    return stays.select(
        "group",
        "name",
        F.dense_rank().over(Window.orderBy("group")).cast("int").alias("gid"),
        (F.sum(F.size("stays")).over(in_order) - F.size("stays")).cast("int").alias("mid"),
        F.expr("stays[0].start").alias("start"),
        F.expr("stays[0].end").alias("end"),
        F.when(several, F.col("stays.start")).alias("starts"),
        F.when(several, F.col("stays.end")).alias("ends"),
    )


def _told(scan: DataFrame) -> DataFrame:
    """Return every name in a group, whether it sent or received anything, and when it came and went."""
    sends = F.col("kind") == "send"
    active = F.col("kind").isin("send", "receive")
    nothing = F.lit(None).cast("long")
    does = F.struct(
        F.col("member").alias("name"), active.alias("active"), F.col("change_us").alias("change_us")
    )
    named = F.struct(F.col("source").alias("name"), sends.alias("active"), nothing.alias("change_us"))
    each = scan.select("group", "kind", F.explode(F.array(does, named)).alias("one"))
    told = each.select("group", "kind", "one.*").where("name is not null")
    joins = F.when(F.col("kind") == "join", F.col("change_us"))
    departures = F.when(F.col("kind") != "join", F.col("change_us"))
    return told.groupBy("group", "name").agg(
        F.max("active").alias("active"),
        F.array_sort(F.collect_set(joins)).alias("joins"),
        F.array_sort(F.collect_set(departures)).alias("departures"),
    )


def incarnations_of(members: DataFrame) -> DataFrame:
    """Return one row for each stay of each member."""
    stays = F.expr("arrays_zip(coalesce(starts, array(start)), coalesce(ends, array(end)))")
    stays = stays.cast("array<struct<start: bigint, end: bigint>>")
    one = members.select("gid", "mid", "group", "name", F.posexplode(stays))
    return one.select(
        (F.col("mid") + F.col("pos")).alias("who"),
        "mid",
        "gid",
        "group",
        "name",
        F.col("col.start").alias("start"),
        F.col("col.end").alias("end"),
    )


def groups_of(scan: DataFrame, incarnations: DataFrame) -> DataFrame:
    """Return the groups, with when their events were, who of them leaves, and what they have at all."""
    spans = scan.groupBy("group").agg(
        F.min("first_us").alias("first_us"),
        F.max("last_us").alias("last_us"),
        F.min(F.when(F.col("kind") == "send", F.col("first_us"))).alias("first_send_us"),
    )
    leaver = F.struct("end", (-F.col("who")).alias("neg"), "start")
    leaves = F.expr("end is not null and start < end")
    comes = F.expr(f"start > {EVER} and start < {NEVER}")
    stays = incarnations.groupBy("gid", "group").agg(
        F.collect_list(F.when(leaves, leaver)).alias("leavers"),
        (F.count(F.when(leaves, 1)) + F.count(F.when(comes, 1)) + 1).alias("boundaries"),
        F.max(F.col("who") != F.col("mid")).alias("returns"),
        (F.count("end") > 0).alias("departures"),
        F.max("start").alias("last_start"),
    )
    width = F.expr("last_us - first_us").cast("decimal(38, 0)") / F.col("boundaries")
    return stays.join(F.broadcast(spans), "group").select(
        "gid",
        "group",
        "first_us",
        "last_us",
        "first_send_us",
        (F.floor(width) + 1).cast("long").alias("width"),
        "leavers",
        "returns",
        "departures",
        F.expr("departures or coalesce(last_start > first_send_us, false)").alias("changes"),
    )


def epochs_of(incarnations: DataFrame, groups: DataFrame) -> DataFrame:
    """Return for each group and cell of time the spans that overlap it, and how many were members then."""
    real = incarnations.where(f"start < {NEVER} and (end is null or start < end)")
    stays = F.col("end").isNull().cast("int")
    comes = real.select(
        "gid", F.col("start").alias("since"), stays.alias("staying"), (1 - stays).alias("leaving")
    )
    goes = real.where("end is not null").select("gid", F.col("end").alias("since"), F.lit(0), F.lit(-1))
    nobody = groups.select("gid", F.lit(EVER).alias("since"), F.lit(0), F.lit(0))
    steps = comes.union(goes).union(nobody).groupBy("gid", "since").agg(F.sum("staying"), F.sum("leaving"))
    steps = steps.toDF("gid", "since", "staying", "leaving")
    so_far, by_time = Window.partitionBy("gid").orderBy("since"), Window.partitionBy("gid").orderBy("since")
    spans = steps.select(
        "gid",
        "since",
        F.coalesce(F.lead("since").over(by_time), F.lit(NEVER)).alias("until"),
        F.sum("staying").over(so_far).cast("int").alias("staying"),
        F.sum("leaving").over(so_far).cast("int").alias("leaving"),
    )
    cells = F.sequence(cell_of("greatest(since, first_us)"), cell_of("least(until - 1, last_us)"))
    within = spans.join(groups, "gid").where("since <= last_us and until > first_us")
    return within.select("gid", "since", "until", "staying", "leaving", F.explode(cells).alias("cell"))


def cell_of(time: str) -> Column:
    """Return a time's cell among those of its group's epochs."""
    return F.expr(f"({time} - first_us) div width")


def shape_of(groups: DataFrame) -> Shape:
    """Tell what the trace has at all: one row of truths is fetched."""
    row = groups.agg(*(F.max(name).alias(name) for name in ("returns", "changes", "departures"))).collect()[0]
    return Shape(returns=row["returns"], changes=row["changes"], departures=row["departures"])
