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
With resends
    START is sent again to those whose ACK has not come, then INFO to those whose ACK_INFO has not; an
    execution is over when all of those are in.
When a member is gone
    The coordinator no longer waits for it.  When the coordinator is gone, everyone waits for ever.
Paper
    Hierarchical Message Stability Tracking Protocols, section 3.1; resends: hypercube, section 3.5.
"""

from __future__ import annotations

import numpy as np

from stablecast.compiling import kernel
from stablecast.overlays import Tree
from stablecast.protocols._resending import (
    RESENDS,
    copy_set,
    is_in,
    put_in,
    resends,
    resends_set_timers,
    sends_to_all,
    sets_if_guarded,
    wait_for_answers,
)
from stablecast.protocols.contract.kernels import (
    GONE,
    GROUP,
    NEVER,
    Member,
    Message,
    Outbox,
    declare_stable,
    finish,
    gather,
    no_init,
    send,
    send_again,
    send_array,
    send_received,
    set_timer,
)
from stablecast.protocols.contract.protocol import Place, Protocol, columns

START, ACK, INFO, ACK_INFO = 0, 1, 2, 3
# Registers: the newest execution; arrays taken in, the own one included; of the coordinator, what it waits
# for, how many have answered or are gone, and how many are gone.
EXECUTION, GATHERED, PHASE, ANSWERED, GONE_COUNT = 0, 1, 2, 3, 4
IDLE, ASKING, TELLING = 0, 1, 2
DEAD, THROUGH = 0, 1  # sets: who is gone; who has answered, or is gone
COORDINATOR = 0

init = no_init


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """Round 1: the coordinator multicasts START."""
    me.reg[EXECUTION] += 1
    me.reg[GATHERED] = 0
    _wait_for_all(me, ASKING, now, out)
    send(out, START, GROUP, me.reg[EXECUTION])


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Rounds 2 and 3: answer START with an ACK, gather the ACKs, take in INFO."""
    if message.kind == GONE:
        _count_out(me, message.source, now, out)
        return
    if message.execution < me.reg[EXECUTION]:
        return
    me.reg[EXECUTION] = message.execution
    if me.number == COORDINATOR:
        _take_answer(me, message, now, out)
    elif message.kind == INFO:
        declare_stable(me, out, message.execution, message.array)
        finish(out, message.execution)
        if resends(me):
            send(out, ACK_INFO, COORDINATOR, message.execution)
    else:
        send_received(out, ACK, COORDINATOR, message.execution)


@kernel
def _take_answer(me: Member, message: Message, now: int, out: Outbox) -> None:
    if message.kind == INFO:
        declare_stable(me, out, message.execution, message.array)
        if not resends(me):
            finish(out, message.execution)
            return
    told = message.kind == INFO or message.kind == ACK_INFO
    if me.reg[PHASE] != (TELLING if told else ASKING) or not put_in(me, THROUGH, message.source):
        return
    if not told:
        gather(me, 0, GATHERED, me.received if message.kind == START else message.array)
    me.reg[ANSWERED] += 1
    _go_on(me, now, out)


@kernel
def _go_on(me: Member, now: int, out: Outbox) -> None:
    """With all answers in, tell everyone the minimum; with all ACK_INFOs in, be done."""
    if me.reg[ANSWERED] < me.group_size:
        return
    if me.reg[PHASE] == ASKING:
        _wait_for_all(me, TELLING, now, out)
        send_array(out, INFO, GROUP, me.reg[EXECUTION], me.gathered[0])
    elif me.reg[PHASE] == TELLING and resends(me):
        me.reg[PHASE] = IDLE
        finish(out, me.reg[EXECUTION])
        set_timer(out, NEVER)


@kernel
def _wait_for_all(me: Member, phase: int, now: int, out: Outbox) -> None:
    me.reg[PHASE] = phase
    me.reg[ANSWERED] = me.reg[GONE_COUNT]
    copy_set(me, THROUGH, DEAD)
    wait_for_answers(me, now, out)


@kernel
def _count_out(me: Member, member: int, now: int, out: Outbox) -> None:
    if me.number != COORDINATOR or not put_in(me, DEAD, member):
        return
    me.reg[GONE_COUNT] += 1
    if put_in(me, THROUGH, member):
        me.reg[ANSWERED] += 1
        _go_on(me, now, out)


@kernel
def handle_timer(me: Member, now: int, out: Outbox) -> None:
    """Send START or INFO again to those who have not answered."""
    first = True
    for j in range(me.group_size):
        if j == COORDINATOR or is_in(me, THROUGH, j):
            continue
        if me.reg[PHASE] == ASKING:
            send(out, START, j, me.reg[EXECUTION])
        elif first:
            send_array(out, INFO, j, me.reg[EXECUTION], me.gathered[0])
        else:
            send_again(out, INFO, j, me.reg[EXECUTION])
        first = False
    wait_for_answers(me, now, out)


def place(tree: Tree) -> Place:
    """Every member needs only to know the coordinator, which is member 0."""
    return columns(np.zeros(tree.size, np.int64))


PROTOCOL = Protocol(
    name="coordp",
    title="a coordinator asks all, gathers the minimum, tells all",
    paper="hierarchical, section 3.1",
    kinds=("START", "ACK", "INFO", "ACK_INFO"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    place=place,
    module=__name__,
    parameters=(RESENDS,),
    registers=5,
    own=sets_if_guarded(2),
    timed=resends_set_timers,
    told=True,
    sends_max=sends_to_all,
    arrays_max=2,
)
