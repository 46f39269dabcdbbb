"""Network topologies, found by name.

A topology is a tree of nodes, in a graph with further links besides, and the nodes that hold a member; the
others only forward.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stablecast.errors import InvalidInput, unknown_name
from stablecast.overlays import Tree

CASTS = ("multicast", "unicast")
"""How a message to all travels: along the tree, or as one message to each."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """What makes a graph of a tree: the links that are not in it, and the delay of every link.

    Links have a direction and are numbered.  Between node v and its parent: 2(v-1) upwards and 2(v-1)+1
    downwards.  Further link e, in a graph of n nodes: 2(n-1)+2e from ``ends[e, 0]`` to ``ends[e, 1]``, and
    the next number back.  So the two directions of a link differ in the last bit.
    """

    ends: NDArray[np.int64]
    """The two nodes that each further link joins, a row a link."""
    delay_ps: NDArray[np.int64]
    """The propagation delay of each further link, the same in both directions."""
    tree_delay_ps: NDArray[np.int64]
    """The propagation delay between each node and its parent; 0 for the root."""

    def __post_init__(self) -> None:
        nodes = self.tree_delay_ps.size
        if self.tree_delay_ps.shape != (nodes,) or self.ends.shape != (self.delay_ps.size, 2):
            raise InvalidInput("a mesh needs two ends and a delay for each link, and a delay for each node")
        if self.ends.size and not 0 <= int(self.ends.min()) <= int(self.ends.max()) < nodes:
            raise InvalidInput(f"a mesh joins nodes that are there (accepted: 0 to {nodes - 1})")
        if min(self.delay_ps.min(initial=0), self.tree_delay_ps.min(initial=0)) < 0:
            raise InvalidInput("a mesh has no negative delays (accepted: 0 or more picoseconds)")


@dataclass(frozen=True, eq=False)
class Topology:
    """A network of nodes joined by links in both directions, some of which hold a member."""

    name: str
    """The registry's name for how it was made."""
    label: str
    """The name with its parameters, as shown in results."""
    tree: Tree
    """The network itself, or a tree of links that reaches all its nodes."""
    member_nodes: NDArray[np.int64]
    """The nodes that hold a member, in the order of the members' numbers."""
    mesh: Mesh | None = None
    """The links besides the tree and all delays; None where the tree is the whole network."""
    cast: str = "multicast"
    """How a message to all travels here unless told otherwise, one of ``CASTS``."""
    sites: tuple[int, ...] = ()
    """The site that each member is at, from 0; empty where there are no sites."""

    def __post_init__(self) -> None:
        if self.cast not in CASTS:
            raise unknown_name("cast", self.cast, CASTS)
        if self.mesh is not None and self.mesh.tree_delay_ps.size != self.tree.size:
            raise InvalidInput(
                f"a mesh with {self.mesh.tree_delay_ps.size} delays does not fit a tree"
                f" (accepted: one for each of its {self.tree.size} nodes)"
            )

    @property
    def member_count(self) -> int:
        """Number of members."""
        return int(self.member_nodes.size)


def draw_members(tree: Tree, members: int | None, *, seed: int, with_root: bool = False) -> NDArray[np.int64]:
    """Choose the nodes that hold a member: all, or as many as asked for, drawn by the seed.

    ``with_root`` puts a member on the root and draws the others.
    """
    if members is None or members == tree.size:
        return np.arange(tree.size, dtype=np.int64)
    if not 1 <= members <= tree.size:
        raise InvalidInput(
            f"{members} members do not fit a topology of {tree.size} nodes (accepted: 1 to {tree.size})"
        )
    rng = np.random.default_rng([seed, 0x6D656D62])
    first = int(with_root)
    drawn = first + rng.choice(tree.size - first, size=members - first, replace=False)
    return np.sort(np.concatenate((np.arange(first), drawn))).astype(np.int64)
