"""Whom a member tells that it lives, and whose silence it judges: a graph that follows from the view alone.

What
    Four rings each put all members of a view into one circle, in an order that looks random: by a hash of the
    ring, the view and the member's session.  The neighbours of a member are who stands before it and behind
    it in each ring, 8 at most.  In a group of up to 9 members everyone is a neighbour of everyone.
Why rings
    All members know the view, so all of them know all rings, with nothing to agree on.  A member has the same
    number of neighbours whatever the size of the group, and is a neighbour of each of them: so everyone is
    watched by up to 8 others, and everyone watches up to 8.
Why several, and in different orders
    The union of a few random circles is almost surely an expander: every set of at most half of the members
    has many neighbours outside of it.  News that each member passes on once reaches a group of n in about
    log n / log 7 steps, 4 of a thousand members, and takes many ways, so that losses hardly slow it down.
    The group falls apart for news only if the failures surround somebody in all rings at once.  Neighbours
    share no host or rack more often than chance has it, so what fails together is rarely a neighbourhood.
    Overlays for membership at scale are made like this (Fireflies has rings of this kind; Araneola and
    HyParView build random graphs of a constant degree).
Failures
    Where members of a ring are believed gone, whoever is next to them there steps in.  All who have heard of
    the same failures come to the same stand-ins, on both sides; so a member whose neighbours have all failed
    is watched by others as soon as those are known to have.
Cost
    A sort of n numbers for each ring, once for each view in a process, however many of its members the
    process has.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

RINGS = 4
ALL_NEIGHBOURS = 2 * RINGS + 1
"""Members up to which everyone is a neighbour of everyone."""
VIEWS_KEPT = 8
"""Views whose rings a process keeps at hand."""

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
_A = np.uint64(0xBF58476D1CE4E5B9)
_B = np.uint64(0x94D049BB133111EB)

Words = NDArray[np.uint64]


class Rings:
    """The rings of one view.

    Parameters
    ----------
    view
        The view's number.
    sessions
        Those of its members, by rank.
    """

    def __init__(self, view: int, sessions: tuple[int, ...]) -> None:
        self._size = len(sessions)
        self._orders: list[list[int]] = []
        """For each ring, the ranks in its order."""
        self._places: list[list[int]] = []
        """For each ring, where each rank stands in it."""
        if self._size > ALL_NEIGHBOURS:
            words = np.array([session & _MASK for session in sessions], np.uint64)
            for ring in range(RINGS):
                order = np.argsort(_mixed(words, view, ring), kind="stable")
                self._orders.append(order.tolist())
                self._places.append(np.argsort(order).tolist())

    def neighbours(self, rank: int, gone: Collection[int] = ()) -> tuple[int, ...]:
        """Return the ranks of a member's neighbours, where those who are gone have stand-ins."""
        if self._size <= ALL_NEIGHBOURS:
            return tuple(other for other in range(self._size) if other != rank and other not in gone)
        found: dict[int, None] = {}
        for order, places in zip(self._orders, self._places, strict=True):
            for step in (1, -1):
                found[self._next(order, places[rank], step, gone)] = None
        found.pop(rank, None)
        return tuple(found)

    def _next(self, order: list[int], place: int, step: int, gone: Collection[int]) -> int:
        """Return who is next in a ring and not gone: the member itself if all others are."""
        for distance in range(1, self._size + 1):
            rank = order[(place + step * distance) % self._size]
            if rank not in gone:
                break
        return rank


@lru_cache(maxsize=VIEWS_KEPT)
def rings_of(view: int, sessions: tuple[int, ...]) -> Rings:
    """Return the rings of a view; all members of one process share them."""
    return Rings(view, sessions)


def _mixed(words: Words, view: int, ring: int) -> Words:
    """Return a hash of the ring, the view and each session."""
    key = _finished(np.array([(view + (ring + 1) * _GAMMA) & _MASK], np.uint64))
    return _finished(words ^ key)


def _finished(z: Words) -> Words:
    """Return the finaliser of splitmix64: every bit of the result depends on every bit of what is given."""
    z = (z ^ (z >> np.uint64(30))) * _A
    z = (z ^ (z >> np.uint64(27))) * _B
    return z ^ (z >> np.uint64(31))
