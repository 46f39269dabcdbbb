"""What a member knows of itself, for people and for metrics."""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

from stablecast.multicast.around import Counts

TIME_BOUNDS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
RECENT = 20_000


class TimeHistogram:
    """Times to stability: counts by bound, and recent ones for percentiles."""

    def __init__(self) -> None:
        self.counts = [0] * (len(TIME_BOUNDS_S) + 1)
        self.sum = 0.0
        self.count = 0
        self._recent: list[float] = []
        self._at = 0

    def observe(self, seconds: float, weight: int = 1) -> None:
        """Count so many messages that took so long."""
        self.counts[bisect_left(TIME_BOUNDS_S, seconds)] += weight
        self.sum += seconds * weight
        self.count += weight
        for _ in range(min(weight, 64)):
            if len(self._recent) < RECENT:
                self._recent.append(seconds)
            else:
                self._recent[self._at] = seconds
                self._at = (self._at + 1) % RECENT

    def recent(self) -> list[float]:
        """Return the recent ones, in no order."""
        return list(self._recent)

    def percentile(self, share: float) -> float:
        """Return a percentile of the recent ones, NaN if there are none."""
        if not self._recent:
            return float("nan")
        ordered = sorted(self._recent)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


@dataclass(slots=True)
class Releases:
    """Times that copies of a source's messages were let go, and how long the oldest of each was here."""

    count: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.count += 1
        self.seconds += seconds


@dataclass(slots=True)
class Counters:
    """What has happened so far; the engine counts."""

    sent: int = 0
    """Own messages."""
    data_bytes: int = 0
    """Bytes of data that left, one copy each."""
    control_bytes: int = 0
    """Bytes of everything else that left, one copy each."""
    repair_bytes: int = 0
    passed_on_bytes: int = 0
    """Bytes of others' datagrams that were passed on, all copies counted."""
    repairs_asked: int = 0
    repairs_sent: int = 0
    peak_bytes: int = 0
    """Most bytes that were kept at a time."""
    lost: int = 0
    """Messages of others that were given up, in bimodal delivery."""
    come_or_lost: int = 0
    """Messages of others that have come, or were given up."""
    multicasts_again: int = 0
    """Runs that were multicast again, as many members lacked them."""
    views: int = 0
    malformed: int = 0
    """Authentic datagrams that made no sense."""
    misdirected: int = 0
    """Authentic datagrams for somebody else."""
    untrusted: int = 0
    """Authentic datagrams of sessions that have not answered a challenge."""
    unanswered: int = 0
    """Challenges of such sessions that were not answered, as too many came from their address."""

    def add(self, counts: Counts) -> None:
        """Add what was counted in a view that is over."""
        self.repairs_asked += counts.repairs_asked
        self.repairs_sent += counts.repairs_sent
        self.multicasts_again += counts.multicasts_again
        self.lost += counts.lost
        self.come_or_lost += counts.come_or_lost


@dataclass(frozen=True, slots=True)
class Stats:
    """A member at one moment."""

    me: str
    group: str
    state: str
    protocol: str
    members: tuple[str, ...]
    view_epoch: int
    main: bool
    sent: int
    stable: int
    """Own messages that are known to be everywhere."""
    delivered: int
    waiting: int
    """Deliveries that wait for the application."""
    unstable_messages: int
    unstable_bytes: int
    peak_bytes: int
    oldest_unstable_s: float
    """Age of the oldest unstable message; 0 if there is none."""
    held_by: tuple[str, ...]
    """Members that hold it back."""
    repairs_asked: int
    repairs_sent: int
    views: int
    data_bytes: int
    control_bytes: int
    repair_bytes: int
    refused: dict[str, int] = field(default_factory=dict)
    """Datagrams that were refused, by reason."""
    frontier: dict[str, int] = field(default_factory=dict)
    """For each source, the last message that is known to be everywhere."""
    time_to_stable_p50: float = float("nan")
    time_to_stable_p90: float = float("nan")
    time_to_stable_p99: float = float("nan")
    step_s: float = 0.0
    """Time between two steps of the stability protocol, at present."""
    window_bytes: int = 0
    """What this member may have unstable, at present."""
    members_most: int = 0
    """Most members that the present view can have; 0 for any number."""
    p_fail: float = float("nan")
    """In bimodal delivery, how probably a message comes to some members and not to others, by theory: for
    the loss that was assumed, or the measured one if that is larger.  NaN in reliable delivery."""
    lost_messages: int = 0
    """Messages of others that were given up here."""
    lost_share: float = float("nan")
    """The same as a share of all messages of others that have come or were given up: ``p_fail``, measured."""
    loss: float = float("nan")
    """The share of first multicasts that did not come here, once enough have come to tell."""
    multicasts_again: int = 0
    """Runs that this member has multicast again, as many members lacked them."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; NaN becomes None."""
        plain = dataclasses.asdict(self)
        return {k: None if isinstance(v, float) and v != v else v for k, v in plain.items()}
