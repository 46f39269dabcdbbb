"""What a member of a bimodal group has delivered: each message once, and nothing sent before it joined."""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.frontier.sets import add, has
from stablecast.multicast.bimodal_result import Counters
from stablecast.multicast.buffer_policy import keep
from stablecast.multicast.identifiers import Messages
from stablecast.multicast.until_stable import StabilityRounds


class Delivered(StabilityRounds, Counters):
    """What a member has delivered."""

    got: Messages
    """Messages that it has delivered, and those sent before it joined."""


@kernel
def owe_nothing_sent_before(me: Delivered) -> None:
    """Count what had been sent before a member joined as delivered; from the start it is nothing.

    A late-join handler has set its prefixes to the longest of all members.
    """
    for column in range(me.received.size):
        for number in range(me.received[column]):
            add(me.got, column * me.params.messages + number)


@kernel
def deliver(me: Delivered, message: int, now: int) -> bool:
    """Deliver a message, unless it was; tell whether it was new."""
    if has(me.got, message):
        me.duplicates += 1
        return False
    add(me.got, message)
    me.delivered += 1
    me.news = me.ticks
    me.since[message] = me.ticks + 1
    column = message // me.params.messages
    first = column * me.params.messages
    while me.received[column] < me.params.messages and has(me.got, first + me.received[column]):
        me.received[column] += 1
    keep(me, message, now)
    return True
