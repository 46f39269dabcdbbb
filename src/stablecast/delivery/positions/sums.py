"""Sums over the sources of a group: who held it back, and how it stands as a whole.

Both are sums, minima and counts of rows of ``readers`` and ``sources``, wherever these were made.  Sums are
exact; those that are told in 64 bits stop at 2^63 - 1.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from stablecast.delivery.positions.schemas import DECIMAL, LONG, made_table

LARGEST_SUM = pa.scalar(Decimal((1 << 63) - 1), DECIMAL)


def laggards(readers: pa.Table, *, bytes_are_numbers: bool = False) -> pa.Table:
    """Return who held groups back, given the rows of ``readers`` of all their sources."""
    numbers = {"completed_last": readers["completed"], "held_us": readers["alone_numbers_us"]}
    sums = _added_up(readers.select(["group", "member"]), numbers)
    held = sums["held_us"]
    columns = {
        "group": sums["group"],
        "member": sums["member"],
        "completed_last": _in_64_bits(sums["completed_last"]),
        "held_us": held,
        "held_bytes_us": held if bytes_are_numbers else pa.nulls(len(held), DECIMAL),
    }
    is_told = pc.or_(pc.greater(sums["completed_last"], 0), pc.greater(held, 0))
    return made_table("laggards", columns).filter(is_told)


def totals(sources: pa.Table, readers: pa.Table) -> pa.Table:
    """Return how groups stand, given the rows of all their sources and of these sources' readers."""
    sent = sources["messages"]
    prefix = pc.add(pc.subtract(sources["stable_seq"], sources["first_seq"]), 1)
    stable = pc.fill_null(prefix, 0)
    retained = pc.subtract(sent, stable)
    waits = pc.greater(retained, 0)
    sums = _added_up(sources.select(["group"]), {"sent": sent, "stable": stable, "retained": retained})
    oldest = {
        "oldest_frontier_us": pc.if_else(waits, sources["stable_us"], None),
        "oldest_us": pc.if_else(waits, sources["oldest_us"], None),
    }
    least = _grouped(sources.select(["group"]), oldest, "min")
    columns = {
        "group": sums["group"],
        "sources": sums["rows"],
        **{name: _in_64_bits(sums[name]) for name in ("sent", "stable", "retained")},
        **{name: least[name] for name in oldest},
        "blocker": _most_waited_for(readers, sums["group"]),
    }
    return made_table("totals", columns)


def _added_up(keys: pa.Table, numbers: dict[str, pa.ChunkedArray]) -> pa.Table:
    """Return the keys that there are, in order, with how many rows each has and their exact sums."""
    return _grouped(keys, {name: column.cast(DECIMAL) for name, column in numbers.items()}, "sum")


def _grouped(keys: pa.Table, columns: dict[str, pa.ChunkedArray], how: str) -> pa.Table:
    table = keys
    for name, column in columns.items():
        table = table.append_column(name, column)
    asked = [*((name, how) for name in columns), ([], "count_all")]
    found = table.group_by(keys.column_names, use_threads=False).aggregate(asked)
    named = found.rename_columns([*keys.column_names, *columns, "rows"])
    return named.sort_by([(name, "ascending") for name in keys.column_names])


def _in_64_bits(sums: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.min_element_wise(sums, LARGEST_SUM).cast(LONG)


def _most_waited_for(readers: pa.Table, groups: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return for each group the member that the most of its sources wait for; of equals the smallest name."""
    waited = _grouped(readers.filter(readers["blocks"]).select(["group", "member"]), {}, "count")
    ranked = waited.sort_by([("group", "ascending"), ("rows", "descending"), ("member", "ascending")])
    # The first place of a group is that of its most waited for.
    return ranked["member"].take(pc.index_in(groups, ranked["group"].combine_chunks()))
