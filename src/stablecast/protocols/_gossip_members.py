"""Who is in, for ``gsgc``: failure detection (Figure 3), members that join, leave and come back.

Theory
    ``status`` has a number for each member: odd while it is in, even while it is not.  It only grows, and the
    larger one wins.  A round is complete when W holds everyone whose number is odd.  The numbers travel with
    W, so whoever has a member's array also knows everyone that this member knew.
    ``live`` counts a member's steps since each other one gave a sign of life, directly or through others.  At
    ``threshold`` that one is struck off.
    ``common`` is the set of members that everyone in W knew when adding its array.  Who is in the ``common``
    of a complete round is known to all from then on, and so is *admitted*: nothing sent later becomes stable
    without it.  A member that finds itself struck off is out, and comes back, caught up by a late-join
    handler, as a new one.  Every few steps one message goes to any rank, in or not, so that parts that have
    struck each other off meet.
Execution control
    With ``quiet`` above 0 a member adds its array to a round only when it has heard of no newcomer for that
    many steps, so rounds wait for times in which few join.
How it is put together
    :func:`around` wraps the kernels of Figure 2.  Five functions are called from inside them, because a round
    begins and ends there: ``enter_round``, ``pick``, ``take_in_from``, ``is_complete`` and ``admit_common``.
    With ``threshold`` 0 each of them does what Figure 2 says, and the arrays of this layer have no entries.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any

from stablecast.frontier import take_minimum
from stablecast.frontier.sets import add, clear, has, is_full, keep_only, remove
from stablecast.protocols._gossip import NOBODY, Gossip, go, leave, take_in
from stablecast.protocols.contract import (
    IntArray,
    Kernels,
    Number,
    Outbox,
    Sizes,
    admit,
    entries,
    kernel,
    members,
    strike_off,
)

HANDLERS = 3
"""Late-join handlers: the first members, whom everyone who joins knows."""
PROBE = 4
"""Every so many steps the first message goes to any rank."""


def changes_members(sizes: Sizes) -> bool:
    """Tell whether members are struck off, and may join."""
    return sizes.params["threshold"] > 0


def _everyone(sizes: Sizes) -> int:
    return sizes.group


Statuses = Annotated[IntArray, entries(_everyone, when=changes_members, wire=_everyone)]
"""A status number for each member, odd while it is in; a byte for each on the wire."""
Lives = Annotated[IntArray, entries(_everyone, when=changes_members, wire=_everyone)]
"""The paper's Live array: steps since each member gave a sign of life; a byte for each on the wire."""
Known = Annotated[IntArray, members(when=changes_members)]
"""A set of members that everyone in W knew."""


class Membership(Gossip):
    """What a member knows of who is in."""

    status: Statuses
    live: Lives
    common: Known
    admitted: Statuses
    """The status numbers under which members were admitted."""
    steps: Number
    """Steps that this member has taken."""
    calm: Number
    """Steps since it heard of a newcomer."""


def around(plain: Kernels, gossip: Callable[..., None]) -> Kernels:
    """Wrap the kernels of Figure 2; ``gossip`` is what a member sends in a step."""
    plain_init, plain_timer = plain.init, plain.timer
    (GOSSIP, on_gossip), (STABLE, on_stable) = plain.receive.items()

    @kernel
    def init(me: Any, now: int, out: Outbox) -> None:
        me.out = 0
        if me.params.threshold > 0:
            me.calm = me.params.quiet
            _come_in(me)
        plain_init(me, now, out)

    @kernel
    def timer(me: Any, now: int, out: Outbox) -> None:
        if me.out:
            return
        if me.params.threshold > 0:
            _grow_older(me, out)
            if me.leaving:
                me.status[me.number] += 1
            _wait_for_calm(me)
        if me.leaving:
            gossip(me, out)
            go(me, me.status[me.number] - 1 if me.params.threshold > 0 else 1, out)
        else:
            plain_timer(me, now, out)

    @kernel
    def hear_gossip(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        if _is_in_after(me, source, message.status, message.live, out):
            on_gossip(me, source, message, now, out)

    @kernel
    def hear_stable(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        if _is_in_after(me, source, message.status, message.live, out):
            if message.round == me.round and is_complete(me):
                admit_common(me, out)
            on_stable(me, source, message, now, out)

    return dataclasses.replace(
        plain, init=init, timer=timer, leave=leave, receive={GOSSIP: hear_gossip, STABLE: hear_stable}
    )


@kernel
def _come_in(me: Any) -> None:
    """Count oneself in: as one of the first members, or as a newcomer that knows the late-join handlers."""
    first = me.params.initial if me.params.initial > 0 else me.group_size
    own = me.status[me.number]
    if own == 0 and me.number < first:
        for j in range(first):
            me.status[j] = 1
            me.admitted[j] = 1
    else:
        me.status[me.number] = own + 1 + own % 2
        for j in range(min(HANDLERS, first)):
            me.status[j] = max(me.status[j], 1)
    for j in range(me.group_size):
        me.live[j] = 0


@kernel
def _grow_older(me: Any, out: Outbox) -> None:
    """Figure 3: L[j] = L[j] + 1 for all others; strike off those that have been silent for too long."""
    for j in range(me.group_size):
        if j != me.number and _is_in(me, j):
            me.live[j] += 1
            if me.live[j] >= me.params.threshold:
                strike_off(out, j, me.status[j])
                me.status[j] += 1


@kernel
def _wait_for_calm(me: Any) -> None:
    """Count a step; once no newcomer was heard of for long enough, add one's own array to the round."""
    me.steps += 1
    me.calm += 1
    if me.calm == me.params.quiet and not has(me.W, me.number):
        add(me.W, me.number)
        for j in range(me.group_size):
            if not _is_in(me, j):
                remove(me.common, j)


@kernel
def _is_in(me: Any, j: int) -> bool:
    return bool(me.status[j] % 2 == 1)


@kernel
def _is_in_after(me: Any, source: int, status: IntArray, live: IntArray, out: Outbox) -> bool:
    """Learn of who is in from a message; tell whether this member still is."""
    if me.out:
        return False
    if me.params.threshold > 0:
        _learn(me, source, status, live)
        if not _is_in(me, me.number):
            go(me, me.status[me.number] - 1, out)
            return False
    return True


@kernel
def _learn(me: Any, source: int, status: IntArray, live: IntArray) -> None:
    """The larger status wins; Figure 3: L = ArrayMin(L, L'), for members as they are now."""
    for j in range(me.group_size):
        if status[j] > me.status[j]:
            if status[j] % 2 == 1:
                me.calm = 0
            me.status[j] = status[j]
            me.live[j] = live[j]
            remove(me.W, j)
        elif status[j] == me.status[j]:
            me.live[j] = min(me.live[j], live[j])
    if status[source] == me.status[source]:
        me.live[source] = 0


# What the kernels of Figure 2 call


@kernel
def enter_round(me: Any) -> None:
    """What is common is what this member knows; while newcomers join, it does not count itself in W yet."""
    if me.params.threshold == 0:
        return
    if me.calm < me.params.quiet:
        remove(me.W, me.number)
    clear(me.common)
    for j in range(me.group_size):
        if _is_in(me, j):
            add(me.common, j)


@kernel
def pick(me: Any, drawn: float, first: bool) -> int:
    """Return one of the members that are in, or now and then, for a step's first message, any rank."""
    if me.params.threshold == 0 or (first and me.steps % PROBE == 0):
        return int(drawn * me.group_size)
    count = 0
    for j in range(me.group_size):
        count += _is_in(me, j)
    left = int(drawn * count)
    for j in range(me.group_size):
        if _is_in(me, j):
            if left == 0:
                return j
            left -= 1
    return NOBODY


@kernel
def take_in_from(me: Any, message: Any) -> None:
    """Take in M' and W'; arrays of members as they are no more do not count in W."""
    if me.params.threshold == 0:
        take_in(me.M, me.W, message.M, message.W)
        return
    take_minimum(me.M, message.M)
    keep_only(me.common, message.common)
    for j in range(me.group_size):
        if has(message.W, j) and message.status[j] == me.status[j]:
            add(me.W, j)


@kernel
def is_complete(me: Any) -> bool:
    """Tell whether W holds everyone who is in."""
    if me.params.threshold == 0:
        return is_full(me.W, me.group_size)
    for j in range(me.group_size):
        if _is_in(me, j) and not has(me.W, j):
            return False
    return True


@kernel
def admit_common(me: Any, out: Outbox) -> None:
    """The round is complete: admit everyone whom all of W knew."""
    if me.params.threshold == 0:
        return
    for j in range(me.group_size):
        if _is_in(me, j) and has(me.common, j) and me.admitted[j] != me.status[j]:
            me.admitted[j] = me.status[j]
            admit(out, j, me.status[j])
