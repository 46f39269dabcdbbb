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
With resends
    Who passes the train on sends it again until the next member says that it got it: GOT on the first tour,
    GOT_INFO on the second.  A train that comes again is only answered.
When a member is gone
    The ring is broken, and the execution waits for ever.
Paper
    Hierarchical Message Stability Tracking Protocols, section 3.3; resends in the manner of the hypercube
    paper, section 3.5.
"""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.frontier import copy_into, take_minimum
from stablecast.overlays import Tree, back_and_forth, successor
from stablecast.protocols._resending import RESENDS, resends, resends_set_timers, wait_for_answers
from stablecast.protocols.contract.kernels import (
    NEVER,
    Member,
    Message,
    Outbox,
    declare_stable,
    finish,
    no_init,
    send,
    send_array,
    set_timer,
)
from stablecast.protocols.contract.protocol import Place, Protocol, columns

START, ACK, INFO, GOT, GOT_INFO = 0, 1, 2, 3, 4
# Registers: the newest execution; tours on which the train was here; the kind of train that the next member
# has not confirmed, plus one, 0 for none.
EXECUTION, TOURS, UNCONFIRMED = 0, 1, 2
NEXT = 0  # place: who follows in the ring
FIRST = 0

init = no_init


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """Put the first member's array on the train."""
    _advance(me, me.reg[EXECUTION] + 1)
    copy_into(me.gathered[0], me.received)
    _pass_on(me, START, now, out)


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """First tour: lower the array to one's own and pass it on.  Second tour: take it in and pass it on."""
    if message.execution < me.reg[EXECUTION]:
        return
    if message.execution > me.reg[EXECUTION]:
        _advance(me, message.execution)
    if message.kind >= GOT:
        _hear_confirmed(me, message.kind, out)
        return
    tour = 2 if message.kind == INFO else 1
    if resends(me):
        send(out, GOT_INFO if tour == 2 else GOT, message.source, message.execution)
    if me.reg[TOURS] >= tour:
        return
    me.reg[TOURS] = tour
    if tour == 1:
        copy_into(me.gathered[0], message.array)
        take_minimum(me.gathered[0], me.received)
        if me.number == FIRST:
            declare_stable(me, out, message.execution, me.gathered[0])
        _pass_on(me, INFO if me.number == FIRST else ACK, now, out)
        return
    if me.number != FIRST:
        declare_stable(me, out, message.execution, message.array)
        copy_into(me.gathered[0], message.array)
        _pass_on(me, INFO, now, out)
    finish(out, message.execution)


@kernel
def _pass_on(me: Member, kind: int, now: int, out: Outbox) -> None:
    send_array(out, kind, me.place[NEXT], me.reg[EXECUTION], me.gathered[0])
    if resends(me):
        me.reg[UNCONFIRMED] = kind + 1
        wait_for_answers(me, now, out)


@kernel
def _hear_confirmed(me: Member, kind: int, out: Outbox) -> None:
    tour_under_way = GOT_INFO if me.reg[UNCONFIRMED] == INFO + 1 else GOT
    if me.reg[UNCONFIRMED] > 0 and kind == tour_under_way:
        me.reg[UNCONFIRMED] = 0
        set_timer(out, NEVER)


@kernel
def handle_timer(me: Member, now: int, out: Outbox) -> None:
    """Send the train again to the next member."""
    _pass_on(me, me.reg[UNCONFIRMED] - 1, now, out)


@kernel
def _advance(me: Member, execution: int) -> None:
    me.reg[EXECUTION] = execution
    me.reg[TOURS] = 0
    me.reg[UNCONFIRMED] = 0


def place(tree: Tree) -> Place:
    """Place the members on a ring that runs back and forth through the levels of the tree."""
    return columns(successor(back_and_forth(tree)))


PROTOCOL = Protocol(
    name="train",
    title="an array goes round the ring twice, first gathering the minimum, then telling it",
    paper="hierarchical, section 3.3",
    kinds=("START", "ACK", "INFO", "GOT", "GOT_INFO"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    place=place,
    module=__name__,
    parameters=(RESENDS,),
    timed=resends_set_timers,
)
