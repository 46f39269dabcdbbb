"""Failure detection: who was not heard of, directly or through others, for too long.

What is promised
    A member that stops is suspected by all others ``fail_after`` seconds later, and the time that news takes
    to everyone.  Nobody is suspected of whom anybody has heard within ``fail_after``, as far as news gets
    through; nor by a member that has itself heard anything of it in that time.
How
    Every member counts its rounds, one for each ``every``, and tells its count to its neighbours
    (``neighbours``), who are few however large the group is.  They alone watch it.  The paper (Guo et al.,
    section 3.2) gossips an array of everyone's silence; here an entry is told only where it is not small:

    - *Asking.*  Who has not heard a neighbour for a quarter of ``fail_after``, or five rounds, asks that
      one's other neighbours.  Whoever knows a larger count answers.  So a lost datagram, and a link that
      carries nothing in one direction, concern a few members and nobody else.
    - *Suspecting.*  Who has heard nothing of a neighbour for half of ``fail_after``, not from others either,
      says so to its neighbours, with the last count that it knows.  Everyone who hears that for the first
      time passes it on at once.
    - *Refuting.*  Whoever knows a larger count says it to who tells of the suspicion; the suspected one
      itself raises its count, and tells it to its neighbours and to some others drawn at random.  A larger
      count ends the suspicion, and who has passed that on passes on its end.
    - *Striking off.*  A suspicion that has stood for the other half of ``fail_after`` makes ``suspects``.
Why it is enough
    News is ordered: a larger count is newer, and at the same count the suspicion is.  Each member passes on
    only what is newer than what it knows, so news ends.  Each tells what it suspects in every round anew, so
    news that was lost is made good by the next round; and a suspicion that is repeated to somebody who knows
    better is answered every time.
A count that rises is a sign of life however it comes, so a link that is broken makes nobody suspect anybody
    as long as there is another way.  It is noticed by its receiver, which learns that a neighbour has gone on
    counting for five rounds and has heard none of them.
Neighbours that are struck off have stand-ins, who watch in their place; so a member whose neighbours have
    all failed with it is struck off ``fail_after`` after them.
A process that did not run for a while would measure its own silence.  If it is late by half of ``fail_after``
    it counts everyone's silence anew, and if it has missed a round it first reads what has come meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stablecast.errors import InvalidInput
from stablecast.membership.actions import Randomness
from stablecast.membership.neighbours import rings_of
from stablecast.membership.passing_on import ASKS, LIVES, MOST_NEWS, SUSPECTED, News, PassingOn
from stablecast.membership.view import View

UNHEARD_ROUNDS = 5
"""Rounds of a neighbour that must have been missed here before the link from it is taken for dead."""
SUSPECT_AFTER = 1 / 2
ASK_AFTER = 1 / 4
"""Of ``fail_after``: silence of a neighbour before it is suspected, and before others are asked."""
AT_RANDOM = 4
"""Members beside its neighbours whom a suspected one tells that it lives."""
GUEST_ROUNDS = 2
"""Rounds for which a member is told too that is no neighbour, and takes this one for one."""


@dataclass(slots=True)
class _Suspicion:
    count: int
    """The last that was heard of."""
    since: float
    """From when on its silence counts."""
    due: float
    """When it is struck off."""


class Detector:
    """One member's watch over a view; times are seconds.

    Parameters
    ----------
    view, me_session
        What is watched, and who watches.
    fail_after
        Silence after which a member is suspected.
    every
        Between rounds.
    rng
        Draws whom else a suspected member tells that it lives.
    now
        When the view began; silence is counted from then on.
    """

    def __init__(
        self,
        view: View,
        me_session: int,
        *,
        fail_after: float,
        every: float,
        rng: Randomness,
        now: float,
    ) -> None:
        if not 0 < every < fail_after:
            raise InvalidInput(f"every {every} must be above 0 and below fail_after {fail_after}")
        self.me = view.rank_of(me_session)
        if self.me < 0:
            raise InvalidInput(f"session {me_session} is not in view {view.id:x}")
        self.fail_after = fail_after
        self.every = every
        self.next_tick = now
        self.count = 0
        """Rounds so far, its own."""
        self.passing_on = PassingOn(every)
        """What is to be said at once."""
        self._size = len(view.members)
        self._rings = rings_of(view.id, view.sessions)
        self._neighbours = self._rings.neighbours(self.me)
        self.watched = self._neighbours
        """The ranks of those whom this member tells of its rounds, and whose silence it judges."""
        self._rng = rng
        self._suspect_after = SUSPECT_AFTER * fail_after
        self._ask_after = min(ASK_AFTER * fail_after, UNHEARD_ROUNDS * every)
        self._since = now
        """From when on silence counts, whoever was heard before."""
        self._swept_at = now
        self._is_catching_up = False
        self._counts: dict[int, int] = {}
        """The largest count that is known of others, where one is."""
        self._direct: dict[int, float] = {}
        """When something last came from a member itself."""
        self._relayed: dict[int, float] = {}
        """When something last came that it has made, by way of others: its link may carry nothing."""
        self._direct_counts: dict[int, int] = {}
        self._indirect: dict[int, float] = {}
        """When a larger count of a member was last told by others, or when watching it began."""
        self._suspicions: dict[int, _Suspicion] = {}
        self._struck_off: frozenset[int] = frozenset()
        self._asked: list[int] = []
        """Of whom others are asked in this round."""
        self._guests: dict[int, float] = {}
        self._refuted_at = -fail_after

    # Rounds

    def tick(self, now: float) -> tuple[int, ...]:
        """Count a round, look who is silent, and return the ranks to tell of the round."""
        late = now - self.next_tick
        if late > self.fail_after / 2:
            self._since = now
        self.next_tick = now + self.every
        self._swept_at = now
        self.count += 1
        self._is_catching_up = late > self.every and not self._is_catching_up
        if not self._is_catching_up:
            self._replace_struck_off(now)
            self._judge(now)
        if not self._guests:
            return self.watched
        self._guests = {
            rank: at for rank, at in self._guests.items() if now - at <= GUEST_ROUNDS * self.every
        }
        return tuple(dict.fromkeys((*self.watched, *self._guests)))

    def _replace_struck_off(self, now: float) -> None:
        """Watch those, too, who stand next to members that are struck off."""
        struck_off = self.suspects(now)
        if struck_off == self._struck_off:
            return
        self._struck_off = struck_off
        before = self.watched
        self.watched = tuple(dict.fromkeys((*self._neighbours, *self._rings.neighbours(self.me, struck_off))))
        for rank in self.watched:
            if rank not in before:
                self._indirect[rank] = now

    def _judge(self, now: float) -> None:
        """Ask about neighbours that were not heard of for a while, and suspect those silent for longer."""
        self._asked = []
        for rank in self.watched:
            last = self._heard_at(rank)
            if now - last <= self._ask_after or rank in self._suspicions:
                continue
            if now - last <= self._suspect_after:
                self._ask(rank, now)
            else:
                count = self._counts.get(rank, 0)
                self._suspicions[rank] = _Suspicion(count, last, last + self.fail_after)
                self.passing_on.to_all((rank, SUSPECTED, count), now)

    def _ask(self, rank: int, now: float) -> None:
        """Ask the neighbours of a member about it, those whom this round is not told at once."""
        self._asked.append(rank)
        news = (rank, ASKS, self._counts.get(rank, 0))
        for other in self._rings.neighbours(rank):
            if other != self.me and other not in self.watched:
                self.passing_on.to_one(other, news, now)

    def to_tell(self) -> tuple[News, ...]:
        """Return what is told of others in every round: whom this member asks about, and whom it suspects."""
        if not self._asked and not self._suspicions:
            return ()
        asks = [(rank, ASKS, self._counts.get(rank, 0)) for rank in self._asked]
        suspected = [(rank, SUSPECTED, found.count) for rank, found in self._suspicions.items()]
        first = self.count * MOST_NEWS % len(suspected) if len(suspected) > MOST_NEWS else 0
        return tuple((asks + suspected[first:] + suspected[:first])[:MOST_NEWS])

    # What comes

    def heard(self, rank: int, now: float, *, is_direct: bool = True) -> None:
        """Take note of a frame of this view that a member has made; it may have come by way of others."""
        (self._direct if is_direct else self._relayed)[rank] = now

    def hear_count(self, rank: int, count: int, now: float, *, is_round: bool = True) -> None:
        """Take in a member's own count, in a round of it or in between."""
        self._direct[rank] = now
        if count > self._direct_counts.get(rank, 0):
            self._direct_counts[rank] = count
            if count > self._counts.get(rank, 0):
                self._counts[rank] = count
                if self._suspicions:
                    self._end_suspicion(rank, count, now)
        if is_round and rank not in self.watched:
            self._guests[rank] = now

    def hear_news(self, news: Sequence[News], from_rank: int, now: float) -> None:
        """Take in what a member tells of others."""
        for rank, what, count in news[:MOST_NEWS]:
            if rank == self.me:
                if what != LIVES:
                    self._answer_for_oneself(what, count, from_rank, now)
            elif rank < self._size:
                if what == LIVES:
                    self._hear_that_it_lives(rank, count, now)
                elif self._counts.get(rank, 0) > count:
                    self.passing_on.to_one(from_rank, (rank, LIVES, self._counts[rank]), now)
                elif what == SUSPECTED:
                    self._hear_of_suspicion(rank, count, now)

    def _hear_that_it_lives(self, rank: int, count: int, now: float) -> None:
        if count > self._counts.get(rank, 0):
            self._counts[rank] = count
            self._indirect[rank] = now
            self._end_suspicion(rank, count, now)

    def _end_suspicion(self, rank: int, count: int, now: float) -> None:
        suspicion = self._suspicions.get(rank)
        if suspicion is not None and count > suspicion.count:
            del self._suspicions[rank]
            self.passing_on.to_all((rank, LIVES, count), now)

    def _hear_of_suspicion(self, rank: int, count: int, now: float) -> None:
        """Begin to suspect a member that others do, unless that is known; pass it on."""
        known = self._suspicions.get(rank)
        if known is not None and known.count >= count:
            return
        self._counts[rank] = count
        since = now - self._suspect_after
        self._suspicions[rank] = _Suspicion(count, since, since + self.fail_after)
        self.passing_on.to_all((rank, SUSPECTED, count), now)

    def _answer_for_oneself(self, what: int, count: int, to: int, now: float) -> None:
        """Say that this member lives: to who asks, and where it is suspected to its neighbours and more."""
        if count > self.count:  # nobody has heard that
            return
        if count == self.count:
            self.count += 1
        news = (self.me, LIVES, self.count)
        self.passing_on.to_one(to, news, now)
        if what == SUSPECTED and now - self._refuted_at >= self.every / 2:
            self._refuted_at = now
            self.passing_on.to_all(news, now)
            for _ in range(AT_RANDOM):
                other = int(self._rng.random() * self._size)
                if other != self.me:
                    self.passing_on.to_one(other, news, now)

    # What is known

    def _heard_at(self, rank: int) -> float:
        since = self._since
        return max(since, self._direct.get(rank, since), self._indirect.get(rank, since))

    def suspects(self, now: float) -> frozenset[int]:
        """Return the ranks that were silent for ``fail_after``; none while this process is late itself."""
        if not self._suspicions or now - self.next_tick > self.fail_after / 2:
            return frozenset()
        return frozenset(
            rank
            for rank, suspicion in self._suspicions.items()
            if now > suspicion.due and now - self._made_at(rank) > self.fail_after
        )

    def _made_at(self, rank: int) -> float:
        """Return when something last came that a member has made, or from when on that counts."""
        since = self._since
        return max(since, self._direct.get(rank, since), self._relayed.get(rank, since))

    def unheard(self, now: float) -> list[int]:
        """Return the ranks of neighbours that live, as others say, and from which nothing has come for long.

        Others have heard that these went on counting, and of so many rounds none has come here.
        """
        return [
            rank
            for rank in self.watched
            if self._counts.get(rank, 0) >= self._direct_counts.get(rank, 0) + UNHEARD_ROUNDS
            and now - max(self._since, self._direct.get(rank, self._since)) > UNHEARD_ROUNDS * self.every
            and rank not in self._suspicions
        ]

    def is_suspected(self, rank: int) -> bool:
        """Tell whether this member has told others of a member's silence, or heard of it from them."""
        return rank in self._suspicions

    def is_silent(self, rank: int, now: float) -> bool:
        """Tell whether others are asked about a neighbour; of nobody while this process is late itself."""
        if rank not in self.watched or now - self.next_tick > self.every:
            return False
        return now - self._heard_at(rank) > self._ask_after

    def last_heard(self, rank: int) -> float:
        """Return when there was last a sign of life; of members that others watch, no news is one."""
        if rank in self.watched:
            return self._heard_at(rank)
        suspicion = self._suspicions.get(rank)
        last = self._swept_at if suspicion is None else suspicion.since
        return max(last, self._direct.get(rank, last))

    def heard_all_at(self) -> float:
        """Return a time since when each other member has given a sign of life, as far as that is known.

        Those who are watched by others alone were heard of by these at the latest when their silence would
        have made them suspected.
        """
        times = [self._heard_at(rank) for rank in self.watched]
        times += [suspicion.since for suspicion in self._suspicions.values()]
        if len(self.watched) < self._size - 1:
            times.append(self._swept_at - self._suspect_after - self.every)
        return min(times, default=float("inf"))
