"""The trees along which members of a view pass on what one of them sends to all.

There is a tree for each source, rooted at it, and all members come to the same ones: they follow from the
order of the members, their zones, who receives whom, and a degree that goes with what is passed on.

How a tree is made
    Members of a zone stand in a ring, by rank.  In each zone one member gets the copy for all of it, the
    *head*: in its own zone the source, elsewhere the member whose place in the ring is the source's rank,
    modulo the size, so that different sources have different heads.  The heads form a tree of the given
    degree, and each zone one of its own below its head (``overlays/ranges``).  A view without zones is one
    zone.
What follows
    Exactly one copy comes to each zone but the source's.  A member passes on to at most ``degree`` others, a
    head to twice as many, and most members to nobody.  There are about log(size) / log(degree) hops, and as
    many again where there are many zones.
Who is in it
    For what goes to all members, all of them; for what goes to a source's audience, it and the audience.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from stablecast.membership.audiences import Audiences
from stablecast.overlays import ranges


class _Place(NamedTuple):
    """Where a member is in the tree of a source."""

    zone: int
    """Its zone's place among those that have members in the tree, the source's first."""
    inside: int
    """Its own in the ring of its zone, the head's first."""


class _Tree:
    """The tree of one source."""

    def __init__(self, source: int, own_zone: int, zones: Sequence[Sequence[int]]) -> None:
        self._zones = zones
        self._first = own_zone
        self._heads = [source % len(zone) for zone in zones]
        self._heads[own_zone] = bisect_left(zones[own_zone], source)

    def place_of(self, rank: int, zone: int) -> _Place | None:
        """Return where a member is, None if it is not in this tree."""
        if zone < 0:
            return None
        ring = self._zones[zone]
        at = bisect_left(ring, rank)
        if at == len(ring) or ring[at] != rank:
            return None
        return _Place((zone - self._first) % len(self._zones), (at - self._heads[zone]) % len(ring))

    def children(self, place: _Place, degree: int) -> tuple[int, ...]:
        """Return the ranks of those that a place passes things on to, other zones first."""
        found = []
        if place.inside == 0:
            further = ranges.children(place.zone, len(self._zones), degree)
            found += [self._rank_at(_Place(zone, 0)) for zone in further]
        inside = ranges.children(place.inside, len(self._ring(place)), degree)
        found += [self._rank_at(_Place(place.zone, child)) for child in inside]
        return tuple(found)

    def parent(self, place: _Place, degree: int) -> _Place | None:
        """Return the place that a place gets things from, None for the root."""
        if place.inside:
            return _Place(place.zone, ranges.parent(place.inside, len(self._ring(place)), degree))
        if place.zone:
            return _Place(ranges.parent(place.zone, len(self._zones), degree), 0)
        return None

    def rank_at(self, place: _Place) -> int:
        """Return who is at a place."""
        return self._rank_at(place)

    def _ring(self, place: _Place) -> Sequence[int]:
        return self._zones[(place.zone + self._first) % len(self._zones)]

    def _rank_at(self, place: _Place) -> int:
        ring = self._ring(place)
        head = self._heads[(place.zone + self._first) % len(self._zones)]
        return ring[(head + place.inside) % len(ring)]


class Trees:
    """The trees of one view.

    Parameters
    ----------
    zones
        The members' zones by rank.
    audiences
        Who receives whom.
    """

    def __init__(self, zones: Sequence[str], audiences: Audiences) -> None:
        names = sorted(set(zones))
        number = {zone: k for k, zone in enumerate(names)}
        self._zone_of = [number[zone] for zone in zones]
        self._rings: list[list[int]] = [[] for _ in names]
        for rank, zone in enumerate(self._zone_of):
            self._rings[zone].append(rank)
        self._audiences = audiences
        self._of_audience: dict[int, tuple[_Tree, list[int]]] = {}

    def children(self, source: int, rank: int, degree: int, *, audience: bool = False) -> tuple[int, ...]:
        """Return the ranks of those that a member passes on to what a source sends, in its tree."""
        tree, zone = self._tree(source, rank, audience=audience)
        place = tree.place_of(rank, zone)
        return () if place is None else tree.children(place, degree)

    def above(self, source: int, rank: int, degree: int, *, audience: bool = False) -> tuple[int, ...]:
        """Return the ranks of those by way of whom a member gets what a source sends, the nearest first.

        The last one is the source; there is none for the source itself, and for who is not in its tree.
        """
        tree, zone = self._tree(source, rank, audience=audience)
        place, found = tree.place_of(rank, zone), list[int]()
        while place is not None and (place := tree.parent(place, degree)) is not None:
            found.append(tree.rank_at(place))
        return tuple(found)

    def _tree(self, source: int, rank: int, *, audience: bool) -> tuple[_Tree, int]:
        """Return the tree of a source, and the number in it of a member's zone; -1 if it has none there."""
        if not audience or self._audiences.is_whole:
            return _Tree(source, self._zone_of[source], self._rings), self._zone_of[rank]
        if source not in self._of_audience:
            self._of_audience[source] = self._tree_of_audience(source)
        tree, numbers = self._of_audience[source]
        return tree, numbers[self._zone_of[rank]]

    def _tree_of_audience(self, source: int) -> tuple[_Tree, list[int]]:
        hears = self._audiences.hears
        rings = [[rank for rank in ring if hears(rank, source)] for ring in self._rings]
        there = [ring for ring in rings if ring]
        numbers, next_number = [], 0
        for ring in rings:
            numbers.append(next_number if ring else -1)
            next_number += bool(ring)
        return _Tree(source, numbers[self._zone_of[source]], there), numbers
