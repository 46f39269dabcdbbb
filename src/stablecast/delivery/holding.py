"""What members held and for how long: peaks, sums over time, and the course of it.

Theory
    A holding is one message at one member, from a time to another.  The most that a member held at an instant
    asks for all its beginnings and ends in order of time.  Where nothing ends, what is held only grows: the
    last sum is the peak, and beginnings can be added up in spans of time first.  Otherwise each beginning and
    end is a *change*; changes of a member are sorted and added up, and those of the same instant are taken
    together.
    Changes may be cut by time into *slabs*, each of which begins with the sum of all that was before, so that
    a member that has most of a trace is spread over processes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stablecast.compiling import kernel
from stablecast.delivery.columns import Ints, Longs, shortened
from stablecast.delivery.kinds import NEVER, RELEASE
from stablecast.delivery.membership import Groups, Membership, Stays
from stablecast.delivery.messages import Holdings
from stablecast.delivery.scan import Scan

DENSE = 1 << 23
"""Up to so many spans of all names are added up in an array; more are sorted."""


class Changes(NamedTuple):
    """What members came to hold and let go."""

    name: Ints
    time: Longs
    messages: Longs
    size: Longs


class Totals(NamedTuple):
    """Of each name: messages × microseconds, and whether it held anything at all."""

    message_us: Longs
    holdings: Longs


class Peaks(NamedTuple):
    """The most that each name held at an instant, 0 if nothing for any time."""

    messages: Longs
    size: Longs


class Occupancy(NamedTuple):
    """What names held at the end of spans of time in which that changed."""

    name: Ints
    span: Longs
    """Times of it without their last bits, of which there are as many as the group's spans have."""
    messages: Longs
    size: Longs


def totals_of(holdings: Holdings, membership: Membership) -> Totals:
    """Add up how long each name held messages."""
    totals = Totals(*(np.zeros(membership.name_count, np.int64) for _ in Totals._fields))
    add_totals(holdings, membership.stays, membership.name_group, membership.groups.last_us, totals)
    return totals


@kernel
def add_totals(holdings: Holdings, stays: Stays, name_group: Ints, last_us: Longs, totals: Totals) -> None:
    """Add up; what does not end is held to the last event of its group."""
    for h in range(holdings.stay.size):
        name = stays.name[holdings.stay[h]]
        end = holdings.end[h] if holdings.end[h] < NEVER else last_us[name_group[name]]
        totals.message_us[name] += end - holdings.begin[h]
        totals.holdings[name] += 1


def anything_ends(scan: Scan, membership: Membership) -> bool:
    """Tell whether anybody lets go of anything, or is gone."""
    return scan.has(RELEASE) or membership.anybody_left


def changes_of(
    holdings: Holdings, membership: Membership, *, ends: bool = True, since: Longs | None = None
) -> Changes:
    """Return beginnings and ends; where nothing of the trace ends, what began in each span of time.

    ``since`` is for each group the time from which on changes are wanted, each as it is.
    """
    if since is None and not ends:
        return _added_up(holdings, membership)
    lasting = holdings.end > holdings.begin
    ending = lasting & (holdings.end < NEVER)
    if since is not None:
        first = since[membership.name_group[membership.stays.name]][holdings.stay]
        lasting &= holdings.begin >= first
        ending &= holdings.end >= first
    stay = np.concatenate([holdings.stay[lasting], holdings.stay[ending]])
    size = np.concatenate([holdings.size[lasting], -holdings.size[ending]]).astype(np.int64)
    count = np.concatenate([np.ones(int(lasting.sum()), np.int64), np.full(int(ending.sum()), -1)])
    time = np.concatenate([holdings.begin[lasting], holdings.end[ending]])
    return Changes(membership.stays.name[stay], time, count, size)


def _added_up(holdings: Holdings, membership: Membership) -> Changes:
    """Return the sums of each span of time; the last time of a span stands for all of it."""
    groups, of_name = membership.groups, membership.name_group
    name = membership.stays.name[holdings.stay]
    spans = (groups.last_us >> groups.span_bits) - (groups.first_us >> groups.span_bits) + 1
    first = np.concatenate([[0], np.cumsum(spans[of_name])])
    if first[-1] > DENSE:
        bits = groups.span_bits[of_name[name]]
        time = ((holdings.begin >> bits) << bits) + (1 << bits) - 1
        ones = np.ones(len(time), np.int64)
        return summed(Changes(name, time, ones, holdings.size.astype(np.int64)))
    count, size = np.zeros(first[-1], np.int64), np.zeros(first[-1], np.int64)
    add_spans(name, holdings, of_name, groups, first, count, size)
    there = np.flatnonzero(count)
    name = np.searchsorted(first, there, "right").astype(np.int32) - 1
    bits = groups.span_bits[of_name[name]]
    span = there - first[name] + (groups.first_us[of_name[name]] >> bits)
    return Changes(name, ((span + 1) << bits) - 1, count[there], size[there])


@kernel
def add_spans(
    name: Ints, holdings: Holdings, name_group: Ints, groups: Groups, first: Longs, count: Longs, size: Longs
) -> None:
    """Add up what began in each span of each name; ``first`` is the first span of each name."""
    for h in range(name.size):
        group = name_group[name[h]]
        bits = groups.span_bits[group]
        at = first[name[h]] + (holdings.begin[h] >> bits) - (groups.first_us[group] >> bits)
        count[at] += 1
        size[at] += holdings.size[h]


def summed(changes: Changes) -> Changes:
    """Sort changes by name and time, and add up those of the same instant."""
    if not len(changes.name):
        return changes
    order = _by_name_and_time(changes)
    name, time = changes.name[order], changes.time[order]
    firsts = np.flatnonzero(np.concatenate([[True], (name[1:] != name[:-1]) | (time[1:] != time[:-1])]))
    count = np.add.reduceat(changes.messages[order], firsts)
    size = np.add.reduceat(changes.size[order], firsts)
    return Changes(name[firsts], time[firsts], count, size)


def _by_name_and_time(changes: Changes) -> Ints:
    """Return the order; in one sort of whole numbers where name and time fit into one."""
    first = int(changes.time.min())
    bits = (int(changes.time.max()) - first).bit_length()
    if bits + int(changes.name.max()).bit_length() > 62:
        return np.lexsort((changes.time, changes.name))
    return np.argsort((changes.name.astype(np.int64) << bits) | (changes.time - first))


def levels_of(
    changes: Changes, name_group: Ints, groups: Groups, base: tuple[Longs, Longs] | None = None
) -> tuple[Peaks, Occupancy]:
    """Return the peaks of each name, and what was held at the end of each span, from summed changes.

    ``base`` is what each name held before the first of them.
    """
    names, room = len(name_group), len(changes.name)
    nothing = np.zeros(names, np.int64)
    peaks = Peaks(np.zeros(names, np.int64), np.zeros(names, np.int64))
    course = Occupancy(
        np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    )
    held, size = base or (nothing, nothing)
    rows = add_levels(changes, name_group, groups, held, size, peaks, course)
    return peaks, shortened(course, rows)


@kernel
def add_levels(
    changes: Changes,
    name_group: Ints,
    groups: Groups,
    base: Longs,
    base_size: Longs,
    peaks: Peaks,
    course: Occupancy,
) -> int:
    """Go along the changes of each name; return how many spans there are in which anything changed."""
    rows, count, size = 0, 0, 0
    for k in range(changes.name.size):
        name = changes.name[k]
        if k == 0 or changes.name[k - 1] != name:
            count, size = base[name], base_size[name]
        count += changes.messages[k]
        size += changes.size[k]
        peaks.messages[name] = max(peaks.messages[name], count)
        peaks.size[name] = max(peaks.size[name], size)
        bits = groups.span_bits[name_group[name]]
        span = changes.time[k] >> bits
        goes_on = (
            k + 1 < changes.name.size and changes.name[k + 1] == name and changes.time[k + 1] >> bits == span
        )
        if not goes_on:
            course.name[rows] = name
            course.span[rows] = span
            course.messages[rows] = count
            course.size[rows] = size
            rows += 1
    return rows


def span_ends(occupancy: Occupancy, membership: Membership) -> Longs:
    """Return when spans ended; the last of a group ends with its last event."""
    group = membership.name_group[occupancy.name]
    bits, last = membership.groups.span_bits[group], membership.groups.last_us[group]
    ends: Longs = np.minimum((occupancy.span + 1) << bits, last)
    return ends
