"""A member's view of the group: whom it counts in, who sends in which column, and members drawn at random.

Views need not agree.  A member counts in those that were there from the start and those that it was told have
joined, itself included; not those that it was told are gone; and with ``view_missing`` it never hears of some
that are there.  It neither gossips to members that it does not count in nor takes them for bufferers; the
size of its view is what it divides C by.  It still takes what they send: multicasts, gossip and repairs.
"""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.frontier.sets import add, has, remove
from stablecast.multicast.bufferers import NOBODY
from stablecast.protocols.contract import Member, Members, Number
from stablecast.protocols.contract.draws import PROTOCOL_STREAM, uniform
from stablecast.protocols.contract.parameters import BILLION

TRIES = 16
"""Draws until a member of the view is found."""


class GroupView(Member):
    """What a member knows of the others, and how often it has drawn."""

    out: Members
    """Members that it does not count in: gone, not there yet, or unknown to it."""
    out_count: Number
    draws: Number
    """Random numbers drawn."""


@kernel
def sender_of(me: GroupView, column: int) -> int:
    """Return the member whose messages are numbered in a column."""
    return int(column * me.group_size // me.received.size)


@kernel
def open_view(me: GroupView) -> None:
    """Count in those that are there from the start and the member itself, but for those it misses."""
    there = me.params.initial if me.params.initial > 0 else me.group_size
    for member in range(me.group_size):
        if member != me.number and (member >= there or happens(me, me.params.view_missing)):
            exclude(me, member)


@kernel
def view_size(me: GroupView) -> int:
    """Return how many members it counts in, itself included."""
    return int(me.group_size - me.out_count)


@kernel
def exclude(me: GroupView, member: int) -> bool:
    """Take a member out of the view; tell whether it was in it."""
    if has(me.out, member):
        return False
    add(me.out, member)
    me.out_count += 1
    return True


@kernel
def include(me: GroupView, member: int) -> None:
    """Count in a member that has joined, unless this one misses it."""
    if has(me.out, member) and not happens(me, me.params.view_missing):
        remove(me.out, member)
        me.out_count -= 1


@kernel
def draw(me: GroupView) -> float:
    """Draw a random number of this member's, in [0, 1)."""
    me.draws += 1
    return uniform(me.seed, PROTOCOL_STREAM + me.number, me.draws)


@kernel
def happens(me: GroupView, billionths: int) -> bool:
    """Draw whether something of that probability happens; nothing is drawn for what never does."""
    return bool(billionths > 0 and draw(me) * BILLION < billionths)


@kernel
def pick_other(me: GroupView) -> int:
    """Draw another member of the view; ``NOBODY`` if none was found."""
    if me.group_size == 1:
        return NOBODY
    for _ in range(TRIES):
        other = int(draw(me) * (me.group_size - 1))
        other += other >= me.number
        if not has(me.out, other):
            return other
    return NOBODY
