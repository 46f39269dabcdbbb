"""Who lacks messages that are overdue, as the neighbours of these members say.

A member hears from its neighbours in every round what they have, so it knows which of them lacks a message
that should have been stable for long.  It says so in its signs of life, and others pass it on, so that all
know who stands in the way; the leader too, who may have to leave the member out.  Of a member that nobody
names nothing is known, and it is not taken for one that lacks something.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest

from stablecast.membership.hearsay import Hearsay

FRESH_ROUNDS = 8
"""Rounds for which it is believed after it was last told."""
MOST_BEHIND = 16
"""Members that are told of at a time."""

Lack = tuple[int, int, int]
"""A member, a source, and the last part that the member has of it."""
Behind = tuple[int, int, int, int, int]
"""A member, who says so and the count of that one, a source, and the last part that the member has of it."""


class Laggards:
    """What one member knows of who lacks messages in one view; ``every`` is the seconds between rounds."""

    def __init__(self, rank: int, size: int, *, every: float) -> None:
        self._rank = rank
        self._size = size
        self._told: Hearsay[tuple[int, int], tuple[int, int]] = Hearsay(FRESH_ROUNDS * every)
        self._own: frozenset[int] = frozenset()

    def look(self, found: Iterable[Lack], count: int, now: float) -> None:
        """Take note which neighbours lack something overdue at present, in this round of one's own."""
        lacks = {rank: (source, part) for rank, source, part in found}
        for rank in self._own.difference(lacks):
            self._told.withdraw((rank, self._rank))
        self._own = frozenset(lacks)
        for rank, lack in lacks.items():
            self._told.take((rank, self._rank), count, lack, now)
        self._told.sweep(now)

    def take(self, told: Sequence[Behind], now: float) -> None:
        """Take in what another member tells."""
        for rank, judge, count, source, part in told[:MOST_BEHIND]:
            if max(rank, judge, source) < self._size and self._rank not in (rank, judge):
                self._told.take((rank, judge), count, (source, part), now)

    def to_tell(self) -> tuple[Behind, ...]:
        """Return what to tell others, the latest of it if there is much."""
        if not self._told:
            return ()
        told = ((*key, count, *lack) for key, count, lack in self._told.fresh())
        return tuple(nlargest(MOST_BEHIND, told, key=lambda behind: behind[2]))

    def known(self) -> Mapping[int, tuple[int, int]]:
        """Return who is said to lack something: a source, and the last part that the member has of it."""
        return {rank: lack for (rank, _), _, lack in self._told.fresh()}
