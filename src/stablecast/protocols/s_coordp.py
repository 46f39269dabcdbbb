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
With resends
    A member that waits for children's ACKs sends START to them again; one that has reported answers a START
    with its ACK again.  INFO likewise, with ACK_INFOs that climb the tree.
When a member is gone
    A leaf is no longer waited for.  Below an inner member that is gone nobody can be heard, so the execution
    waits for ever; the tree would have to be built anew.
Paper
    Hierarchical Message Stability Tracking Protocols, section 4.1; resends: hypercube, section 3.5.
"""

from __future__ import annotations

from stablecast._jit import kernel
from stablecast.protocols._resending import (
    RESENDS,
    copy_set,
    is_guarded,
    is_in,
    put_in,
    resends,
    resends_set_timers,
    sends_to_all,
    sets_if_guarded,
    wait_for_answers,
)
from stablecast.protocols._tree_members import (
    AS_THE_NETWORK,
    ASKING,
    CHILDREN,
    DEAD,
    EXECUTION,
    FIRST_CHILD,
    GATHERED,
    GONE_COUNT,
    INNER,
    MISSING,
    PARENT,
    PHASE,
    REPORTED,
    TELLING,
    THROUGH,
    TOLD,
    WAITING,
    hear_child_told,
    hear_result,
    rank_of,
    see_whether_told,
    tell_children,
    tree_places,
)
from stablecast.protocols.contract.kernels import (
    GONE,
    GROUP,
    NEVER,
    Member,
    Message,
    Outbox,
    gather,
    no_init,
    send,
    send_array,
    send_received,
    set_timer,
)
from stablecast.protocols.contract.parameters import Role, hidden
from stablecast.protocols.contract.protocol import Protocol, Sizes

START, ACK, INFO, ACK_INFO = 0, 1, 2, 3
RELAY = 2  # parameter, behind those of all trees

init = no_init


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """Round 1: the root multicasts START."""
    _advance(me, me.reg[EXECUTION] + 1)
    send(out, START, me.number if me.params[RELAY] else GROUP, me.reg[EXECUTION])


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Rounds 2 to p + 2: with START and every child's ACK in, report to the parent; take in INFO."""
    if message.kind == GONE:
        _count_out(me, message.source, out)
        return
    if message.execution < me.reg[EXECUTION]:
        return
    if message.execution > me.reg[EXECUTION]:
        _advance(me, message.execution)
    if message.kind == INFO:
        hear_result(me, message, now, out, ACK_INFO, me.params[RELAY] > 0)
    elif message.kind == ACK_INFO:
        hear_child_told(me, message, out, ACK_INFO)
    elif message.kind == START:
        _take_start(me, now, out)
    elif me.reg[PHASE] < REPORTED and put_in(me, THROUGH, rank_of(me, message.source)):
        gather(me, 0, GATHERED, message.array)
        _account(me, out)


@kernel
def _take_start(me: Member, now: int, out: Outbox) -> None:
    if me.reg[PHASE] == REPORTED and resends(me):
        _report(me, out)
    if me.reg[PHASE] != WAITING and is_guarded(me):
        return
    me.reg[PHASE] = ASKING
    if me.params[RELAY]:
        _ask_children(me, out)
    wait_for_answers(me, now, out)
    _account(me, out)


@kernel
def _ask_children(me: Member, out: Outbox) -> None:
    """Send START to the children whose ACK has not come."""
    for rank in range(me.place[CHILDREN]):
        if not is_in(me, THROUGH, rank):
            send(out, START, me.place[FIRST_CHILD] + rank, me.reg[EXECUTION])


@kernel
def _account(me: Member, out: Outbox) -> None:
    me.reg[MISSING] -= 1
    if me.reg[MISSING] == 0:
        if me.place[CHILDREN] > 0 or me.place[PARENT] < 0:
            gather(me, 0, GATHERED, me.received)
        me.reg[PHASE] = REPORTED
        _report(me, out)
        set_timer(out, NEVER)


@kernel
def _report(me: Member, out: Outbox) -> None:
    if me.place[PARENT] < 0:
        dest = me.number if me.params[RELAY] else GROUP
        send_array(out, INFO, dest, me.reg[EXECUTION], me.gathered[0])
    elif me.place[CHILDREN] == 0:
        send_received(out, ACK, me.place[PARENT], me.reg[EXECUTION])
    else:
        send_array(out, ACK, me.place[PARENT], me.reg[EXECUTION], me.gathered[0])


@kernel
def _advance(me: Member, execution: int) -> None:
    me.reg[EXECUTION] = execution
    me.reg[MISSING] = 1 + me.place[CHILDREN] - me.reg[GONE_COUNT]
    me.reg[GATHERED] = 0
    me.reg[PHASE] = WAITING
    copy_set(me, THROUGH, DEAD)


@kernel
def _count_out(me: Member, member: int, out: Outbox) -> None:
    rank = rank_of(me, member)
    if rank < 0 or me.place[INNER + rank] or not put_in(me, DEAD, rank):
        return
    me.reg[GONE_COUNT] += 1
    if me.reg[EXECUTION] == 0 or not put_in(me, THROUGH, rank):
        return
    if me.reg[PHASE] < REPORTED:
        _account(me, out)
    elif me.reg[PHASE] == TELLING:
        me.reg[TOLD] += 1
        see_whether_told(me, out, ACK_INFO)


@kernel
def handle_timer(me: Member, now: int, out: Outbox) -> None:
    """Send START or INFO again to the children that have not answered."""
    if me.reg[PHASE] == ASKING:
        _ask_children(me, out)
    elif me.reg[PHASE] == TELLING:
        tell_children(me, out, INFO)
    wait_for_answers(me, now, out)


def _most_sends(sizes: Sizes) -> int:
    return sizes.group + 4 if sizes.params[RELAY] else sends_to_all(sizes)


PROTOCOL = Protocol(
    name="s_coordp",
    title="minima climb a tree, the root tells all",
    paper="hierarchical, section 4.1",
    kinds=("START", "ACK", "INFO", "ACK_INFO"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    places=tree_places,
    module=__name__,
    parameters=(
        RESENDS,
        AS_THE_NETWORK,
        hidden("relay", Role.RELAY),  # 1: START and INFO are passed on along the tree
    ),
    registers=6,
    own=sets_if_guarded(2),
    timed=resends_set_timers,
    told=True,
    sends_max=_most_sends,
    arrays_max=2,
)
