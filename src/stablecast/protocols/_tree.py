"""Members of a tree: their places in it, and the tree itself."""

from __future__ import annotations

import numpy as np

from stablecast.overlays import Tree, tree_links
from stablecast.overlays.hypercube import dimensions
from stablecast.protocols.contract import (
    WHOLE_OR_WORD,
    Links,
    Overlay,
    Parameter,
    Place,
    Placement,
    Role,
    Sizes,
    Surroundings,
)
from stablecast.protocols.layers import Answers

NETWORK, LOGARITHMIC = 0, -1
TREE_DEGREE = Parameter(
    "tree_degree",
    WHOLE_OR_WORD,
    "network",
    "Children of a member in the logical tree: a number; log for the logarithm of the number of members,"
    " rounded up; or network for the tree of the network itself.",
    choices={"network": NETWORK, "log": LOGARITHMIC},
    role=Role.TREE,
    least=1,
)


class TreeMember(Answers):
    """A member's place in the first tree; siblings have consecutive numbers."""

    parent: Place
    """-1 at the root."""
    children: Place
    """How many children it has."""
    first_child: Place
    parents: Overlay
    """The parent of each member."""


def logical_tree(tree: Tree, sizes: Sizes) -> Tree:
    """Return the tree of the network, or the one of equal degrees that the parameter asks for."""
    degree = sizes.params[TREE_DEGREE.name]
    if degree == NETWORK:
        return tree
    if degree == LOGARITHMIC:
        degree = max(2, dimensions(sizes.group))
    parent = (np.arange(sizes.group, dtype=np.int64) - 1) // degree
    return Tree(np.where(np.arange(sizes.group) > 0, parent, -1))


def tree_places(around: Surroundings) -> Placement:
    """Place each member under its parent and above its children."""
    return places_in(logical_tree(around.tree, around.sizes))


def tree_member_links(around: Surroundings) -> Links:
    """Link each member with its parent and its children."""
    return tree_links(logical_tree(around.tree, around.sizes))


def places_in(tree: Tree) -> dict[str, object]:
    """Return the places of all members of a tree."""
    return {
        "parent": tree.parent,
        "children": tree.child_count,
        "first_child": tree.first_child,
        "parents": tree.parent,
    }
