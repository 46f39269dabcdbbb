"""In place of a stability protocol where none runs: in bimodal delivery nobody learns what everyone has."""

from __future__ import annotations

from stablecast.engine.wire import Stability
from stablecast.errors import StablecastError


class Untracked:
    """Has the calls of a :class:`~stablecast.engine.tracker.Tracker`, and concludes nothing."""

    attaches = False
    width = 0
    knows_own = False
    sends = 0
    starter: int | None = None

    def __init__(self, bases: list[int]) -> None:
        self.rose = False
        self.stable = list(bases)
        """For each source, its last part before the view: nothing else is known to be everywhere."""

    def attach(self, part: int, now: float) -> list[int]:
        """Refuse: nothing is attached."""
        raise StablecastError("nothing is attached to messages where no stability protocol runs")

    def holds(self, source: int, part: int) -> bool:
        """Tell that there is no limit."""
        return True

    def put_attached(self, source: int, part: int, numbers: list[int]) -> None:
        """Do nothing."""

    def has_received(self, source: int, part: int, now: float) -> None:
        """Do nothing."""

    def exists(self, source: int, part: int) -> None:
        """Do nothing."""

    def set_clock(self, time_offset_s: float) -> None:
        """Do nothing."""

    def take_stable(self, source: int, part: int) -> bool:
        """Take over nothing."""
        return False

    def press(self, now: float) -> None:
        """Do nothing."""

    def receive(self, frame: Stability, source: int, now: float) -> bool:
        """Refuse a message of a stability protocol."""
        return False

    def next_timer(self) -> None:
        """Return that there is nothing to do."""

    def timers(self) -> dict[str, float]:
        """Return that there are no timers."""
        return {}

    def handle_timer(self, now: float) -> None:
        """Do nothing."""
