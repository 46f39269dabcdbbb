"""What was seen of a group over time: rates, times to stable, frontiers, and what was kept.

What is kept
    One sample for each look, of the last ``MOST_SAMPLES``.  A sample holds what has changed since the look
    before, as rates: counts that a member tells only grow while it is the same process in views that have
    the same sources, so differences of them are what happened in between.  Where a count went back, as when a
    source left or another process answers, there is a gap and no rate.
Time to stable
    A member tells sums of times and how many there were, so the mean over an interval is exact.  It is that
    of own messages, from sending until known to be everywhere; where the member sent none, that of what it
    let go meanwhile, from its coming here until then.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from stablecast.engine.observed import Observed, SeenSource

MOST_SAMPLES = 600
MOST_SOURCES = 8
"""Sources whose frontiers are kept over time: those that have sent most lately."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What happened in a second, between two looks."""

    received: float
    stable: float
    sent: float
    data_bytes: float
    control_bytes: float
    repairs: float


@dataclass(frozen=True, slots=True)
class Sample:
    """One look."""

    time_us: int
    rates: Rates | None
    """None at the first look, and where counts began anew."""
    to_stable_s: float | None
    """Mean time to stable since the look before; None if nothing became stable."""
    is_own: bool
    """Whether that is of own messages."""
    kept_bytes: int
    unstable: int
    """Messages that have come and are not known to be everywhere."""
    frontiers: dict[str, tuple[int, int]]
    """Of some sources, the last message that has come, and the frontier."""


class History:
    """Samples of the looks so far."""

    def __init__(self) -> None:
        self.samples: deque[Sample] = deque(maxlen=MOST_SAMPLES)
        self._last: Observed | None = None
        self._busiest: dict[str, int] = {}
        """Of the sources that are followed, when something of them last came, counted in looks."""
        self._looks = 0

    def take(self, seen: Observed) -> Sample:
        """Add a look."""
        before = self._last
        if before is not None and (before.incarnation != seen.incarnation or before.time_us >= seen.time_us):
            before = None
        self._follow(before, seen)
        to_stable_s, is_own = time_to_stable(before, seen)
        sample = Sample(
            time_us=seen.time_us,
            rates=None if before is None else rates(before, seen),
            to_stable_s=to_stable_s,
            is_own=is_own,
            kept_bytes=seen.kept_bytes,
            unstable=max(seen.received_messages - seen.stable_messages, 0),
            frontiers={
                one.name: (one.received, one.stable) for one in seen.sources if one.name in self._busiest
            },
        )
        self.samples.append(sample)
        self._last = seen
        return sample

    def _follow(self, before: Observed | None, seen: Observed) -> None:
        """Choose the sources whose frontiers are kept: those of which something came last."""
        self._looks += 1
        known = {} if before is None else {one.name: one.received for one in before.sources}
        present = {one.name for one in seen.sources}
        for one in seen.sources:
            if one.received > known.get(one.name, 0) or one.received > one.stable:
                self._busiest[one.name] = self._looks
        kept = sorted((name for name in self._busiest if name in present), key=lambda n: -self._busiest[n])
        self._busiest = {name: self._busiest[name] for name in kept[:MOST_SOURCES]}

    def times(self) -> list[float]:
        """Return the times to stable of the looks that have one, oldest first."""
        return [one.to_stable_s for one in self.samples if one.to_stable_s is not None]


def rates(before: Observed, seen: Observed) -> Rates | None:
    """Return what happened in a second between two looks; None if counts went back."""
    seconds = (seen.time_us - before.time_us) / 1e6
    changes = [
        seen.received_messages - before.received_messages,
        seen.stable_messages - before.stable_messages,
        seen.sent - before.sent,
        seen.data_bytes - before.data_bytes,
        seen.control_bytes - before.control_bytes,
        seen.repairs_asked - before.repairs_asked,
    ]
    if seconds <= 0 or min(changes) < 0:
        return None
    return Rates(*(change / seconds for change in changes))


def time_to_stable(before: Observed | None, seen: Observed) -> tuple[float | None, bool]:
    """Return the mean time to stable between two looks, and whether it is of own messages."""
    if before is None:
        return None, False
    own = seen.own_stable - before.own_stable
    if own > 0:
        return (seen.own_stable_s - before.own_stable_s) / own, True
    releases = seen.releases - before.releases
    return ((seen.releases_s - before.releases_s) / releases if releases > 0 else None), False


def held(source: SeenSource) -> int:
    """Return how many messages of a source are not known to be everywhere."""
    return source.received - source.stable
