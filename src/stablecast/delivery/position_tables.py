"""Tables of what heads and positions say: Arrow in, Arrow out.

``position_tables`` does all of it.  Its parts may run apart: ``memberships`` once for a group,
``source_tables`` for the rows of any of its sources, and ``laggards`` and ``totals`` over the rows that these
gave, put together.

What a source without any ``head`` has sent is not known.  The largest position of anybody so far stands for
it, and ``heads_missing`` is set; its stable prefix is the frontier among its readers.

Numbers times microseconds are decimals of 38 digits.  Sums of numbers over sources stop at 2^63 - 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stablecast.delivery.memberships import EVER, Changes, Memberships, memberships
from stablecast.delivery.numbering import encoded
from stablecast.delivery.position_arrays import (
    BEYOND,
    BEYOND_HEAD,
    FRONTIER,
    FRONTIERS,
    LIMB_BITS,
    NO_NUMBER,
    NOBODY,
    READER,
    READERS,
    SOURCE,
    WAITING_NAMES,
    Found,
    Reading,
    Sources,
)
from stablecast.delivery.position_rows import FirstSeq, PositionRows, position_rows
from stablecast.delivery.position_schemas import DECIMAL, LONG, made_table
from stablecast.delivery.position_sums import laggards, totals
from stablecast.delivery.positions import follow
from stablecast.errors import InvalidInput

IntArray = NDArray[np.int64]
Tables = dict[str, pa.Table]

AT_A_TIME = 1 << 21
"""Rows, changes of membership and readers, added up over sources, that are followed in one go."""
NAMES = ("group", "kind", "member", "source")
COLUMNS = (*NAMES, "seq", "time_us")


def position_tables(
    events: pa.Table, *, first_seq: FirstSeq = 1, next_offset: bool = False, bytes_are_numbers: bool = False
) -> Tables:
    """Return all tables of a history of heads and positions.

    Parameters
    ----------
    events
        Rows with ``group``, ``kind``, ``member``, ``source``, ``seq`` and ``time_us``, in any order; kinds
        other than ``head``, ``position``, ``join``, ``leave`` and ``fail`` are passed over.
    first_seq
        The number that every source begins with; ``"earliest"`` for the smallest, not below 0, that any
        head or position of the source names.
    next_offset
        Positions name the next number to be read, as commits of Kafka do.
    bytes_are_numbers
        Numbers count bytes, so that what is retained is known in bytes.
    """
    missing = [name for name in COLUMNS if name not in events.column_names]
    if missing:
        raise InvalidInput(f"events have no column '{missing[0]}' (needed: {', '.join(COLUMNS)})")
    for name in NAMES:
        events = events.set_column(events.column_names.index(name), name, encoded(events.column(name)))
    tables = source_tables(
        events,
        memberships(events),
        first_seq=first_seq,
        next_offset=next_offset,
        bytes_are_numbers=bytes_are_numbers,
    )
    tables["laggards"] = laggards(tables["readers"], bytes_are_numbers=bytes_are_numbers)
    tables["totals"] = totals(tables["sources"], tables["readers"])
    return tables


def source_tables(
    events: pa.Table,
    members: Memberships,
    *,
    first_seq: FirstSeq = 1,
    next_offset: bool = False,
    bytes_are_numbers: bool = False,
) -> Tables:
    """Return ``frontiers``, ``sources``, ``readers`` and ``violations`` of the sources whose rows are given.

    All rows of each source have to be there; joins and departures need not, since the memberships tell them.
    """
    rows = position_rows(events, members, first_seq=first_seq, next_offset=next_offset)
    parts = [
        _Named(rows, members, first, found).tables(bytes_are_numbers)
        for first, found in _followed(rows.sources, members.changes)
    ]
    return {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}


def _followed(sources: Sources, changes: Changes) -> Iterator[tuple[int, Found]]:
    """Follow sources, as many at a time as memory should hold; yield the first of them and what was found."""
    rows = np.diff(sources.row_from)
    moves = np.diff(changes.change_from)[sources.group]
    readers = np.diff(changes.reader_from)[sources.group]
    part = np.cumsum(rows + moves + readers) // AT_A_TIME
    bounds = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), sources.group.size]
    reading = _reading(readers.max(initial=0), rows.max(initial=0))
    for begin, end in pairwise(bounds):
        these = slice(begin, end)
        found = _room(end - begin, int((rows + moves)[these].sum()), int(readers[these].sum()))
        some = sources._replace(
            group=sources.group[these],
            first=sources.first[these],
            has_heads=sources.has_heads[these],
            unasked=sources.unasked[these],
            row_from=sources.row_from[begin : end + 1],
        )
        follow(some, changes, reading, found)
        yield begin, found


def _reading(readers: int, rows: int) -> Reading:
    """Return room for what is known of one source at a time."""
    each = {name: np.empty(readers, np.int64) for name in Reading._fields}
    each |= {"winner": np.empty(2 * readers, np.int64)}
    return Reading(**each | {name: np.empty(rows, np.int64) for name in ("head_seq", "head_us")})


def _room(sources: int, times: int, readers: int) -> Found:
    """Return room for what can be found: a frontier for each time, a record for each reader."""
    return Found(
        counts=np.zeros(3, np.int64),
        frontier=np.empty(times, FRONTIER),
        source=np.empty(sources, SOURCE),
        waiting=np.empty((sources, WAITING_NAMES), np.int64),
        reader=np.empty(readers, READER),
        beyond=np.empty(readers, BEYOND_HEAD),
    )


class _Named:
    """What was found about some sources, with names instead of numbers."""

    def __init__(self, rows: PositionRows, members: Memberships, first: int, found: Found) -> None:
        self._rows, self._members, self._first, self._found = rows, members, first, found

    def tables(self, bytes_are_numbers: bool) -> Tables:
        """Return the tables of these sources."""
        return {
            "frontiers": self._frontiers(),
            "sources": self._sources(bytes_are_numbers),
            "readers": self._readers(),
            "violations": self._violations(),
        }

    def _group(self, source: IntArray) -> pa.Array:
        return self._members.groups.take(pa.array(self._rows.sources.group[source]))

    def _member(self, reader: IntArray) -> pa.Array:
        """Return names of readers, null for nobody."""
        keys = np.append(self._members.keys, 0) % max(1, len(self._members.names))
        return self._members.names.take(pa.array(keys[reader], mask=reader == NOBODY))

    def _frontiers(self) -> pa.Table:
        found = self._found.frontier[: self._found.counts[FRONTIERS]]
        source = found["source"] + self._first
        columns = {
            "group": self._group(source),
            "source": self._rows.names.take(pa.array(source)),
            "blocker": self._member(found["blocker"]),
        }
        return made_table(
            "frontiers", columns | {name: found[name] for name in ("time_us", "sent", "stable")}
        )

    def _sources(self, bytes_are_numbers: bool) -> pa.Table:
        found = self._found.source
        source = np.arange(found.size) + self._first
        first, head, stable = self._rows.sources.first[source], found["head"], found["stable"]
        waiting = found["waiting"]
        columns = {
            "group": self._group(source),
            "source": self._rows.names.take(pa.array(source)),
            "messages": head - first + 1,
            "first_seq": pa.array(first, mask=head < first),
            "last_seq": pa.array(head, mask=head < first),
            "stable_seq": pa.array(stable, mask=stable < first),
            "stable_us": _times(found["stable_us"]),
            "waiting_for": self._waiting_for(waiting),
            "waiting": waiting.astype(np.int32),
            "oldest_us": _times(found["oldest_us"]),
            "heads_missing": self._rows.sources.has_heads[source] == 0,
            "retained_bytes": head - stable if bytes_are_numbers else pa.nulls(found.size, LONG),
        }
        return made_table("sources", columns)

    def _waiting_for(self, waiting: IntArray) -> pa.Array:
        """Return the first names that each source waits for, null if none."""
        named = np.minimum(waiting, WAITING_NAMES)
        offsets = np.concatenate([[0], np.cumsum(named)]).astype(np.int32)
        readers = self._found.waiting[np.arange(WAITING_NAMES) < named[:, None]]
        return pa.ListArray.from_arrays(pa.array(offsets), self._member(readers), mask=pa.array(waiting == 0))

    def _readers(self) -> pa.Table:
        found = self._found.reader[: self._found.counts[READERS]]
        source = found["source"] + self._first
        first = self._rows.sources.first[source]
        state = self._found.source[found["source"]]
        columns = {
            "group": self._group(source),
            "source": self._rows.names.take(pa.array(source)),
            "member": self._member(found["reader"]),
            "position": pa.array(found["position"], mask=found["position"] < first),
            "lag": pa.array(found["lag"], mask=found["lag"] == NO_NUMBER),
            "behind_since_us": _times(found["behind_since_us"]),
            "alone_us": found["alone_us"],
            "alone_numbers_us": _decimals(found["alone_low"], found["alone_high"]),
            "completed": found["completed"],
            "without_seq": pa.array(found["without_seq"], mask=found["without_seq"] < first),
            "blocks": (found["lag"] > 0) & (found["lag"] == state["head"] - state["stable"]),
            "gone": found["gone"] != 0,
        }
        return made_table("readers", columns)

    def _violations(self) -> pa.Table:
        found = self._found.beyond[: self._found.counts[BEYOND]]
        source = found["source"] + self._first
        columns = {
            "group": self._group(source),
            "kind": pa.repeat("position_beyond_head", found.size),
            "member": self._member(found["reader"]),
            "source": self._rows.names.take(pa.array(source)),
            "seq": found["seq"],
            "time_us": found["time_us"],
        }
        return made_table("violations", columns)


def _times(times: IntArray) -> pa.Array:
    return pa.array(times, mask=times == EVER)


def _decimals(low: IntArray, high: IntArray) -> pa.Array:
    """Return sums that were kept in two limbs."""
    words = np.empty((low.size, 2), np.uint64)
    upper = high.astype(np.uint64)
    words[:, 0] = low.astype(np.uint64) | (upper << np.uint64(LIMB_BITS))
    words[:, 1] = upper >> np.uint64(64 - LIMB_BITS)
    return pa.Array.from_buffers(DECIMAL, low.size, [None, pa.py_buffer(words)])
