"""Rows of heads and positions become the arrays that the kernel follows: by source, then by time.

All rows of a source have to be in one table; the sources of a group may be spread over any number of tables
that are read with the same memberships.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stablecast.delivery.memberships import Memberships
from stablecast.delivery.numbering import (
    BoolArray,
    Kind,
    coded,
    coded_kinds,
    distinct_of,
    numbers_of,
    refuse_nameless,
)
from stablecast.delivery.position_arrays import NOBODY, Sources
from stablecast.delivery.positions import sort_by_source
from stablecast.errors import InvalidInput

IntArray = NDArray[np.int64]
FirstSeq = int | str
"""The number that every source begins with; or ``earliest``, the smallest that any of its rows names."""


@dataclass(frozen=True)
class PositionRows:
    """The sources of some rows, with their names."""

    sources: Sources
    names: pa.Array
    """For each source its name."""


@dataclass(frozen=True)
class _Columns:
    """One entry for each head or position, in the order of the table."""

    is_head: BoolArray
    group: IntArray
    source: IntArray
    """Which source of all that the rows name, by group and name."""
    reader: IntArray
    seq: IntArray
    time_us: IntArray


def position_rows(
    events: pa.Table, members: Memberships, *, first_seq: FirstSeq = 1, next_offset: bool = False
) -> PositionRows:
    """Bring the heads and positions of a table together by source and time."""
    if isinstance(first_seq, str) and first_seq != "earliest":
        raise InvalidInput(f"first_seq is '{first_seq}' (accepted: a whole number, 'earliest')")
    kind = coded_kinds(events.column("kind"))
    ours = (kind == Kind.HEAD) | (kind == Kind.POSITION)
    source_codes, source_names = coded(events.column("source"))
    refuse_nameless("source", source_codes[ours])
    group = _groups(events, members, ours)
    keys, source = distinct_of(
        group * len(source_names) + source_codes[ours], len(members.groups) * len(source_names)
    )
    is_head = kind[ours] == Kind.HEAD
    reader = _readers(events, members, ours, group, is_head)
    seq = numbers_of(events, "seq", ours)[ours] - np.where(is_head, 0, int(next_offset))
    columns = _Columns(is_head, group, source, reader, seq, numbers_of(events, "time_us", ours)[ours])
    name_of = keys % max(1, len(source_names))
    group_of = keys // max(1, len(source_names))
    own = _own_readers(members, group_of, pc.index_in(source_names, members.names), name_of)
    return PositionRows(_sources(columns, group_of, own, first_seq), source_names.take(pa.array(name_of)))


def _groups(events: pa.Table, members: Memberships, ours: BoolArray) -> IntArray:
    """Return the number of each row's group in the memberships."""
    codes, names = coded(events.column("group"))
    refuse_nameless("group", codes[ours])
    known = pc.index_in(names, members.groups).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    group: IntArray = known[codes[ours]]
    if (group < 0).any():
        raise InvalidInput("a group is not in the memberships, which have to be those of the same events")
    return group


def _readers(
    events: pa.Table, members: Memberships, ours: BoolArray, group: IntArray, is_head: BoolArray
) -> IntArray:
    """Return each position's reader as the memberships number them, and ``NOBODY`` for heads."""
    reader = np.full(group.size, NOBODY, np.int64)
    is_position = ~is_head
    if not is_position.any():
        return reader
    codes, names = coded(events.column("member"))
    refuse_nameless("member", codes[ours][is_position])
    known = pc.index_in(names, members.names).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    name = known[codes[ours][is_position]]
    if (name < 0).any():
        raise InvalidInput("a reader is not in the memberships, which have to be those of the same events")
    count = len(members.names)
    keys, which = distinct_of(group[is_position] * count + name, len(members.groups) * count)
    places = _places(members, keys)
    if (places == NOBODY).any():
        raise InvalidInput("a reader is not in the memberships, which have to be those of the same events")
    reader[is_position] = places[which]
    return reader


def _places(members: Memberships, keys: IntArray) -> IntArray:
    """Return the readers with these keys, ``NOBODY`` where there is none."""
    if not members.keys.size:
        return np.full(keys.size, NOBODY, np.int64)
    places = np.searchsorted(members.keys, keys)
    places[places == members.keys.size] = 0
    found: IntArray = np.where(members.keys[places] == keys, places, NOBODY).astype(np.int64)
    return found


def _own_readers(
    members: Memberships, group_of: IntArray, known_names: pa.Array, name_of: IntArray
) -> IntArray:
    """Return for each source the reader of the same name in its group, or ``NOBODY``."""
    known = known_names.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)[name_of]
    places = _places(members, group_of * len(members.names) + known)
    places[known < 0] = NOBODY
    return places


def _sources(rows: _Columns, group_of: IntArray, own: IntArray, first_seq: FirstSeq) -> Sources:
    """Sort the rows, and tell of each source what the kernel has to know."""
    count = group_of.size
    row_from = np.concatenate([[0], np.cumsum(np.bincount(rows.source, minlength=count))]).astype(np.int64)
    has_heads = np.zeros(count, np.int64)
    has_heads[rows.source[rows.is_head]] = 1
    reads_itself = np.zeros(count, np.bool_)
    reads_itself[rows.source[~rows.is_head & (rows.reader == own[rows.source])]] = True
    reader, seq, time_us = _sorted_rows(rows, row_from)
    if isinstance(first_seq, str):
        first = np.maximum(np.minimum.reduceat(seq, row_from[:-1]), 0) if count else np.zeros(0, np.int64)
    else:
        first = np.full(count, first_seq, np.int64)
    unasked = np.where(reads_itself, NOBODY, own)
    return Sources(group_of, first, has_heads, unasked, row_from, reader, seq, time_us)


def _sorted_rows(rows: _Columns, row_from: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return readers, numbers and times by source, then by time; rows of one time may be in any order."""
    in_order = (rows.time_us[1:] >= rows.time_us[:-1]).all()
    order = np.arange(rows.seq.size) if in_order else np.argsort(rows.time_us)
    columns = np.stack([rows.reader, rows.seq, rows.time_us])
    into = np.empty_like(columns)
    sort_by_source(rows.source, columns, order, row_from[:-1].copy(), into)
    return into[0], into[1], into[2]
