"""What members held, part by part of a stream: levels, peaks and courses are settled up to the watermark.

Theory
    Whatever changed before the watermark is *settled*: the level that each member had reached, its peak, and
    its course over time.  A part goes on from there with the changes since, of messages at hand; its own
    watermark settles some of them.  Messages at hand are judged from all their events each time, so their
    settled changes come up again, and are passed over by their time.
    A message that leaves has only settled changes, but for members that still hold it.  Those go on as sums:
    how many messages, of what size, and since when in all (:class:`Kept`).  Sums of times wrap around, and so
    do the differences that they are used in, which therefore come out right.
    Spans of a group's time grow by doublings.  The level at the end of a wide span is that of the last narrow
    span in it, so a course can be carried in whatever spans it was made in.
What can go wrong
    An event that is new enough may change what was held before the watermark: somebody sends a message, or
    sends it again with another size, that others have received long since.  A checksum of all settled changes
    of messages at hand is carried on and compared; where it differs, everything is computed anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stablecast.compiling import inlined, kernel
from stablecast.delivery.columns import Ints, Longs, chosen, joined
from stablecast.delivery.holding import (
    Changes,
    Occupancy,
    Peaks,
    Totals,
    changes_of,
    levels_of,
    summed,
    totals_of,
)
from stablecast.delivery.kinds import NEVER
from stablecast.delivery.membership import Membership, Stays
from stablecast.delivery.messages import Holdings
from stablecast.delivery.stream.late import Untimely
from stablecast.delivery.stream.patience import Marks

_MIX, _SIZE_MIX, _AGAIN = 0x1E3779B97F4A7C15, 0x3F58476D1CE4E5B9, 0x14D049BB133111EB
"""Odd numbers with bits in all places, which spread times and sizes over a checksum."""


class Held(NamedTuple):
    """Of each name."""

    messages: Longs
    size: Longs
    """What it held at the watermark."""
    messages_max: Longs
    size_max: Longs
    """The most before it."""
    message_us: Longs
    """Messages × microseconds that it held messages which have left and which it held no longer."""
    holdings: Longs
    """How many copies it had of messages that have left."""
    checksum: Longs
    """Of settled changes of messages at hand."""


class Kept(NamedTuple):
    """Of each incarnation: messages that have left and that it held when they did."""

    messages: Longs
    size: Longs
    since: Longs
    """The sum of the times at which it came to hold them."""


class Settled(NamedTuple):
    """All that is carried on of what members held."""

    held: Held
    kept: Kept
    course: Occupancy


class Holding(NamedTuple):
    """What members held so far, and what is carried on."""

    totals: Totals
    peaks: Peaks
    course: Occupancy
    settled: Settled


def nothing_settled(membership: Membership) -> Settled:
    """Return what there is before the first part."""
    names, stays = membership.name_count, len(membership.stays.start)
    held = Held(*(np.zeros(names, np.int64) for _ in Held._fields))
    kept = Kept(*(np.zeros(stays, np.int64) for _ in Kept._fields))
    return Settled(held, kept, Occupancy(np.zeros(0, np.int32), *(np.zeros(0, np.int64) for _ in range(3))))


def held_after(
    holdings: Holdings, leaves: Ints, membership: Membership, settled: Settled, marks: Marks
) -> Holding:
    """Go on from what is settled with the messages at hand, of which some leave."""
    held, kept = settled.held, settled.kept
    if (_checksums(holdings, np.zeros_like(leaves), membership, marks.before) != held.checksum).any():
        raise Untimely("something has changed what members held before the watermark")
    ends = _ends_of_kept(kept, membership, marks)
    since = changes_of(holdings, membership, since=marks.before)
    changes = summed(joined([since, ends]))
    early = changes.time < marks.now[membership.name_group][changes.name]
    done, rest = chosen(changes, early), chosen(changes, ~early)
    peaks, course = levels_of(done, membership.name_group, membership.groups, (held.messages, held.size))
    messages, size = held.messages.copy(), held.size.copy()
    np.add.at(messages, done.name, done.messages)
    np.add.at(size, done.name, done.size)
    peaks_done = _higher(peaks, Peaks(held.messages_max, held.size_max))
    peaks_rest, course_rest = levels_of(rest, membership.name_group, membership.groups, (messages, size))
    settled_course = _later(settled.course, course)
    of_left, kept_after = _of_leaving(holdings, leaves, membership, settled)
    after = Held(
        messages,
        size,
        peaks_done.messages,
        peaks_done.size,
        *of_left,
        _checksums(holdings, leaves, membership, marks.now),
    )
    return Holding(
        _totals(holdings, membership, settled),
        _higher(peaks_done, peaks_rest),
        _later(settled_course, course_rest),
        Settled(after, kept_after, settled_course),
    )


def _higher(one: Peaks, other: Peaks) -> Peaks:
    return Peaks(np.maximum(one.messages, other.messages), np.maximum(one.size, other.size))


def _later(earlier: Occupancy, later: Occupancy) -> Occupancy:
    """Put two courses together; where both have a span, or one has it several times, the last one stands."""
    every = joined([earlier, later])
    order = np.lexsort((every.span, every.name))
    name, span = every.name[order], every.span[order]
    last = np.append((name[1:] != name[:-1]) | (span[1:] != span[:-1]), True)[: len(name)].astype(bool)
    return chosen(every, order[last])


def _ends_of_kept(kept: Kept, membership: Membership, marks: Marks) -> Changes:
    """Return what members let go by leaving, of messages that left before them."""
    stays = membership.stays
    holders = np.flatnonzero(kept.messages)
    since = marks.before[membership.name_group[stays.name[holders]]]
    gone = holders[(stays.end[holders] < NEVER) & (stays.end[holders] >= since)]
    return Changes(stays.name[gone], stays.end[gone], -kept.messages[gone], -kept.size[gone])


def _totals(holdings: Holdings, membership: Membership, settled: Settled) -> Totals:
    """Return how long each name held messages, those that have left included."""
    totals = totals_of(holdings, membership)
    totals.message_us[:] += settled.held.message_us
    totals.holdings[:] += settled.held.holdings
    kept, stays = settled.kept, membership.stays
    last = membership.groups.last_us[membership.name_group[stays.name]]
    until = np.where(stays.end < NEVER, stays.end, last)
    np.add.at(totals.message_us, stays.name, kept.messages * until - kept.since)
    return totals


def _of_leaving(
    holdings: Holdings, leaves: Ints, membership: Membership, settled: Settled
) -> tuple[tuple[Longs, Longs], Kept]:
    """Add what is carried on of messages that leave: how long they were held, and who holds them still."""
    message_us, count = settled.held.message_us.copy(), settled.held.holdings.copy()
    kept = Kept(*(column.copy() for column in settled.kept))
    add_leaving(holdings, leaves, membership.stays, message_us, count, kept)
    return (message_us, count), kept


@kernel
def add_leaving(
    holdings: Holdings, leaves: Ints, stays: Stays, message_us: Longs, count: Longs, kept: Kept
) -> None:
    """Go through the copies of messages that leave."""
    for h in range(holdings.stay.size):
        if not leaves[holdings.message[h]]:
            continue
        stay = holdings.stay[h]
        count[stays.name[stay]] += 1
        if holdings.end[h] < NEVER:
            message_us[stays.name[stay]] += holdings.end[h] - holdings.begin[h]
            continue
        kept.messages[stay] += 1
        kept.size[stay] += holdings.size[h]
        kept.since[stay] += holdings.begin[h]


def _checksums(holdings: Holdings, leaves: Ints, membership: Membership, limit: Longs) -> Longs:
    """Return a checksum for each name of the changes before a time, of messages that do not leave."""
    checks = np.zeros(membership.name_count, np.int64)
    add_checks(holdings, leaves, membership.stays, limit[membership.name_group], checks)
    return checks


@kernel
def add_checks(holdings: Holdings, leaves: Ints, stays: Stays, limit: Longs, checks: Longs) -> None:
    """Add up one number for each change; sums wrap around."""
    for h in range(holdings.stay.size):
        if leaves[holdings.message[h]] or holdings.end[h] <= holdings.begin[h]:
            continue
        name = stays.name[holdings.stay[h]]
        if holdings.begin[h] < limit[name]:
            checks[name] += mixed(holdings.begin[h], holdings.size[h])
        if holdings.end[h] < limit[name]:
            checks[name] += mixed(holdings.end[h], -2 - holdings.size[h])


@inlined
def mixed(time: int, size: int) -> int:
    """Return a number that tells a change from others."""
    word = (time * _MIX) ^ ((size + 1) * _SIZE_MIX)
    word = (word ^ (word >> 29)) * _AGAIN
    return int(word ^ (word >> 32))
