"""What a trace shows that should not be: each kind from where it can be seen.

A violation is src, seq, who, time_us and its kind. Most are in the rows of messages. Further receipts,
sends, releases and claims of the same thing are only counted there; where there are any, the events
themselves are read again for those few.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KINDS = (
    "early_stable",
    "early_release",
    "receive_after_departure",
    "duplicate",
    "receive_before_send",
    "sent_again",
    "missing_send",
    "gap",
    "send_out_of_order",
)

COLUMNS = ("kind", "src", "seq", "who", "time_us")


def as_kind(kind: str, found: DataFrame, *, who: str | Column = "who", time: str = "time_us") -> DataFrame:
    """Return what was found as violations of a kind."""
    member = F.col(who) if isinstance(who, str) else who
    return found.select(
        F.lit(kind).alias("kind"), "src", "seq", member.cast("int").alias("who"), F.col(time).alias("time_us")
    )


_OF_PAIRS = """
    inline(concat(
        transform(filter(pairs, p -> p.released is not null and (stable is null or p.released < stable)),
            p -> struct('early_release' as kind, -p.neg as who, p.released as time_us)),
        transform(filter(pairs, p -> not p.own and p.have < sent),
            p -> struct('receive_before_send' as kind, -p.neg as who, p.have as time_us))))
"""
_OF_NEIGHBOURS = """
    inline(filter(array(
        struct('gap' as kind, coalesce(seq_before + 1, first) as seq, sent as time_us,
            seq > coalesce(seq_before + 1, first) as so),
        struct('send_out_of_order' as kind, seq, sent as time_us, coalesce(sent < sent_before, false) as so)),
        v -> v.so))
"""


def of_messages(judged: DataFrame) -> DataFrame:
    """Return first releases that were too early, and receipts before the sending."""
    return judged.where("odd").select("src", "seq", F.expr(_OF_PAIRS)).select(*COLUMNS)


def of_line(line: DataFrame) -> DataFrame:
    """Return numbers that are missing, the first of each gap, and messages sent before their predecessors."""
    found = line.select("src", F.expr(_OF_NEIGHBOURS))
    return found.select("kind", "src", "seq", F.col("src").alias("who"), "time_us")


def of_unsent(unsent: DataFrame, claims: DataFrame | None) -> DataFrame:
    """Return what is told of messages that nobody sent, the earliest of each."""
    told = unsent.where("told is not null").select(
        "src", "seq", F.col("told.told").alias("time_us"), F.col("told.who").alias("who")
    )
    every = told if claims is None else told.union(claims.select("src", "seq", "time_us", "who"))
    first = every.groupBy("src", "seq").agg(F.min(F.struct("time_us", "who")).alias("first"))
    return as_kind("missing_send", first.select("src", "seq", "first.time_us", "first.who"))


def of_claims(early: DataFrame) -> DataFrame:
    """Return the first of each claim that was too early."""
    return as_kind("early_stable", early, time="claimed")


def of_departed(numbered: DataFrame) -> DataFrame:
    """Return receipts of members that had left or failed."""
    return as_kind("receive_after_departure", numbered.where("late"))


def any_repeated(packed: DataFrame) -> bool:
    """Whether anybody did anything more than once with the same message."""
    told = packed.agg(F.max(F.col("again") | (F.col("sends") > 1)).alias("again")).collect()[0]
    return bool(told["again"])


def repeated_keys(packed: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return who did something more than once with which message, and which were sent more than once."""
    pairs = packed.where("again").select("src", "seq", F.expr("inline(filter(pairs, p -> p.again))"))
    sends = packed.where("sends > 1").select("src", "seq")
    return pairs.select("src", "seq", (-F.col("neg")).alias("who")), sends


def of_repeats(
    numbered: DataFrame,
    pairs: DataFrame,
    sends: DataFrame,
    judged: DataFrame,
    early: DataFrame | None,
) -> list[DataFrame]:
    """Return what was done once more: receipts, sends, and releases and claims that were early again."""
    done = numbered.where("not late and kind != 'send'").join(pairs, ["src", "seq", "who"])
    again = but_first(done, ["src", "seq", "who", "kind"])
    sent = but_first(numbered.where("kind = 'send'").join(sends, ["src", "seq"]), ["src", "seq"])
    released = again.where("kind = 'release'").join(judged.select("src", "seq", "stable"), ["src", "seq"])
    found = [
        as_kind("duplicate", again.where("kind = 'receive'")),
        as_kind("sent_again", sent, who="src"),
        as_kind("early_release", released.where("stable is null or time_us < stable")),
    ]
    if early is not None:
        first = early.where("again").select("src", "seq", "who", "truth")
        claimed = again.where("kind = 'stable'").join(first, ["src", "seq", "who"])
        found.append(as_kind("early_stable", claimed.where("truth is null or time_us < truth")))
    return found


def but_first(events: DataFrame, key: list[str]) -> DataFrame:
    """Return all events with the same key but the earliest."""
    in_time = Window.partitionBy(*key).orderBy("time_us")
    return events.withColumn("place", F.row_number().over(in_time)).where("place > 1").drop("place")


def all_of(parts: list[DataFrame]) -> DataFrame:
    """Return all in one."""
    return reduce(lambda one, other: one.union(other), parts)
