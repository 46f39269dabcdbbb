"""What may be deleted of each source, and whom the rest waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from stablecast.pipeline.analysis.membership import Membership
from stablecast.pipeline.analysis.tables import COLUMNS, Names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAMED = 10
"""At most so many of those that a source waits for are named."""


def sources_table(
    judged: DataFrame, line: DataFrame, carry: DataFrame, membership: Membership, names: Names
) -> DataFrame:
    """Return one row a source that sent anything; ``carry`` is what was before the line."""
    prefix = F.expr("open = 0 and whole")
    here = line.groupBy("src").agg(
        F.count("*").alias("messages"),
        F.min("seq").alias("first_seq"),
        F.max("seq").alias("last_seq"),
        F.max(F.when(prefix, F.col("seq"))).alias("stable_seq"),
        F.max(F.when(prefix, F.col("latest"))).alias("stable_us"),
    )
    every = here.union(carry.select(*here.columns)).groupBy("src")
    sources = every.agg(
        F.sum("messages").alias("messages"),
        F.min("first_seq").alias("first_seq"),
        *(F.max(name).alias(name) for name in ("last_seq", "stable_seq", "stable_us")),
    )
    # Where the number after the prefix was never sent, nobody is waited for but its source.
    first_open = line.where("stable is null and open = 1 and whole").select("src", "seq")
    waiting = _lacking(judged, first_open, membership)
    return names.source(sources.join(waiting, "src", "left")).select(*COLUMNS["sources"])


def _lacking(judged: DataFrame, first_open: DataFrame, membership: Membership) -> DataFrame:
    """Return for each source who lacks its first message that is not stable: src, waiting_for, waiting."""
    message = judged.join(F.broadcast(first_open), ["src", "seq"], "left_semi")
    has = F.expr("transform(filter(pairs, p -> p.have is not null), p -> -p.neg)").alias("has")
    asked = message.select("src", "gid", "sent", "sender", has)
    members = membership.incarnations.where("end is null").select("gid", "who", "name", "start")
    lacks = asked.join(members, "gid").where(
        "start <= sent and who != sender and not array_contains(has, who)"
    )
    return lacks.groupBy("src").agg(
        F.expr(f"slice(array_sort(collect_list(name)), 1, {NAMED})").alias("waiting_for"),
        F.count("*").cast("int").alias("waiting"),
    )
