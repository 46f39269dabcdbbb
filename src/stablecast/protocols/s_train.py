"""s_train: trains run through each set of siblings and climb a tree, the root tells all.

Promise
    A member calls a message stable only after every member had received it.
Why it is safe
    A member passes on the minimum of its own R, of what its previous sibling passed on (ACK1) and of what
    its last child passed on (ACK2), all of one execution: the minimum over its subtree and those of its
    earlier siblings.  What the root receives covers everyone.
Cost
    bp + 2 rounds on a complete tree; at most 5 messages handled by any member; F_g + 2n - 2 messages on
    the hops.
When messages are lost, or members are gone
    :mod:`stablecast.protocols.layers.trains`.  When a member is gone its siblings' train is broken, and the
    execution waits for ever.
Paper
    Hierarchical Message Stability Tracking Protocols, section 4.2; retransmissions in the manner of the
    hypercube paper, section 3.5.
"""

from __future__ import annotations

from typing import NamedTuple

from stablecast.protocols._tree import TREE_DEGREE, logical_tree, places_in
from stablecast.protocols.contract import (
    GROUP,
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
    counted_as,
    declare_stable,
    finish,
    gather,
    kernel,
    send,
)
from stablecast.protocols.layers import RESEND, sets_timers, trains


class State(trains.Sibling):
    """What a member keeps."""

    previous: Place
    """The sibling before it, -1 if it is the first child."""
    next: Place
    """The sibling behind it, -1 if it is the last child."""
    execution: Number
    """The newest execution that this member has heard of."""
    S: Sources
    """The minimum of the trains that have come."""
    gathered: Number
    """How many that are."""
    missing: Number
    """What is still to come before this member passes a train on."""


class START(NamedTuple):
    """The root asks for everyone's array."""

    execution: Round


@counted_as("ACK")
class ACK1(NamedTuple):
    """A train to the next sibling."""

    execution: Round
    S: Sources


@counted_as("ACK")
class ACK2(NamedTuple):
    """A train from the last child to the parent."""

    execution: Round
    S: Sources


class INFO(NamedTuple):
    """What everyone has received."""

    execution: Round
    S: Sources


class GOT(NamedTuple):
    """A train was received; where messages may be lost."""

    execution: Round


class GOT_START(NamedTuple):  # noqa: N801
    """START was received; where messages may be lost."""

    execution: Round


class ACK_INFO(NamedTuple):  # noqa: N801
    """INFO was received by a member and all below it; where messages may be lost."""

    execution: Round


@kernel
def start(me: State, now: int, out: Outbox) -> None:
    """Round 1: the root multicasts START."""
    advance(me, me.execution + 1)
    send(out, GROUP, START(me.execution))


@kernel
def advance(me: State, execution: int) -> None:
    """Wait for the previous sibling's ACK1, or START where there is none, and for the last child's ACK2."""
    me.execution = execution
    me.missing = 1 + (me.children > 0)
    me.gathered = 0


@kernel
def on_start(me: State, source: int, message: START, now: int, out: Outbox) -> None:
    """A first child need not wait for a sibling."""
    if is_current(me, message.execution) and me.previous < 0:
        count(me, out)


@kernel
def on_ack(me: State, source: int, message: ACK1, now: int, out: Outbox) -> None:
    """Take in a train, of the previous sibling or of the last child."""
    if is_current(me, message.execution):
        gather(me.S, message.S, me.gathered == 0)
        me.gathered += 1
        count(me, out)


@kernel
def is_current(me: State, execution: int) -> bool:
    """Ignore an older execution, and enter a newer one."""
    if execution > me.execution:
        advance(me, execution)
    return bool(execution == me.execution)


@kernel
def count(me: State, out: Outbox) -> None:
    """With all trains in, take in one's own array and pass the minimum on."""
    me.missing -= 1
    if me.missing == 0:
        gather(me.S, me.received, me.gathered == 0)
        pass_on(me, out)


@kernel
def pass_on(me: State, out: Outbox) -> None:
    """Send the minimum to the next sibling, behind the last one to the parent, at the root to everyone."""
    if me.parent < 0:
        send(out, GROUP, INFO(me.execution, me.S))
    elif me.next >= 0:
        send(out, me.next, ACK1(me.execution, me.S))
    else:
        send(out, me.parent, ACK2(me.execution, me.S))


@kernel
def on_info(me: State, source: int, message: INFO, now: int, out: Outbox) -> None:
    """What everyone has is stable."""
    if is_current(me, message.execution):
        declare_stable(me, out, message.execution, message.S)
        finish(out, message.execution)


def places(around: Surroundings) -> Placement:
    """Place each member under its parent, among its siblings, above its children."""
    tree = logical_tree(around.tree, around.sizes)
    return places_in(tree) | {"previous": tree.previous_sibling, "next": tree.next_sibling}


PLAIN = Kernels(start=start, receive={START: on_start, ACK1: on_ack, ACK2: on_ack, INFO: on_info})
PROTOCOL = Protocol(
    about=__doc__,
    paper="hierarchical, section 4.2",
    state=State,
    kernels=trains.among_siblings(
        PLAIN, advance, pass_on, trains.Messages(START, ACK1, ACK2, INFO, GOT, GOT_START, ACK_INFO)
    ),
    runs=Started(by_minimum=True, timed=sets_timers),
    parameters=(RESEND, TREE_DEGREE),
    places=places,
)
