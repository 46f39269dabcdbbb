"""train: an array goes round the ring twice, first gathering the minimum, then telling it.

Promise
    A member calls a message stable only after every member had received it.
Why it is safe
    The array leaves member 1 as its own R and is lowered to each member's R on its way; when it is back it
    is the minimum over all, and received prefixes only grow.  A train of an older execution is dropped.
Cost
    2n rounds, 4 messages handled by every member, 2 F_d messages on the hops of a tree.
Message types
    Table 4 of the paper counts the first hop of the first tour as START; it carries member 1's array like
    every other hop (section 3.3).
When messages are lost, or members are gone
    :mod:`stablecast.protocols.layers.trains`.  When a member is gone the ring is broken, and the execution
    waits for ever.
Paper
    Hierarchical Message Stability Tracking Protocols, section 3.3; retransmissions in the manner of the
    hypercube paper, section 3.5.
"""

from __future__ import annotations

from typing import NamedTuple

from stablecast.frontier import copy_into, take_minimum
from stablecast.overlays import back_and_forth, successor
from stablecast.protocols.contract import (
    Kernels,
    Number,
    Outbox,
    Place,
    Placement,
    Protocol,
    Round,
    Sources,
    Started,
    Surroundings,
    declare_stable,
    few,
    finish,
    kernel,
    send,
)
from stablecast.protocols.layers import RESEND, sets_timers, trains

FIRST = 0


class State(trains.Passenger):
    """What a member keeps."""

    next: Place
    """Who follows in the ring."""
    execution: Number
    """The newest execution that this member has heard of."""
    S: Sources
    """The array as this member passed it on."""


class START(NamedTuple):
    """The train on the first hop of its first tour."""

    execution: Round
    S: Sources


class ACK(NamedTuple):
    """The train on its first tour."""

    execution: Round
    S: Sources


class INFO(NamedTuple):
    """The train on its second tour."""

    execution: Round
    S: Sources


class GOT(NamedTuple):
    """The train was received on its first tour; where messages may be lost."""

    execution: Round


class GOT_INFO(NamedTuple):  # noqa: N801
    """The same of the second tour."""

    execution: Round


@kernel
def start(me: State, now: int, out: Outbox) -> None:
    """Put the first member's array on the train."""
    me.execution += 1
    copy_into(me.S, me.received)
    send(out, me.next, START(me.execution, me.S))


@kernel
def on_ack(me: State, source: int, message: ACK, now: int, out: Outbox) -> None:
    """First tour: lower the array to one's own and pass it on; at the first member it is the minimum."""
    if message.execution < me.execution:
        return
    me.execution = message.execution
    copy_into(me.S, message.S)
    take_minimum(me.S, me.received)
    if me.number == FIRST:
        declare_stable(me, out, message.execution, me.S)
        send(out, me.next, INFO(me.execution, me.S))
    else:
        send(out, me.next, ACK(me.execution, me.S))


@kernel
def on_info(me: State, source: int, message: INFO, now: int, out: Outbox) -> None:
    """Second tour: take the minimum in and pass it on, until it is back at the first member."""
    if message.execution < me.execution:
        return
    me.execution = message.execution
    if me.number != FIRST:
        declare_stable(me, out, message.execution, message.S)
        copy_into(me.S, message.S)
        send(out, me.next, INFO(me.execution, me.S))
    finish(out, message.execution)


def places(around: Surroundings) -> Placement:
    """Place the members on a ring that runs back and forth through the levels of the tree."""
    return {"next": successor(back_and_forth(around.tree))}


PLAIN = Kernels(start=start, receive={START: on_ack, ACK: on_ack, INFO: on_info}, sends=few)
PROTOCOL = Protocol(
    about=__doc__,
    paper="hierarchical, section 3.3",
    state=State,
    kernels=trains.round_a_ring(PLAIN, START, ACK, INFO, GOT, GOT_INFO),
    runs=Started(by_minimum=True, timed=sets_timers),
    parameters=(RESEND,),
    places=places,
)
