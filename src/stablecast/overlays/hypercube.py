"""Logical hypercubes for any number of members, with links that make up for the members that are missing.

The nodes of a hypercube of dimension m are the numbers below 2^m; a link of dimension k joins two that differ
in bit k alone.  A group of n members, 2^(m-1) < n <= 2^m, takes the numbers below n and lacks the others.
The neighbours that a missing node z would have had are sorted; of an odd number the first is left out; and
the i-th of the first half is linked with the i-th of the second half.  So in a group of 7, which lacks
node 7, 5 and 6 are linked, and 3 goes without.

Such a *compensating* link takes, at either end, the place of that end's link to z, and has the dimension
of that link there: 5-6 is of dimension 1 at 5 and of dimension 0 at 6.  The two dimensions always differ.

HyperCast has plain cubes, without such links: a node that lacks d neighbours has a degree of m-d, down to 1
where n is 2^(m-1) + 1.  Paths and distances are those of the nodes' bits all the same.

With compensating links, because the first of z's neighbours is z without its highest bit, m-1, for every n:

- A node loses at most its link of dimension m-1, and then it is a node below 2^(m-1).  Nodes from 2^(m-1) on
  keep all m.  Every degree is m or m-1, and the dimensions of a node's links are 0, 1, ..., degree-1.
- No pair is linked twice: of the two nodes between a pair at Hamming distance 2, the one missing is their
  bitwise or, and the other, being less than one of the pair, is present.
- Two nodes are at most as far apart as their numbers have different bits: clear bits first, then set bits,
  and no number on the way is greater than both.

Paper: Scalable Stability Detection Using Logical Hypercube, sections 3.1 and 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stablecast.errors import InvalidInput

Ints = NDArray[np.int64]
Nodes = NDArray[np.int32]
Bits = NDArray[np.uint64]

MOST_NODES = 1 << 30
WORD = 64
NOBODY = -1


@dataclass(frozen=True, eq=False)
class Hypercube:
    """The links of ``0 … size-1``, those of one node after the other; :func:`hypercube` builds it.

    The neighbours of ``v`` are ``neighbours[start[v]:start[v+1]]``; with compensating links the k-th, from 0,
    is that of dimension k.
    """

    neighbours: Nodes
    """The neighbours of each node, by dimension from 0 on."""
    start: Ints
    """Where each node's neighbours begin, and the number of all of them behind the last."""

    @property
    def size(self) -> int:
        """Number of nodes."""
        return int(self.start.size) - 1

    @property
    def dimensions(self) -> int:
        """Dimension m of the smallest complete hypercube that has room for all nodes."""
        return dimensions(self.size)

    @cached_property
    def degree(self) -> Ints:
        """Number of neighbours of each node."""
        return np.diff(self.start)

    @cached_property
    def dimension(self) -> Ints:
        """Dimension of each entry of ``neighbours``, as seen from the node whose neighbour it is."""
        node = np.repeat(np.arange(self.size), self.degree)
        differing = node ^ self.neighbours
        bit = np.where(self.compensating, differing & ~node, differing)
        return np.frexp(bit.astype(np.float64))[1].astype(np.int64) - 1

    @cached_property
    def compensating(self) -> NDArray[np.bool_]:
        """Whether each entry of ``neighbours`` stands in for a missing node."""
        node = np.repeat(np.arange(self.size), self.degree)
        return np.asarray(np.bitwise_count(node ^ self.neighbours) > 1)

    def neighbours_of(self, node: int) -> Nodes:
        """Return the neighbours of one node, by dimension."""
        return self.neighbours[self.start[node] : self.start[node + 1]]


def dimensions(size: int) -> int:
    """Return the dimension of the smallest complete hypercube of at least that many nodes."""
    if not 1 <= size <= MOST_NODES:
        raise InvalidInput(f"{size} nodes make no hypercube (accepted: 1 to {MOST_NODES})")
    return (size - 1).bit_length()


def hypercube(size: int, *, compensated: bool = True) -> Hypercube:
    """Link that many nodes as a hypercube, complete or not.

    Without compensating links a node keeps the links that lead to nodes that are there, and has no others, as
    in HyperCast; the k-th link of a node is then not always that of dimension k.
    """
    m = dimensions(size)
    node = np.arange(size, dtype=np.int32)
    table = np.empty((size, m), dtype=np.int32)
    for k in range(m):
        table[:, k] = node ^ (1 << k)
        lacking = np.flatnonzero(table[:, k] >= size)
        table[lacking, k] = _stand_in(table[lacking, k], k, size) if compensated else NOBODY
    present = table >= 0
    degree = np.count_nonzero(present, axis=1)
    return Hypercube(table[present], np.concatenate(([0], np.cumsum(degree))).astype(np.int64))


def _stand_in(missing: Nodes, k: int, size: int) -> Nodes:
    """Return whom the neighbour in dimension k of each missing node is linked with instead, -1 for nobody.

    A neighbour of a missing node z that is present is z without a bit; the higher the bit, the earlier it is
    in their order.  It is present if the bit is worth more than z - size: if it is bit ``lowest`` or above.
    """
    lowest = np.frexp((missing - size).astype(np.float64))[1]
    count = np.bitwise_count(missing >> lowest).astype(np.int64)
    odd, half = count % 2, count // 2
    place = np.bitwise_count(missing >> (k + 1)) - odd
    opposite = np.where(place < half, place + half, place - half) + odd
    partner = missing ^ (1 << _set_bit(missing, opposite))
    return np.where(place >= 0, partner, -1).astype(np.int32)


def _set_bit(number: Nodes, rank: Ints) -> Nodes:
    """Return the number of the bit that has ``rank`` set bits above it, for each number."""
    found = np.zeros_like(number)
    for bit in range(int(number.max(initial=0)).bit_length()):
        above = np.bitwise_count(number >> (bit + 1))
        found[((number >> bit) & 1 > 0) & (above == rank)] = bit
    return found


def link_dimension(node: int, neighbour: int) -> int:
    """Return the dimension that a link has at ``node``: the bit that it changes, or that it was to set."""
    differing = node ^ neighbour
    if differing.bit_count() > 1:
        differing &= ~node
    return differing.bit_length() - 1


def distances(cube: Hypercube, source: int) -> Ints:
    """Return how many links each node is away from ``source``."""
    distance = np.full(cube.size, -1, dtype=np.int64)
    distance[source] = 0
    frontier = np.array([source])
    while frontier.size:
        step = int(distance[frontier[0]]) + 1
        reached = cube.neighbours[_entries(cube, frontier)]
        frontier = np.unique(reached[distance[reached] < 0])
        distance[frontier] = step
    return distance


def _entries(cube: Hypercube, nodes: Ints) -> Ints:
    """Return the places in ``neighbours`` of all neighbours of some nodes."""
    degree = cube.degree[nodes]
    before = np.cumsum(degree) - degree
    return np.repeat(cube.start[nodes] - before, degree) + np.arange(int(degree.sum()))


def diameter(cube: Hypercube) -> int:
    """Return the greatest distance between two nodes; time and room grow with the square of the size."""
    return int(disseminate(cube).max())


def disseminate(cube: Hypercube, *, failed: Sequence[int] | Ints = ()) -> Ints:
    """Return the iterations after which each node has heard from all others, -1 where it never does.

    In an iteration every node sends all that it has heard, its own part included, to all its neighbours and
    then takes in what they sent.  Failed nodes do not take part, nobody waits to hear from them, and for them
    the answer is -1.
    """
    heard = _own_bits(cube.size)
    heard[np.asarray(failed, dtype=np.int64)] = 0
    live = heard.any(axis=1)
    everyone = np.bitwise_or.reduce(heard, axis=0)
    iterations = np.full(cube.size, -1, dtype=np.int64)
    for iteration in range(cube.size):
        iterations[live & (iterations < 0) & (heard == everyone).all(axis=1)] = iteration
        told = _exchange(cube, heard)
        told[~live] = 0
        if (told == heard).all():
            break
        heard = told
    return iterations


def _own_bits(size: int) -> Bits:
    """Return a row of bits for each node, with its own bit set."""
    node = np.arange(size)
    bits = np.zeros((size, -(-size // WORD)), dtype=np.uint64)
    bits[node, node // WORD] = np.left_shift(np.uint64(1), (node % WORD).astype(np.uint64))
    return bits


def _exchange(cube: Hypercube, heard: Bits) -> Bits:
    """Return what each node has heard after one more iteration."""
    if cube.size == 1:
        return heard.copy()
    told: Bits = np.bitwise_or.reduceat(heard[cube.neighbours], cube.start[:-1], axis=0)
    return told | heard
