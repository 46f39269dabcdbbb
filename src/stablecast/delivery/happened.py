"""Events of messages as arrays of numbers, in the order of sources and of their messages' numbers.

Numbers of a source are cut into *runs* of :data:`RUN`, so that a source that sent most of a trace can be
spread over processes.  All that is told of a message is in one run, and a run in one process.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stablecast.compiling import kernel
from stablecast.delivery.coded import Coded
from stablecast.delivery.columns import Ints, Longs
from stablecast.delivery.kinds import LATE, RECEIVE, RELEASE, RUN, RUN_BITS
from stablecast.delivery.membership import Membership


class Events(NamedTuple):
    """What happened to messages; in no order."""

    source: Ints
    """The number of a name."""
    seq: Longs
    stay: Ints
    """The incarnation at which it happened."""
    kind: Ints
    time: Longs
    size: Ints
    """Bytes; -1 if it is not told."""


class Ordered(NamedTuple):
    """Events by message."""

    key: Longs
    """The number of the run, the number within the run, and the place of the event, in one word."""
    place_bits: int
    run_source: Ints
    run_number: Longs
    """The runs in which anything happened, by source and number."""


def events_of(table: pa.Table, membership: Membership) -> Events:
    """Put numbers in the place of names; joins and departures are left out."""
    group, member, source = (Coded.of(table[name]) for name in ("group", "member", "source"))
    kind = table["kind"].to_numpy()
    rows = np.flatnonzero(kind <= RELEASE)
    if len(rows) == len(kind):
        rows = np.arange(len(kind)) if len(kind) == 0 else slice(None)  # type: ignore[assignment]
    size = table["bytes"].fill_null(-1).to_numpy() if "bytes" in table.column_names else None
    kinds = kind[rows].astype(np.int8)
    time = table["time_us"].to_numpy()[rows]
    numbers = membership.numbers()
    stay = numbers.of(group, member, rows)
    to_stays(stay, kinds, time, membership.first_stay, membership.stays.start, membership.stays.end)
    return Events(
        source=numbers.of(group, source, rows),
        seq=table["seq"].fill_null(0).to_numpy()[rows],
        stay=stay,
        kind=kinds,
        time=time,
        size=np.full(len(kinds), -1, np.int32) if size is None else size[rows].astype(np.int32),
    )


@kernel
def to_stays(name: Ints, kind: Ints, time: Longs, first_stay: Ints, start: Longs, end: Longs) -> None:
    """Replace names by incarnations, and mark the receipts of those that were gone."""
    for k in range(name.size):
        stay = first_stay[name[k]]
        after = first_stay[name[k] + 1]
        while stay + 1 < after and start[stay + 1] <= time[k]:
            stay += 1
        name[k] = stay
        if kind[k] == RECEIVE and time[k] > end[stay]:
            kind[k] = LATE


def ordered(events: Events) -> Ordered:
    """Sort events by source and number: one sort of whole numbers, whatever is in them."""
    count = len(events.seq)
    run, run_source, run_number = _runs(events)
    place_bits = max(count - 1, 1).bit_length()
    if RUN_BITS + place_bits + len(run_source).bit_length() > 62:
        raise OverflowError(f"{count:,} events in {len(run_source):,} runs of numbers are too many at once")
    key = (run.astype(np.int64) << RUN_BITS) | (events.seq & (RUN - 1))
    key <<= place_bits
    key |= np.arange(count)
    key.sort()
    return Ordered(key, place_bits, run_source, run_number)


def _runs(events: Events) -> tuple[Ints, Ints, Longs]:
    """Return the run of each event, and source and number of each run, in order."""
    number = events.seq >> RUN_BITS
    table_bits = 8
    while True:
        slots = 1 << table_bits
        run = np.empty(len(number), np.int32)
        source_of, number_of = np.empty(slots // 2 + 1, np.int32), np.empty(slots // 2 + 1, np.int64)
        found = find_runs(events.source, number, run, np.full(slots, -1, np.int32), source_of, number_of)
        if found >= 0:
            break
        table_bits += 2
    source_of, number_of = source_of[:found], number_of[:found]
    order = np.lexsort((number_of, source_of))
    rank = np.empty(found, np.int32)
    rank[order] = np.arange(found, dtype=np.int32)
    return rank[run], source_of[order], number_of[order]


@kernel
def find_runs(source: Ints, number: Longs, run: Ints, table: Ints, source_of: Ints, number_of: Longs) -> int:
    """Number the runs as they come, in a hash table that is at most half full; -1 if it would be fuller."""
    found, mask = 0, table.size - 1
    last_source, last_number, last = -1, -1, -1
    for k in range(source.size):
        if source[k] == last_source and number[k] == last_number:
            run[k] = last
            continue
        slot = (source[k] * 0x9E3779B1 + number[k] * 0x85EBCA6B + (number[k] >> 7)) & mask
        while table[slot] >= 0 and not (
            source_of[table[slot]] == source[k] and number_of[table[slot]] == number[k]
        ):
            slot = (slot + 1) & mask
        if table[slot] < 0:
            if found == source_of.size - 1:
                return -1
            table[slot] = found
            source_of[found] = source[k]
            number_of[found] = number[k]
            found += 1
        last_source, last_number, last = source[k], number[k], table[slot]
        run[k] = last
    return found
