"""How what one member sends to all comes to them: a copy to each, or along a tree of members that pass it on.

Who decides
    The sender, for each of its datagrams: those that are to be passed on say so in their first frame
    (``PassOn``), with a mark of the view and the degree.  So members need not agree on when to relay, and one
    that sends by IP multicast, or was told to send copies itself, is understood all the same.
What a relay does
    It opens a datagram as it opens any, which succeeds once (``seal``), and hands the same bytes to those
    below it in the tree of the session that sealed it.  So nothing is passed on twice or in circles, and
    nothing that is not authentic, or marked as of another view than the relay's.
What can go wrong
    A relay may be gone, or unable to reach those below it.  Who is above it then serves these too, and goes
    on sending to the relay itself: what both send comes once.  That is done for relays that are suspected,
    or behind a link that is known to be dead.  Until then, and where a copy is lost, those below miss some
    datagrams, as they would if these were lost on their way to each of them; repair brings them.  Nothing is
    called stable because it was passed on: members report what has come.
What it costs
    The sender's copies are at most the degree (twice that where there are zones), rather than one for each
    member.  All members together send as many as before.  A datagram takes one hop for each level.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stablecast.engine.wire import PassOn, encode
from stablecast.membership.roster import Roster
from stablecast.membership.view import Address


class Route(NamedTuple):
    """Where a datagram for many goes first."""

    to: Sequence[Address]
    mark: bytes
    """The frame, packed, that says that it is to be passed on; empty if it is not."""


class FanOut:
    """The ways out of one member in one view, for what it sends to many and for what it passes on.

    Parameters
    ----------
    roster, rank
        The view, and which of its members this is.
    degree
        Of this member's own trees; None if it sends a copy to each.
    """

    def __init__(self, roster: Roster, rank: int, *, degree: int | None) -> None:
        self.degree = degree
        self._roster = roster
        self._rank = rank
        self._out_of_reach: frozenset[int] = frozenset()
        self._own: dict[bool, Route] = {}
        self._onward: dict[tuple[int, int, bool], Sequence[Address]] = {}
        self._degrees: dict[int, int] = {}
        """The degrees of the trees of those whose datagrams were passed on, as they said last."""

    # One's own

    def to_all(self) -> Route:
        """Return the way to all other members."""
        return self._route(audience=False)

    def to_audience(self) -> Route:
        """Return the way to those who receive from this member."""
        return self._route(audience=not self._roster.audiences.is_whole)

    def _route(self, *, audience: bool) -> Route:
        if audience not in self._own:
            self._own[audience] = self._find_route(audience=audience)
        return self._own[audience]

    def _find_route(self, *, audience: bool) -> Route:
        degree, addresses = self.degree, self._roster.addresses
        if degree is None:
            ranks = self._roster.audiences.of(self._rank) if audience else range(self._roster.size)
            return Route([addresses[rank] for rank in ranks if rank != self._rank], b"")
        to = self._below(self._rank, degree, audience=audience)
        mark = encode(PassOn.along(self._roster.view.id, degree, audience=audience))
        return Route([addresses[rank] for rank in to], mark)

    # Others'

    def onward(self, source: int, frame: PassOn) -> Sequence[Address]:
        """Return where a datagram of a member goes on from here."""
        self._degrees[source] = frame.degree
        key = (source, frame.degree, frame.audience)
        if key not in self._onward:
            ranks = self._below(source, frame.degree, audience=frame.audience)
            self._onward[key] = [self._roster.addresses[rank] for rank in ranks] if ranks else ()
        return self._onward[key]

    def above(self, source: int) -> tuple[int, ...]:
        """Return by way of whom a source's data comes here, the nearest first; nobody if it comes directly.

        The last one is the source.
        """
        degree = self._degrees.get(source)
        if degree is None or source == self._rank:
            return ()
        return self._roster.trees.above(source, self._rank, degree, audience=True)

    # Who is out of reach

    def take_out_of_reach(self, ranks: frozenset[int]) -> None:
        """Serve those below these members too, and no longer those below others."""
        if ranks != self._out_of_reach:
            self._out_of_reach = ranks
            self._own.clear()
            self._onward.clear()

    def _below(self, source: int, degree: int, *, audience: bool) -> list[int]:
        """Return the ranks of those below this member in a tree, and below those that are out of reach."""
        trees, found = self._roster.trees, list[int]()
        waiting = [self._rank]
        while waiting:
            below = trees.children(source, waiting.pop(), degree, audience=audience)
            found += below
            waiting += [rank for rank in below if rank in self._out_of_reach]
        return found
