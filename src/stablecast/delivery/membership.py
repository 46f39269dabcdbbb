"""Who was a member when: names and their stays as numbers, and how many had to receive what was sent.

A member that left and came back is a new one under the same name; each of its stays is an *incarnation*.
Numbers of names and of incarnations follow the order of groups, names and times, so that the smaller of two
numbers is the smaller name, and those of a group are in one piece.

Rules: if a group has any join, its members are those that join, each from then to its first departure at or
after that; a join of one that is in the group changes nothing.  Otherwise all that send or receive anything
are members from the beginning on, to their first departure.  Everybody else has one incarnation, which does
not belong: nothing is required of it.  What somebody does belongs to its last incarnation that has begun, or
to its first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stablecast.compiling import inlined
from stablecast.delivery.columns import Ints, Longs
from stablecast.delivery.kinds import EVER, NEVER
from stablecast.delivery.scan import ACTIVE, SENT, Scan

OCCUPANCY_BITS = 9
"""The time of a group has at most 2 to that power spans, and one more."""


class Stays(NamedTuple):
    """Incarnations, as kernels see them."""

    name: Ints
    start: Longs
    end: Longs
    """When it was gone, at which it still counts as having received; NEVER if it stayed."""
    belongs: Ints


class Groups(NamedTuple):
    """Groups, as kernels see them."""

    first_stay: Ints
    """The first incarnation of each; one more entry than there are groups."""
    first_step: Ints
    step_us: Longs
    """When the number of members changed, by group; the first of each group is EVER."""
    staying: Ints
    """From then on: how many members there were that never left."""
    leaving: Ints
    """And how many that left later."""
    first_leaver: Ints
    leaver: Ints
    """Incarnations that belong and left, by group."""
    last_us: Longs
    """The last event of each."""
    first_us: Longs
    span_bits: Ints
    """The time of the group is cut into spans of 2 to that power microseconds."""


@dataclass(frozen=True, eq=False)
class Membership:
    """All names of a trace as numbers."""

    group_names: pa.Array
    names: pa.Array
    """By number."""
    name_group: Ints
    first_stay: Ints
    """Of each name; one more entry than there are names."""
    sends: Ints
    """Whether a name is the source of a send."""
    stays: Stays
    groups: Groups

    @property
    def name_count(self) -> int:
        """How many names there are, the same name in two groups twice."""
        return len(self.name_group)

    @property
    def anybody_left(self) -> bool:
        """Whether anybody is ever gone."""
        return bool((self.stays.end < NEVER).any())


def membership_of(scan: Scan) -> Membership:
    """Number names and stays."""
    order = scan.names.sort_by([("group", "ascending"), ("name", "ascending")])
    groups = scan.groups.sort_by("group")
    group_names = groups["group"].combine_chunks()
    places = {name: place for place, name in enumerate(group_names.to_pylist())}
    name_group = np.array([places[name] for name in order["group"].to_pylist()], np.int32)
    roles = order["roles"].to_numpy()
    stays, first_stay = _stays_of(scan, order, name_group, roles, len(places))
    return Membership(
        group_names=group_names,
        names=order["name"].combine_chunks(),
        name_group=name_group,
        first_stay=first_stay,
        sends=(roles & SENT > 0).astype(np.int8),
        stays=stays,
        groups=_groups_of(stays, name_group, groups),
    )


def _stays_of(scan: Scan, order: pa.Table, name_group: Ints, roles: Ints, groups: int) -> tuple[Stays, Ints]:
    """Return the incarnations of all names, and the first of each name."""
    keys = list(zip(order["group"].to_pylist(), order["name"].to_pylist(), strict=True))
    changes: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
    with_joins = np.zeros(groups, bool)
    place = {name: number for number, name in enumerate(scan.groups.sort_by("group")["group"].to_pylist())}
    for row in scan.changes.to_pylist():
        joins, departures = changes.setdefault((row["group"], row["name"]), ([], []))
        (joins if row["joins"] else departures).append(row["time_us"])
        with_joins[place[row["group"]]] |= row["joins"]
    member = (roles & ACTIVE > 0) & ~with_joins[name_group]
    of_names = {
        number: _stays(changes[key], bool(member[number]))
        for number, key in enumerate(keys)
        if key in changes
    }
    counts = np.ones(len(keys), np.int64)
    for number, found in of_names.items():
        counts[number] = len(found)
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    name = np.repeat(np.arange(len(keys), dtype=np.int32), counts)
    start, end = np.full(len(name), EVER), np.full(len(name), NEVER)
    belongs = member[name].astype(np.int8)
    for number, found in of_names.items():
        for k, (since, until, is_member) in enumerate(found):
            at = first[number] + k
            start[at], end[at], belongs[at] = since, until, is_member
    return Stays(name, start, end, belongs), first


def _stays(changes: tuple[list[int], list[int]], member: bool) -> list[tuple[int, int, bool]]:
    """Return start, end and whether it belongs, of one name's stays in order."""
    joins, departures = sorted(changes[0]), sorted(changes[1])
    if member and not joins:
        joins = [EVER]
    if not joins:
        return [(EVER, departures[0] if departures else NEVER, False)]
    stays: list[tuple[int, int, bool]] = []
    for join in joins:
        if not stays or join >= stays[-1][1] < NEVER:
            stays.append((join, next((d for d in departures if d >= join), NEVER), True))
    return stays


def _groups_of(stays: Stays, name_group: Ints, groups: pa.Table) -> Groups:
    count = groups.num_rows
    of_group = name_group[stays.name]
    leavers = np.flatnonzero((stays.belongs > 0) & (stays.end < NEVER)).astype(np.int32)
    first_us, last_us = groups["first_us"].to_numpy(), groups["last_us"].to_numpy()
    fine = [
        max((int(last) - int(first)) >> 12, 0).bit_length()
        for first, last in zip(first_us, last_us, strict=True)
    ]
    steps = _steps(stays, of_group, count)
    return Groups(
        first_stay=np.searchsorted(of_group, np.arange(count + 1)).astype(np.int32),
        first_step=np.searchsorted(steps[0], np.arange(count + 1)).astype(np.int32),
        step_us=steps[1],
        staying=steps[2],
        leaving=steps[3],
        first_leaver=np.searchsorted(of_group[leavers], np.arange(count + 1)).astype(np.int32),
        leaver=leavers,
        last_us=last_us,
        first_us=first_us,
        span_bits=np.array(fine, np.int64) + 12 - OCCUPANCY_BITS,
    )


def _steps(stays: Stays, of_group: Ints, count: int) -> tuple[Ints, Longs, Ints, Ints]:
    """Return group, time, staying and leaving: how many members there were from a time on."""
    real = np.flatnonzero(stays.belongs > 0)
    leaves = real[stays.end[real] < NEVER]
    stayed = (stays.end[real] == NEVER).astype(np.int64)
    every = np.arange(count)
    group = np.concatenate([every, of_group[real], of_group[leaves]])
    time = np.concatenate([np.full(count, EVER), stays.start[real], stays.end[leaves]])
    staying = np.concatenate([np.zeros(count, np.int64), stayed, np.zeros(len(leaves), np.int64)])
    leaving = np.concatenate([np.zeros(count, np.int64), 1 - stayed, np.full(len(leaves), -1)])
    order = np.lexsort((time, group))
    group, time, staying, leaving = (column[order] for column in (group, time, staying, leaving))
    # Sums run on from group to group; what they were before a group is taken off again.
    first = np.searchsorted(group, every)
    sums = [
        np.cumsum(column) - np.concatenate([[0], np.cumsum(column)])[first][group]
        for column in (staying, leaving)
    ]
    following = np.concatenate([(group[1:] != group[:-1]) | (time[1:] != time[:-1]), [True]])
    kept = np.flatnonzero(following[: len(group)])
    return group[kept], time[kept], sums[0][kept].astype(np.int32), sums[1][kept].astype(np.int32)


@inlined
def step_at(groups: Groups, group: int, time: int) -> int:
    """Return the step of a group's size that holds at a time."""
    low, high = groups.first_step[group], groups.first_step[group + 1]
    while high - low > 1:
        middle = (low + high) >> 1
        if groups.step_us[middle] <= time:
            low = middle
        else:
            high = middle
    return int(low)


@inlined
def is_required(stays: Stays, stay: int, sent: int) -> bool:
    """Tell whether an incarnation was a member when a message was sent."""
    return bool(stays.belongs[stay] and stays.start[stay] <= sent and stays.end[stay] > sent)
