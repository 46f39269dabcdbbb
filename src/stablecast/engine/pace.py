"""How often members look for stability: a step that follows the group's size, the load and the buffers.

The step
    By default it follows from what a step costs in a group of so many.  Where messages to all are passed on
    along a tree, no member sends or receives more in a large group than in a small one, and a step has as
    many hops as the tree has levels: the step grows with these.  Otherwise some member sends or receives a
    message for each member, and the step grows with the members.  With ``adaptive`` the step is searched for
    (:mod:`stablecast.engine.steering`).  In each case a member that does not keep up, or that sees nothing
    become stable, takes longer steps for a while.
Retransmissions
    On a tree an answer comes from all levels below, and a result from all above: up and down is a round trip
    for each level.  What is not answered after twice that, or after a step, is sent again.  So a lost message
    delays stability by little where ways are short, and long ways are not crowded with repetitions.
    Elsewhere it is two steps: answers may have to pass through all members, and steps are long enough for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from stablecast.engine.steering import Steering
from stablecast.errors import InvalidInput
from stablecast.multicast.round_trips import RoundTrips

TREE_DEGREE = 8
"""Children of a member in the trees of live groups, unless said."""
STEP_PER_LEVEL_S = 0.006
RESEND_ROUND_TRIPS = 2.0
"""For each level of the tree."""
STABLE_STEPS = 2.0
"""Steps after which nothing is stable yet, as a rule."""
RESEND_STEPS = 2.0
"""Where there is none."""
STEP_LEAST_S = 0.002
STEP_PER_MEMBER_S = 0.0006
LATE_STEP_PER_MEMBER_S = 0.0008
"""Where arrays are taken as late as can be, messages become stable as soon with longer steps."""
STEP_MOST_S = 1.0
STRETCH = 1.5
SHRINK = 0.9
STALL_STEPS = 30
"""Steps in which nothing becomes stable after which they get longer: somebody is gone, or takes no more."""
STALLED_STEP_S = 0.1
RANGE_LEAST = 4.0
"""How many times the shortest step the longest one is at least, where steps are searched for."""
LATE_STEPS = 0.25
LATE_LEAST_S = 0.004
"""A timer that goes off later than such a share of a step tells that this process, or its machine, has too
much to do; but no timer of an event loop is exact."""
LATE_BUSY_STEPS = 3.0
BUSY_PARTS = 30
"""A step costs a member some three datagrams.  Where so many parts come in a step, that is little beside
them: longer steps would save little, and a timer is late only after so many steps."""


@dataclass(frozen=True)
class PaceOptions:
    """What may be set; ``None`` follows from the group's size."""

    step_s: float | None = None
    """Time between two steps of the protocol when all is well; the shortest one, if it is searched for."""
    step_most_s: float = STEP_MOST_S
    adaptive: bool = False
    """Whether the first member searches for a good step while the group runs, and the others follow it."""
    trigger_bytes: int = 256 << 10
    """Unstable bytes that begin a step before its time."""
    pressure: float = 0.5
    """Share of the buffer that, once full, does the same."""

    def __post_init__(self) -> None:
        for what in ("step_s", "step_most_s"):
            value = getattr(self, what)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InvalidInput(f"{what} {value} is not accepted (accepted: a number above 0)")


def levels(members: int) -> float:
    """Return how many levels a tree has below its root, with a fraction for one that is not full."""
    return max(1.0, math.log(max(members, 1), TREE_DEGREE))


def step_for(members: int, *, relays: bool = False, takes_late: bool = False) -> float:
    """Return the step of a group: of a protocol that passes on along a tree, or that takes arrays late."""
    if relays:
        return STEP_PER_LEVEL_S * levels(members)
    each_s = LATE_STEP_PER_MEMBER_S if takes_late else STEP_PER_MEMBER_S
    return max(STEP_LEAST_S, each_s * members)


class Pace:
    """The step in force: longer while timers come late or nothing becomes stable, short again otherwise.

    ``steers`` is for the member that searches for a good step, if one is to be searched for.
    """

    def __init__(
        self,
        options: PaceOptions,
        members: int,
        *,
        relays: bool = False,
        takes_late: bool = False,
        steps: float = 1.0,
        steers: bool = False,
        trips: RoundTrips | None = None,
    ) -> None:
        self.options = options
        by_size = steps * step_for(members, relays=relays, takes_late=takes_late)
        self.least = options.step_s or by_size
        self.step = self.least
        self._levels = levels(members) if relays else 0.0
        self._trips = RoundTrips() if trips is None else trips
        self.steering: Steering | None = None
        """Finds the step to take, at the member that does."""
        self._in_vain = 0
        if options.adaptive and steers:
            self.steering = Steering(self.least, max(options.step_most_s, RANGE_LEAST * self.least))
            self.follow(self.steering.step_s)

    def resend(self) -> float:
        """Return the seconds after which what was not answered is sent again."""
        if not self._levels:
            return RESEND_STEPS * self.step
        return max(self.step, RESEND_ROUND_TRIPS * self._levels * self._trips.longest())

    def first_stable(self) -> float:
        """Return the seconds in which messages become stable at the earliest: some steps, or the ways."""
        return max(STABLE_STEPS * self.step, max(1.0, self._levels) * self._trips.longest())

    def follow(self, step_s: float) -> None:
        """Take a step that was found."""
        self.least = self.step = step_s

    def fired(self, due: float, now: float, came: int) -> None:
        """Note that a timer that was due has gone off now, and how many parts came since the one before."""
        self._in_vain += 1
        if self._in_vain > STALL_STEPS:
            self.step = max(self.step, min(self.step * STRETCH, STALLED_STEP_S))
        elif now - due > self._late(came):
            self.step = min(self.step * STRETCH, self.options.step_most_s)
        elif self.step > self.least:
            self.step = max(self.step * SHRINK, self.least)

    def _late(self, came: int) -> float:
        """Return the seconds from which on a timer is late."""
        if came >= BUSY_PARTS:
            return LATE_BUSY_STEPS * self.step
        return max(LATE_STEPS * self.step, LATE_LEAST_S)

    def progressed(self) -> None:
        """Note that something has become stable."""
        if self._in_vain > STALL_STEPS:
            self.step = self.least
        self._in_vain = 0

    def is_pressed(self, unstable_bytes: int, filled: float) -> bool:
        """Tell whether so many bytes, or a buffer filled to such a share, ask for a step at once."""
        return unstable_bytes >= self.options.trigger_bytes or filled >= self.options.pressure
