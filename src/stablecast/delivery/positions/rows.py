"""Rows of heads and positions become the arrays that the kernel follows: by source, then by time.

All rows of a source have to be in one table; the sources of a group may be spread over any number of tables
that are read with the same membership.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stablecast.compiling import kernel
from stablecast.delivery.coded import Coded
from stablecast.delivery.columns import Ints, Longs
from stablecast.delivery.kinds import HEAD, FirstSeq
from stablecast.delivery.membership import Membership
from stablecast.delivery.positions.arrays import Sources
from stablecast.delivery.positions.readers import NOBODY, Readers


def rows_by_source(
    events: pa.Table,
    membership: Membership,
    readers: Readers,
    *,
    first_seq: FirstSeq = 1,
    next_offset: bool = False,
) -> Sources:
    """Bring heads and positions together by source and time; joins and departures are left out."""
    kind = events["kind"].to_numpy()
    rows = np.flatnonzero(kind >= HEAD)
    is_head = kind[rows] == HEAD
    group, member, source = (Coded.of(events[name]) for name in ("group", "member", "source"))
    numbers = membership.numbers()
    name, of_row = _distinct(numbers.of(group, source, rows), membership.name_count)
    reader = np.where(is_head, NOBODY, readers.of_name[numbers.of(group, member, rows)])
    seq = events["seq"].fill_null(0).to_numpy()[rows] - np.where(is_head, 0, int(next_offset))
    count, own = len(name), readers.of_name[name]
    has_heads = np.bincount(of_row[is_head], minlength=count) > 0
    reads_itself = np.bincount(of_row[~is_head & (reader == own[of_row])], minlength=count) > 0
    first_row = np.concatenate([[0], np.cumsum(np.bincount(of_row, minlength=count))])
    reader, seq, time_us = _sorted(of_row, reader, seq, events["time_us"].to_numpy()[rows], first_row)
    return Sources(
        name=name,
        group=membership.name_group[name],
        first=_first(seq, first_row, first_seq),
        has_heads=has_heads.astype(np.int8),
        unasked=np.where(reads_itself, NOBODY, own),
        first_row=first_row,
        reader=reader,
        seq=seq,
        time_us=time_us,
    )


def _distinct(names: Ints, limit: int) -> tuple[Ints, Ints]:
    """Return the names that there are, in order, and for each row which of them it has."""
    there = np.zeros(limit, np.bool_)
    there[names] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[names]


def _first(seq: Longs, first_row: Longs, first_seq: FirstSeq) -> Longs:
    """Return the number that each source begins with."""
    count = len(first_row) - 1
    if isinstance(first_seq, str) and count:
        first: Longs = np.maximum(np.minimum.reduceat(seq, first_row[:-1]), 0)
        return first
    return np.full(count, 0 if isinstance(first_seq, str) else first_seq, np.int64)


def _sorted(
    source: Ints, reader: Ints, seq: Longs, time_us: Longs, first_row: Longs
) -> tuple[Ints, Longs, Longs]:
    """Return readers, numbers and times by source, then by time; rows of one time may be in any order."""
    in_order = (time_us[1:] >= time_us[:-1]).all()
    order = np.arange(seq.size) if in_order else np.argsort(time_us)
    columns = np.stack([reader, seq, time_us])
    into = np.empty_like(columns)
    sort_by_source(source, columns, order, first_row[:-1].copy(), into)
    return into[0], into[1], into[2]


@kernel
def sort_by_source(
    source: Ints, columns: NDArray[Any], order: Longs, next_place: Longs, into: NDArray[Any]
) -> None:
    """Bring rows together by source, in the given order; ``next_place`` begins as the first of each."""
    for k in range(order.size):
        row = order[k]
        place = next_place[source[row]]
        next_place[source[row]] = place + 1
        for column in range(columns.shape[0]):
            into[column, place] = columns[column, row]
