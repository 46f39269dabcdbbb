"""The tables that an analysis writes, with names for numbers again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from stablecast.pipeline.analysis.membership import Membership

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLES = ("messages", "frontiers", "buffers", "laggards", "violations")
"""The five of the event schema."""
FURTHER_TABLES = ("sources", "occupancy")
COLUMNS = {
    "messages": (
        *("group", "source", "seq", "bytes", "sent_us", "stable_us", "last_member", "required", "received"),
        *("detected_first_us", "detected_last_us", "released_first_us", "released_last_us"),
    ),
    "frontiers": ("group", "source", "time_us", "sent", "stable"),
    "buffers": ("group", "member", "messages_max", "bytes_max", "message_us"),
    "laggards": ("group", "member", "completed_last", "held_us", "held_bytes_us"),
    "violations": ("group", "kind", "member", "source", "seq", "time_us"),
    "sources": (
        *("group", "source", "messages", "first_seq", "last_seq", "stable_seq", "stable_us"),
        *("waiting_for", "waiting"),
    ),
    "occupancy": ("group", "member", "time_us", "messages", "bytes"),
}


class Names:
    """Puts names in the place of numbers."""

    def __init__(self, membership: Membership) -> None:
        self._members = membership.members.select("mid", "group", "name")
        self._groups = membership.groups.select("gid", "group")
        self._incarnations = membership.incarnations.select("who", "name")

    def source(self, frame: DataFrame) -> DataFrame:
        """Add group and source for ``src``."""
        names = self._members.select(F.col("mid").alias("src"), "group", F.col("name").alias("source"))
        return frame.join(F.broadcast(names), "src")

    def member(self, frame: DataFrame) -> DataFrame:
        """Add group and member for ``mid``."""
        names = self._members.select("mid", "group", F.col("name").alias("member"))
        return frame.join(F.broadcast(names), "mid")

    def who(self, frame: DataFrame, column: str, name: str) -> DataFrame:
        """Add the name of an incarnation; none for none."""
        names = self._incarnations.select(F.col("who").alias(column), F.col("name").alias(name))
        return frame.join(F.broadcast(names), column, "left")

    def group(self, frame: DataFrame) -> DataFrame:
        """Add the group for ``gid``."""
        return frame.join(F.broadcast(self._groups), "gid")


def with_detections(judged: DataFrame, detections: DataFrame | None) -> DataFrame:
    """Add when members knew; null for all if nobody said anything."""
    if detections is not None:
        return judged.join(detections, ["src", "run", "seq"], "left")
    nothing = F.lit(None).cast("long")
    return judged.withColumns({"detected_first": nothing, "detected_last": nothing})


def messages_table(judged: DataFrame, names: Names) -> DataFrame:
    """Return one row a message that was sent, from messages with detections."""
    times = ("sent", "stable", "detected_first", "detected_last", "released_first", "released_last")
    named = names.who(names.source(judged.drop("pairs")), "last", "last_member")
    return named.withColumnsRenamed({time: f"{time}_us" for time in times}).select(*COLUMNS["messages"])


def laggards_table(judged: DataFrame, names: Names) -> DataFrame:
    """Return for each member what it was the last to have, and how long all others waited for it."""
    held_bytes = F.col("held").cast("decimal(38, 0)") * F.coalesce("bytes", F.lit(0))
    by_last = (
        judged.where("stable is not null")
        .groupBy("gid", "last")
        .agg(
            F.count("*").alias("completed_last"),
            F.sum("held").alias("held_us"),
            F.sum(held_bytes).alias("held_bytes_us"),
        )
    )
    named = names.group(names.who(by_last, "last", "member"))
    return summed_laggards(named)


def summed_laggards(laggards: DataFrame) -> DataFrame:
    """Add up rows of the same member."""
    return laggards.groupBy("group", "member").agg(
        F.sum("completed_last").alias("completed_last"),
        F.sum("held_us").alias("held_us"),
        F.sum("held_bytes_us").cast("decimal(38, 0)").alias("held_bytes_us"),
    )


def frontiers_table(frontiers: DataFrame, names: Names) -> DataFrame:
    """Return one row a change of a source's stable prefix."""
    return names.source(frontiers).select(*COLUMNS["frontiers"])


def buffers_table(buffers: DataFrame, names: Names) -> DataFrame:
    """Return one row for each member that held anything."""
    return names.member(buffers).select(*COLUMNS["buffers"])


def occupancy_table(occupancy: DataFrame, names: Names) -> DataFrame:
    """Return what members held over time."""
    return names.member(occupancy).select(*COLUMNS["occupancy"])


def violations_table(violations: DataFrame, names: Names) -> DataFrame:
    """Return what should not be, one row each."""
    return names.who(names.source(violations), "who", "member").select(*COLUMNS["violations"])
