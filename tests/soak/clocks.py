"""A clock of one's own for each process: it runs fast or slow, and jumps.

What a process takes for the time never goes back, since that is what a transport promises (a monotonic
clock).  It may go forward at once, as after a machine was suspended, and it may drift.  What a trace has in
it, the time of day, is that clock and an offset that each process draws when it starts, so from one process
to the next it jumps both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stablecast.testing.clock import Timer, VirtualClock


class OwnTimer:
    """Something that is to be called at a time of one's own clock."""

    __slots__ = ("_args", "_callback", "_clock", "scheduled", "when")

    def __init__(
        self, clock: OwnClock, when: float, callback: Callable[..., object], args: tuple[Any, ...]
    ) -> None:
        self.when = when
        self.scheduled: Timer | None = None
        self._clock = clock
        self._callback = callback
        self._args = args

    def cancel(self) -> None:
        """Let it not happen."""
        self._clock.forget(self)

    def fire(self) -> None:
        """Call it."""
        self._clock.reached(self)
        self._callback(*self._args)


class OwnClock:
    """A scheduler whose time passes at another rate than the one that it is driven by."""

    def __init__(self, real: VirtualClock, *, rate: float = 1.0) -> None:
        self._real = real
        self._rate = rate
        self._ahead_s = 0.0
        self._reached_s = 0.0
        self._pending: dict[OwnTimer, None] = {}

    def time(self) -> float:
        """Return one's own time."""
        return max(self._reached_s, self._rate * self._real.now + self._ahead_s)

    def call_at(self, when: float, callback: Callable[..., object], /, *args: Any) -> OwnTimer:
        """Have something called at one's own time."""
        timer = OwnTimer(self, when, callback, args)
        self._pending[timer] = None
        self._schedule(timer)
        return timer

    def jump(self, seconds: float) -> None:
        """Go forward at once; timers whose time has passed fire in their order."""
        self._ahead_s += seconds
        for timer in sorted(self._pending, key=lambda timer: timer.when):
            assert timer.scheduled is not None
            timer.scheduled.cancel()
            self._schedule(timer)

    def reached(self, timer: OwnTimer) -> None:
        """Take note that a timer fires: rounding must not make it seem early."""
        del self._pending[timer]
        self._reached_s = max(self.time(), timer.when)

    def forget(self, timer: OwnTimer) -> None:
        """Take a timer out."""
        if timer in self._pending:
            del self._pending[timer]
            assert timer.scheduled is not None
            timer.scheduled.cancel()

    def _schedule(self, timer: OwnTimer) -> None:
        timer.scheduled = self._real.call_at(
            max(self._real.now, (timer.when - self._ahead_s) / self._rate), timer.fire
        )
