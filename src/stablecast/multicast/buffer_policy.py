"""What a member keeps for others, and for how long: the buffers of bimodal multicast.

========================  ============================================================================
policy                    a message is kept
========================  ============================================================================
``rounds``                by everyone, for a number of rounds of gossip
``bufferers``             by about ``copies`` members, chosen by a hash, for as many rounds
``two-buffers``           by everyone for a few rounds (short-term), by the bufferers for all (long-term)
``until-stable``          by everyone, until everyone is known to have it
========================  ============================================================================

A message is in a member's buffer once, whichever of its buffers it is in.  Time is counted in the member's
own rounds.  With a budget, the message that has been there longest makes room; that is counted.

Identifiers are numbers from 0: a sender's column times the messages of each, plus its sequence number - 1.
"""

from __future__ import annotations

import numpy as np

from stablecast.compiling import kernel
from stablecast.frontier.sets import add, has, remove, words
from stablecast.multicast.bufferers import chooses, message_state
from stablecast.protocols.contract.kernels import Member

ROUNDS, BUFFERERS, TWO_BUFFERS, UNTIL_STABLE = 0, 1, 2, 3
POLICIES = {
    "rounds": ROUNDS,
    "bufferers": BUFFERERS,
    "two-buffers": TWO_BUFFERS,
    "until-stable": UNTIL_STABLE,
}

# Parameters, the same for all members.
(
    EVERY,
    KEEP,
    POLICY,
    COPIES,
    HASH,
    SHORT,
    MESSAGES,
    INTERVAL,
    DATA_BYTES,
    ENTRY_BYTES,
    RECEIVE_LOSS,
    SEND_OMISSION,
    RECAST,
    PUSH,
    LIMIT,
    BUDGET,
    ENDING,
) = range(17)
MILLI = 1000
"""Copies are given in thousandths."""

# Registers.
(
    NEWEST,
    TICKS,
    DRAWS,
    COUNT,
    COUNT_MAX,
    AREA,
    SINCE,
    SHORT_HEAD,
    SHORT_TAIL,
    LONG_HEAD,
    LONG_TAIL,
    SENT,
    GOSSIP_AT,
    SEND_AT,
    REPAIRS,
    REQUESTS,
    FORWARDS,
    RECASTS,
    DUPLICATES,
    FIRSTS,
    OMITTED,
    EVICTED,
    GONE_COUNT,
    OVER,
    DELIVERED,
    NEWS,
    REGISTERS,
) = range(27)
PS_PER_US = 1_000_000


@kernel
def total(me: Member) -> int:
    """Return the number of messages that there will be."""
    return int(me.received.size * me.params[MESSAGES])


@kernel
def at_got(me: Member) -> int:
    """Where the set begins of the messages that this member has delivered."""
    return 0


@kernel
def at_held(me: Member) -> int:
    """Where the set begins of the messages in its buffer."""
    return words(total(me))


@kernel
def at_kept(me: Member) -> int:
    """Where the set begins of the messages that were in its long-term buffer at some time."""
    return 2 * words(total(me))


@kernel
def at_asked(me: Member) -> int:
    """Where the set begins of the messages that it has asked for in this round."""
    return 3 * words(total(me))


@kernel
def at_scratch(me: Member) -> int:
    """Where there is room for one more such set."""
    return 4 * words(total(me))


@kernel
def at_since(me: Member) -> int:
    """Where it has, for each message, the round in which it came, from 1; 0 for not yet."""
    return 5 * words(total(me))


@kernel
def at_short(me: Member) -> int:
    """Where the queue of the short-term buffer begins."""
    return at_since(me) + total(me)


@kernel
def at_long(me: Member) -> int:
    """Where the queue of the long-term buffer begins."""
    return at_since(me) + 2 * total(me)


@kernel
def at_recast(me: Member) -> int:
    """Where it has, for each message, the round in which it last multicast it again."""
    return at_since(me) + 3 * total(me)


@kernel
def at_dead(me: Member) -> int:
    """Where the set begins of the members that are gone."""
    return at_since(me) + 4 * total(me)


@kernel
def at_rest(me: Member) -> int:
    """Where what the policies do not need begins."""
    return at_dead(me) + words(me.group_size)


@kernel
def state_of(me: Member, message: int) -> np.uint64:
    """Return the part of a message's hash that does not depend on the member."""
    return message_state(me.params[HASH], message // me.params[MESSAGES], message % me.params[MESSAGES])


@kernel
def is_chosen(me: Member, member: int, state: np.uint64) -> bool:
    """Tell whether a member is one of those that keep the message of a state, by this member's view."""
    view = me.group_size - me.reg[GONE_COUNT]
    return chooses(me.params[HASH], state, member, view, me.params[COPIES] / MILLI)


@kernel
def is_bufferer(me: Member, message: int) -> bool:
    """Tell whether this member is one of those that keep a message."""
    return is_chosen(me, me.number, state_of(me, message))


@kernel
def holds(me: Member, message: int) -> bool:
    """Tell whether a message is in this member's buffer."""
    return has(me.own, at_held(me), message)


@kernel
def _note(me: Member, change: int, now: int) -> None:
    me.reg[AREA] += me.reg[COUNT] * ((now - me.reg[SINCE]) // PS_PER_US)
    me.reg[SINCE] = now
    me.reg[COUNT] += change
    me.reg[COUNT_MAX] = max(me.reg[COUNT_MAX], me.reg[COUNT])


@kernel
def keep(me: Member, message: int, now: int) -> None:
    """Put a message that has come into the buffers that it belongs in."""
    policy = me.params[POLICY]
    short = policy == TWO_BUFFERS
    long = policy in (ROUNDS, UNTIL_STABLE) or is_bufferer(me, message)
    if not (short or long):
        return
    if 0 < me.params[BUDGET] <= me.reg[COUNT]:
        _make_room(me, now)
    add(me.own, at_held(me), message)
    if long:
        add(me.own, at_kept(me), message)
    _note(me, 1, now)
    if short:
        me.own[at_short(me) + me.reg[SHORT_TAIL]] = message
        me.reg[SHORT_TAIL] += 1
    if long:
        me.own[at_long(me) + me.reg[LONG_TAIL]] = message
        me.reg[LONG_TAIL] += 1


@kernel
def release(me: Member, message: int, now: int) -> None:
    """Take a message out of the buffer, if it is there."""
    if holds(me, message):
        remove(me.own, at_held(me), message)
        _note(me, -1, now)


@kernel
def _make_room(me: Member, now: int) -> None:
    """Let go of what has been there longest: of the short-term buffer, else of the long-term one."""
    while me.reg[SHORT_HEAD] < me.reg[SHORT_TAIL]:
        message = me.own[at_short(me) + me.reg[SHORT_HEAD]]
        me.reg[SHORT_HEAD] += 1
        if holds(me, message) and not is_bufferer(me, message):
            release(me, message, now)
            me.reg[EVICTED] += 1
            return
    while me.reg[LONG_HEAD] < me.reg[LONG_TAIL]:
        message = me.own[at_long(me) + me.reg[LONG_HEAD]]
        me.reg[LONG_HEAD] += 1
        if holds(me, message):
            release(me, message, now)
            me.reg[EVICTED] += 1
            return


@kernel
def expire(me: Member, now: int) -> None:
    """Let go of what has been kept long enough."""
    while me.reg[SHORT_HEAD] < me.reg[SHORT_TAIL]:
        message = me.own[at_short(me) + me.reg[SHORT_HEAD]]
        if me.reg[TICKS] < me.own[at_since(me) + message] + me.params[SHORT]:
            break
        me.reg[SHORT_HEAD] += 1
        if not is_bufferer(me, message):
            release(me, message, now)
    while me.params[POLICY] != UNTIL_STABLE and me.reg[LONG_HEAD] < me.reg[LONG_TAIL]:
        message = me.own[at_long(me) + me.reg[LONG_HEAD]]
        if me.reg[TICKS] < me.own[at_since(me) + message] + me.params[KEEP]:
            break
        me.reg[LONG_HEAD] += 1
        release(me, message, now)
