"""Sums over the sources of a group: who held it back, and how it stands as a whole.

Both are sums, minima and counts of rows of ``readers`` and ``sources``, wherever these were made.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stablecast.delivery.numbering import coded, distinct_of
from stablecast.delivery.position_schemas import DECIMAL, made_table

IntArray = NDArray[np.int64]

LARGEST_SUM = (1 << 63) - 1
HALF_BITS = 31


def laggards(readers: pa.Table, *, bytes_are_numbers: bool = False) -> pa.Table:
    """Return who held groups back, given the rows of ``readers`` of all their sources."""
    groups, members, which = _pairs(readers)
    completed = sums(which, len(groups), readers["completed"].to_numpy())
    held = _decimal_sums(which, readers["alone_numbers_us"])
    table = made_table(
        "laggards",
        {
            "group": groups,
            "member": members,
            "completed_last": completed,
            "held_us": held,
            "held_bytes_us": held if bytes_are_numbers else pa.nulls(len(held), DECIMAL),
        },
    )
    is_told = (completed > 0) | (held.cast(pa.float64()).to_numpy(zero_copy_only=False) > 0)
    return table.filter(pa.array(is_told))


def totals(sources: pa.Table, readers: pa.Table) -> pa.Table:
    """Return how groups stand, given the rows of all their sources and of these sources' readers."""
    which, groups = coded(sources["group"])
    count = len(groups)
    messages = sources["messages"].to_numpy()
    first, stable_seq = (sources[name].fill_null(0).to_numpy() for name in ("first_seq", "stable_seq"))
    stable = np.where(sources["stable_seq"].is_valid().to_numpy(), stable_seq - first + 1, 0)
    return made_table(
        "totals",
        {
            "group": groups,
            "sources": np.bincount(which, minlength=count).astype(np.int64),
            "sent": sums(which, count, messages),
            "stable": sums(which, count, stable),
            "retained": sums(which, count, messages - stable),
            "oldest_frontier_us": _least(which, count, sources["stable_us"], messages > stable),
            "oldest_us": _least(which, count, sources["oldest_us"], messages > stable),
            "blocker": _most_waited_for(readers, groups),
        },
    )


def sums(which: IntArray, count: int, numbers: IntArray) -> IntArray:
    """Return the sum of the numbers of each, at most 2^63 - 1; no number is negative."""
    low, high = np.zeros(count, np.int64), np.zeros(count, np.int64)
    np.add.at(low, which, numbers & ((1 << HALF_BITS) - 1))
    np.add.at(high, which, numbers >> HALF_BITS)
    high += low >> HALF_BITS
    fits = high < 1 << (63 - HALF_BITS)
    low &= (1 << HALF_BITS) - 1
    return np.where(fits, (np.where(fits, high, 0) << HALF_BITS) + low, LARGEST_SUM)


def _decimal_sums(which: IntArray, decimals: pa.ChunkedArray) -> pa.Array:
    """Return the sums of decimals of each, of whom everyone has some."""
    table = pa.table({"which": which, "value": decimals})
    found = table.group_by("which", use_threads=False).aggregate([("value", "sum")]).sort_by("which")
    return found["value_sum"].cast(DECIMAL).combine_chunks()


def _pairs(readers: pa.Table) -> tuple[pa.Array, pa.Array, IntArray]:
    """Return the groups and members of the distinct pairs, in order, and which of them each row has."""
    group_codes, groups = coded(readers["group"])
    member_codes, members = coded(readers["member"])
    count = max(1, len(members))
    keys, which = distinct_of(group_codes * count + member_codes, len(groups) * count)
    return groups.take(pa.array(keys // count)), members.take(pa.array(keys % count)), which


def _least(which: IntArray, count: int, times: pa.ChunkedArray, counts: NDArray[np.bool_]) -> pa.Array:
    """Return the least time of each, of those that count and have one; null if there is none."""
    least = np.full(count, LARGEST_SUM, np.int64)
    counts = counts & times.is_valid().to_numpy()
    np.minimum.at(least, which[counts], times.fill_null(0).to_numpy()[counts])
    return pa.array(least, mask=least == LARGEST_SUM)


def _most_waited_for(readers: pa.Table, groups: pa.Array) -> pa.Array:
    """Return for each group the member that the most of its sources wait for; of equals the smallest name."""
    of_group, members, which = _pairs(readers.filter(readers["blocks"]))
    group = pc.index_in(of_group, groups).to_numpy(zero_copy_only=False).astype(np.int64)
    sources = np.bincount(which, minlength=len(members))
    order = np.lexsort((np.arange(len(members)), -sources, group))
    has_some, first = np.unique(group[order], return_index=True)
    chosen = np.full(len(groups), -1, np.int64)
    chosen[has_some] = order[first]
    return members.take(pa.array(chosen, mask=chosen < 0))
