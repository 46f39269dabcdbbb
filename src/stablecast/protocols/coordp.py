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
Paper
    Hierarchical Message Stability Tracking Protocols, section 3.1.
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
    send,
    send_array,
    send_received,
)
from stablecast.protocols.contract.protocol import Place, Protocol, columns

START, ACK, INFO = 0, 1, 2
EXECUTION, GATHERED = 0, 1  # registers: the newest execution; arrays taken in, the own one included
COORDINATOR = 0

init, handle_timer = no_init, no_timer


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """Round 1: the coordinator multicasts START."""
    me.reg[EXECUTION] += 1
    me.reg[GATHERED] = 0
    send(out, START, GROUP, me.reg[EXECUTION])


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Rounds 2 and 3: answer START with an ACK, gather the ACKs, take in INFO."""
    if message.execution < me.reg[EXECUTION]:
        return
    me.reg[EXECUTION] = message.execution
    if message.kind == INFO:
        declare_stable(me, out, message.execution, message.array)
        finish(out, message.execution)
    elif me.number != COORDINATOR:
        send_received(out, ACK, COORDINATOR, message.execution)
    else:
        _gather(me, message, out)


@kernel
def _gather(me: Member, message: Message, out: Outbox) -> None:
    gather(me, 0, GATHERED, me.received if message.kind == START else message.array)
    if me.reg[GATHERED] == me.group_size:
        send_array(out, INFO, GROUP, message.execution, me.gathered[0])


def place(tree: Tree) -> Place:
    """Every member needs only to know the coordinator, which is member 0."""
    return columns(np.zeros(tree.size, np.int64))


PROTOCOL = Protocol(
    name="coordp",
    title="a coordinator asks all, gathers the minimum, tells all",
    paper="hierarchical, section 3.1",
    kinds=("START", "ACK", "INFO"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    place=place,
    module=__name__,
)
