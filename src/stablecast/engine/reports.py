"""What all members have said to have: stability without the stability protocol, by rounds of gossip.

A protocol may conclude nothing for long, as when a link that it depends on carries nothing in one direction.
Signs of life go other ways too, so they find out the same, more slowly.

How
    A round gathers, in the signs of life, the least that any member has of each source, and who was asked.
    A member that waits for stability begins a round; who hears of one adds itself, and goes on telling.
    A larger round takes the place of a smaller one.  The round is complete where everybody is in it.
Why it is safe
    A member is in a round only with what it has itself: its prefixes when it came to know of the round.  What
    a member has never becomes less, and the minimum of what was told never becomes more.  So everything up to
    the least of a complete round is at every member of the view.
Where members do not receive everything
    A member reports everything of a source that it does not receive.  The source and its receivers report
    what they have, so everything up to the least of a complete round is at all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from operator import gt

GOES_ON_S = 2.0
"""Seconds for which a member goes on telling of a round after the last news of it."""

Told = tuple[int, tuple[int, ...], bytes]
"""A round's number, the least of each source, and who is in it, one bit for each rank; or ``NO_ROUND``."""
NO_ROUND: Told = (0, (), b"")


def is_inside(inside: bytes, rank: int) -> bool:
    """Tell whether a member is in a round."""
    return rank >> 3 < len(inside) and bool(inside[rank >> 3] >> (rank & 7) & 1)


class Rounds:
    """One member's part in the rounds of one view."""

    def __init__(self, rank: int, size: int) -> None:
        self._rank = rank
        self._size = size
        self._number = 0
        self._least: list[int] = []
        self._all = (1 << size) - 1
        self._inside = 0
        self._until = 0.0

    @property
    def _goes_on(self) -> bool:
        return self._inside != 0

    def begin(self, has: Sequence[int], now: float) -> None:
        """Begin a round with what this member has of each source, unless one goes on."""
        if not self._goes_on:
            self._enter(self._number + 1, has)
        self._until = now + GOES_ON_S

    def take(self, told: Told, has: Sequence[int], now: float) -> tuple[int, ...]:
        """Take in what another member tells of a round; return what everyone has if it is complete."""
        number, least, inside = told
        if len(least) != self._size or number < self._number:
            return ()
        if number > self._number:
            self._enter(number, has)
        elif not self._goes_on:
            return ()
        before = self._inside
        for source in list(compress(range(self._size), map(gt, self._least, least))):
            self._least[source] = least[source]
        self._inside |= int.from_bytes(inside, "little") & self._all
        if self._inside != before:
            self._until = now + GOES_ON_S
        if self._inside != self._all:
            return ()
        self._inside = 0
        return tuple(self._least)

    def to_tell(self, now: float) -> Told:
        """Return what to tell others of the round that goes on."""
        if now > self._until:
            self._inside = 0
        if not self._goes_on:
            return NO_ROUND
        return self._number, tuple(self._least), self._inside.to_bytes(self._size // 8 + 1, "little")

    def _enter(self, number: int, has: Sequence[int]) -> None:
        self._number = number
        self._least = list(has)
        self._inside = 1 << self._rank
