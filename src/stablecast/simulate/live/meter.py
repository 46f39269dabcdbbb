"""What is noted while simulated members run: when messages were handed over, delivered and stable."""

from __future__ import annotations

import hashlib
from array import array
from collections import deque
from typing import NamedTuple

import numpy as np

from stablecast.engine.outcomes import Outcomes
from stablecast.engine.results import Delivery, Event, MessagesLost, Settlement, Stable, ViewChanged
from stablecast.simulate.costs import PS_PER_US
from stablecast.simulate.live.result import Told

NAMED = 4
"""Members that an event names; of more it tells the number."""
MEDIAN, HIGH = 50, 99


class Handed(NamedTuple):
    """A message that is not known to be stable yet."""

    outcomes: Outcomes
    """Of the incarnation that sent it."""
    seq: int
    at_ps: int
    """When the application handed it over, and when the engine took it."""
    sent_s: float


class Meter:
    """All that a run measures outside of its network."""

    def __init__(self) -> None:
        self.messages = 0
        self.stable = 0
        self.in_smaller_view = 0
        self.blocked = 0
        self.given_up = 0
        """Messages that members gave up, each member counted."""
        self.given_up_somewhere: set[tuple[str, int]] = set()
        """Those messages."""
        self.told: list[Told] = []
        self._handed_ps: dict[tuple[str, int], int] = {}
        self._stable_after_ps = array("q")
        self._delivered_after_ps = array("q")
        self._digest = hashlib.blake2b(digest_size=12)

    @property
    def digest(self) -> str:
        """The same for the same run."""
        return self._digest.hexdigest()

    @property
    def deliveries(self) -> int:
        """Deliveries at members other than the sender."""
        return len(self._delivered_after_ps)

    def was_handed(self, label: str, message: Handed) -> None:
        """Note that a member has taken a message of its application."""
        self.messages += 1
        self._handed_ps[label, message.seq] = message.at_ps

    def was_delivered(self, member: int, batch: list[Delivery], now_ps: int) -> None:
        """Note deliveries at a member."""
        lines = [f"d {now_ps} {member}"]
        for delivery in batch:
            lines.append(f"{delivery.source} {delivery.seq}")
            if delivery.source != delivery.me:
                since_ps = self._handed_ps[delivery.source, delivery.seq]
                self._delivered_after_ps.append(now_ps - since_ps)
        self._digest.update("\n".join(lines).encode())

    def became_stable(
        self, member: int, waiting: deque[Handed], now_ps: int
    ) -> tuple[int, Settlement | None]:
        """Take out a member's messages that it knows to be stable.

        Returns how many these are, and what became of the last one.
        """
        count, outcome = 0, None
        while waiting and waiting[0].outcomes.stable_seq >= waiting[0].seq:
            message = waiting.popleft()
            outcome = message.outcomes.of(message.seq, message.sent_s)
            self.in_smaller_view += bool(
                not isinstance(outcome, Stable) and outcome is not None and outcome.gone
            )
            self._stable_after_ps.append(now_ps - message.at_ps)
            self._digest.update(f"s {now_ps} {member} {message.seq} {type(outcome).__name__}".encode())
            count += 1
        self.stable += count
        return count, outcome

    def was_told(self, label: str, event: Event, now_ps: int) -> None:
        """Note an event that a member told its application."""
        if isinstance(event, MessagesLost):
            self.given_up += event.last - event.first + 1
            self.given_up_somewhere |= {(event.source, seq) for seq in range(event.first, event.last + 1)}
        told = Told(now_ps // PS_PER_US, label, type(event).__name__, about(event))
        self.told.append(told)
        self._digest.update(f"e {now_ps} {told}".encode())

    def time_to_stable_us(self) -> tuple[float, float, float, float] | None:
        """Return mean, median, 99th percentile and most, None if nothing became stable."""
        return _spread(self._stable_after_ps)

    def time_to_delivery_us(self) -> tuple[float, float, float, float] | None:
        """Return mean, median, 99th percentile and most, None if nothing was delivered."""
        return _spread(self._delivered_after_ps)


def _spread(times_ps: array[int]) -> tuple[float, float, float, float] | None:
    if not times_ps:
        return None
    times = np.frombuffer(times_ps, np.int64) / PS_PER_US
    median, high = np.percentile(times, [MEDIAN, HIGH])
    return float(times.mean()), float(median), float(high), float(times.max())


def about(event: Event) -> str:
    """Return what an event is about, on one line."""
    if isinstance(event, ViewChanged):
        parts = [f"{len(event.members)} members", *(() if event.main else ("off the main line",))]
        for what in ("joined", "left", "failed"):
            names = getattr(event, what)
            if names:
                parts.append(f"{what} {_names(names)}")
        return f"{'; '.join(parts)} ({event.reason})"
    told = [getattr(event, name) for name in event.__slots__]
    words = (_names(value) if isinstance(value, tuple) else _plain(value) for value in told)
    return ", ".join(filter(None, words))


def _names(names: tuple[object, ...]) -> str:
    return ", ".join(map(str, names)) if len(names) <= NAMED else f"{len(names)} of them"


def _plain(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
