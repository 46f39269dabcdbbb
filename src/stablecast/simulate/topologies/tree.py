"""The hierarchical paper's network: a tree complete to its last level but one, then ``fill`` children."""

from __future__ import annotations

from stablecast.errors import InvalidInput
from stablecast.overlays import Tree, complete_tree
from stablecast.simulate.topologies import Topology, draw_members


def tree(
    *,
    degree: int = 3,
    height: int = 5,
    fill: int | None = None,
    nodes: int | None = None,
    members: int | None = None,
    seed: int = 0,
) -> Topology:
    """Build the tree of section 5.1: degree b, height p, fill z (all of b by default).

    With a number of nodes it is the first so many of these, level by level.
    """
    shape = complete_tree(degree, height, fill=fill)
    label = f"tree {degree}/{height}/{degree if fill is None else fill}"
    if nodes is not None:
        if not 1 <= nodes <= shape.size:
            raise InvalidInput(
                f"{nodes} nodes of a tree of {shape.size} (accepted: 1 to {shape.size}, or a larger height)"
            )
        shape = Tree(shape.parent[:nodes])
        label += f", {nodes} nodes"
    return Topology("tree", label, shape, draw_members(shape, members, seed=seed))
