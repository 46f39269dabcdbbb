"""When each message was at all that had to receive it, and who made it so late: row by row.

A message's required members are counted, not listed: those that were there when it was sent are known by
their number (the epochs of its group), and a message lacks nobody when as many of them have it. Those that
left without it are looked up only where somebody is missing and everybody who is missing has left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from stablecast.pipeline.analysis.membership import NEVER, Membership, cell_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_REQUIRED = "(p.start is null or p.start <= sent) and (p.end is null or p.end > sent)"
_HAS = f"filter(pairs, p -> not p.own and p.have is not null and {_REQUIRED})"
_LEFT = """
    slice(sort_array(filter(leavers, l -> l.start <= sent and sent < l.end and -l.neg != sender
        and not exists(has, p -> p.neg = l.neg)), false), 1, 2)
"""
_LATEST = """
    sort_array(concat(
        transform(slice(has, 1, 2), p -> struct(p.have as at, p.neg as neg)),
        array(struct(least(sent, sender_end) as at, -sender as neg)),
        transform(coalesce(left, array()), l -> struct(l.end as at, l.neg as neg))), false)
"""
_ODD = """
    sent is not null and (
        (released_first is not null and (stable is null or released_first < stable)) or received_first < sent)
"""


def with_senders(packed: DataFrame, membership: Membership) -> DataFrame:
    """Add gid, sender (an incarnation), sender_start and sender_end."""
    columns: list[str | Column] = [
        "gid",
        F.col("mid").alias("src"),
        F.col("start").alias("sender_start"),
        F.col("end").alias("sender_end"),
    ]
    if not membership.shape.returns:
        senders = membership.members.select(*columns)
        return packed.join(F.broadcast(senders), "src").withColumn("sender", F.col("src"))
    senders = membership.members.select(*columns, "starts", "ends")
    place = F.expr("greatest(size(filter(starts, s -> s <= sent)) - 1, 0)")
    several = F.col("starts").isNotNull()
    return (
        packed.join(F.broadcast(senders), "src")
        .withColumn("place", F.when(several, place).otherwise(0))
        .withColumn("sender", F.col("src") + F.col("place"))
        .withColumn("sender_start", F.expr("if(starts is null, sender_start, starts[place])"))
        .withColumn("sender_end", F.expr("if(starts is null, sender_end, ends[place])"))
        .drop("starts", "ends", "place")
    )


def judged_messages(packed: DataFrame, membership: Membership) -> DataFrame:
    """Return each message with its truth; where nobody sent it, ``sent`` and ``stable`` are null.

    Adds to :func:`with_senders`: stable, last (the incarnation that completed it), held (how much later than
    the one before), required, received, and odd (whether it was released too early or received too early).
    """
    counted = _with_counts(with_senders(packed, membership), membership)
    has = counted.withColumn("has", F.expr(_HAS))
    present = "(sender_start <= sent and (sender_end is null or sender_end > sent))"
    needed = (
        has.withColumn("has_staying", F.expr("size(filter(has, p -> p.end is null))"))
        .withColumn("lacks_staying", F.expr(f"staying - has_staying - int({present} and sender_end is null)"))
        .withColumn(
            "lacks_leaving",
            F.expr(f"leaving - size(has) + has_staying - int({present} and sender_end is not null)"),
        )
    )
    left = F.expr(_LEFT) if membership.shape.departures else F.lit(None)
    missing = (F.col("lacks_staying") == 0) & (F.col("lacks_leaving") > 0)
    kind = "array<struct<end: bigint, neg: int, start: bigint>>"
    latest = needed.withColumn("left", F.when(missing, left).cast(kind)).withColumn(
        "latest", F.when(F.col("lacks_staying") == 0, F.expr(_LATEST))
    )
    return latest.select(
        *packed.columns,
        "gid",
        "sender",
        "sender_end",
        F.expr("latest[0].at").alias("stable"),
        F.expr("-latest[0].neg").alias("last"),
        F.expr("if(size(latest) > 1, latest[0].at - latest[1].at, latest[0].at - latest[0].at)").alias(
            "held"
        ),
        F.expr(f"staying + leaving + int(not {present})").alias("required"),
        F.expr("size(has) + int(sender_end is null or sent <= sender_end)").alias("received"),
    ).withColumn("odd", F.coalesce(F.expr(_ODD), F.lit(False)))


def _with_counts(sent: DataFrame, membership: Membership) -> DataFrame:
    """Add staying, leaving (how many were members when it was sent, and stayed or left later) and leavers."""
    spans = membership.groups.select("gid", "first_us", "width", "leavers")
    placed = sent.join(F.broadcast(spans), "gid").withColumn("cell", cell_of("sent"))
    epochs = membership.epochs.withColumnsRenamed({"gid": "of_gid", "cell": "of_cell"})
    here = F.expr(f"gid = of_gid and cell = of_cell and since <= sent and (sent < until or until = {NEVER})")
    return placed.join(F.broadcast(epochs), here, "left")
