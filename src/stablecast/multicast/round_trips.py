"""How long the way to each peer and back takes, measured by signs of life.

A sign of life carries its sender's clock.  The next one in the other direction returns that stamp, with the
time that it was kept; to a peer whose round trip is not known yet it goes at once.  Each sample belongs to
one stamp, so repetitions and losses cannot make it wrong, and the peers' clocks need not agree.  Mean and
deviation follow the samples as those of TCP do (RFC 6298).  By how much datagrams overtake each other is seen
from those that come after later ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MICRO = 1e6
MEAN_GAIN = 1 / 8
DEVIATION_GAIN = 1 / 4
UNKNOWN_S = 0.02
"""What is taken for a round trip while none was measured to anyone."""
LONGEST_S = 60.0
"""Samples above this are no round trips."""
ANSWER_LEAST_S = 0.02
DEVIATIONS = 4.0
DEVIATION_LEAST_S = 0.005
LATE_LEAST_S = 0.002
LATE_FIRST = 1 / 4
LATE_MOST = 1.0
"""Of a round trip, as long as nothing was seen, and in any case."""
LATE_MARGIN = 1.25
LATE_DECAY = 0.95
LEAST_GROWTH = 1.01
"""What the shortest round trip grows by with each that is longer, so that a longer way becomes known."""


NO_ECHO = (0, 0)


class Stamps:
    """The stamps of one view's signs of life: those that peers sent are returned to them once."""

    def __init__(self) -> None:
        self._came: dict[int, tuple[int, float]] = {}

    def stamp(self, now: float) -> int:
        """Return what a sign of life is stamped with; never 0."""
        return int(now * MICRO) + 1

    def take(self, rank: int, stamp: int, now: float) -> None:
        """Keep a peer's stamp until there is a sign of life to return it with."""
        if stamp:
            self._came[rank] = (stamp, now)

    def echo(self, rank: int, now: float) -> tuple[int, int]:
        """Return a peer's last stamp, and for how many microseconds it was kept; zeros if there is none."""
        if rank not in self._came:
            return NO_ECHO
        stamp, came = self._came.pop(rank)
        return stamp, int((now - came) * MICRO)

    def round_trip(self, echo: tuple[int, int], now: float) -> float | None:
        """Return the seconds that a stamp took there and back, None if none was returned."""
        stamp, kept = echo
        return (self.stamp(now) - stamp - kept) / MICRO if stamp else None


@dataclass(slots=True)
class _Trip:
    mean: float
    deviation: float
    late: float
    """By how much a datagram came after a later one, at most of late."""
    least: float
    """The shortest of late: what the way takes without queues."""


class RoundTrips:
    """The round trips of one process to its peers, by their sessions; outlasts views."""

    def __init__(self) -> None:
        self._trips: dict[int, _Trip] = {}
        self._farthest: tuple[int, float] | None = None
        """The peer with the longest round trip, and that; None if it is to be looked up."""

    def sample(self, session: int, seconds: float) -> None:
        """Take in a measured round trip."""
        if not 0.0 <= seconds <= LONGEST_S:
            return
        trip = self._trips.get(session)
        if trip is None:
            self._trips[session] = _Trip(seconds, seconds / 2, LATE_FIRST * seconds, seconds)
            self._note_mean(session, seconds)
            return
        trip.late *= LATE_DECAY
        trip.least = min(trip.least * LEAST_GROWTH, seconds)
        trip.deviation += DEVIATION_GAIN * (abs(seconds - trip.mean) - trip.deviation)
        trip.mean += MEAN_GAIN * (seconds - trip.mean)
        self._note_mean(session, trip.mean)

    def _note_mean(self, session: int, mean: float) -> None:
        """Keep the longest round trip; where it was this peer's and became shorter, look it up again."""
        if self._farthest is not None:
            peer, longest = self._farthest
            if mean >= longest:
                self._farthest = (session, mean)
            elif session == peer:
                self._farthest = None

    def knows(self, session: int) -> bool:
        """Tell whether the round trip to a peer was measured."""
        return session in self._trips

    def keep(self, sessions: Iterable[int]) -> None:
        """Forget all but these."""
        here = set(sessions)
        self._trips = {session: trip for session, trip in self._trips.items() if session in here}
        self._farthest = None

    def mean(self, session: int) -> float:
        """Return the round trip to a peer; the longest that is known if it was not measured yet."""
        trip = self._trips.get(session)
        return self.longest() if trip is None else trip.mean

    def longest(self) -> float:
        """Return the longest round trip to any peer."""
        if not self._trips:
            return UNKNOWN_S
        if self._farthest is None:
            peer = max(self._trips, key=lambda session: self._trips[session].mean)
            self._farthest = (peer, self._trips[peer].mean)
        return self._farthest[1]

    def least(self) -> float:
        """Return the longest round trip to any peer, as short as each was of late."""
        return max((trip.least for trip in self._trips.values()), default=UNKNOWN_S)

    def answer_within(self, session: int) -> float:
        """Return after how many seconds an answer is overdue that a peer would give at once."""
        trip = self._trips.get(session)
        if trip is None:
            return max(self.longest(), ANSWER_LEAST_S)
        return max(trip.mean + max(DEVIATIONS * trip.deviation, DEVIATION_LEAST_S), ANSWER_LEAST_S)

    def late_by(self, session: int) -> float:
        """Return how many seconds a datagram may arrive behind a later one and just have been overtaken."""
        trip = self._trips.get(session)
        if trip is None:
            return UNKNOWN_S
        return max(min(trip.late, LATE_MOST * trip.mean), LATE_LEAST_S)

    def was_late(self, session: int, seconds: float) -> None:
        """Take note that a datagram of a peer came so long after a later one."""
        trip = self._trips.get(session)
        if trip is not None:
            trip.late = max(trip.late, LATE_MARGIN * seconds)
