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
Paper
    Hierarchical Message Stability Tracking Protocols, section 4.2.
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
)
from stablecast.protocols.contract.protocol import Place, Protocol, columns

START, ACK1, ACK2, INFO = 0, 1, 2, 3
EXECUTION, MISSING, GATHERED = 0, 1, 2  # registers: newest execution; what is still to come; arrays taken in
PARENT, PREVIOUS, NEXT, LAST_CHILD = 0, 1, 2, 3  # place: members, -1 where there is none

init, handle_timer = no_init, no_timer


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """Round 1: the root multicasts START."""
    _advance(me, me.reg[EXECUTION] + 1)
    send(out, START, GROUP, me.reg[EXECUTION])


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Pass the train on once all that it waits for is in: to the next sibling, the parent, or everyone."""
    if message.execution < me.reg[EXECUTION]:
        return
    if message.execution > me.reg[EXECUTION]:
        _advance(me, message.execution)
    if message.kind == INFO:
        declare_stable(me, out, message.execution, message.array)
        finish(out, message.execution)
        return
    if message.kind == START:
        if me.place[PREVIOUS] >= 0:
            return
    else:
        gather(me, 0, GATHERED, message.array)
    me.reg[MISSING] -= 1
    if me.reg[MISSING] == 0:
        gather(me, 0, GATHERED, me.received)
        _pass_on(me, message.execution, out)


@kernel
def _pass_on(me: Member, execution: int, out: Outbox) -> None:
    if me.place[PARENT] < 0:
        send_array(out, INFO, GROUP, execution, me.gathered[0])
    elif me.place[NEXT] >= 0:
        send_array(out, ACK1, me.place[NEXT], execution, me.gathered[0])
    else:
        send_array(out, ACK2, me.place[PARENT], execution, me.gathered[0])


@kernel
def _advance(me: Member, execution: int) -> None:
    """Wait for the previous sibling's ACK1, or START where there is none, and for the last child's ACK2."""
    me.reg[EXECUTION] = execution
    me.reg[MISSING] = 1 + (me.place[LAST_CHILD] >= 0)
    me.reg[GATHERED] = 0


def place(tree: Tree) -> Place:
    """Place each member among its siblings and under its parent."""
    return columns(tree.parent, tree.previous_sibling, tree.next_sibling, tree.last_child)


PROTOCOL = Protocol(
    name="s_train",
    title="trains run through each set of siblings and climb a tree, the root tells all",
    paper="hierarchical, section 4.2",
    kinds=("START", "ACK1", "ACK2", "INFO"),
    rows=("START", "ACK", "ACK", "INFO"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    place=place,
    module=__name__,
)
