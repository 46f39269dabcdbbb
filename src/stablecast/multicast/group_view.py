"""A member's view of the group: who is gone, who sends in which column, and members drawn at random."""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.frontier.sets import add, has
from stablecast.multicast.bufferers import NOBODY
from stablecast.protocols.contract import Member, Members, Number
from stablecast.protocols.contract.draws import PROTOCOL_STREAM, uniform
from stablecast.protocols.contract.parameters import BILLION

TRIES = 16
"""Draws until a member is found that is not gone."""


class GroupView(Member):
    """What a member knows of the others, and how often it has drawn."""

    gone: Members
    """Members that are gone."""
    gone_count: Number
    draws: Number
    """Random numbers drawn."""


@kernel
def sender_of(me: GroupView, column: int) -> int:
    """Return the member whose messages are numbered in a column."""
    return int(column * me.group_size // me.received.size)


@kernel
def exclude(me: GroupView, member: int) -> bool:
    """Take a member out of the view; tell whether it was in it."""
    if has(me.gone, member):
        return False
    add(me.gone, member)
    me.gone_count += 1
    return True


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
    """Draw another member that is not gone; ``NOBODY`` if none was found."""
    if me.group_size == 1:
        return NOBODY
    for _ in range(TRIES):
        other = int(draw(me) * (me.group_size - 1))
        other += other >= me.number
        if not has(me.gone, other):
            return other
    return NOBODY
