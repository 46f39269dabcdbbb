"""Who takes which place of an overlay, so that linked members are near each other in the network.

An overlay is a graph of places, and its links are as long as the ways between the members that hold their
ends.  The least sum of all lengths is a quadratic assignment, which nobody solves for hundreds of members;
exchanges come close to it.  Before an exchange every place has one member, drawn by the seed, and after it
still, and the sum is smaller: so the search ends, and it may end after any number of exchanges.

Two members change places if that shortens the links of their places; the link between the two, if there is
one, keeps its length.  All pairs of places are tried in turn, k apart for one k after the other in an order
drawn by the seed, until a whole pass finds nothing or ``TRIALS_MAX`` pairs were tried.  Placings built from
halves of near members, or by giving a parent the nearest members as children, were tried as beginnings: on
random graphs, transit-stub networks and trees they end within 5 % of where a random beginning ends.

What can go wrong: distances that tell nothing (all equal) leave the members where they were drawn, and a
group so large that the trials do not reach all pairs ends early, with longer links than it could have.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel

Ints = NDArray[np.int64]
Distances = NDArray[np.float64]

TRIALS_MAX = 8_000_000
"""Pairs that are tried: all of 1,900 members four times, in about two seconds."""
SHORTER_US = 1e-6
"""What an exchange must save, so that rounding makes no two members change places for ever."""


def placed_by_distance(neighbours: Ints, start: Ints, distances: Distances, *, seed: int) -> Ints:
    """Return the member at each place of an overlay.

    The links of place ``v`` lead to ``neighbours[start[v]:start[v+1]]``, and each link is there at both ends.
    """
    size = int(start.size) - 1
    rng = np.random.default_rng([seed, 0x6E656172])
    member_at = rng.permutation(size)
    links = (np.asarray(neighbours, np.int64), np.asarray(start, np.int64))
    apart, left = np.arange(1, size // 2 + 1), TRIALS_MAX
    while apart.size and left > 0:
        tried = rng.permutation(apart)[: max(1, left // size)]
        left -= tried.size * size
        if _exchange(*links, member_at, distances, tried) == 0:
            break
    return member_at


@kernel
def _exchange(neighbours: Ints, start: Ints, member_at: Ints, distances: Distances, apart: Ints) -> int:
    """Let the pairs change places that gain by it; return how many did."""
    exchanges = 0
    for k in apart:
        for p in range(member_at.size):
            q = (p + k) % member_at.size
            one, other = member_at[p], member_at[q]
            saved = _saved(neighbours, start, member_at, distances, p, q, one, other)
            saved += _saved(neighbours, start, member_at, distances, q, p, other, one)
            if saved > SHORTER_US:
                member_at[p], member_at[q] = other, one
                exchanges += 1
    return exchanges


@kernel
def _saved(
    neighbours: Ints,
    start: Ints,
    member_at: Ints,
    distances: Distances,
    place: int,
    but: int,
    before: int,
    after: int,
) -> float:
    """Return by how much a place's links, but that to one place, get shorter by a change of its member."""
    saved = 0.0
    for e in range(start[place], start[place + 1]):
        if neighbours[e] != but:
            saved += distances[before, member_at[neighbours[e]]] - distances[after, member_at[neighbours[e]]]
    return saved


def link_lengths(neighbours: Ints, start: Ints, distances: Distances, member_at: Ints) -> Distances:
    """Return the length of each entry of ``neighbours``."""
    places = np.repeat(np.arange(start.size - 1), np.diff(start))
    lengths: Distances = distances[member_at[places], member_at[neighbours]]
    return lengths
