"""Until stable: gossip that carries minima along, so that members learn what everyone has.

As in ``gsgc``: in each round a member's gossip carries M, the minimum of the prefixes it has heard of, and W,
the set of members that are in it; who hears it takes minimum and union, and when W holds everyone that is not
gone, M is stable.  Results ride on gossip too.  With bimodal multicast the gossip is there anyway.
"""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.frontier.sets import add, has, join, words
from stablecast.multicast.buffer_policy import MESSAGES, at_dead, at_rest, release
from stablecast.protocols.contract.kernels import Member, Message, Outbox, declare_stable, last_row

ROUND = 0  # the register of the newest round


def known_size(group: int, columns: int) -> int:
    """Return the numbers that go with gossip: M, W, and what is known to be stable."""
    return 2 * columns + int(words(group))


@kernel
def _at_minimum(me: Member) -> int:
    return at_rest(me)


@kernel
def _at_heard(me: Member) -> int:
    return at_rest(me) + me.received.size


@kernel
def begin_round(me: Member) -> None:
    """M = R, W = {me}."""
    for column in range(me.received.size):
        me.own[_at_minimum(me) + column] = me.received[column]
    for k in range(words(me.group_size)):
        me.own[_at_heard(me) + k] = 0
    add(me.own, _at_heard(me), me.number)


@kernel
def write_minima(me: Member, out: Outbox, at: int) -> int:
    """Put M, W and what is stable behind what the last send carries; return their size in numbers."""
    row, columns, group = last_row(out), me.received.size, words(me.group_size)
    for k in range(columns + group):
        out.arrays[row, at + k] = me.own[_at_minimum(me) + k]
    for column in range(columns):
        out.arrays[row, at + columns + group + column] = me.stable[column]
    return 2 * columns + group


@kernel
def take_minima(me: Member, message: Message, at: int, now: int, out: Outbox) -> None:
    """Take in what another member's gossip says of minima; ``at`` is where that begins in its array."""
    columns, group = me.received.size, words(me.group_size)
    for column in range(columns):
        me.gathered[0, column] = max(me.stable[column], message.array[at + columns + group + column])
    _declare(me, now, out)
    if message.execution - 1 < me.reg[ROUND]:
        return
    if message.execution - 1 > me.reg[ROUND]:
        me.reg[ROUND] = message.execution - 1
        begin_round(me)
    for column in range(columns):
        mine = me.own[_at_minimum(me) + column]
        me.own[_at_minimum(me) + column] = min(mine, message.array[at + column])
    join(me.own, _at_heard(me), message.array, at + columns, me.group_size)
    end_round_if_complete(me, now, out)


@kernel
def end_round_if_complete(me: Member, now: int, out: Outbox) -> None:
    """When everyone that is not gone is in W, what M says is stable."""
    for member in range(me.group_size):
        if not has(me.own, _at_heard(me), member) and not has(me.own, at_dead(me), member):
            return
    for column in range(me.received.size):
        me.gathered[0, column] = max(me.stable[column], me.own[_at_minimum(me) + column])
    _declare(me, now, out)
    me.reg[ROUND] += 1
    begin_round(me)


@kernel
def _declare(me: Member, now: int, out: Outbox) -> None:
    """Call what is in ``gathered`` stable, and let go of it."""
    for column in range(me.received.size):
        for number in range(me.stable[column], me.gathered[0, column]):
            release(me, column * me.params[MESSAGES] + number, now)
    declare_stable(me, out, 1, me.gathered[0])
