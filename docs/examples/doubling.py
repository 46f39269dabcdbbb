"""doubling: members tell others at distances that double all they know, until they know of everyone.

Promise
    A member calls a message stable only after every member had received it.
Why it is safe
    M is the minimum over the members in G of what they had received in this round, and received prefixes
    only grow.  M is declared only when G holds everyone who is not known to be gone.  A member that hears
    of a later round takes over the sender's own stable array.
Cost
    Without losses a round takes about log2 n steps, fewer with a larger fanout; in a step each member sends
    as many messages as the fanout says.
"""

from __future__ import annotations

from typing import NamedTuple

from stablecast.frontier import copy_into, take_minimum
from stablecast.frontier.sets import add, has, is_full, join
from stablecast.protocols.contract import (
    TIME,
    WHOLE,
    Gossiping,
    Kernels,
    Member,
    Members,
    Number,
    Outbox,
    Parameter,
    Protocol,
    Role,
    Round,
    Sources,
    declare_stable,
    finish,
    kernel,
    send,
    set_timer,
)

STEP = Parameter(
    "step", TIME, 10.0, "Time between two steps of a member.", unit="ms", role=Role.STEP, above=0
)
FANOUT = Parameter(
    "fanout", WHOLE, 1, "Members that a member tells in a step.", role=Role.FANOUT, least=1, most=8
)


class State(Member):
    """What a member keeps."""

    round: Number
    distance: Number
    """How far on, in the order of numbers, the next member is that it tells."""
    M: Sources
    """The minimum of the arrays of the members in G."""
    G: Members
    gone: Members
    """Those that a failure detector has told of."""


class TELL(NamedTuple):
    """All that a member knows."""

    round: Round
    stable: Sources
    M: Sources
    G: Members


@kernel
def init(me: State, now: int, out: Outbox) -> None:
    """Begin the first round."""
    open_round(me, 1)
    set_timer(out, now + me.params.step)


@kernel
def open_round(me: State, number: int) -> None:
    """Know of oneself alone; those who are gone need not be heard."""
    me.round = number
    me.distance = 1
    copy_into(me.M, me.received)
    copy_into(me.G, me.gone)
    add(me.G, me.number)


@kernel
def timer(me: State, now: int, out: Outbox) -> None:
    """Tell the next members, each twice as far away as the one before."""
    for _ in range(me.params.fanout):
        j = (me.number + me.distance) % me.group_size
        while has(me.gone, j):
            j = (j + 1) % me.group_size
        if j != me.number:
            send(out, j, TELL(me.round, me.stable, me.M, me.G))
        me.distance = 2 * me.distance if 2 * me.distance < me.group_size else 1
    close_if_full(me, out)
    set_timer(out, now + me.params.step)


@kernel
def on_tell(me: State, source: int, message: TELL, now: int, out: Outbox) -> None:
    """Take in what another member knows; a later round means that this one is over."""
    if message.round > me.round:
        end_round(me, message.stable, out)
    elif message.round == me.round:
        take_minimum(me.M, message.M)
        join(me.G, message.G)
        close_if_full(me, out)


@kernel
def close_if_full(me: State, out: Outbox) -> None:
    """With everyone in G, M is what all have."""
    if is_full(me.G, me.group_size):
        end_round(me, me.M, out)


@kernel
def end_round(me: State, stable: Sources, out: Outbox) -> None:
    """Call the result stable, and begin the next round."""
    declare_stable(me, out, me.round, stable)
    finish(out, me.round)
    open_round(me, me.round + 1)


@kernel
def gone(me: State, member: int, column: int, now: int, out: Outbox) -> None:
    """Wait no more for a member that is gone."""
    add(me.gone, member)
    add(me.G, member)
    close_if_full(me, out)


PROTOCOL = Protocol(
    about=__doc__,
    paper="none; an example",
    state=State,
    kernels=Kernels(
        init=init,
        timer=timer,
        receive={TELL: on_tell},
        gone=gone,
        sends=lambda sizes: sizes.params["fanout"],
    ),
    runs=Gossiping(),
    parameters=(STEP, FANOUT),
)
