"""Signs of life in one view: who lives, how far each has come, how long the way to it is, who hears whom.

In every round a member tells its neighbours (``membership/neighbours``) that it lives.  What goes along is
about what is going on, and not about all members; so a sign of life is as long as that, and short where
nothing goes on.

Sources
    A source is told, with what this member has of it and knows to be stable, while something of it is
    unstable or missing here, and once more after that.  While a message is not stable, somebody may lack it,
    or may not know that it is stable; and whoever has it goes on telling until it learns that.  So a message
    that was lost becomes known to all who lack it, and a member that knows less of what is stable says so to
    its neighbours.  Whoever knows more than its neighbour names that source in its next round.  A result of
    the stability protocol that was lost is thus made good within a round or two, and goes on from member to
    member.  Members do so also for sources that they do not receive, so that it gets to all who do.  A few
    sources of which nothing goes on take turns beside these, in case all of this was lost.
Who lives
    News of suspicions goes at once, in frames that have nothing else in them (``membership/detector``).
Who is behind, and which links are dead
    is told by the neighbours of these members, and passed on from round to round (``laggards``, ``links``).
Rounds of reports
    lead to stability where the protocol does not (``reports``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nsmallest
from itertools import islice
from typing import Protocol

import msgspec

from stablecast.engine.laggards import Laggards
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
MOST_SOURCES = 128
"""Sources in a frame; who tells of so many may have left others out."""
MOST_ASKED_FOR = 32
"""Of these, sources that neighbours know less of."""
IDLE_SOURCES = 4
IDLE_LOOKED_AT = 32
"""Sources of which nothing goes on that a frame has, and of how many they are chosen."""
TURN_ROUNDS = 3
"""Rounds in which a neighbour has said what it has, with rounds to spare."""


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
        self._rounds = Rounds(rank, self._size, data.reported)
        self.laggards = Laggards(rank, self._size, every=detector.every)
        """Who is said to lack what is overdue."""
        self._bases = data.prefixes()
        self._asked_for: dict[int, None] = {}
        """Sources that a neighbour knows less of, or of which it has told news."""
        self._idle_next = 0
        self._began_at = now
        self._reported: dict[int, float] = {}
        """When a member last said what it has."""

    # Hearing

    def take(self, frame: Alive, rank: int, now: float) -> None:
        """Hear who lives, how far a member has come, and what it knows to be stable."""
        is_round = frame.stamp != 0
        self._detector.hear_count(rank, frame.count, now, is_round=is_round)
        if frame.news:
            self._detector.hear_news(frame.news, rank, now)
        if is_round:
            self._take_round_of(frame, rank, now)
        if now >= self._detector.passing_on.at:
            self.pass_on(now)

    def _take_round_of(self, frame: Alive, rank: int, now: float) -> None:
        self._measure(frame, rank, now)
        if len(frame.has) < MOST_SOURCES:
            self._reported[rank] = now
        self._hear_what_it_has(frame, rank, now)
        if frame.dead:
            self._links.take(frame.dead, now)
        if frame.behind:
            self.laggards.take(frame.behind, now)
        if frame.round:
            self._take_reports((frame.round, frame.least, frame.inside), now)

    def _measure(self, frame: Alive, rank: int, now: float) -> None:
        """See how long the way to a member takes; answer at once where that is not known."""
        self._stamps.take(rank, frame.stamp, now)
        seconds = self._stamps.round_trip(frame.echo, now)
        if seconds is not None:
            self._trips.sample(self._sessions[rank], seconds)
        elif not self._trips.knows(self._sessions[rank]):
            self._send([rank], self._busy_sources(), now)

    def _hear_what_it_has(self, frame: Alive, rank: int, now: float) -> None:
        """Hear how far a member has come; note where it knows less than this one does.

        Most of it is no news: of a source that was told once more, both have and know the same.
        """
        data, stable = self._data, self._stability.stable
        for source, received, is_stable in frame.has[:MOST_SOURCES]:
            if source >= self._size or received == is_stable == stable[source]:
                continue
            data.hear_of(source, received, rank, now)
            data.has.take(rank, source, received)
            if is_stable > stable[source]:
                if self._stability.take_stable(source, is_stable):
                    self._asked_for[source] = None
            elif is_stable < stable[source] or (
                received < data.streams.prefix(source) and source not in data.busy
            ):
                self._asked_for[source] = None

    def _take_reports(self, told: Told, now: float) -> None:
        """Hear what everyone has that is in a round, and conclude what is stable if that is everyone."""
        for source, part in self._rounds.take(told, now):
            self._stability.take_stable(source, part)
        _, least, inside = told
        for rank in self._links.unheard():
            if is_inside(inside, rank):
                for source, part in least:
                    if source < self._size:
                        self._data.has.take(rank, source, part)

    def hear_progress(self, rank: int, now: float) -> None:
        """Note that a member has said how far it has come."""
        self._reported[rank] = now

    # Who has had time to speak

    def has_had_its_turn(self, rank: int, since: float, now: float) -> bool:
        """Tell whether a neighbour would have said by now that it has what was sent at a time."""
        reported = self._reported.get(rank, self._began_at)
        said = reported >= since + self._trips.mean(self._sessions[rank])
        return said or now - reported > TURN_ROUNDS * self._detector.every

    def is_known(self, rank: int, since: float) -> bool:
        """Tell whether it is known what a member has of what was sent at a time.

        It is of neighbours, of those who have said it since, and of those whose neighbours say that they are
        behind.
        """
        return (
            rank in self._detector.watched
            or rank == self._detector.me
            or self._reported.get(rank, self._began_at) > since
            or rank in self.laggards.known()
        )

    def known(self, since: float) -> set[int]:
        """Return the ranks of those of whom that is known, without looking at all members."""
        said = {rank for rank, at in self._reported.items() if at > since}
        return said.union(self._detector.watched, (self._detector.me,), self.laggards.known())

    @property
    def patience(self) -> float:
        """Seconds after which a message is overdue that is not stable."""
        return max(PATIENCE_S, PATIENCE_TRIPS * self._trips.longest())

    # Saying

    def tell(self, now: float) -> None:
        """Tell the neighbours that this member lives; begin a round of reports if something is overdue."""
        ranks = self._detector.tick(now)
        self._links.look(self._detector.unheard(now), self._detector.count, now)
        self._begin_reports(now)
        asked_for = list(islice(self._asked_for, MOST_ASKED_FOR))
        for source in asked_for:
            del self._asked_for[source]
        settled = tuple(self._data.settled)
        self._data.settled.clear()
        told = dict.fromkeys((*asked_for, *self._busy_sources(), *settled, *self._idle_in_turn()))
        self._send(ranks, list(islice(told, MOST_SOURCES)), now)

    def _begin_reports(self, now: float) -> None:
        awaited = self._data.awaited()
        oldest_at = min((kept.at for _, kept in awaited), default=now)
        if self._data.limit is None and now - oldest_at > self.patience:
            oldest_first = sorted(awaited, key=lambda entry: entry[1].at)
            self._rounds.begin((source for source, _ in oldest_first), now)

    def _busy_sources(self) -> list[int]:
        """Return the sources of which something goes on; if these are many, those that wait for longest."""
        if len(self._data.busy) <= MOST_SOURCES:
            return list(self._data.busy)
        waiting = nsmallest(MOST_SOURCES, self._data.awaited(), key=lambda entry: entry[1].at)
        return [source for source, _ in waiting]

    def _idle_in_turn(self) -> Iterator[int]:
        """Yield some of the sources that have sent anything in the view, others each time."""
        left = IDLE_SOURCES
        for _ in range(min(IDLE_LOOKED_AT, self._size)):
            source, self._idle_next = self._idle_next, (self._idle_next + 1) % self._size
            if self._data.streams.prefix(source) > self._bases[source]:
                yield source
                left -= 1
                if not left:
                    return

    def _send(self, ranks: Iterable[int], sources: list[int], now: float) -> None:
        data, stable = self._data, self._stability.stable
        frame = Alive(
            self._view,
            self._detector.count,
            tuple((source, data.streams.prefix(source), stable[source]) for source in sources),
            self._around.is_full,
            self._stamps.stamp(now),
            NO_ECHO,
            self._detector.to_tell(),
            self._links.to_tell(),
            self.laggards.to_tell(),
            *self._rounds.to_tell(now),
        )
        beside = data.told_with_signs(sources)
        for rank in ranks:
            self._around.to_rank(msgspec.structs.replace(frame, echo=self._stamps.echo(rank, now)), rank)
            if beside is not None:
                self._around.to_rank(beside, rank)

    def pass_on(self, now: float) -> None:
        """Say at once what there is of news of who lives."""
        for rank, news in self._detector.passing_on.take_out(self._detector.watched, now):
            self._around.to_rank(Alive(self._view, self._detector.count, news=news), rank)
