"""What members held, part by part of a stream: sums, levels and peaks are carried up to the watermark.

Changes older than the watermark are in what is carried. A message that leaves while somebody still holds
it goes on as a sum: how many are held by whom, and since when in all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from stablecast.pipeline.analysis import holdings, tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from stablecast.pipeline.analysis.stream.fold import Part


def write_holdings(part: Part) -> None:
    """Write buffers and occupancy, and carry on what they need."""
    work, membership = part.work, part.membership
    spans = holdings.cell_bits(membership)
    open_now = _open_holdings(part)
    held = holdings.holdings_of(part.known, membership)
    changes = work.keep("changes", _changes(part, held, open_now, spans))
    before = part.numbers.of_member(part.carry.table("held"))
    lasted = _lasted(part, held, open_now, spans)
    _write_buffers(part, changes, before, lasted)
    _write_occupancy(part, changes, spans)
    _carry_holdings(part, changes, before, open_now)


def _open_holdings(part: Part) -> DataFrame:
    """Return who still holds how many messages that have left: who, count, size, since."""
    carried = part.carry.table("open_holdings")
    members = part.membership.members.select("group", F.col("name").alias("member"), "mid")
    named = carried.join(F.broadcast(members), ["group", "member"])
    return named.select((F.col("mid") + F.col("place")).alias("who"), "count", "size", "since")


def _changes(part: Part, held: DataFrame, open_now: DataFrame, spans: DataFrame) -> DataFrame:
    """Return the changes since the last watermark: mid, bits, at, count, size, lasted, before, now, fine.

    ``fine`` is for ``bits`` where only these changes matter, and not the whole time of the group.
    """
    incarnations = part.membership.incarnations.select("who", "mid", "end")
    ended = open_now.join(F.broadcast(incarnations), "who").where("end is not null").join(spans, "mid")
    ends = ended.select(
        "mid", "bits", F.col("end").alias("at"), -F.col("count"), -F.col("size"), F.lit(0).cast("long")
    )
    every = holdings.changes_of(held, spans).union(ends)
    since = part.marks.select("mid", "before", "now")
    fine = holdings.cell_bits(part.membership, since).select("mid", F.col("bits").alias("fine"))
    placed = every.join(F.broadcast(since), "mid").where("before is null or at >= before")
    return placed.join(F.broadcast(fine), "mid")


def _lasted(part: Part, held: DataFrame, open_now: DataFrame, spans: DataFrame) -> DataFrame:
    """Return how long members held what is open, and what left and is held still: mid, message_us."""
    now = (
        holdings.changes_of(held, spans)
        .groupBy("mid")
        .agg(F.sum("lasted").cast("decimal(38, 0)").alias("took"))
    )
    incarnations = part.membership.incarnations.select("who", "mid", "end")
    still = open_now.join(F.broadcast(incarnations), "who").join(spans, "mid")
    until = F.expr("cast(coalesce(end, last_us) as decimal(38, 0)) * count - since")
    later = still.groupBy("mid").agg(F.sum(until).cast("decimal(38, 0)").alias("took"))
    return now.union(later).groupBy("mid").agg(F.sum("took").cast("long").alias("message_us"))


def _cells(part: Part, name: str, changes: DataFrame) -> DataFrame:
    """Return changes summed up in cells of the time since the last watermark."""
    fine = changes.withColumn("bits", F.col("fine"))
    return part.work.keep(name, holdings.cells_of(fine))


def _peaks(changes: DataFrame, cells: DataFrame, before: DataFrame) -> DataFrame:
    """Return mid, peak, peak_bytes: the most since the beginning."""
    fine = changes.withColumn("bits", F.col("fine"))
    risen = holdings.buffers_of(fine, cells).drop("message_us")
    every = risen.join(before, "mid", "full")
    none = F.lit(0)
    return every.select(
        "mid",
        F.greatest(
            F.coalesce("base", none) + F.coalesce("messages_max", none), F.coalesce("peak", none)
        ).alias("peak"),
        F.greatest(
            F.coalesce("base_bytes", none) + F.coalesce("bytes_max", none), F.coalesce("peak_bytes", none)
        ).alias("peak_bytes"),
    )


def _write_buffers(part: Part, changes: DataFrame, before: DataFrame, lasted: DataFrame) -> None:
    levels = before.drop("message_us")
    peaks = _peaks(changes, _cells(part, "cells", changes), levels)
    sums = (
        lasted.union(before.select("mid", "message_us"))
        .groupBy("mid")
        .agg(F.sum("message_us").alias("message_us"))
    )
    told = sums.join(peaks, "mid", "left")
    none = F.lit(0)
    buffers = told.select(
        "mid",
        F.coalesce("peak", none).alias("messages_max"),
        F.coalesce("peak_bytes", none).alias("bytes_max"),
        "message_us",
    )
    part.work.write("buffers", tables.buffers_table(buffers, part.names))


def _old_cells(part: Part, spans: DataFrame) -> DataFrame:
    """Return the carried cells in this part's width: mid, bits, cell, change, change_bytes."""
    old = part.numbers.of_member(part.carry.table("cells")).withColumnRenamed("bits", "had")
    wider = old.join(F.broadcast(spans.select("mid", "bits")), "mid")
    return wider.select(
        "mid", "bits", F.expr("shiftright(cell, bits - had)").alias("cell"), "change", "change_bytes"
    )


def _cell_sums(changes: DataFrame) -> DataFrame:
    cell = F.expr("shiftright(at, bits)").alias("cell")
    return changes.groupBy("mid", "bits", cell).agg(
        F.sum("count").alias("change"), F.sum("size").alias("change_bytes")
    )


def _summed_cells(cells: DataFrame) -> DataFrame:
    return cells.groupBy("mid", "bits", "cell").agg(
        F.sum("change").alias("change"), F.sum("change_bytes").alias("change_bytes")
    )


def _write_occupancy(part: Part, changes: DataFrame, spans: DataFrame) -> None:
    work, numbers = part.work, part.numbers
    old = _old_cells(part, spans)
    every = _summed_cells(old.union(_cell_sums(changes)))
    occupancy = holdings.occupancy_of(holdings.with_bases(every), spans)
    work.write("occupancy", tables.occupancy_table(occupancy, part.names))
    done = _summed_cells(old.union(_cell_sums(changes.where("at < now"))))
    work.carry("cells", numbers.names_of_member(done))


def _carry_holdings(part: Part, changes: DataFrame, before: DataFrame, open_now: DataFrame) -> None:
    """Carry on levels and peaks up to the new watermark, and the sums of messages that leave."""
    work, numbers = part.work, part.numbers
    done = changes.where("at < now")
    cells = _cells(part, "cells-done", done)
    none = F.lit(0).cast("long")
    old = before.select("mid", "base", "base_bytes", "message_us", none, none)
    risen = cells.select("mid", "change", "change_bytes", none, none, none)
    peaks = _peaks(done, cells, before.drop("message_us")).select(
        "mid", none, none, none, "peak", "peak_bytes"
    )
    gone = holdings.holdings_of(part.judged.where("leaves"), part.membership, by="who")
    incarnations = part.membership.incarnations.select("who", "mid")
    closed = (
        gone.where("end is not null")
        .join(F.broadcast(incarnations), "who")
        .select("mid", none, none, F.col("end") - F.col("begin"), none, none)
    )
    every = old.union(risen).union(peaks).union(closed)
    held = (
        every.toDF("mid", "base", "base_bytes", "message_us", "peak", "peak_bytes")
        .groupBy("mid")
        .agg(
            *(F.sum(name).alias(name) for name in ("base", "base_bytes")),
            *(F.max(name).alias(name) for name in ("peak", "peak_bytes")),
            F.sum("message_us").alias("message_us"),
        )
    )
    work.carry("held", numbers.names_of_member(held))
    still = gone.where("end is null").select(
        "who",
        F.lit(1).cast("long").alias("count"),
        F.col("bytes").cast("long").alias("size"),
        F.col("begin").cast("decimal(38, 0)").alias("since"),
    )
    open_next = open_now.union(still).groupBy("who")
    summed = open_next.agg(
        F.sum("count").alias("count"),
        F.sum("size").alias("size"),
        F.sum("since").cast("decimal(38, 0)").alias("since"),
    )
    work.carry("open_holdings", _with_group(part, summed))


def _with_group(part: Part, by_who: DataFrame) -> DataFrame:
    """Replace ``who`` by group, member and place."""
    incarnations = part.membership.incarnations.select("who", "mid")
    placed = by_who.join(F.broadcast(incarnations), "who").withColumn("place", F.col("who") - F.col("mid"))
    return part.numbers.names_of_member(placed.drop("who"))
