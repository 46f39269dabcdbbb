"""Who is in, for ``gsgc``: failure detection (Figure 3), members that join, leave and come back.

Theory
    ``status`` has a number for each member: odd while it is in, even while it is not.  It only grows, and the
    larger one wins.  A round is complete when W holds everyone whose number is odd.  The numbers travel with
    W, so whoever has a member's array also knows everyone that this member knew.
    ``live`` counts a member's steps since each other one gave a sign of life, directly or through others.  At
    ``threshold`` that one is struck off.  Every message from it is a sign of life, those with data as well.
    ``common`` is the set of members that everyone in W knew when adding its array.  Who is in the ``common``
    of a complete round is known to all from then on, and so is *admitted*: nothing sent later becomes stable
    without it.  A member that finds itself struck off is out, and comes back as a new one
    (:mod:`stablecast.protocols._late_join`).  Every few steps one message goes to any rank, in or not, so
    that parts that have struck each other off meet.
How it is put together
    The kernels of Figure 2 call five functions of this file, because a round begins and ends there:
    ``enter_round``, ``pick``, ``take_in_from``, ``is_complete`` and ``admit_common``.  With ``threshold`` 0
    each of them does what Figure 2 says, and the arrays of this layer have no entries.  What happens before
    and after those kernels is in :mod:`stablecast.protocols._gossip_group`.
"""

from __future__ import annotations

from typing import Annotated, Any

from stablecast.frontier import take_minimum
from stablecast.frontier.sets import add, clear, has, is_full, keep_only, remove
from stablecast.protocols._gossip import NOBODY, take_in
from stablecast.protocols._gossip_rest import Resting
from stablecast.protocols.contract import (
    IntArray,
    Number,
    Outbox,
    Sizes,
    admit,
    entries,
    kernel,
    members,
    strike_off,
)

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
"""A set of members, where these come and go."""


class Membership(Resting):
    """What a member knows of who is in."""

    status: Statuses
    live: Lives
    common: Known
    """Those that everyone in W knew."""
    admitted: Statuses
    """The status numbers under which members were admitted."""
    steps: Number
    """Steps that this member has taken."""


@kernel
def is_first(me: Any) -> bool:
    """Tell whether a member that comes in was there from the start, and is there for the first time."""
    first = me.params.initial if me.params.initial > 0 else me.group_size
    return bool(me.status[me.number] == 0 and me.number < first)


@kernel
def begin_together(me: Any) -> None:
    """Count oneself in as one of the first members, who know each other."""
    me.calm = me.params.quiet
    first = me.params.initial if me.params.initial > 0 else me.group_size
    for j in range(first):
        me.status[j] = 1
        me.admitted[j] = 1
    for j in range(me.group_size):
        me.live[j] = 0


@kernel
def count_in(me: Any) -> None:
    """Count oneself in as a newcomer, under a number of one's own that is larger than any before."""
    me.calm = 0
    own = me.status[me.number]
    me.status[me.number] = own + 1 + own % 2
    for j in range(me.group_size):
        me.live[j] = 0


@kernel
def grow_older(me: Any, out: Outbox) -> None:
    """Figure 3: L[j] = L[j] + 1 for all others; strike off those that have been silent for too long."""
    me.steps += 1
    me.calm += 1
    for j in range(me.group_size):
        if j != me.number and is_in(me, j):
            me.live[j] += 1
            if me.live[j] >= me.params.threshold:
                strike_off(out, j, me.status[j])
                me.status[j] += 1


@kernel
def is_in(me: Any, j: int) -> bool:
    """Tell whether a member is in, for all that this one knows."""
    return bool(me.status[j] % 2 == 1)


@kernel
def learn(me: Any, source: int, status: IntArray, live: IntArray) -> None:
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


@kernel
def share_calm(me: Any, status: IntArray, calm: int) -> None:
    """Count from when the first of those that know the same newcomers heard of the last one.

    So members find the group calm within a step or two of each other.  If each counted from when it heard
    itself, the first to begin a round would be alone for as long as news takes to everyone.  The number that
    was sent counts the step in which it was sent, and this member's next step comes less than a step later:
    it takes one less, or a number that is passed on would grow with each member that it passes.
    """
    for j in range(me.group_size):
        if status[j] != me.status[j]:
            return
    me.calm = max(me.calm, calm - 1)


@kernel
def hear(me: Any, source: int, now: int) -> None:
    """Figure 3: L[j] = 0 when a data message, or one about data, has come from j."""
    if me.params.threshold > 0 and not me.out and is_in(me, source):
        me.live[source] = 0


# What the kernels of Figure 2 call


@kernel
def enter_round(me: Any) -> None:
    """What is common is what this member knows."""
    if me.params.threshold == 0:
        return
    clear(me.common)
    for j in range(me.group_size):
        if is_in(me, j):
            add(me.common, j)


@kernel
def pick(me: Any, drawn: float, first: bool) -> int:
    """Return one of the members that are in, or now and then, for a step's first message, any rank."""
    if me.params.threshold == 0 or (first and me.steps % PROBE == 0):
        return int(drawn * me.group_size)
    count = 0
    for j in range(me.group_size):
        count += is_in(me, j)
    left = int(drawn * count)
    for j in range(me.group_size):
        if is_in(me, j):
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
        if is_in(me, j) and not has(me.W, j):
            return False
    return True


@kernel
def admit_common(me: Any, out: Outbox) -> None:
    """The round is complete: admit everyone whom all of W knew."""
    if me.params.threshold == 0:
        return
    for j in range(me.group_size):
        if is_in(me, j) and has(me.common, j) and me.admitted[j] != me.status[j]:
            me.admitted[j] = me.status[j]
            admit(out, j, me.status[j])
