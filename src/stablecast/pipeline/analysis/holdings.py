"""What members held and for how long: peaks, sums over time, and the course of it.

The most that a member held at an instant asks for all its changes in order, and one member may have most
of a trace. So time is cut into cells: what a cell adds and takes away bounds what it can have reached, and
only the cells that can hold the peak are looked into.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from stablecast.pipeline.analysis.membership import Membership

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FINE_CELLS = 4096
COURSE_BITS = 3
"""Eight cells in which peaks are looked for make one of the course over time."""
_HOLDINGS = """
    inline(transform(
        filter(pairs, p -> if(p.own and sent is not null, -p.neg = sender, p.have is not null)),
        p -> struct(-p.neg as who, if(p.own and sent is not null, sent, p.have) as begin,
            p.released as released, p.end as gone)))
"""


def holdings_of(told: DataFrame, membership: Membership, *, by: str = "mid") -> DataFrame:
    """Return mid, begin, end (null if it is held to the end), bytes: a row for each message that one held.

    ``told`` has messages that nobody sent too. By ``who`` instead of ``mid`` if asked for.
    """
    size = F.coalesce("bytes", F.lit(0)).alias("bytes")
    held = told.select("pairs", "sent", "sender", size).select(F.expr(_HOLDINGS), "bytes")
    if by == "mid" and membership.shape.returns:
        names = membership.incarnations.select("who", "mid")
        held = held.join(F.broadcast(names), "who")
    else:
        held = held.withColumn("mid", F.col("who"))
    not_before = "if({0} is null, null, greatest({0}, begin))"
    end = F.expr(f"least({not_before.format('released')}, {not_before.format('gone')})")
    return held.select(by, "begin", end.alias("end"), "bytes")


def cell_bits(membership: Membership, since: DataFrame | None = None) -> DataFrame:
    """Return for each member its group's last event and how many bits of time a cell has.

    Of the group's whole time, or of that from ``before`` on, for each ``mid`` of ``since`` that has one.
    """
    groups = membership.groups.select("gid", "first_us", "last_us")
    members = membership.members.select("gid", "mid").join(groups, "gid")
    begin = "first_us"
    if since is not None:
        members, begin = (
            members.join(since.select("mid", "before"), "mid", "left"),
            "coalesce(before, first_us)",
        )
    span = F.expr(f"cast(greatest(last_us - {begin}, 0) as double)")
    bits = F.greatest(F.ceil(F.log2((span + 1) / FINE_CELLS)), F.lit(0)).cast("int")
    return members.select("mid", "last_us", bits.alias("bits"))


def changes_of(holdings: DataFrame, spans: DataFrame) -> DataFrame:
    """Return mid, bits, at, count, size, lasted: what came to be held and what was let go, when.

    ``lasted``, the time that a message was held, stands at its beginning.
    """
    return holdings.join(F.broadcast(spans), "mid").select("mid", "bits", F.expr(_CHANGES))


def cells_of(changes: DataFrame) -> DataFrame:
    """Return what each member came to hold and let go in each cell of time, and what it held before.

    Columns: mid, bits, cell, came, change, came_bytes, change_bytes, message_us, base, base_bytes.
    """
    cells = changes.groupBy("mid", "bits", F.expr("shiftright(at, bits)").alias("cell")).agg(
        F.sum(F.expr("greatest(count, 0)")).alias("came"),
        F.sum("count").alias("change"),
        F.sum(F.expr("greatest(size, 0)")).alias("came_bytes"),
        F.sum("size").alias("change_bytes"),
        F.sum("lasted").alias("message_us"),
    )
    return with_bases(cells)


def with_bases(cells: DataFrame) -> DataFrame:
    """Add to cells with changes what was held before: base, base_bytes."""
    before = Window.partitionBy("mid").orderBy("cell").rowsBetween(Window.unboundedPreceding, -1)
    return cells.select(
        "*",
        F.coalesce(F.sum("change").over(before), F.lit(0)).alias("base"),
        F.coalesce(F.sum("change_bytes").over(before), F.lit(0)).alias("base_bytes"),
    )


def buffers_of(changes: DataFrame, cells: DataFrame) -> DataFrame:
    """Return mid, messages_max, bytes_max (more than before all changes, if at all), message_us."""
    reached = cells.groupBy("mid").agg(
        F.max(F.expr("base + change")).alias("messages"),
        F.max(F.expr("base_bytes + change_bytes")).alias("bytes"),
        F.sum("message_us").alias("message_us"),
    )
    may_be_more = (
        cells.join(reached.drop("message_us"), "mid")
        .where("base + came > messages or base_bytes + came_bytes > bytes")
        .select("mid", "cell", "base", "base_bytes")
    )
    peaks = _levels_within(changes, may_be_more).groupBy("mid")
    looked = peaks.agg(F.max("messages").alias("more"), F.max("bytes").alias("more_bytes"))
    return reached.join(looked, "mid", "left").select(
        "mid",
        F.greatest("messages", "more", F.lit(0)).alias("messages_max"),
        F.greatest("bytes", "more_bytes", F.lit(0)).alias("bytes_max"),
        "message_us",
    )


def _levels_within(changes: DataFrame, cells: DataFrame) -> DataFrame:
    """Return what was held after each change in the given cells."""
    placed = changes.withColumn("cell", F.expr("shiftright(at, bits)"))
    inside = placed.join(F.broadcast(cells), ["mid", "cell"])
    instants = inside.groupBy("mid", "cell", "base", "base_bytes", "at").agg(
        F.sum("count").alias("count"), F.sum("size").alias("size")
    )
    so_far = Window.partitionBy("mid", "cell").orderBy("at")
    return instants.select(
        "mid",
        (F.col("base") + F.sum("count").over(so_far)).alias("messages"),
        (F.col("base_bytes") + F.sum("size").over(so_far)).alias("bytes"),
    )


_CHANGES = """
    inline(filter(array(
        struct(begin as at, 1L as count, cast(bytes as bigint) as size,
            coalesce(end, last_us) - begin as lasted),
        struct(end as at, -1L as count, -cast(bytes as bigint) as size, 0L as lasted)),
        c -> c.at is not null))
"""


def occupancy_of(cells: DataFrame, spans: DataFrame) -> DataFrame:
    """Return mid, time_us, messages, bytes: what was held at the end of each coarse cell with a change."""
    coarse = cells.groupBy("mid", "bits", F.expr(f"shiftright(cell, {COURSE_BITS})").alias("coarse")).agg(
        F.max_by(F.expr("base + change"), "cell").alias("messages"),
        F.max_by(F.expr("base_bytes + change_bytes"), "cell").alias("bytes"),
    )
    end = F.expr(f"least(shiftleft(coarse + 1, bits + {COURSE_BITS}), last_us)")
    return coarse.join(spans.drop("bits"), "mid").select("mid", end.alias("time_us"), "messages", "bytes")
