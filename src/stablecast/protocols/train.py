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
Paper
    Hierarchical Message Stability Tracking Protocols, section 3.3.
"""

from __future__ import annotations

from stablecast._jit import kernel
from stablecast.frontier import copy_into, take_minimum
from stablecast.overlays import Tree, back_and_forth, successor
from stablecast.protocols.contract.kernels import (
    Member,
    Message,
    Outbox,
    declare_stable,
    finish,
    no_init,
    no_timer,
    send_array,
    send_received,
)
from stablecast.protocols.contract.protocol import Place, Protocol, columns

START, ACK, INFO = 0, 1, 2
EXECUTION = 0  # register: the newest execution
NEXT = 0  # place: who follows in the ring
FIRST = 0

init, handle_timer = no_init, no_timer


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """Put the first member's array on the train."""
    me.reg[EXECUTION] += 1
    send_received(out, START, me.place[NEXT], me.reg[EXECUTION])


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """First tour: lower the array to one's own and pass it on.  Second tour: take it in and pass it on."""
    execution = message.execution
    if execution < me.reg[EXECUTION]:
        return
    me.reg[EXECUTION] = execution
    if message.kind == INFO:
        if me.number != FIRST:
            declare_stable(me, out, execution, message.array)
            send_array(out, INFO, me.place[NEXT], execution, message.array)
        finish(out, execution)
    elif me.number != FIRST:
        copy_into(me.gathered[0], message.array)
        take_minimum(me.gathered[0], me.received)
        send_array(out, ACK, me.place[NEXT], execution, me.gathered[0])
    else:
        declare_stable(me, out, execution, message.array)
        send_array(out, INFO, me.place[NEXT], execution, message.array)


def place(tree: Tree) -> Place:
    """Place the members on a ring that runs back and forth through the levels of the tree."""
    return columns(successor(back_and_forth(tree)))


PROTOCOL = Protocol(
    name="train",
    title="an array goes round the ring twice, first gathering the minimum, then telling it",
    paper="hierarchical, section 3.3",
    kinds=("START", "ACK", "INFO"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    place=place,
    module=__name__,
)
