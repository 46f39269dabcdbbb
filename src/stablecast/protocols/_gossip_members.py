"""Who is in, for gossip: the layout of a member's numbers, failure detection, and the book of members.

The status of a member is odd while it is in and even while it is not; it only grows, and the larger one wins.
``live`` counts the steps since each member gave a sign of life.  :mod:`stablecast.protocols.gsgc` tells why
this is safe.
"""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.frontier.sets import remove, words
from stablecast.protocols.contract.kernels import Member, Message, Outbox, strike_off

ROUND, STEPS, DRAWS, OUT, LEAVING, STEP_IN_FORCE, CALM = range(7)  # registers
SUBGROUP, STEP, SHARE, THRESHOLD, INITIAL, QUIET = range(6)  # parameters
PIGGYBACK, MULTICAST = 1, 2  # bits of SHARE
HANDLERS = 3
"""Late-join handlers: the first members, whom everyone who joins knows."""
PROBE = 4
"""Every so many steps the first message goes to any rank."""


# The layout of ``own``, and of a message's array: M, W, S if it is piggybacked, and with failure detection
# status, live and common.  Behind that, of ``own`` alone: the status under which each member was admitted.


@kernel
def at_stable(me: Member) -> int:
    """Return where S begins."""
    return int(me.received.size + words(me.group_size))


@kernel
def at_status(me: Member) -> int:
    """Return where the members' status numbers begin."""
    return int(at_stable(me) + (me.received.size if me.params[SHARE] & PIGGYBACK else 0))


@kernel
def at_live(me: Member) -> int:
    """Return where the counts of steps since a sign of life begin."""
    return at_status(me) + me.group_size


@kernel
def at_common(me: Member) -> int:
    """Return where the set of members that everyone in W knew begins."""
    return at_live(me) + me.group_size


@kernel
def at_admitted(me: Member) -> int:
    """Return where the status numbers of admitted members begin."""
    return at_common(me) + words(me.group_size)


@kernel
def enter(me: Member) -> None:
    """Count oneself in: as one of the first members, or as a newcomer that knows the late-join handlers."""
    status, admitted, live = at_status(me), at_admitted(me), at_live(me)
    initial = me.params[INITIAL] if me.params[INITIAL] > 0 else me.group_size
    own = me.own[status + me.number]
    if own == 0 and me.number < initial:
        for j in range(initial):
            me.own[status + j] = 1
            me.own[admitted + j] = 1
    else:
        me.own[status + me.number] = own + 1 + own % 2
        for j in range(min(HANDLERS, initial)):
            me.own[status + j] = max(me.own[status + j], 1)
    for j in range(me.group_size):
        me.own[live + j] = 0


@kernel
def grow_older(me: Member, out: Outbox) -> None:
    """Figure 3: count a step for everyone, and strike off who has been silent for too long."""
    status, live = at_status(me), at_live(me)
    for j in range(me.group_size):
        if j != me.number and me.own[status + j] % 2 == 1:
            me.own[live + j] += 1
            if me.own[live + j] >= me.params[THRESHOLD]:
                strike_off(out, j, me.own[status + j])
                me.own[status + j] += 1


@kernel
def pick(me: Member, draw: float, first: bool) -> int:
    """Return one of the members that are in, or now and then any rank."""
    n = me.group_size
    if me.params[THRESHOLD] == 0 or (first and me.reg[STEPS] % PROBE == 0):
        return int(draw * n)
    status = at_status(me)
    count = 0
    for j in range(n):
        count += me.own[status + j] % 2 == 1
    left = int(draw * count)
    for j in range(n):
        if me.own[status + j] % 2 == 1:
            if left == 0:
                return j
            left -= 1
    return -1


@kernel
def learn_membership(me: Member, message: Message) -> None:
    """The larger status wins; a sign of life counts if it is of the member as it is now."""
    status, live, m = at_status(me), at_live(me), me.received.size
    for j in range(me.group_size):
        told = message.array[status + j]
        if told > me.own[status + j]:
            if told % 2 == 1:
                me.reg[CALM] = 0
            me.own[status + j] = told
            me.own[live + j] = message.array[live + j]
            remove(me.own, m, j)
        elif told == me.own[status + j]:
            me.own[live + j] = min(me.own[live + j], message.array[live + j])
    if message.array[status + message.source] == me.own[status + message.source]:
        me.own[live + message.source] = 0
