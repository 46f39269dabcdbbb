"""A tree for passing things on, by arithmetic alone: each place answers for a range of places behind it.

The places ``0 … size - 1`` stand in an order that all know, the root first.  The root answers for all of
them.  Whoever answers for a range is the first place in it, cuts the rest into ``degree`` ranges of about the
same size, and each of these has its own first place answer for it.  So

- every place is in the tree once, and its children follow from its number, the size and the degree,
- a tree has at most about log(size) / log(degree) levels,
- places that stand next to each other are next to each other in the tree: where an order lists the members of
  a zone one after the other, few links lead from one zone to another.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise


def children(place: int, size: int, degree: int) -> list[int]:
    """Return whom a place passes things on to."""
    first, end = _range_of(place, size, degree)
    return [begin for begin, _ in _parts(first + 1, end, degree)]


def parent(place: int, size: int, degree: int) -> int:
    """Return from whom a place gets things; -1 for the root."""
    above = -1
    for first, _ in _way_to(place, size, degree):
        if first != place:
            above = first
    return above


def answers_for(place: int, size: int, degree: int) -> range:
    """Return the places that a place answers for, itself among them: it, its children, theirs and so on."""
    return range(*_range_of(place, size, degree))


def _range_of(place: int, size: int, degree: int) -> tuple[int, int]:
    *_, last = _way_to(place, size, degree)
    return last


def _way_to(place: int, size: int, degree: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges that a place is in, from that of the root to its own."""
    if not 0 <= place < size or degree < 1:
        raise ValueError(f"place {place} of {size} with degree {degree} is in no tree")
    first, end = 0, size
    yield first, end
    while first != place:
        first, end = next(part for part in _parts(first + 1, end, degree) if part[0] <= place < part[1])
        yield first, end


def _parts(first: int, end: int, degree: int) -> list[tuple[int, int]]:
    """Cut a range into parts of about the same size, at most ``degree``, none of them empty."""
    count = min(degree, end - first)
    cuts = [first + (end - first) * k // count for k in range(count + 1)] if count else []
    return list(pairwise(cuts))
