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
"""

from __future__ import annotations

import numpy as np

from stablecast.compiling import kernel
from stablecast.frontier.sets import add, has, remove
from stablecast.multicast.asking import Asking
from stablecast.multicast.bufferers import NOBODY, chooses, message_state
from stablecast.multicast.group_view import draw, view_size
from stablecast.multicast.identifiers import EachMessage, Messages
from stablecast.protocols.contract import Number, Time

ROUNDS, BUFFERERS, TWO_BUFFERS, UNTIL_STABLE = 0, 1, 2, 3
POLICIES = {
    "rounds": ROUNDS,
    "bufferers": BUFFERERS,
    "two-buffers": TWO_BUFFERS,
    "until-stable": UNTIL_STABLE,
}
MILLI = 1000
"""Copies are given in thousandths."""
PS_PER_US = 1_000_000


class Buffers(Asking):
    """A member's buffers."""

    ticks: Number
    """Rounds of gossip that this member has begun."""
    since: EachMessage
    """For each message, the round in which it was delivered, from 1; 0 for not yet."""
    held: Messages
    """Messages in its buffer."""
    kept: Messages
    """Messages that were in its long-term buffer at some time."""
    short: EachMessage
    """The queue of the short-term buffer, from ``short_head`` to before ``short_tail``."""
    short_head: Number
    short_tail: Number
    long: EachMessage
    """The queue of the long-term buffer, likewise."""
    long_head: Number
    long_tail: Number
    held_count: Number
    held_max: Number
    """The most messages that its buffer has held."""
    held_us: Number
    """Microseconds that messages have been in the buffer, summed over messages, until ``changed_at``."""
    changed_at: Time
    """When a message last came into the buffer or left it."""
    evicted: Number
    """Messages that had to make room."""


@kernel
def state_of(me: Buffers, message: int) -> np.uint64:
    """Return the part of a message's hash that does not depend on the member."""
    return message_state(me.params.hash, message // me.params.messages, message % me.params.messages)


@kernel
def is_chosen(me: Buffers, member: int, state: np.uint64) -> bool:
    """Tell whether a member is one of those that keep the message of a state, by this member's view."""
    return chooses(me.params.hash, state, member, view_size(me), me.params.copies / MILLI)


@kernel
def is_bufferer(me: Buffers, message: int) -> bool:
    """Tell whether this member is one of those that keep a message."""
    return is_chosen(me, me.number, state_of(me, message))


@kernel
def pick_bufferer(me: Buffers, message: int, but: int) -> int:
    """Draw a bufferer of a message, neither this member nor ``but``; ``NOBODY`` if there is none."""
    if me.params.policy not in (BUFFERERS, TWO_BUFFERS):
        return NOBODY
    state, count = state_of(me, message), 0
    for member in range(me.group_size):
        count += _may_hold(me, member, state, but)
    wanted = int(draw(me) * count)
    for member in range(me.group_size):
        if _may_hold(me, member, state, but):
            if wanted == 0:
                return member
            wanted -= 1
    return NOBODY


@kernel
def _may_hold(me: Buffers, member: int, state: np.uint64, but: int) -> bool:
    if member in (me.number, but) or not is_chosen(me, member, state):
        return False
    return not has(me.out, member)


@kernel
def _note(me: Buffers, change: int, now: int) -> None:
    me.held_us += me.held_count * ((now - me.changed_at) // PS_PER_US)
    me.changed_at = now
    me.held_count += change
    me.held_max = max(me.held_max, me.held_count)


@kernel
def keep(me: Buffers, message: int, now: int) -> None:
    """Put a message that has come into the buffers that it belongs in."""
    policy = me.params.policy
    short = policy == TWO_BUFFERS
    long = policy in (ROUNDS, UNTIL_STABLE) or is_bufferer(me, message)
    if not (short or long):
        return
    if 0 < me.params.budget <= me.held_count:
        _make_room(me, now)
    add(me.held, message)
    _note(me, 1, now)
    if short:
        me.short[me.short_tail] = message
        me.short_tail += 1
    if long:
        add(me.kept, message)
        me.long[me.long_tail] = message
        me.long_tail += 1


@kernel
def release(me: Buffers, message: int, now: int) -> None:
    """Take a message out of the buffer, if it is there."""
    if has(me.held, message):
        remove(me.held, message)
        _note(me, -1, now)


@kernel
def _make_room(me: Buffers, now: int) -> None:
    """Let go of what has been there longest: of the short-term buffer, else of the long-term one."""
    while me.short_head < me.short_tail:
        message = me.short[me.short_head]
        me.short_head += 1
        if has(me.held, message) and not is_bufferer(me, message):
            release(me, message, now)
            me.evicted += 1
            return
    while me.long_head < me.long_tail:
        message = me.long[me.long_head]
        me.long_head += 1
        if has(me.held, message):
            release(me, message, now)
            me.evicted += 1
            return


@kernel
def expire(me: Buffers, now: int) -> None:
    """Let go of what has been kept long enough."""
    while me.short_head < me.short_tail:
        message = me.short[me.short_head]
        if me.ticks < me.since[message] + me.params.short:
            break
        me.short_head += 1
        if not is_bufferer(me, message):
            release(me, message, now)
    while me.params.policy != UNTIL_STABLE and me.long_head < me.long_tail:
        message = me.long[me.long_head]
        if me.ticks < me.since[message] + me.params.keep:
            break
        me.long_head += 1
        release(me, message, now)
