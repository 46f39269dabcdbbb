"""Who reads in each group, and when readers came and went: what a membership says, as kernels need it.

A *reader* is a name that is ever a member, or has a position.  Readers are numbered by group and name, so
that those of a group are neighbours and the smaller of two has the smaller name.  The beginnings and ends of
their stays are *changes*, in the order of time in each group.  A stay of no length is left out: nothing can
be required of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stablecast.delivery.columns import Ints, Longs
from stablecast.delivery.kinds import NEVER
from stablecast.delivery.membership import Membership
from stablecast.delivery.scan import READS

NOBODY = -1


class Readers(NamedTuple):
    """Readers, and the beginnings and ends of their stays."""

    name: Ints
    """The name of each reader."""
    of_name: Ints
    """The reader of each name, or ``NOBODY``."""
    is_member: Ints
    """1 for each reader that has been a member, else 0."""
    first_reader: Longs
    """The first reader of each group; one more entry than there are groups."""
    first_change: Longs
    """The first change of each group, likewise."""
    change_us: Longs
    changed: Ints
    """The reader that comes or goes."""
    begins: Ints
    """1 if a stay begins, 0 if one ends."""
    last_us: Longs
    """The time of the last row of each group."""


def readers_of(membership: Membership) -> Readers:
    """Find the readers of a membership."""
    stays, groups = membership.stays, np.arange(len(membership.group_names) + 1)
    lasting = (stays.belongs > 0) & (stays.start < stays.end)
    reads = membership.roles & READS > 0
    reads[stays.name[stays.belongs > 0]] = True
    name = np.flatnonzero(reads)
    of_name = np.where(reads, np.cumsum(reads) - 1, NOBODY)
    is_member = np.zeros(len(name), np.int8)
    is_member[of_name[stays.name[lasting]]] = 1
    ending = lasting & (stays.end < NEVER)
    changed = of_name[np.concatenate([stays.name[lasting], stays.name[ending]])]
    times = np.concatenate([stays.start[lasting], stays.end[ending]])
    begins = np.repeat([1, 0], [lasting.sum(), ending.sum()])
    group = membership.name_group[name]
    order = np.lexsort((times, group[changed]))
    return Readers(
        name=name,
        of_name=of_name,
        is_member=is_member,
        first_reader=np.searchsorted(group, groups),
        first_change=np.searchsorted(group[changed[order]], groups),
        change_us=times[order],
        changed=changed[order],
        begins=begins[order],
        last_us=membership.groups.last_us,
    )
