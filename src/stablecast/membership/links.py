"""Which links carry nothing in one direction, as their receivers say.

A receiver lists whom of its neighbours it does not hear.  The list goes along with signs of life and is
passed on, with the receiver's count of rounds, so that an old list can be told from a new one: who hears
again lists nothing any more, and what it said before is forgotten (``hearsay``).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest

from stablecast.membership.hearsay import Hearsay

FRESH_ROUNDS = 20
"""Rounds for which a dead link is believed in after it was last told."""
MOST_LINKS = 32
"""How many are told at a time."""

DeadLink = tuple[int, int, int]
"""Ranks of sender and receiver, and the receiver's count when it said so."""


class Links:
    """The links of one view that are known to carry nothing; ``every`` is the seconds between rounds."""

    def __init__(self, rank: int, size: int, *, every: float) -> None:
        self._rank = rank
        self._size = size
        self._dead: Hearsay[tuple[int, int], None] = Hearsay(FRESH_ROUNDS * every)
        self._unheard: frozenset[int] = frozenset()

    def look(self, unheard: Sequence[int], count: int, now: float) -> None:
        """Take note of whom this member does not hear at present, in this round of its own."""
        for sender in self._unheard.difference(unheard):
            self._dead.withdraw((sender, self._rank))
        self._unheard = frozenset(unheard)
        for sender in unheard:
            self._dead.take((sender, self._rank), count, None, now)
        self._dead.sweep(now)

    def take(self, told: Sequence[DeadLink], now: float) -> None:
        """Take in what another member tells."""
        for sender, receiver, count in told[:MOST_LINKS]:
            if sender < self._size and receiver < self._size and receiver != self._rank:
                self._dead.take((sender, receiver), count, None, now)

    def to_tell(self) -> tuple[DeadLink, ...]:
        """Return what to tell others, the latest of it if there is much."""
        if not self._dead:
            return ()
        dead = ((sender, receiver, count) for (sender, receiver), count, _ in self._dead.fresh())
        return tuple(nlargest(MOST_LINKS, dead, key=lambda link: link[2]))

    def known(self) -> tuple[tuple[int, int], ...]:
        """Return sender and receiver of each, by rank."""
        return tuple(sorted(link for link, _, _ in self._dead.fresh()))

    def unheard(self) -> frozenset[int]:
        """Return whom this member does not hear."""
        return self._unheard

    def hears(self, sender: int) -> bool:
        """Tell whether this member hears another one."""
        return sender not in self._unheard
