"""Repair of bimodal multicast: who is asked for a message answers, or has one of its bufferers answer."""

from __future__ import annotations

import numpy as np

from stablecast.compiling import kernel
from stablecast.frontier.sets import BITS, has, words
from stablecast.multicast.buffer_policy import (
    BUFFERERS,
    DATA_BYTES,
    DRAWS,
    ENTRY_BYTES,
    FORWARDS,
    POLICY,
    RECASTS,
    REPAIRS,
    TICKS,
    TWO_BUFFERS,
    at_dead,
    at_recast,
    at_since,
    holds,
    is_chosen,
    state_of,
    total,
)
from stablecast.protocols.contract.draws import PROTOCOL_STREAM, uniform
from stablecast.protocols.contract.kernels import GROUP, Member, Message, Outbox, send_numbers, weigh

KINDS = ("DATA", "RECAST", "GOSSIP", "REQUEST", "FORWARD", "REPAIR", "RECAST_REQUEST")
DATA, RECAST_DATA, GOSSIP, REQUEST, FORWARD, REPAIR, RECAST_REQUEST = range(7)
RECAST_PAUSE = 2
"""Rounds between two multicasts of the same message."""


@kernel
def draw(me: Member) -> float:
    """Draw a random number of this member's."""
    me.reg[DRAWS] += 1
    return uniform(me.seed, PROTOCOL_STREAM + me.number, me.reg[DRAWS])


@kernel
def send_data(me: Member, out: Outbox, kind: int, dest: int, message: int) -> None:
    """Send a message itself, to all or to one."""
    send_numbers(out, kind, dest, 1, message, 0)
    weigh(out, me.params[DATA_BYTES] + 2 * me.params[ENTRY_BYTES])


@kernel
def push_spare(me: Member, k: int, spare: int, left: int, dest: int, out: Outbox) -> int:
    """Send messages that the other one lacks, if they came before this round; return how many more may be."""
    for bit in range(BITS):
        message = k * BITS + bit
        if spare >> bit & 1 and left > 0 and me.own[at_since(me) + message] < me.reg[TICKS]:
            me.reg[REPAIRS] += 1
            send_data(me, out, REPAIR, dest, message)
            left -= 1
    return left


@kernel
def answer_all(me: Member, message: Message, out: Outbox) -> None:
    """Send what was kept of what is asked for, and pass the rest on to members that should have kept it."""
    for k in range(words(total(me))):
        asked = message.array[k]
        if asked != 0:
            for bit in range(BITS):
                if asked >> bit & 1:
                    wanted = k * BITS + bit
                    if not answer(me, wanted, message.source, out):
                        _pass_on(me, wanted, message.source, out)


@kernel
def answer(me: Member, message: int, dest: int, out: Outbox) -> bool:
    """Send a message to a member that asks for it, if it was kept here."""
    if not holds(me, message):
        return False
    me.reg[REPAIRS] += 1
    send_data(me, out, REPAIR, dest, message)
    return True


@kernel
def _pass_on(me: Member, message: int, dest: int, out: Outbox) -> None:
    """Have a random one of a message's bufferers answer in one's place."""
    if me.params[POLICY] not in (BUFFERERS, TWO_BUFFERS):
        return
    state, count = state_of(me, message), 0
    for member in range(me.group_size):
        count += _may_hold(me, member, state, dest)
    chosen = int(draw(me) * count)
    for member in range(me.group_size):
        if _may_hold(me, member, state, dest):
            if chosen == 0:
                me.reg[FORWARDS] += 1
                send_numbers(out, FORWARD, member, 1, message, dest)
                return
            chosen -= 1


@kernel
def _may_hold(me: Member, member: int, state: np.uint64, dest: int) -> bool:
    if member in (me.number, dest) or not is_chosen(me, member, state):
        return False
    return not has(me.own, at_dead(me), member)


@kernel
def multicast_again(me: Member, message: int, out: Outbox) -> None:
    """Multicast a message again that many lack, unless that was done a short while ago."""
    last = me.own[at_recast(me) + message]
    if holds(me, message) and (last == 0 or me.reg[TICKS] + 1 >= last + RECAST_PAUSE):
        me.own[at_recast(me) + message] = me.reg[TICKS] + 1
        me.reg[RECASTS] += 1
        send_data(me, out, RECAST_DATA, GROUP, message)
