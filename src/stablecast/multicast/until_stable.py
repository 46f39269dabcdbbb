"""Until stable: gossip that carries minima along, so that members learn what everyone has.

As in ``gsgc``: in each round a member's gossip carries M, the minimum of the prefixes it has heard of, and W,
the set of members that are in it; who hears it takes minimum and union, and when W holds everyone that is not
gone, M is stable.  Results ride on gossip too.  With bimodal multicast the gossip is there anyway.
"""

from __future__ import annotations

from typing import Annotated

from stablecast.compiling import kernel
from stablecast.frontier import copy_into, take_minimum
from stablecast.frontier.sets import add, clear, has, join
from stablecast.multicast.buffer_policy import UNTIL_STABLE, Buffers, release
from stablecast.multicast.group_view import sender_of
from stablecast.protocols.contract import (
    IntArray,
    Number,
    Outbox,
    Sizes,
    declare_stable,
    members,
    sources,
)

QUIET_TIMES = 3
"""A sender that is gone counts as done when nothing was delivered for this many times ``keep`` rounds."""


def keeps_until_stable(sizes: Sizes) -> bool:
    """Tell whether messages are kept until they are stable."""
    return sizes.params["policy"] == UNTIL_STABLE


Minima = Annotated[IntArray, sources(when=keeps_until_stable)]
"""An array with an entry for each source, where messages are kept until stable."""
Heard = Annotated[IntArray, members(when=keeps_until_stable)]
"""A set of members, where messages are kept until stable."""


class StabilityRounds(Buffers):
    """What a member knows of the round in which members find out what is stable."""

    round: Number
    """The newest round that this member has heard of, from 1."""
    M: Minima
    """The minimum of the prefixes that the members of W had received."""
    W: Heard
    """Members whose prefixes are in M."""
    news: Number
    """The round of gossip in which this member last delivered something."""


@kernel
def begin_round(me: StabilityRounds) -> None:
    """M = R, W = {me}."""
    copy_into(me.M, me.received)
    clear(me.W)
    add(me.W, me.number)


@kernel
def take_minima(me: StabilityRounds, round: int, M: IntArray, W: IntArray, now: int, out: Outbox) -> None:
    """Take in what another member's gossip says of a round."""
    if round < me.round:
        return
    if round > me.round:
        me.round = round
        begin_round(me)
    take_minimum(me.M, M)
    join(me.W, W)
    end_round_if_complete(me, now, out)


@kernel
def end_round_if_complete(me: StabilityRounds, now: int, out: Outbox) -> None:
    """When everyone that is not gone is in W, what M says is stable."""
    for member in range(me.group_size):
        if not has(me.W, member) and not has(me.out, member):
            return
    release_stable(me, me.M, now, out)
    me.round += 1
    begin_round(me)


@kernel
def release_stable(me: StabilityRounds, array: IntArray, now: int, out: Outbox) -> None:
    """Call everything up to an array stable, and let go of it."""
    for column in range(me.received.size):
        for number in range(me.stable[column], array[column]):
            release(me, column * me.params.messages + number, now)
    declare_stable(me, out, 1, array)


@kernel
def all_is_stable(me: StabilityRounds) -> bool:
    """Tell whether all that will be sent is known to be everywhere.

    Of a sender that is gone nobody knows what it sent: there it is that nothing new has come for long.
    """
    quiet = me.ticks >= me.news + QUIET_TIMES * me.params.keep
    for column in range(me.received.size):
        gone = has(me.out, sender_of(me, column))
        if me.stable[column] < me.params.messages and not (gone and quiet):
            return False
    return True
