"""When a round of ``gsgc`` begins: at once, when buffers have filled up, or when few members join.

Theory
    Between two rounds a member may *rest*: it gossips no M and no W.  It begins the next round of its own
    accord when there is a reason to, and in any case as soon as it hears gossip of that round from somebody
    who had one.  It takes its array then, not when it went to rest, so what came in between counts.  One
    member with a reason is enough for a round, because its gossip wakes others, and theirs the rest.
Reasons
    With ``fill`` above 0, that many messages in its buffers: those that it has and does not know to be stable
    (section 3.3: a round should start whenever the buffers reach some threshold).
    With ``quiet`` above 0, that it has heard of no newcomer for so many steps (execution control).  Rounds
    are then begun in times in which few join, and none waits for a newcomer that came in its middle.
    Where both are given, both have to hold.
What can go wrong
    Buffers may never fill up because senders have no more to send, and newcomers may never cease.  After
    ``rest`` steps a member that holds anything therefore begins a round all the same.
    A member that has missed a result would gossip in a round that is over, and nobody who rests would tell
    it.  So who rests answers gossip of an earlier round with the result
    (:func:`stablecast.protocols.gsgc.on_gossip`).
    Where failures are detected a resting member goes on to give signs of life, by messages of their own.
"""

from __future__ import annotations

from typing import Any

from stablecast.protocols._gossip import Gossip
from stablecast.protocols.contract import WHOLE, Number, Parameter, Role, Time, kernel

FILL = Parameter(
    "fill",
    WHOLE,
    0,
    "Messages in a member's buffers at which it begins a round; 0 to begin each round when the last one is"
    " over.",
    unit="messages",
    role=Role.FILL,
    least=0,
)
QUIET = Parameter(
    "quiet",
    WHOLE,
    0,
    "Steps without a newcomer that a member waits for before it begins a round; above 0 only together with"
    " --threshold-steps.",
    unit="steps",
    role=Role.ADMISSION,
    least=0,
)
REST = Parameter(
    "rest",
    WHOLE,
    30,
    "Steps after which a member that holds messages begins a round although its buffers have not filled up,"
    " or members still join; 0 for never.",
    unit="steps",
    role=Role.FILL,
    least=0,
)


class Resting(Gossip):
    """What a member knows of rounds that have not begun yet."""

    resting: Number
    """Whether it waits for the current round to begin."""
    rested: Number
    """Steps that it has done so."""
    calm: Number
    """Steps since it heard of a newcomer."""
    round_at: Time
    """When the current round began at this member, or since when it waits for that."""


@kernel
def rests(me: Any) -> int:
    """Return 1 if a member waits for a reason when a round is over, 0 if the next one begins at once."""
    return int(me.params.fill > 0 or me.calm < me.params.quiet)


@kernel
def rest(me: Any, now: int) -> None:
    """A round is over: wait for a reason to begin the next one, unless there is no need for one."""
    me.resting = rests(me)
    me.rested = 0
    me.round_at = now


@kernel
def has_reason(me: Any) -> bool:
    """Tell whether a resting member should begin the round."""
    waited = 0 < me.params.rest <= me.rested
    if me.calm < me.params.quiet and not waited:
        return False
    if me.params.fill == 0:
        return True
    held = held_messages(me)
    return bool(held >= me.params.fill or (waited and held > 0))


@kernel
def held_messages(me: Any) -> int:
    """Return how many messages a member has that it does not know to be stable."""
    held = 0
    for c in range(me.received.size):
        held += max(int(me.received[c]) - int(me.stable[c]), 0)
    return held
