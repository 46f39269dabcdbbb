"""Who was a member when: names and their stays as numbers, and how many had to receive what was sent.

A member that left and came back is a new one under the same name; each of its stays is an *incarnation*.
Numbers of names and of incarnations follow the order of groups, names and times, so that the smaller of two
numbers is the smaller name, and those of a group are in one piece.

Rules: if a group has any join, its members are those that join, each from then to its first departure at or
after that; a join of one that is in the group changes nothing.  Otherwise all that send or receive anything,
or in a log of positions all that have one, are members from the beginning on, to their first departure.
Everybody else has one incarnation, which does not belong: nothing is required of it.  What somebody does
belongs to its last incarnation that has begun, or to its first.

All of it follows from a scan, which is small: one machine finds the membership of groups whose rows are
spread over many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stablecast.compiling import inlined, kernel
from stablecast.delivery.coded import Coded, Numbers
from stablecast.delivery.columns import Ints, Longs, shortened
from stablecast.delivery.kinds import EVER, NEVER
from stablecast.delivery.scan import ACTIVE, Scan

OCCUPANCY_BITS, LEAST_OCCUPANCY_BITS = 9, 5
"""The time of a group has at most 2 to that power spans, and one more; fewer where there are many names."""
OCCUPANCY_ROWS_BITS = 20
"""All names together have about 2 to that power spans, unless the least for each of them are more."""


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
    roles: Ints
    """What each name does, as a scan says."""
    stays: Stays
    groups: Groups

    @property
    def name_count(self) -> int:
        """How many names there are, the same name in two groups twice."""
        return len(self.name_group)

    def numbers(self) -> Numbers:
        """Return what finds the numbers of names."""
        groups = self.group_names.take(pa.array(self.name_group))
        return Numbers(groups.to_pylist(), self.names.to_pylist())

    @property
    def anybody_left(self) -> bool:
        """Whether anybody is ever gone."""
        return bool((self.stays.end < NEVER).any())


def membership_of(scan: Scan, role: int = ACTIVE) -> Membership:
    """Number names and stays; in groups without joins, names with a role are the members."""
    names = scan.names.sort_by([("group", "ascending"), ("name", "ascending")])
    groups = scan.groups.sort_by("group")
    group_names = groups["group"].combine_chunks()
    name_group = pc.index_in(names["group"], group_names).to_numpy().astype(np.int32)
    roles = names["roles"].to_numpy()
    numbers = Numbers(names["group"].to_pylist(), names["name"].to_pylist())
    changed = numbers.of(Coded.of(scan.changes["group"]), Coded.of(scan.changes["name"]))
    stays = _stays_of(scan.changes, changed, name_group, (roles & role) > 0)
    return Membership(
        group_names=group_names,
        names=names["name"].combine_chunks(),
        name_group=name_group,
        first_stay=np.searchsorted(stays.name, np.arange(len(roles) + 1)).astype(np.int32),
        roles=roles,
        stays=stays,
        groups=_groups_of(stays, name_group, groups),
    )


def _stays_of(changes: pa.Table, changed: Ints, name_group: Ints, has_role: Ints) -> Stays:
    """Return the incarnations of all names, given joins and departures and whose each of them is."""
    joins = changes["joins"].to_numpy()
    joined = np.zeros(len(name_group), bool)
    with_joins = np.zeros(int(name_group.max(initial=-1)) + 1, bool)
    joined[changed[joins]] = True
    with_joins[name_group[changed[joins]]] = True
    # Those who never join are there from the beginning, members or not.
    always = np.flatnonzero(~joined).astype(np.int32)
    name = np.concatenate([always, changed])
    time = np.concatenate([np.full(len(always), EVER), changes["time_us"].to_numpy()])
    begins = np.concatenate([np.ones(len(always), bool), joins])
    order = np.lexsort((time, name))
    belongs = joined | (has_role & ~with_joins[name_group])
    room = len(name)
    stays = Stays(
        np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int8)
    )
    count = find_stays(name[order], time[order], begins[order], belongs, stays)
    return shortened(stays, count)


@kernel
def find_stays(name: Ints, time: Longs, joins: Ints, belongs: Ints, stays: Stays) -> int:
    """Write the stays of names, given joins and departures by name and time; return how many there are.

    What happens to a name at one time is looked at together: a departure ends a stay, and if there is a join
    too, another one that begins and ends then.
    """
    count, at, is_in = 0, 0, False
    while at < name.size:
        if at == 0 or name[at] != name[at - 1]:
            is_in = False
        end, comes, goes = at, False, False
        while end < name.size and name[end] == name[at] and time[end] == time[at]:
            comes, goes = comes or joins[end], goes or not joins[end]
            end += 1
        if is_in and goes:
            stays.end[count - 1] = time[at]
            is_in = False
        if comes and not is_in:
            stays.name[count] = name[at]
            stays.start[count] = time[at]
            stays.end[count] = time[at] if goes else NEVER
            stays.belongs[count] = belongs[name[at]]
            count += 1
            is_in = not goes
        at = end
    return count


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
        span_bits=np.array(fine, np.int64) + 12 - _occupancy_bits(len(name_group)),
    )


def _occupancy_bits(names: int) -> int:
    """Return how finely time is cut, so that the course of many names is not larger than all the rest."""
    return min(max(OCCUPANCY_ROWS_BITS - names.bit_length(), LEAST_OCCUPANCY_BITS), OCCUPANCY_BITS)


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
