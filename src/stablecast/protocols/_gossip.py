"""Gossip of a minimum and a set: what :mod:`~stablecast.protocols.gsgc` does once, and ``gsgc-local`` twice.

M is the minimum of the arrays of those in the set W.  Both travel together, so this stays true when a member
takes in another one's: the minimum over a union is the minimum of the minima.
"""

from __future__ import annotations

from typing import Annotated

from stablecast.frontier import copy_into
from stablecast.frontier.sets import add, clear, has, is_empty, join
from stablecast.protocols.contract import (
    NEVER,
    WHOLE,
    IntArray,
    Member,
    Number,
    Outbox,
    Parameter,
    Role,
    gather,
    kernel,
    number,
    set_timer,
    strike_off,
)
from stablecast.protocols.contract.draws import PROTOCOL_STREAM, uniform

SUBGROUP_MAX = 32
"""Most members that one gossips to in a step."""
TRIES = 16
"""Draws of a member that was not chosen in this step yet, before one goes without."""
NOBODY = -1
THRESHOLD = Parameter(
    "threshold",
    WHOLE,
    0,
    "Steps of silence after which a member is taken for failed and struck off; 0 for never.",
    unit="steps",
    role=Role.SILENCE,
    least=0,
)

RoundNumber = Annotated[int, number(lambda sizes: 4)]
"""In a message: the round that it belongs to, from 1, of 4 bytes beyond the header."""


class Gossip(Member):
    """What every gossiping member keeps."""

    draws: Number
    """Random numbers that it has drawn."""
    out: Number
    """Whether it takes no part: it has left, or was struck off."""
    leaving: Number
    """Whether it leaves at its next step."""


@kernel
def begin(M: IntArray, W: IntArray, R: IntArray, who: int) -> None:
    """M = R and W = {who}."""
    copy_into(M, R)
    clear(W)
    add(W, who)


@kernel
def take_in(M: IntArray, W: IntArray, others_M: IntArray, others_W: IntArray) -> None:
    """M = ArrayMin(M, M') and W = ArrayMax(W, W'); with nobody in W, M means nothing."""
    gather(M, others_M, is_empty(W))
    join(W, others_W)


@kernel
def draw(me: Gossip) -> float:
    """Return this member's next random number, from 0 to below 1."""
    me.draws += 1
    return float(uniform(me.seed, PROTOCOL_STREAM + me.number, me.draws))


@kernel
def is_chosen(out: Outbox, since: int, dest: int) -> bool:
    """Tell whether a message of this call, from its ``since``-th on, goes to a member."""
    for k in range(since, out.marks.sends):
        if out.dest[k] == dest:
            return True
    return False


@kernel
def choose(me: Gossip, among: IntArray, without: IntArray, since: int, out: Outbox) -> int:
    """Return a random member of a list that was not chosen in this step yet, ``NOBODY`` if none is found.

    ``without`` is a set of places in the list, those of members that are gone; it may have no length.
    """
    for _ in range(TRIES):
        k = int(draw(me) * among.size)
        gone = without.size > 0 and has(without, k)
        if not gone and not is_chosen(out, since, among[k]):
            return int(among[k])
    return NOBODY


@kernel
def leave(me: Gossip, now: int, out: Outbox) -> None:
    """Take a last step at once, and go."""
    me.leaving = 1
    set_timer(out, now)


@kernel
def go(me: Gossip, status: int, out: Outbox) -> None:
    """Take no part from now on, and say so to the driver."""
    me.out = 1
    strike_off(out, me.number, status)
    set_timer(out, NEVER)
