"""News of who lives that does not wait for the next sign of life: what is to be said to whom, and when.

Each piece of news is about one member: its count of rounds, and one of three things.

``ASKS``       has anybody heard a larger count of it?  For those who are asked alone, never passed on.
``LIVES``      it has reached this count.
``SUSPECTED``  it was not heard of for long, and this is the last count of it.

Of one member, a larger count is newer, and at the same count the suspicion is newer than the sign of life; so
of several pieces of news about it only the newest has to be said.  News goes out at once, and then no more of
it for a moment: where many members fail together, what comes to be known in that moment goes in one frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

ASKS, LIVES, SUSPECTED = range(3)
MOST_NEWS = 32
"""Pieces of news in a frame."""
GATHERS = 25
"""News is gathered for this part of the time between two signs of life, after some has gone out."""

News = tuple[int, int, int]
"""A rank, one of the three, and a count."""


class PassingOn:
    """What one member is to say at once; ``every`` is the seconds between signs of life."""

    def __init__(self, every: float) -> None:
        self.at = inf
        """When there is something to say."""
        self._gather_s = every / GATHERS
        self._said_at = -inf
        self._to_all: dict[int, tuple[int, int]] = {}
        """For each member that there is news of, its count and what is said."""
        self._to_one: dict[int, dict[News, None]] = {}

    def to_all(self, news: News, now: float) -> None:
        """Say something to all neighbours."""
        rank, what, count = news
        self._to_all[rank] = max((count, what), self._to_all.get(rank, (-1, 0)))
        self._wake(now)

    def to_one(self, rank: int, news: News, now: float) -> None:
        """Say something to one member."""
        self._to_one.setdefault(rank, {})[news] = None
        self._wake(now)

    def _wake(self, now: float) -> None:
        if self.at == inf:
            self.at = max(now, self._said_at + self._gather_s)

    def take_out(self, neighbours: Iterable[int], now: float) -> list[tuple[int, tuple[News, ...]]]:
        """Return what is to be said now, and to whom; what does not fit into a frame is said later."""
        if now < self.at:
            return []
        first = list(self._to_all.items())[:MOST_NEWS]
        for rank, _ in first:
            del self._to_all[rank]
        shared = [(rank, what, count) for rank, (count, what) in first]
        said = {rank: list(shared) for rank in neighbours} if shared else {}
        for rank, news in self._to_one.items():
            said.setdefault(rank, []).extend(news)
        self._to_one = {}
        self._said_at, self.at = now, inf
        if self._to_all:
            self._wake(now)
        return [(rank, tuple(news[:MOST_NEWS])) for rank, news in said.items()]
