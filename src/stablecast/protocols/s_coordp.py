"""s_coordp: minima climb a tree, the root tells all.

Promise
    A member calls a message stable only after every member had received it.
Why it is safe
    A member reports the minimum of its own R and of one report of each child, all of one execution; by
    induction the root's is the minimum over the whole group.  Reports of older executions are ignored.
Cost
    p + 2 rounds on a tree of height p; a member handles at most b + 4 messages whatever the group's size,
    and an ACK crosses a single link where the tree follows the network: 3(n - 1) messages on all hops.
With relays
    START and INFO are passed on from parent to child instead of being multicast by the root: the root sends
    b messages and not n - 1, where a multicast is a message to each.
When messages are lost, or members are gone
    :mod:`stablecast.protocols.layers.tree`.  The children of an inner member that is gone report to its
    parent, in the same execution: an ACK for each of them, and with relays a START and an INFO.  When the
    root is gone, the lowest-numbered member that is left begins an execution of its own: the messages and the
    time of one more, from when it is told.
Paper
    Hierarchical Message Stability Tracking Protocols, section 4.1; retransmissions: hypercube, section 3.5.
"""

from __future__ import annotations

from typing import NamedTuple

from stablecast.protocols._tree import TREE_DEGREE, tree_member_links, tree_places
from stablecast.protocols.contract import (
    GROUP,
    IntArray,
    Kernels,
    Number,
    Outbox,
    Protocol,
    Role,
    Sizes,
    Sources,
    Started,
    declare_stable,
    finish,
    gather,
    hidden,
    kernel,
    one_to_each,
    send,
    send_again,
)
from stablecast.protocols.layers import RESEND, one_to_each_if_guarded, sets_timers, tree
from stablecast.protocols.layers.rebuilt import next_asked, parent_of
from stablecast.protocols.layers.succession import Execution, coordinates


class State(tree.Asking):
    """What a member keeps."""

    execution: Number
    """The newest execution that this member has heard of."""
    S: Sources
    """The minimum of the children's reports so far."""
    gathered: Number
    """How many that are."""
    missing: Number
    """What is still to come before this member reports: START, and the children's reports."""


class START(NamedTuple):
    """The root asks for everyone's array."""

    execution: Execution


class ACK(NamedTuple):
    """The minimum of a member's array and of those below it."""

    execution: Execution
    S: Sources


class INFO(NamedTuple):
    """What everyone has received."""

    execution: Execution
    S: Sources


class ACK_INFO(NamedTuple):  # noqa: N801
    """INFO was received by a member and all below it; where messages may be lost."""

    execution: Execution


@kernel
def start(me: State, now: int, out: Outbox) -> None:
    """Round 1: the root multicasts START."""
    advance(me, me.execution + 1)
    send(out, me.number if me.params.relay else GROUP, START(me.execution))


@kernel
def advance(me: State, execution: int) -> None:
    """Wait for START and for every child's report."""
    me.execution = execution
    me.missing = 1 + me.children
    me.gathered = 0


@kernel
def on_start(me: State, source: int, message: START, now: int, out: Outbox) -> None:
    """Rounds 2 to p + 1: with START in, a member without children reports."""
    if message.execution < me.execution:
        return
    if message.execution > me.execution:
        advance(me, message.execution)
    if me.params.relay:
        ask_children(me, out)
    count(me, out)


@kernel
def on_ack(me: State, source: int, message: ACK, now: int, out: Outbox) -> None:
    """A child reports the minimum below it."""
    if message.execution < me.execution:
        return
    if message.execution > me.execution:
        advance(me, message.execution)
    gather(me.S, message.S, me.gathered == 0)
    me.gathered += 1
    count(me, out)


@kernel
def count(me: State, out: Outbox) -> None:
    """With START and every child's report in, take in one's own array and report."""
    me.missing -= 1
    if me.missing == 0:
        if me.children > 0 or coordinates(me):
            gather(me.S, me.received, me.gathered == 0)
        report(me, out)


@kernel
def report(me: State, out: Outbox) -> None:
    """Tell the parent the minimum; the root tells it to all."""
    if coordinates(me):
        send(out, me.number if me.params.relay else GROUP, INFO(me.execution, me.S))
    elif me.children == 0:
        send(out, parent_of(me), ACK(me.execution, me.received))
    else:
        send(out, parent_of(me), ACK(me.execution, me.S))


@kernel
def on_info(me: State, source: int, message: INFO, now: int, out: Outbox) -> None:
    """Round p + 2: what everyone has is stable."""
    if message.execution < me.execution:
        return
    if message.execution > me.execution:
        advance(me, message.execution)
    declare_stable(me, out, message.execution, message.S)
    if me.params.relay:
        tell_children(me, message.S, out)
    finish(out, message.execution)


@kernel
def ask_children(me: State, out: Outbox) -> None:
    """Send START to the children that have not answered."""
    child = next_asked(me, -1)
    while child >= 0:
        send(out, child, START(me.execution))
        child = next_asked(me, child)


@kernel
def tell_children(me: State, result: IntArray, out: Outbox) -> None:
    """Send INFO to the children that have not answered."""
    first, child = True, next_asked(me, -1)
    while child >= 0:
        if first:
            send(out, child, INFO(me.execution, result))
        else:
            send_again(out, child)
        first, child = False, next_asked(me, child)


def _sends(sizes: Sizes) -> int:
    return one_to_each(sizes) if sizes.params["relay"] else one_to_each_if_guarded(sizes)


PLAIN = Kernels(start=start, receive={START: on_start, ACK: on_ack, INFO: on_info}, sends=_sends)
PROTOCOL = Protocol(
    about=__doc__,
    paper="hierarchical, section 4.1",
    state=State,
    kernels=tree.asking(
        PLAIN,
        tree.Asked(advance, count, report, ask_children, tell_children),
        tree.Messages(START, ACK, INFO, ACK_INFO),
    ),
    runs=Started(by_minimum=True, timed=sets_timers, successors=True),
    parameters=(RESEND, TREE_DEGREE, hidden("relay", Role.RELAY), tree.PULL),
    places=tree_places,
    links=tree_member_links,
)
