"""The gossip paper's network: a balanced tree whose inner nodes all have the same degree."""

from __future__ import annotations

import numpy as np

from stablecast.errors import InvalidInput
from stablecast.overlays import Tree
from stablecast.overlays.tree import Ints
from stablecast.simulate.topologies import Topology, draw_members


def balanced(
    *,
    nodes: int | None = None,
    degree: int = 4,
    spread_last: bool = False,
    members: int | None = None,
    seed: int = 0,
) -> Topology:
    """Build a tree, filled breadth first, whose inner nodes have ``degree`` neighbours, but perhaps the last.

    The root has ``degree`` children and every other inner node ``degree - 1``.  With ``spread_last`` the last
    level is spread evenly over the one above, so that inner nodes there may have fewer.  Without a number of
    nodes there are as many as members, or 200.
    """
    if nodes is None:
        nodes = 200 if members is None else members
    if nodes < 1:
        raise InvalidInput(f"{nodes} nodes make no tree (accepted: 1 or more)")
    if degree < 2:
        raise InvalidInput(f"balanced degree {degree} makes no tree (accepted: 2 or more)")
    shape = Tree(_filled(nodes, degree))
    label = f"balanced {nodes} nodes degree {degree}"
    if spread_last:
        shape, label = Tree(_with_last_spread(shape)), f"{label}, last level spread"
    return Topology("balanced", label, shape, draw_members(shape, members, seed=seed))


def _filled(nodes: int, degree: int) -> Ints:
    """Return the parents of a tree in which each node's children are full before the next one has any."""
    parent = 1 + (np.arange(nodes) - degree - 1) // (degree - 1)
    parent[: degree + 1] = 0
    parent[0] = -1
    return parent


def _with_last_spread(tree: Tree) -> Ints:
    """Return its parents with the nodes of the last level spread evenly over the level above."""
    parent = tree.parent.copy()
    if tree.height > 0:
        above, last, end = tree.level_starts[-3:]
        parent[last:] = above + np.arange(end - last) * (last - above) // (end - last)
    return parent
