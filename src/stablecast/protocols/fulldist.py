"""fulldist: every member multicasts its array, every member takes the minimum.

Promise
    A member calls a message stable only after every member had received it.
Why it is safe
    A member declares the minimum over one INFO of each member, all of the same execution; each INFO is a
    copy of what its sender had then received, and received prefixes only grow.
Cost
    2 rounds and n multicasts: n(n - 1) messages on the hops of a tree, n + 1 handled by every member.
How it is kept small
    The paper's n × n matrix is replaced by its column minima.  A row is only ever used in a minimum over
    rows of one execution, so a running minimum and a count say the same.  Two slots, by parity, because a
    fast member's INFO of the next execution may overtake a slow member's INFO of this one.
With resends
    Until it has everyone's INFO, a member sends its own again, as a REPEAT, to those whose INFO it lacks, and
    a REPEAT is answered with an INFO, also by a member that is through with that execution: without the
    answer the first member could wait for ever (``docs/errata.md``).
When a member is gone
    Nobody waits for it any more.  When the first member is gone, the execution under way still ends: who has
    not yet answered it does so at the next INFO of anyone.
Paper
    Hierarchical Message Stability Tracking Protocols, section 3.2; resends: hypercube, section 3.5.
"""

from __future__ import annotations

import numpy as np

from stablecast._jit import kernel
from stablecast.overlays import Tree
from stablecast.protocols._resending import (
    RESENDS,
    copy_set,
    is_guarded,
    is_in,
    put_in,
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
    send_received,
    set_timer,
)
from stablecast.protocols.contract.protocol import Place, Protocol, columns

INFO, REPEAT = 0, 1
# Registers: the newest execution; for even and for odd executions, INFOs taken in, and members that have sent
# theirs or are gone; the last execution that this member sent its own INFO of; how many are gone.
EXECUTION, COUNT, THROUGH_COUNT, SENT, GONE_COUNT = 0, 1, 3, 5, 6
DEAD, THROUGH = 0, 1  # sets: who is gone; who has sent INFO or is gone, for even and for odd executions
FIRST = 0

init = no_init


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """Round 1: the first member multicasts its row."""
    _advance(me, me.reg[EXECUTION] + 1)
    _send_own(me, now, out)


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Round 2: answer the first member's row with one's own; take in everyone's."""
    if message.kind == GONE:
        _count_out(me, message.source, now, out)
        return
    if message.execution < me.reg[EXECUTION] - 1:
        return
    if message.execution > me.reg[EXECUTION]:
        _advance(me, message.execution)
    if message.execution == me.reg[EXECUTION] and _asks(me, message.source):
        _send_own(me, now, out)
    if message.kind == REPEAT:
        send_received(out, INFO, message.source, message.execution)
    slot = message.execution % 2
    if put_in(me, THROUGH + slot, message.source):
        gather(me, slot, COUNT + slot, message.array)
        _account(me, message.execution, out)


@kernel
def _asks(me: Member, source: int) -> bool:
    """Tell whether an INFO asks for one's own: the first member's, or anyone's when that one is gone."""
    return bool(source == FIRST or (is_guarded(me) and is_in(me, DEAD, FIRST)))


@kernel
def _send_own(me: Member, now: int, out: Outbox) -> None:
    if me.reg[SENT] < me.reg[EXECUTION]:
        me.reg[SENT] = me.reg[EXECUTION]
        send_received(out, INFO, GROUP, me.reg[EXECUTION])
        wait_for_answers(me, now, out)


@kernel
def _account(me: Member, execution: int, out: Outbox) -> None:
    slot = execution % 2
    me.reg[THROUGH_COUNT + slot] += 1
    if me.reg[THROUGH_COUNT + slot] == me.group_size:
        declare_stable(me, out, execution, me.gathered[slot])
        finish(out, execution)
        if execution == me.reg[EXECUTION]:
            set_timer(out, NEVER)


@kernel
def _count_out(me: Member, member: int, now: int, out: Outbox) -> None:
    if not put_in(me, DEAD, member):
        return
    me.reg[GONE_COUNT] += 1
    if me.reg[EXECUTION] > 0 and member == FIRST:
        _send_own(me, now, out)
    for execution in range(max(me.reg[EXECUTION] - 1, 1), me.reg[EXECUTION] + 1):
        if put_in(me, THROUGH + execution % 2, member):
            _account(me, execution, out)


@kernel
def handle_timer(me: Member, now: int, out: Outbox) -> None:
    """Send the own INFO again to those whose INFO is lacking."""
    for j in range(me.group_size):
        if j != me.number and not is_in(me, THROUGH + me.reg[EXECUTION] % 2, j):
            send_received(out, REPEAT, j, me.reg[EXECUTION])
    wait_for_answers(me, now, out)


@kernel
def _advance(me: Member, execution: int) -> None:
    if execution > me.reg[EXECUTION] + 1:
        _empty(me, (execution + 1) % 2)
    _empty(me, execution % 2)
    me.reg[EXECUTION] = execution


@kernel
def _empty(me: Member, slot: int) -> None:
    me.reg[COUNT + slot] = 0
    me.reg[THROUGH_COUNT + slot] = me.reg[GONE_COUNT]
    copy_set(me, THROUGH + slot, DEAD)


def place(tree: Tree) -> Place:
    """No structure: every member multicasts to all."""
    return columns(np.zeros(tree.size, np.int64))


PROTOCOL = Protocol(
    name="fulldist",
    title="every member multicasts its array, every member takes the minimum",
    paper="hierarchical, section 3.2",
    kinds=("INFO", "REPEAT"),
    rows=("INFO", "INFO"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    place=place,
    module=__name__,
    slots=2,
    parameters=(RESENDS,),
    execution_messages=lambda group: float(group * group),
    registers=7,
    own=sets_if_guarded(3),
    timed=resends_set_timers,
    told=True,
    sends_max=sends_to_all,
    arrays_max=1,
)
