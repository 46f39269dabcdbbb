"""The hierarchical paper's network: a tree complete to its last level but one, then ``fill`` children."""

from __future__ import annotations

from stablecast.overlays import complete_tree
from stablecast.simulate.topologies import Topology, draw_members


def tree(
    *, degree: int = 3, height: int = 5, fill: int | None = None, members: int | None = None, seed: int = 0
) -> Topology:
    """Build the tree of section 5.1: degree b, height p, fill z (all of b by default)."""
    shape = complete_tree(degree, height, fill=fill)
    label = f"tree {degree}/{height}/{degree if fill is None else fill}"
    return Topology("tree", label, shape, draw_members(shape, members, seed=seed))
