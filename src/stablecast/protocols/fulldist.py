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
Paper
    Hierarchical Message Stability Tracking Protocols, section 3.2.
"""

from __future__ import annotations

import numpy as np

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
    send_received,
)
from stablecast.protocols.contract.protocol import Place, Protocol, columns

INFO = 0
EXECUTION, COUNT = 0, 1  # registers: the newest execution; INFOs taken in, for even and for odd executions
FIRST = 0

init, handle_timer = no_init, no_timer


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """Round 1: the first member multicasts its row."""
    _advance(me, me.reg[EXECUTION] + 1)
    send_received(out, INFO, GROUP, me.reg[EXECUTION])


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Round 2: answer the first member's row with one's own; take in everyone's."""
    if message.execution < me.reg[EXECUTION] - 1:
        return
    if message.execution > me.reg[EXECUTION]:
        _advance(me, message.execution)
    if message.source == FIRST and me.number != FIRST:
        send_received(out, INFO, GROUP, message.execution)
    slot = message.execution % 2
    gather(me, slot, COUNT + slot, message.array)
    if me.reg[COUNT + slot] == me.group_size:
        declare_stable(me, out, message.execution, me.gathered[slot])
        finish(out, message.execution)


@kernel
def _advance(me: Member, execution: int) -> None:
    if execution > me.reg[EXECUTION] + 1:
        me.reg[COUNT + (execution + 1) % 2] = 0
    me.reg[COUNT + execution % 2] = 0
    me.reg[EXECUTION] = execution


def place(tree: Tree) -> Place:
    """No structure: every member multicasts to all."""
    return columns(np.zeros(tree.size, np.int64))


PROTOCOL = Protocol(
    name="fulldist",
    title="every member multicasts its array, every member takes the minimum",
    paper="hierarchical, section 3.2",
    kinds=("INFO",),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    place=place,
    module=__name__,
    slots=2,
)
