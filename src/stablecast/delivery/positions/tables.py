"""Tables of what heads and positions say: Arrow in, Arrow out.

``position_tables`` does all of it.  Its parts may run apart: ``source_tables`` for the rows of any sources of
a membership, and ``laggards`` and ``totals`` over the rows that these gave, put together.

What a source without any ``head`` has sent is not known.  The largest position of anybody so far stands for
it, and ``heads_missing`` is set; its stable prefix is the frontier among its readers.

Numbers times microseconds are decimals of 38 digits.  Sums of numbers over sources stop at 2^63 - 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from stablecast.delivery.columns import Ints, Longs
from stablecast.delivery.kinds import EVER, FirstSeq
from stablecast.delivery.membership import Membership, membership_of
from stablecast.delivery.positions.arrays import (
    BEYOND,
    BEYOND_HEAD,
    FRONTIER,
    FRONTIERS,
    LIMB_BITS,
    NO_NUMBER,
    READER,
    READERS,
    SOURCE,
    WAITING_NAMES,
    Found,
    Reading,
    Sources,
)
from stablecast.delivery.positions.follow import follow
from stablecast.delivery.positions.readers import NOBODY, Readers, readers_of
from stablecast.delivery.positions.rows import rows_by_source
from stablecast.delivery.positions.schemas import DECIMAL, LONG, made_table
from stablecast.delivery.positions.sums import laggards, totals
from stablecast.delivery.scan import READS, Scan, scan_of
from stablecast.delivery.tables import Names

Tables = dict[str, pa.Table]

AT_A_TIME = 1 << 21
"""Rows, changes of membership and readers, added up over sources, that are followed in one go."""


def position_tables(
    events: pa.Table,
    *,
    scan: Scan | None = None,
    first_seq: FirstSeq = 1,
    next_offset: bool = False,
    bytes_are_numbers: bool = False,
) -> Tables:
    """Return all tables of a history of heads and positions.

    Parameters
    ----------
    events
        Rows with the columns of the schema, kinds as numbers, in any order.
    scan
        What a scan of the events found, if there was one.
    first_seq
        The number that every source begins with; ``"earliest"`` for the smallest, not below 0, that any
        head or position of the source names.
    next_offset
        Positions name the next number to be read, as commits of Kafka do.
    bytes_are_numbers
        Numbers count bytes, so that what is retained is known in bytes.
    """
    tables = source_tables(
        events,
        readers_membership(scan or scan_of(events)),
        first_seq=first_seq,
        next_offset=next_offset,
        bytes_are_numbers=bytes_are_numbers,
    )
    tables["laggards"] = laggards(tables["readers"], bytes_are_numbers=bytes_are_numbers)
    tables["totals"] = totals(tables["sources"], tables["readers"])
    return tables


def readers_membership(scan: Scan) -> Membership:
    """Return who was a member when; in a group without joins, those with positions are its members."""
    return membership_of(scan, READS)


def source_tables(
    events: pa.Table,
    membership: Membership,
    *,
    first_seq: FirstSeq = 1,
    next_offset: bool = False,
    bytes_are_numbers: bool = False,
) -> Tables:
    """Return ``frontiers``, ``sources``, ``readers`` and ``violations`` of the sources whose rows are given.

    All rows of each source have to be there; joins and departures need not, since the membership tells them.
    """
    readers = readers_of(membership)
    sources = rows_by_source(events, membership, readers, first_seq=first_seq, next_offset=next_offset)
    names = Names(membership)
    parts = [
        _Named(some, readers, names, found).tables(bytes_are_numbers)
        for some, found in _followed(sources, readers)
    ]
    return {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}


def _followed(sources: Sources, readers: Readers) -> Iterator[tuple[Sources, Found]]:
    """Follow sources, as many at a time as memory should hold; yield them and what was found."""
    rows = np.diff(sources.first_row)
    moves = np.diff(readers.first_change)[sources.group]
    asked = np.diff(readers.first_reader)[sources.group]
    part = np.cumsum(rows + moves + asked) // AT_A_TIME
    bounds = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(sources.name)]
    reading = _reading(int(asked.max(initial=0)), int(rows.max(initial=0)))
    for begin, end in pairwise(bounds):
        these = slice(begin, end)
        found = _room(end - begin, int((rows + moves)[these].sum()), int(asked[these].sum()))
        some = sources._replace(
            name=sources.name[these],
            group=sources.group[these],
            first=sources.first[these],
            has_heads=sources.has_heads[these],
            unasked=sources.unasked[these],
            first_row=sources.first_row[begin : end + 1],
        )
        follow(some, readers, reading, found)
        yield some, found


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

    def __init__(self, sources: Sources, readers: Readers, names: Names, found: Found) -> None:
        self._sources_of, self._readers_of, self._names, self._found = sources, readers, names, found

    def tables(self, bytes_are_numbers: bool) -> Tables:
        """Return the tables of these sources."""
        return {
            "frontiers": self._frontiers(),
            "sources": self._sources(bytes_are_numbers),
            "readers": self._readers(),
            "violations": self._violations(),
        }

    def _source(self, source: Ints) -> dict[str, pa.Array]:
        """Return the names of sources and of their groups."""
        name = self._sources_of.name[source]
        return {"group": self._names.group(name), "source": self._names.name(name)}

    def _member(self, reader: Ints) -> pa.Array:
        """Return names of readers, null for nobody."""
        names = np.append(self._readers_of.name, NOBODY)
        return self._names.name(names[reader])

    def _frontiers(self) -> pa.Table:
        found = self._found.frontier[: self._found.counts[FRONTIERS]]
        columns = {**self._source(found["source"]), "blocker": self._member(found["blocker"])}
        return made_table(
            "frontiers", columns | {name: found[name] for name in ("time_us", "sent", "stable")}
        )

    def _sources(self, bytes_are_numbers: bool) -> pa.Table:
        found = self._found.source
        first, head, stable = self._sources_of.first, found["head"], found["stable"]
        waiting = found["waiting"]
        columns = {
            **self._source(np.arange(found.size)),
            "messages": head - first + 1,
            "first_seq": pa.array(first, mask=head < first),
            "last_seq": pa.array(head, mask=head < first),
            "stable_seq": pa.array(stable, mask=stable < first),
            "stable_us": _times(found["stable_us"]),
            "waiting_for": self._waiting_for(waiting),
            "waiting": waiting.astype(np.int32),
            "oldest_us": _times(found["oldest_us"]),
            "heads_missing": self._sources_of.has_heads == 0,
            "retained_bytes": head - stable if bytes_are_numbers else pa.nulls(found.size, LONG),
        }
        return made_table("sources", columns)

    def _waiting_for(self, waiting: Longs) -> pa.Array:
        """Return the first names that each source waits for, null if none."""
        named = np.minimum(waiting, WAITING_NAMES)
        offsets = np.concatenate([[0], np.cumsum(named)]).astype(np.int32)
        readers = self._found.waiting[np.arange(WAITING_NAMES) < named[:, None]]
        return pa.ListArray.from_arrays(pa.array(offsets), self._member(readers), mask=pa.array(waiting == 0))

    def _readers(self) -> pa.Table:
        found = self._found.reader[: self._found.counts[READERS]]
        first = self._sources_of.first[found["source"]]
        state = self._found.source[found["source"]]
        columns = {
            **self._source(found["source"]),
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
        columns = {
            **self._source(found["source"]),
            "kind": pa.repeat("position_beyond_head", found.size),
            "member": self._member(found["reader"]),
            "seq": found["seq"],
            "time_us": found["time_us"],
        }
        return made_table("violations", columns)


def _times(times: Longs) -> pa.Array:
    return pa.array(times, mask=times == EVER)


def _decimals(low: Longs, high: Longs) -> pa.Array:
    """Return sums that were kept in two limbs."""
    words = np.empty((low.size, 2), np.uint64)
    upper = high.astype(np.uint64)
    words[:, 0] = low.astype(np.uint64) | (upper << np.uint64(LIMB_BITS))
    words[:, 1] = upper >> np.uint64(64 - LIMB_BITS)
    return pa.Array.from_buffers(DECIMAL, low.size, [None, pa.py_buffer(words)])
