"""Network topologies, found by name.

A topology is a tree of nodes and the nodes that hold a member; the others only forward.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stablecast.errors import InvalidInput
from stablecast.overlays import Tree


@dataclass(frozen=True, eq=False)
class Topology:
    """A network of nodes joined by links in both directions, some of which hold a member."""

    name: str
    """The registry's name for how it was made."""
    label: str
    """The name with its parameters, as shown in results."""
    tree: Tree
    """The network itself."""
    member_nodes: NDArray[np.int64]
    """The nodes that hold a member, in the order of the members' numbers."""

    @property
    def member_count(self) -> int:
        """Number of members."""
        return int(self.member_nodes.size)


def draw_members(tree: Tree, members: int | None, *, seed: int) -> NDArray[np.int64]:
    """Choose the nodes that hold a member: all, or as many as asked for, drawn by the seed."""
    if members is None or members == tree.size:
        return np.arange(tree.size, dtype=np.int64)
    if not 1 <= members <= tree.size:
        raise InvalidInput(
            f"{members} members do not fit a topology of {tree.size} nodes (accepted: 1 to {tree.size})"
        )
    rng = np.random.default_rng([seed, 0x6D656D62])
    return np.sort(rng.choice(tree.size, size=members, replace=False)).astype(np.int64)
