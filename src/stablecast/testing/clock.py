"""Time that only moves when it is told to."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, Protocol

from stablecast.live.transport import Cancellable


class Scheduler(Protocol):
    """What the in-memory network needs of a clock: a ``VirtualClock`` or any event loop of asyncio."""

    def time(self) -> float:
        """Return the time in seconds."""

    def call_at(self, when: float, callback: Callable[..., object], /, *args: Any) -> Cancellable:
        """Have something called at a time."""


class Timer:
    """Something that is to be called."""

    __slots__ = ("_args", "_callback")

    def __init__(self, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self._callback: Callable[..., object] | None = callback
        self._args = args

    def cancel(self) -> None:
        """Let it not happen."""
        self._callback = None
        self._args = ()

    def fire(self) -> None:
        """Call it, once, unless it was cancelled."""
        callback, args = self._callback, self._args
        if callback is not None:
            self.cancel()
            callback(*args)


class VirtualClock:
    """A clock that stands still until it is run, and then jumps from one timer to the next.

    Timers of the same instant fire in the order in which they were set.  An exception in one of them ends the
    run and comes out of it.
    """

    __slots__ = ("_count", "_timers", "now")

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        """The time in seconds."""
        self._timers: list[tuple[float, int, Timer]] = []
        self._count = 0

    def time(self) -> float:
        """Return ``now``, as event loops do."""
        return self.now

    def call_at(self, when: float, callback: Callable[..., object], /, *args: Any) -> Timer:
        """Have something called at a time; at once, but not from within this call, if that is past."""
        timer = Timer(callback, args)
        self._count = count = self._count + 1
        heapq.heappush(self._timers, (when, count, timer))
        return timer

    def step(self, until: float = float("inf")) -> bool:
        """Fire the next timer; False, and nothing happens, if there is none up to ``until``."""
        timers = self._timers
        if not timers or timers[0][0] > until:
            return False
        when, _, timer = heapq.heappop(timers)
        if when > self.now:
            self.now = when
        timer.fire()
        return True

    def run_until(self, until: float | Callable[[], bool], limit: float = 60.0) -> bool:
        """Run up to a time, or until a condition holds.

        Parameters
        ----------
        until
            A time, or a condition that is looked at before the first timer and after each.
        limit
            How many seconds of this clock to wait for a condition at most.

        Returns
        -------
        bool
            Whether the condition holds; True for a time.
        """
        if not callable(until):
            while self.step(until):
                pass
            self.now = max(self.now, until)
            return True
        end = self.now + limit
        while not until():
            if not self.step(end):
                self.now = max(self.now, end)
                return until()
        return True
