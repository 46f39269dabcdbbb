"""What all members have said to have: stability without the stability protocol, by rounds of gossip.

A protocol may conclude nothing for long, as when a link that it depends on carries nothing in one direction.
Signs of life go other ways too, so they find out the same, more slowly.

How
    A member that waits for stability begins a round, about the sources that it waits for.  The round gathers,
    in the signs of life, the least that any member has of each of these, and who was asked.  Who hears of a
    round adds itself, and goes on telling.  A larger round takes the place of a smaller one.  The round is
    complete where everybody is in it.
Whose round it is
    A round's number is larger than that of all rounds that its beginner knows, and names the beginner: two
    members never begin rounds of the same number.  So everyone in a round is in it with the same sources,
    those that its beginner chose.
Why it is safe
    A member is in a round only with what it has itself of all its sources: its prefixes when it came to know
    of the round.  What a member has never becomes less, and the minimum of what was told never becomes more.
    So everything up to the least of a complete round is at every member of the view.  Of other sources a
    round says nothing.
Where members do not receive everything
    A member reports everything of a source that it does not receive.  The source and its receivers report
    what they have, so everything up to the least of a complete round is at all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

GOES_ON_S = 2.0
"""Seconds for which a member goes on telling of a round after the last news of it."""
MOST_SOURCES = 128
"""Sources that a round can be about."""

Least = tuple[tuple[int, int], ...]
"""Sources, and the last part of each that all who are meant have."""
Told = tuple[int, Least, bytes]
"""A round's number, the least of each source, and who is in it, one bit for each rank; or ``NO_ROUND``."""
NO_ROUND: Told = (0, (), b"")


def is_inside(inside: bytes, rank: int) -> bool:
    """Tell whether a member is in a round."""
    return rank >> 3 < len(inside) and bool(inside[rank >> 3] >> (rank & 7) & 1)


class Rounds:
    """One member's part in the rounds of one view.

    Parameters
    ----------
    rank, size
        Which of the members this is, and how many there are.
    has
        Returns the last part that this member has of a source, when it is asked.
    """

    def __init__(self, rank: int, size: int, has: Callable[[int], int]) -> None:
        self._rank = rank
        self._size = size
        self._has = has
        self._number = 0
        self._least: dict[int, int] = {}
        self._all = (1 << size) - 1
        self._inside = 0
        self._until = 0.0

    @property
    def _goes_on(self) -> bool:
        return self._inside != 0

    def begin(self, sources: Iterable[int], now: float) -> None:
        """Begin a round about some sources, unless one goes on."""
        if not self._goes_on:
            self._enter((self._number // self._size + 1) * self._size + self._rank, sources)
        self._until = now + GOES_ON_S

    def take(self, told: Told, now: float) -> Least:
        """Take in what another member tells of a round; return what everyone has if it is complete."""
        number, least, inside = told
        sources = {source for source, _ in least}
        if number < self._number or not sources or len(sources) > MOST_SOURCES or max(sources) >= self._size:
            return ()
        if number > self._number:
            self._enter(number, sources)
        elif not self._goes_on or sources != self._least.keys():
            return ()
        before = self._inside
        for source, part in least:
            self._least[source] = min(part, self._least[source])
        self._inside |= int.from_bytes(inside, "little") & self._all
        if self._inside != before:
            self._until = now + GOES_ON_S
        if self._inside != self._all:
            return ()
        self._inside = 0
        return tuple(self._least.items())

    def to_tell(self, now: float) -> Told:
        """Return what to tell others of the round that goes on."""
        if now > self._until:
            self._inside = 0
        if not self._goes_on:
            return NO_ROUND
        inside = self._inside.to_bytes(self._size // 8 + 1, "little")
        return self._number, tuple(self._least.items()), inside

    def _enter(self, number: int, sources: Iterable[int]) -> None:
        self._number = number
        self._least = {source: self._has(source) for source in islice(sources, MOST_SOURCES)}
        self._inside = 1 << self._rank
