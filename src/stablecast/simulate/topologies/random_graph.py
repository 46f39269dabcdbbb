"""Random graphs: every two nodes are linked with the same probability, and the parts are then joined."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import inlined, kernel
from stablecast.errors import InvalidInput
from stablecast.overlays import Tree
from stablecast.simulate.costs import PS_PER_US
from stablecast.simulate.topologies import Mesh, Topology, draw_members

Ints = NDArray[np.int64]

DELAY_MAX_US = 1000.0
LONGEST_US = 1e7
"""Ten seconds: more than any link takes, and sums of such delays along routes still fit 64 bits."""
LINKS_MAX = 20_000_000


def random_graph(
    *,
    nodes: int | None = None,
    members: int | None = None,
    edge_probability: float = 0.02,
    delay_max_us: float = DELAY_MAX_US,
    seed: int = 0,
) -> Topology:
    """Link every two nodes with a probability, join what is apart, and give each link a random delay.

    The parts that are not connected are taken in the order of their lowest nodes; each but the first gets one
    link, from a node drawn from it to a node drawn from all parts before it.  Delays are drawn evenly from 0
    to ``delay_max_us``, in whole picoseconds.

    A root is drawn and the nodes are numbered breadth first from it, the neighbours of a node in the order in
    which they were drawn.  The tree links each node to its neighbour of the lowest number, so it has the
    fewest hops from the root to every node.  Without a number of nodes there are as many as members, or 200.
    """
    if nodes is None:
        nodes = 200 if members is None else members
    _check(nodes, edge_probability, delay_max_us)
    rng = np.random.default_rng([seed, 0x72677261])
    ends = _draw_pairs(rng, nodes, edge_probability)
    ends = np.concatenate((ends, _draw_joints(rng, nodes, ends)))
    longest_ps = round(delay_max_us * PS_PER_US)
    delay_ps = rng.integers(0, longest_ps, size=(ends.shape[0],), dtype=np.int64, endpoint=True)
    tree, mesh = number_graph(nodes, ends, delay_ps, root=int(rng.integers(nodes)))
    label = f"random-graph {nodes} nodes p {edge_probability}"
    if delay_max_us != DELAY_MAX_US:
        label += f" delay {delay_max_us:g} us"
    drawn = draw_members(tree, members, seed=seed)
    return Topology("random-graph", f"{label} seed {seed}", tree, drawn, mesh=mesh, cast="unicast")


def _check(nodes: int, edge_probability: float, delay_max_us: float) -> None:
    if nodes < 1:
        raise InvalidInput(f"{nodes} nodes make no graph (accepted: 1 or more)")
    if not 0 <= edge_probability <= 1:
        raise InvalidInput(f"edge probability {edge_probability} is not a probability (accepted: 0 to 1)")
    if not 0 <= delay_max_us <= LONGEST_US:
        raise InvalidInput(
            f"longest delay {delay_max_us} µs is not a link's (accepted: 0 to {LONGEST_US:.0f} µs)"
        )
    links = math.comb(nodes, 2) * edge_probability
    if links > LINKS_MAX:
        raise InvalidInput(
            f"{nodes} nodes with edge probability {edge_probability} have about {links:.0f} links"
            f" (accepted: up to {LINKS_MAX})"
        )


def _draw_pairs(rng: np.random.Generator, nodes: int, probability: float) -> Ints:
    """Draw the linked pairs, the lower node first, by the gaps between them in the order of all pairs.

    Pair (i, j), i < j, has number j(j-1)/2 + i.  The gap from one linked pair to the next is geometric.
    """
    pairs = math.comb(nodes, 2)
    expected = pairs * probability
    batch = int(expected + 4 * math.sqrt(expected)) + 8
    found = [np.zeros(0, dtype=np.int64)]
    last = -1
    while probability > 0 and last < pairs:
        gaps = np.minimum(rng.geometric(probability, size=batch), pairs + 1)
        found.append(last + np.cumsum(gaps))
        last = int(found[-1][-1])
    number = np.concatenate(found)
    number = number[number < pairs]
    high = ((1 + np.sqrt(1 + 8 * number.astype(np.float64))) / 2).astype(np.int64)
    high -= high * (high - 1) // 2 > number
    high += (high + 1) * high // 2 <= number
    return np.stack((number - high * (high - 1) // 2, high), axis=1)


def _draw_joints(rng: np.random.Generator, nodes: int, ends: Ints) -> Ints:
    """Draw the links that join the parts: each but the first to one before it."""
    label = np.arange(nodes)
    label_parts(ends, label)
    by_part = np.argsort(label, kind="stable")
    size = np.bincount(label, minlength=nodes)
    size = size[size > 0]
    first = np.cumsum(size) - size
    own = by_part[first[1:] + rng.integers(0, size[1:])]
    other = by_part[rng.integers(0, first[1:])]
    return np.stack((other, own), axis=1)


@inlined
def lowest(label: Ints, node: int) -> int:
    """Follow the labels down to a node that is its own, and shorten the way for the next time."""
    while label[node] != node:
        label[node] = label[label[node]]
        node = label[node]
    return node


@kernel
def label_parts(ends: Ints, label: Ints) -> None:
    """Label each node with the lowest node that it is connected to; at first each is its own label."""
    for e in range(ends.shape[0]):
        one = lowest(label, ends[e, 0])
        two = lowest(label, ends[e, 1])
        label[max(one, two)] = min(one, two)
    for v in range(label.size):
        label[v] = label[label[v]]


def number_graph(nodes: int, ends: Ints, delay_ps: Ints, *, root: int) -> tuple[Tree, Mesh]:
    """Number the nodes breadth first from the root and part the links into the tree's and the others."""
    origin, to = np.concatenate((ends, ends[:, ::-1])).T
    start = np.concatenate(([0], np.cumsum(np.bincount(origin, minlength=nodes))))
    number = np.full(nodes, -1, dtype=np.int64)
    parent = np.full(nodes, -1, dtype=np.int64)
    neighbours = np.sort(origin * nodes + to) % nodes
    number_breadth_first(start, neighbours, root, np.empty_like(number), number, parent)
    ends = np.sort(number[ends], axis=1)
    low, high = ends.T
    in_tree = parent[high] == low
    tree_delay_ps = np.zeros(nodes, dtype=np.int64)
    tree_delay_ps[high[in_tree]] = delay_ps[in_tree]
    further = np.flatnonzero(~in_tree)
    further = further[np.argsort((low * nodes + high)[further])]
    return Tree(parent), Mesh(ends[further], delay_ps[further], tree_delay_ps)


@kernel
def number_breadth_first(start: Ints, to: Ints, root: int, order: Ints, number: Ints, parent: Ints) -> None:
    """Give each node its number in breadth-first order, and each number the number of its parent.

    The neighbours of node v are ``to[start[v]] … to[start[v + 1] - 1]``; ``number`` and ``parent`` hold -1.
    """
    order[0] = root
    number[root] = 0
    placed = 1
    for taken in range(number.size):
        v = order[taken]
        for k in range(start[v], start[v + 1]):
            if number[to[k]] < 0:
                number[to[k]] = placed
                parent[placed] = taken
                order[placed] = to[k]
                placed += 1
