"""Gossip failure detection: who was not heard of, directly or through others, for too long.

Every member counts its rounds, and tells a few others in each round the largest count that it has heard of
each member.  A count that rises is a sign of life, however it comes, so a link between two members that is
broken makes nobody suspect anybody as long as there is another way between them.  It is noticed by its
receiver, which hears that a member lives, and nothing from the member itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from operator import gt

from stablecast.errors import InvalidInput
from stablecast.membership.actions import Randomness
from stablecast.membership.view import View

MOST_AT_A_TIME = 8
LARGE = 64
FEW_AT_A_TIME = 4
"""Members that are told in a round of a larger group: what each has to tell is longer there, and reaches
everyone in five rounds of a thousand members."""
UNHEARD_TURNS = 5
"""Turns that a member must have missed here before the link from it is taken for dead."""


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
    fan_out
        How many members are told in a round; if not given, 8 at most, and 4 in groups of more than 64.
    rng
        Shuffles the order in which the others are told.
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
        fan_out: int | None = None,
    ) -> None:
        if not 0 < every < fail_after:
            raise InvalidInput(f"every {every} must be above 0 and below fail_after {fail_after}")
        self.me = view.rank_of(me_session)
        if self.me < 0:
            raise InvalidInput(f"session {me_session} is not in view {view.id:x}")
        size = len(view.members)
        self.fail_after = fail_after
        self.every = every
        self.next_tick = now
        if fan_out is None:
            fan_out = MOST_AT_A_TIME if size <= LARGE else FEW_AT_A_TIME
        self._fan_out = min(size - 1, fan_out)
        self._rng = rng
        self._counters = [0] * size
        self._last_heard = [now] * size
        self._last_direct = [now] * size
        self.turn_s = every * -(-(size - 1) // max(self._fan_out, 1))
        """Seconds in which everyone has a turn; two turns of the same member may be twice as far apart."""
        self._turns: list[int] = []

    def tick(self, now: float) -> list[int]:
        """Count a round, and return the ranks to tell of it."""
        if now - self.next_tick > self.fail_after / 2:
            self._begin_again(now)
        self.next_tick = now + self.every
        self._counters[self.me] += 1
        self._last_heard[self.me] = now
        return self._next_few()

    def _begin_again(self, now: float) -> None:
        """Count everyone's silence from now on.

        This process did not run for a while, so it is its own silence that it would measure: what the others
        sent meanwhile is still in its socket's buffer, or was dropped because that was full.
        """
        self._last_heard = [now] * len(self._last_heard)
        self._last_direct = [now] * len(self._last_direct)

    def _next_few(self) -> list[int]:
        """Return the next ranks of a shuffled order: everyone has a turn before anyone has a second."""
        few: list[int] = []
        while len(few) < self._fan_out:
            if not self._turns:
                self._turns = self._shuffled([r for r in range(len(self._counters)) if r != self.me])
            rank = self._turns.pop()
            if rank in few:  # a new order may begin with one of these; it has its turn a little later
                self._turns.insert(0, rank)
            else:
                few.append(rank)
        return few

    def _shuffled(self, ranks: list[int]) -> list[int]:
        for last in range(len(ranks) - 1, 0, -1):
            other = int(self._rng.random() * (last + 1))
            ranks[last], ranks[other] = ranks[other], ranks[last]
        return ranks

    def counters(self) -> tuple[int, ...]:
        """Return for each member by rank the largest count heard of."""
        return tuple(self._counters)

    def heard(self, rank: int, now: float) -> None:
        """Take note of a frame of this view from a member itself."""
        self._last_heard[rank] = self._last_direct[rank] = now

    def merge(self, counters: Sequence[int], from_rank: int, now: float) -> None:
        """Take in what a member tells; counts of another length are not of this view, and ignored."""
        if len(counters) != len(self._counters):
            return
        self.heard(from_rank, now)
        known, last_heard = self._counters, self._last_heard
        for rank in list(compress(range(len(known)), map(gt, counters, known))):
            if rank != self.me:
                known[rank] = counters[rank]
                last_heard[rank] = now

    def suspects(self, now: float) -> frozenset[int]:
        """Return the ranks that were silent for ``fail_after``; none while this process is late itself."""
        if now - self.next_tick > self.fail_after / 2:
            return frozenset()
        silent = (rank for rank, last in enumerate(self._last_heard) if now - last > self.fail_after)
        return frozenset(rank for rank in silent if rank != self.me)

    def unheard(self, now: float) -> list[int]:
        """Return the ranks that live, as others say, and from which nothing has come for long."""
        patience = UNHEARD_TURNS * self.turn_s
        return [
            rank
            for rank, last in enumerate(self._last_direct)
            if now - last > patience and now - self._last_heard[rank] < patience / 2 and rank != self.me
        ]

    def last_heard(self, rank: int) -> float:
        """Return when there was last a sign of life of a member."""
        return self._last_heard[rank]
