"""s_coordp: minima climb a tree, the root tells all.

Promise
    A member calls a message stable only after every member had received it.
Why it is safe
    A member reports the minimum of its own R and of one report of each child, all of one execution; by
    induction the root's is the minimum over the whole group.  Reports of older executions are ignored.
Cost
    p + 2 rounds on a tree of height p; a member handles at most b + 4 messages whatever the group's size,
    and an ACK crosses a single link where the tree follows the network: 3(n - 1) messages on all hops.
Paper
    Hierarchical Message Stability Tracking Protocols, section 4.1.
"""

from __future__ import annotations

from stablecast._jit import kernel
from stablecast.overlays import Tree
from stablecast.protocols.contract.kernels import (
    GROUP,
    Member,
    Message,
    Outbox,
    declare_stable,
    finish,
    gather,
    no_init,
    no_timer,
    send,
    send_array,
    send_received,
)
from stablecast.protocols.contract.protocol import Place, Protocol, columns

START, ACK, INFO = 0, 1, 2
EXECUTION, MISSING, GATHERED = 0, 1, 2  # registers: newest execution; what is still to come; arrays taken in
PARENT, CHILDREN = 0, 1  # place: the parent, -1 at the root; the number of children

init, handle_timer = no_init, no_timer


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """Round 1: the root multicasts START."""
    _advance(me, me.reg[EXECUTION] + 1)
    send(out, START, GROUP, me.reg[EXECUTION])


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Rounds 2 to p + 2: with START and every child's ACK in, report to the parent; take in INFO."""
    if message.execution < me.reg[EXECUTION]:
        return
    if message.execution > me.reg[EXECUTION]:
        _advance(me, message.execution)
    if message.kind == INFO:
        declare_stable(me, out, message.execution, message.array)
        finish(out, message.execution)
        return
    if message.kind == ACK:
        gather(me, 0, GATHERED, message.array)
    me.reg[MISSING] -= 1
    if me.reg[MISSING] == 0:
        _report(me, message.execution, out)


@kernel
def _report(me: Member, execution: int, out: Outbox) -> None:
    if me.place[CHILDREN] == 0 and me.place[PARENT] >= 0:
        send_received(out, ACK, me.place[PARENT], execution)
        return
    gather(me, 0, GATHERED, me.received)
    if me.place[PARENT] >= 0:
        send_array(out, ACK, me.place[PARENT], execution, me.gathered[0])
    else:
        send_array(out, INFO, GROUP, execution, me.gathered[0])


@kernel
def _advance(me: Member, execution: int) -> None:
    me.reg[EXECUTION] = execution
    me.reg[MISSING] = 1 + me.place[CHILDREN]
    me.reg[GATHERED] = 0


def place(tree: Tree) -> Place:
    """Place each member under its parent in the tree."""
    return columns(tree.parent, tree.child_count)


PROTOCOL = Protocol(
    name="s_coordp",
    title="minima climb a tree, the root tells all",
    paper="hierarchical, section 4.1",
    kinds=("START", "ACK", "INFO"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    place=place,
    module=__name__,
)
