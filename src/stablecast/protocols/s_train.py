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
With resends
    A member sends its train again until the next sibling, or the parent, says that it GOT it, and START to
    its first child until that one says GOT_START; INFO and ACK_INFO are as in ``s_coordp``.
When a member is gone
    Its siblings' train is broken, and the execution waits for ever.
Paper
    Hierarchical Message Stability Tracking Protocols, section 4.2; resends in the manner of the hypercube
    paper, section 3.5.
"""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.protocols._resending import (
    RESENDS,
    resends,
    resends_set_timers,
    sends_to_all,
    sets_if_guarded,
    wait_for_answers,
)
from stablecast.protocols._tree_members import (
    AS_THE_NETWORK,
    CHILDREN,
    EXECUTION,
    FIRST_CHILD,
    FLAGS,
    GATHERED,
    MISSING,
    NEXT,
    PARENT,
    PHASE,
    PREVIOUS,
    TELLING,
    WAITING,
    hear_child_told,
    hear_result,
    tell_children,
    tree_places,
)
from stablecast.protocols.contract.kernels import (
    GROUP,
    Member,
    Message,
    Outbox,
    gather,
    no_init,
    send,
    send_array,
)
from stablecast.protocols.contract.protocol import Protocol

START, ACK1, ACK2, INFO, GOT, GOT_START, ACK_INFO = 0, 1, 2, 3, 4, 5, 6
# Register FLAGS: the previous sibling's train, or START, is in; the last child's train is in; this member's
# train, and START at its first child, are still to be confirmed.
FROM_BEFORE, FROM_BELOW, TRAIN_OUT, START_OUT = 1, 2, 4, 8

init = no_init


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """Round 1: the root multicasts START."""
    _advance(me, me.reg[EXECUTION] + 1, now, out)
    send(out, START, GROUP, me.reg[EXECUTION])


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Pass the train on once all that it waits for is in: to the next sibling, the parent, or everyone."""
    if message.execution < me.reg[EXECUTION]:
        return
    if message.execution > me.reg[EXECUTION]:
        _advance(me, message.execution, now, out)
    if message.kind == INFO:
        hear_result(me, message, now, out, ACK_INFO, False)
    elif message.kind == ACK_INFO:
        hear_child_told(me, message, out, ACK_INFO)
    elif message.kind == GOT:
        me.reg[FLAGS] &= ~TRAIN_OUT
    elif message.kind == GOT_START:
        me.reg[FLAGS] &= ~START_OUT
    else:
        _take_in(me, message, now, out)


@kernel
def _take_in(me: Member, message: Message, now: int, out: Outbox) -> None:
    if message.kind == START and me.place[PREVIOUS] >= 0:
        return
    _confirm(me, message, out)
    part = FROM_BELOW if message.kind == ACK2 else FROM_BEFORE
    if me.reg[FLAGS] & part:
        return
    me.reg[FLAGS] |= part
    if message.kind != START:
        gather(me, 0, GATHERED, message.array)
    me.reg[MISSING] -= 1
    if me.reg[MISSING] == 0:
        gather(me, 0, GATHERED, me.received)
        _pass_on(me, now, out)


@kernel
def _confirm(me: Member, message: Message, out: Outbox) -> None:
    if not resends(me):
        return
    if message.kind != START:
        send(out, GOT, message.source, message.execution)
    elif me.place[PARENT] >= 0:
        send(out, GOT_START, me.place[PARENT], message.execution)


@kernel
def _pass_on(me: Member, now: int, out: Outbox) -> None:
    execution = me.reg[EXECUTION]
    if me.place[PARENT] < 0:
        send_array(out, INFO, GROUP, execution, me.gathered[0])
        return
    if me.place[NEXT] >= 0:
        send_array(out, ACK1, me.place[NEXT], execution, me.gathered[0])
    else:
        send_array(out, ACK2, me.place[PARENT], execution, me.gathered[0])
    if resends(me):
        me.reg[FLAGS] |= TRAIN_OUT
        wait_for_answers(me, now, out)


@kernel
def _advance(me: Member, execution: int, now: int, out: Outbox) -> None:
    """Wait for the previous sibling's ACK1, or START where there is none, and for the last child's ACK2."""
    me.reg[EXECUTION] = execution
    me.reg[MISSING] = 1 + (me.place[CHILDREN] > 0)
    me.reg[GATHERED] = 0
    me.reg[PHASE] = WAITING
    me.reg[FLAGS] = 0
    if resends(me) and me.place[CHILDREN] > 0:
        me.reg[FLAGS] = START_OUT
        wait_for_answers(me, now, out)


@kernel
def handle_timer(me: Member, now: int, out: Outbox) -> None:
    """Send again what was not confirmed; with all of it confirmed, the timer stays off."""
    flags = me.reg[FLAGS]
    if flags & START_OUT:
        send(out, START, me.place[FIRST_CHILD], me.reg[EXECUTION])
    if flags & TRAIN_OUT:
        _pass_on(me, now, out)
    if me.reg[PHASE] == TELLING:
        tell_children(me, out, INFO)
    if flags & (START_OUT | TRAIN_OUT) or me.reg[PHASE] == TELLING:
        wait_for_answers(me, now, out)


PROTOCOL = Protocol(
    name="s_train",
    title="trains run through each set of siblings and climb a tree, the root tells all",
    paper="hierarchical, section 4.2",
    kinds=("START", "ACK1", "ACK2", "INFO", "GOT", "GOT_START", "ACK_INFO"),
    rows=("START", "ACK", "ACK", "INFO", "GOT", "GOT_START", "ACK_INFO"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    places=tree_places,
    module=__name__,
    parameters=(RESENDS, AS_THE_NETWORK),
    registers=7,
    own=sets_if_guarded(2),
    timed=resends_set_timers,
    sends_max=sends_to_all,
    arrays_max=3,
)
