"""Signs of life in one view: who lives, how far each has come, how long the way to it is, who hears whom.

They also carry rounds of reports, which lead to stability where the protocol does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from operator import gt
from typing import Protocol

import msgspec

from stablecast.engine.reports import Rounds, Told, is_inside
from stablecast.membership.detector import Detector
from stablecast.membership.links import Links
from stablecast.membership.messages import Alive
from stablecast.membership.view import View
from stablecast.multicast.around import Stability
from stablecast.multicast.data_plane import DataPlane
from stablecast.multicast.frames import Gossip
from stablecast.multicast.round_trips import NO_ECHO, RoundTrips, Stamps

PATIENCE_S = 1.0
PATIENCE_TRIPS = 4
"""Age from which on an unstable message is overdue, in seconds and in round trips, whichever is longer."""
ALL_ANSWERED = 16
"""Members up to which each is answered at once when the way to it is not known."""
ANSWERS_MOST = 2
"""So many are in a larger group between two signs of life of one's own: answers are as long as those."""


class Surroundings(Protocol):
    """What is done for signs of life."""

    def to_rank(self, frame: Alive | Gossip, rank: int) -> None:
        """Send a frame to one member."""

    @property
    def is_full(self) -> bool:
        """Whether the application has too much waiting for it."""


class SignsOfLife:
    """What one member says and hears beside data and the stability protocol."""

    def __init__(
        self,
        view: View,
        rank: int,
        *,
        detector: Detector,
        links: Links,
        data: DataPlane,
        stability: Stability,
        around: Surroundings,
        trips: RoundTrips,
        now: float,
    ) -> None:
        self._view = view.id
        self._size = len(view.members)
        self._sessions = view.sessions
        self._detector = detector
        self._links = links
        self._data = data
        self._stability = stability
        self._around = around
        self._trips = trips
        self._stamps = Stamps()
        self._rounds = Rounds(rank, self._size)
        self._told = list(data.prefixes())
        """For each source, the last part that a sign of life has told of."""
        self._told_stable: tuple[int, ...] = ()
        """What the last sign of life told to be stable; the same again is no news."""
        self._reported = [now] * self._size
        self._answers = self._size if self._size <= ALL_ANSWERED else ANSWERS_MOST
        self._answers_left = self._answers

    # Hearing

    def take(self, frame: Alive, rank: int, now: float) -> None:
        """Hear who lives, how far a member has come, and what it knows to be stable."""
        if len(frame.received) != self._size or len(frame.stable) != self._size:
            return
        self._detector.merge(frame.counters, rank, now)
        self._measure(frame, rank, now)
        self._reported[rank] = now
        self._hear_what_it_has(frame.received, rank, now)
        if frame.stable != self._told_stable:
            self._told_stable = frame.stable
            for source in self._above(frame.stable, self._stability.stable):
                self._stability.take_stable(source, frame.stable[source])
        self._links.take(frame.dead)
        if frame.round and len(frame.least) == self._size:
            self._take_round((frame.round, frame.least, frame.inside), now)

    def _measure(self, frame: Alive, rank: int, now: float) -> None:
        """See how long the way to a member takes; answer at once where that is not known."""
        self._stamps.take(rank, frame.stamp, now)
        seconds = self._stamps.round_trip(frame.echo, now)
        if seconds is not None:
            self._trips.sample(self._sessions[rank], seconds)
        elif frame.stamp and self._answers_left and not self._trips.knows(self._sessions[rank]):
            self._answers_left -= 1
            self._send([rank], now)

    def _hear_what_it_has(self, received: Sequence[int], rank: int, now: float) -> None:
        """Hear how far a member has come; what signs of life have told before needs no second look."""
        news = self._above(received, self._told)
        for source in news:
            self._told[source] = received[source]
            self._data.hear_of(source, received[source], rank, now)
        self._data.has.take_row(rank, received, news)

    def _above(self, told: Sequence[int], known: Sequence[int]) -> list[int]:
        """Return the sources of which more is told than is known, in their order."""
        return list(compress(range(self._size), map(gt, told, known)))

    def _take_round(self, told: Told, now: float) -> None:
        """Hear what everyone has that is in a round, and conclude what is stable if that is everyone."""
        for source, part in enumerate(self._rounds.take(told, self._data.reported(), now)):
            self._stability.take_stable(source, part)
        _, least, inside = told
        for rank in self._links.unheard():
            if is_inside(inside, rank):
                self._data.has.take_row(rank, least, range(self._size))

    def hear_progress(self, rank: int, now: float) -> None:
        """Note that a member has said how far it has come."""
        self._reported[rank] = now

    # Who has had time to speak

    def has_had_its_turn(self, rank: int, since: float, now: float) -> bool:
        """Tell whether a member would have said by now that it has what was sent at a time."""
        said = self._reported[rank] >= since + self._trips.mean(self._sessions[rank])
        return said or now - self._reported[rank] > self._turns_s

    def may_have_had_turns(self, since: float, now: float) -> set[int]:
        """Return the ranks of all members for which that may be so, of what was sent then or later."""
        turns_s = self._turns_s
        return {rank for rank, at in enumerate(self._reported) if at >= since or now - at > turns_s}

    @property
    def _turns_s(self) -> float:
        """Seconds in which everyone has had a turn to report, with time to spare."""
        return 2 * self._detector.turn_s + self._detector.every

    @property
    def patience(self) -> float:
        """Seconds after which a message is overdue that is not stable."""
        return max(PATIENCE_S, PATIENCE_TRIPS * self._trips.longest())

    # Saying

    def tell(self, now: float) -> None:
        """Say that this member lives to a few others, and begin a round if something is overdue."""
        self._answers_left = self._answers
        ranks = self._detector.tick(now)
        self._links.look(self._detector.unheard(now), self._detector.counters())
        oldest = self._data.oldest_unstable()
        if self._data.limit is None and oldest is not None and now - oldest[0] > self.patience:
            self._rounds.begin(self._data.reported(), now)
        self._send(ranks, now)

    def _send(self, ranks: list[int], now: float) -> None:
        frame = Alive(
            self._view,
            self._detector.counters(),
            self._data.prefixes(),
            tuple(self._stability.stable),
            self._around.is_full,
            self._stamps.stamp(now),
            NO_ECHO,
            *self._rounds.to_tell(now),
            self._links.to_tell(),
        )
        beside = self._data.told_with_signs()
        for rank in ranks:
            self._around.to_rank(msgspec.structs.replace(frame, echo=self._stamps.echo(rank, now)), rank)
            if beside is not None:
                self._around.to_rank(beside, rank)
