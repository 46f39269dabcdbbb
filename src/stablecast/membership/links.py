"""Which links carry nothing in one direction, as their receivers say.

A receiver lists whom it does not hear.  The list goes along with signs of life and is passed on, with the
receiver's count of rounds, so that an old list can be told from a new one: who hears again lists nothing
any more, and what it said before is forgotten when its count has risen.
"""

from __future__ import annotations

from collections.abc import Sequence

FRESH_COUNTS = 20
"""Rounds of its receiver for which a dead link is believed in after it was last told."""
MOST_LINKS = 32
"""How many are told at a time."""

DeadLink = tuple[int, int, int]
"""Ranks of sender and receiver, and the receiver's count when it said so."""


class Links:
    """The links of one view that are known to carry nothing."""

    def __init__(self, rank: int, size: int) -> None:
        self._rank = rank
        self._size = size
        self._dead: dict[tuple[int, int], int] = {}

    def look(self, unheard: Sequence[int], counters: Sequence[int]) -> None:
        """Take note of whom this member does not hear at present; counts are those of the detector."""
        self._dead = {
            (sender, receiver): count
            for (sender, receiver), count in self._dead.items()
            if receiver != self._rank and counters[receiver] - count <= FRESH_COUNTS
        }
        for sender in unheard:
            self._dead[sender, self._rank] = counters[self._rank]

    def take(self, told: Sequence[DeadLink]) -> None:
        """Take in what another member tells."""
        for sender, receiver, count in told[:MOST_LINKS]:
            if sender < self._size and receiver < self._size and receiver != self._rank:
                link = (sender, receiver)
                self._dead[link] = max(count, self._dead.get(link, 0))

    def to_tell(self) -> tuple[DeadLink, ...]:
        """Return what to tell others, the latest of it if there is much."""
        latest = sorted(self._dead.items(), key=lambda entry: -entry[1])[:MOST_LINKS]
        return tuple((sender, receiver, count) for (sender, receiver), count in latest)

    def known(self) -> tuple[tuple[int, int], ...]:
        """Return sender and receiver of each, by rank."""
        return tuple(sorted(self._dead))

    def unheard(self) -> list[int]:
        """Return whom this member does not hear."""
        return [sender for sender, receiver in self._dead if receiver == self._rank]

    def hears(self, sender: int) -> bool:
        """Tell whether this member hears another one."""
        return (sender, self._rank) not in self._dead
