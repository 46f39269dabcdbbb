"""coordp: a coordinator asks all, gathers the minimum, tells all.

Promise
    A member calls a message stable only after every member had received it.
Why it is safe
    Each ACK is a copy of what its sender had received when START reached it, and received prefixes only
    grow.  INFO is the minimum over all members' copies of one execution, so every number in it is a lower
    bound of what everyone has by the time anyone reads it.  Messages of older executions are ignored.
Cost
    3 rounds; the coordinator handles n + 3 messages, every other member 3; two multicasts and n - 1
    unicasts.  All ACKs meet at the coordinator, whose processor and links become the bottleneck.
When messages are lost, or members are gone
    :mod:`stablecast.protocols.layers.star`.  When the coordinator is gone, the lowest-numbered member that is
    left asks everyone anew: another n + 1 messages, two of them multicasts, and the time of an execution,
    from when it is told.
Paper
    Hierarchical Message Stability Tracking Protocols, section 3.1; hypercube, Figure 1 and section 3.5.
"""

from __future__ import annotations

from typing import NamedTuple

from stablecast.overlays import star_tree, tree_links
from stablecast.protocols.contract import (
    GROUP,
    IntArray,
    Kernels,
    Links,
    Number,
    Outbox,
    Protocol,
    Sources,
    Started,
    Surroundings,
    declare_stable,
    finish,
    gather,
    kernel,
    send,
)
from stablecast.protocols.layers import RESEND, sets_timers, star
from stablecast.protocols.layers.succession import Execution


class State(star.Star):
    """What a member keeps; all but the newest execution, and who is gone, is the coordinator's."""

    execution: Number
    """The newest execution that this member has heard of."""
    S: Sources
    """The minimum of the arrays gathered so far."""
    gathered: Number
    """How many that are."""


class START(NamedTuple):
    """The coordinator asks for everyone's array."""

    execution: Execution


class ACK(NamedTuple):
    """What a member has received."""

    execution: Execution
    R: Sources


class INFO(NamedTuple):
    """What everyone has received."""

    execution: Execution
    S: Sources


class ACK_INFO(NamedTuple):  # noqa: N801
    """INFO was received; where messages may be lost."""

    execution: Execution


@kernel
def start(me: State, now: int, out: Outbox) -> None:
    """Round 1: the coordinator multicasts START."""
    me.execution += 1
    me.gathered = 0
    me.missing = me.group_size
    send(out, GROUP, START(me.execution))


@kernel
def on_start(me: State, source: int, message: START, now: int, out: Outbox) -> None:
    """Round 2: a member answers the coordinator with its array; that one takes its own in at once."""
    if message.execution < me.execution:
        return
    me.execution = message.execution
    if source == me.number:
        take_in(me, me.received, out)
    else:
        send(out, source, ACK(message.execution, me.received))


@kernel
def on_ack(me: State, source: int, message: ACK, now: int, out: Outbox) -> None:
    """The coordinator takes in a member's array."""
    if message.execution == me.execution:
        take_in(me, message.R, out)


@kernel
def take_in(me: State, array: IntArray, out: Outbox) -> None:
    """Lower the minimum to an array."""
    gather(me.S, array, me.gathered == 0)
    me.gathered += 1
    count(me, out)


@kernel
def count(me: State, out: Outbox) -> None:
    """Round 3: with all arrays in, the coordinator multicasts the minimum."""
    me.missing -= 1
    if me.missing == 0:
        send(out, GROUP, INFO(me.execution, me.S))


@kernel
def on_info(me: State, source: int, message: INFO, now: int, out: Outbox) -> None:
    """What everyone has is stable."""
    if message.execution >= me.execution:
        me.execution = message.execution
        declare_stable(me, out, message.execution, message.S)
        finish(out, message.execution)


PLAIN = Kernels(start=start, receive={START: on_start, ACK: on_ack, INFO: on_info})


def links(around: Surroundings) -> Links:
    """Link the coordinator with everyone."""
    return tree_links(star_tree(around.sizes.group))


PROTOCOL = Protocol(
    about=__doc__,
    paper="hierarchical, section 3.1",
    state=State,
    kernels=star.around(PLAIN, count, START, ACK, INFO, ACK_INFO),
    runs=Started(by_minimum=True, timed=sets_timers, successors=True),
    parameters=(RESEND,),
    links=links,
)
