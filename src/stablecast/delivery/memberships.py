"""Who was in each group, from when until when: what joins, departures and the readers' names say.

Theory
    If a group has any ``join``, its members are those that join, each from then until its first ``leave`` or
    ``fail`` at or after that.  Otherwise its members are all names with a ``position`` in it, from the
    beginning until their first departure.  A stay therefore begins with a join, at a time without a departure
    of the same name, of a name that is not in the group; it ends with the next departure.  A join at the very
    time of a departure makes a stay of no length, which nothing can be required of, and which is left out.
What is kept
    A *reader* is a name in a group that joins or has positions; readers are numbered by group, then by name
    in the order of code points, so that the readers of a group are neighbours and the smaller of two has the
    smaller name.  The beginnings and ends of stays are *changes*, in the order of time in each group.
What it needs
    All joins and departures of a group; of its heads and positions no more than the last of each kind and
    member, which tell the names and the last time.  One machine can therefore find the memberships of groups
    whose rows are spread over many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stablecast.compiling import kernel
from stablecast.delivery.numbering import Kind, coded, coded_kinds, distinct_of, numbers_of, refuse_nameless

IntArray = NDArray[np.int64]

EVER = -(1 << 62)
"""Before all times; where a time is told, none."""


class Changes(NamedTuple):
    """Beginnings and ends of stays, by group and time: what a kernel reads of memberships."""

    reader_from: IntArray
    """For each group its first reader, and at the end how many readers there are."""
    change_from: IntArray
    """For each group its first change, likewise."""
    time_us: IntArray
    reader: IntArray
    begins: IntArray
    """1 if a stay begins, 0 if one ends."""
    last_us: IntArray
    """For each group the time of its last row."""
    is_member: IntArray
    """For each reader 1 if it has been a member, else 0."""


@dataclass(frozen=True)
class Memberships:
    """The readers of groups, and when each was a member."""

    groups: pa.Array
    """Names of the groups, in order."""
    names: pa.Array
    """Names of readers of any group, in order."""
    keys: IntArray
    """For each reader its group times the number of names, plus its name."""
    changes: Changes


def memberships(events: pa.Table) -> Memberships:
    """Find who was in which group when.

    Parameters
    ----------
    events
        Rows with ``group``, ``kind``, ``member`` and ``time_us``, in any order; of heads and positions the
        last of each group, kind and member is enough.
    """
    kind = coded_kinds(events.column("kind"))
    ours = kind >= 0
    group_codes, groups = coded(events.column("group"))
    member_codes, names = coded(events.column("member"))
    time_us = numbers_of(events, "time_us", ours)[ours]
    kind, group = kind[ours], group_codes[ours]
    refuse_nameless("group", group)
    refuse_nameless("member", member_codes[ours][kind != Kind.HEAD])
    key = group * max(1, len(names)) + member_codes[ours]

    reads = (kind == Kind.JOIN) | (kind == Kind.POSITION)
    keys, _ = distinct_of(key[reads], len(groups) * max(1, len(names)))
    moves = (kind == Kind.JOIN) | (kind == Kind.LEAVE) | (kind == Kind.FAIL)
    moves[moves] = np.isin(key[moves], keys)
    has_joins = np.zeros(len(groups), np.bool_)
    has_joins[group[kind == Kind.JOIN]] = True
    last_us = np.full(len(groups), EVER, np.int64)
    np.maximum.at(last_us, group, time_us)

    key_group = keys // max(1, len(names))
    reader_from = np.searchsorted(key_group, np.arange(len(groups) + 1)).astype(np.int64)
    always = np.flatnonzero(~has_joins[key_group])
    reader = np.concatenate([always, np.searchsorted(keys, key[moves])])
    times = np.concatenate([np.full(always.size, EVER, np.int64), time_us[moves]])
    joins = np.concatenate([np.ones(always.size, np.int64), kind[moves] == Kind.JOIN]).astype(np.int64)
    changes = _changes(reader, times, joins, key_group)
    change_from = np.searchsorted(key_group[changes[1]], np.arange(len(groups) + 1)).astype(np.int64)
    is_member = np.zeros(keys.size, np.int64)
    is_member[changes[1]] = 1
    return Memberships(groups, names, keys, Changes(reader_from, change_from, *changes, last_us, is_member))


def _changes(
    reader: IntArray, time_us: IntArray, joins: IntArray, key_group: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return times, readers and kinds of the beginnings and ends of stays, by group and time."""
    order = np.lexsort((time_us, reader))
    into = np.empty((3, reader.size), np.int64)
    count = find_stays(reader[order], time_us[order], joins[order], into)
    found = into[:, :count]
    found = found[:, np.lexsort((found[0], key_group[found[1]]))]
    return found[0].copy(), found[1].copy(), found[2].copy()


@kernel
def find_stays(reader: IntArray, time_us: IntArray, joins: IntArray, into: NDArray[Any]) -> int:
    """Write the beginnings and ends of stays, given joins and departures by reader and time; count them.

    What happens to a reader at one time is looked at together: with a departure it is out from then on.
    """
    count, at, is_in = 0, 0, False
    while at < reader.size:
        if at == 0 or reader[at] != reader[at - 1]:
            is_in = False
        end, departs = at, False
        while end < reader.size and reader[end] == reader[at] and time_us[end] == time_us[at]:
            departs = departs or joins[end] == 0
            end += 1
        if is_in == departs:
            into[0, count], into[1, count], into[2, count] = time_us[at], reader[at], 0 if departs else 1
            count += 1
            is_in = not departs
        at = end
    return count
