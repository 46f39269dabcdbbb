"""How often members look for stability: a step that follows the group's size, the load and the buffers.

Two rules set it.  By default it follows from the group's size.  With ``adaptive`` it is searched for
(:mod:`stablecast.engine.steering`).  Either way a member that does not keep up, or that sees nothing become
stable, takes longer steps for a while.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from stablecast.engine.steering import Steering
from stablecast.errors import InvalidInput

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
LATE_STEPS = 3.0
"""A timer that goes off later than so many steps tells that this process does not keep up."""


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


class Pace:
    """The step in force: longer while timers come late or nothing becomes stable, short again otherwise.

    ``steers`` is for the member that searches for a good step, if one is to be searched for.
    """

    def __init__(
        self, options: PaceOptions, members: int, *, takes_late: bool = False, steers: bool = False
    ) -> None:
        self.options = options
        each_s = LATE_STEP_PER_MEMBER_S if takes_late else STEP_PER_MEMBER_S
        self.least = options.step_s or max(STEP_LEAST_S, each_s * members)
        self.step = self.least
        self.steering: Steering | None = None
        """Finds the step to take, at the member that does."""
        self._in_vain = 0
        if options.adaptive and steers:
            self.steering = Steering(self.least, max(options.step_most_s, RANGE_LEAST * self.least))
            self.follow(self.steering.step_s)

    def follow(self, step_s: float) -> None:
        """Take a step that was found."""
        self.least = self.step = step_s

    def fired(self, due: float, now: float) -> None:
        """Note that a timer that was due has gone off now."""
        self._in_vain += 1
        if self._in_vain > STALL_STEPS:
            self.step = max(self.step, min(self.step * STRETCH, STALLED_STEP_S))
        elif now - due > LATE_STEPS * self.step:
            self.step = min(self.step * STRETCH, self.options.step_most_s)
        elif self.step > self.least:
            self.step = max(self.step * SHRINK, self.least)

    def progressed(self) -> None:
        """Note that something has become stable."""
        if self._in_vain > STALL_STEPS:
            self.step = self.least
        self._in_vain = 0

    def is_pressed(self, unstable_bytes: int, filled: float) -> bool:
        """Tell whether so many bytes, or a buffer filled to such a share, ask for a step at once."""
        return unstable_bytes >= self.options.trigger_bytes or filled >= self.options.pressure
