"""Connections in the plain driver: how each receiver stands with each sender, in one record a pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(eq=False)
class Link:
    """How a receiver stands with a sender, as one sees it who looks at both."""

    wanted: bool = False
    """Whether the receiver has connected, and neither side has closed it."""
    since_ps: int | None = None
    """Since when it waits to be let in."""
    after: int | None = None
    """The last message before those that it has to have, while the sender counts it; None for none."""


class Links:
    """All pairs of a column and a member."""

    def __init__(self, audiences: Sequence[Sequence[int]]) -> None:
        self._links: defaultdict[tuple[int, int], Link] = defaultdict(Link)
        for column, audience in enumerate(audiences):
            for member in audience:
                self._links[column, member] = Link(wanted=True, after=0)
        self.times_ps: list[int] = []
        """How long each receiver took that was let in."""

    def __getitem__(self, pair: tuple[int, int]) -> Link:
        return self._links[pair]

    def connect(self, column: int, member: int, now_ps: int) -> None:
        """A receiver connects."""
        link = self._links[column, member]
        link.wanted, link.since_ps = True, now_ps

    def close(self, column: int, member: int) -> None:
        """A receiver is not connected any more."""
        self._links[column, member] = Link()

    def count(self, column: int, member: int, after: int) -> None:
        """A sender counts a receiver in; one that has gone again is not waited for."""
        if self._links[column, member].wanted:
            self._links[column, member].after = after

    def open(self, column: int, member: int, now_ps: int) -> None:
        """A receiver takes a sender's messages from now on."""
        link = self._links[column, member]
        assert link.since_ps is not None
        self.times_ps.append(now_ps - link.since_ps)
        link.since_ps = None

    def required(self, column: int) -> Iterator[tuple[int, int]]:
        """Yield the members that a column's sender has to wait for, and the last message before theirs."""
        for (of, member), link in self._links.items():
            if of == column and link.after is not None:
                yield member, link.after

    def waited_for(self, member: int) -> Iterator[int]:
        """Yield the columns whose senders a member waits for to be let in."""
        for (column, of), link in self._links.items():
            if of == member and link.since_ps is not None:
                yield column
