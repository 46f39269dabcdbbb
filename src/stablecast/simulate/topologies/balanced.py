"""The gossip paper's network: a balanced tree whose inner nodes all have the same degree."""

from __future__ import annotations

import numpy as np

from stablecast.errors import InvalidInput
from stablecast.overlays import Tree
from stablecast.simulate.topologies import Topology, draw_members


def balanced(
    *, nodes: int | None = None, degree: int = 4, members: int | None = None, seed: int = 0
) -> Topology:
    """Build a tree whose inner nodes have ``degree`` neighbours; the last level is spread evenly.

    The root has ``degree`` children and every other inner node ``degree - 1``.  Without a number of nodes
    there are as many as members, or 200.
    """
    if nodes is None:
        nodes = 200 if members is None else members
    if nodes < 1:
        raise InvalidInput(f"{nodes} nodes make no tree (accepted: 1 or more)")
    if degree < 2:
        raise InvalidInput(f"balanced degree {degree} makes no tree (accepted: 2 or more)")
    parents = [np.array([-1])]
    first, width, placed = 0, 1, 1
    while placed < nodes:
        room = width * (degree if placed == 1 else degree - 1)
        count = min(room, nodes - placed)
        parents.append(first + np.arange(count) * width // count)
        first, width, placed = placed, count, placed + count
    shape = Tree(np.concatenate(parents).astype(np.int64))
    label = f"balanced {nodes} nodes degree {degree}"
    return Topology("balanced", label, shape, draw_members(shape, members, seed=seed))
