"""Logical structures that a protocol's messages follow: rings and trees of members."""

from stablecast.overlays.ring import back_and_forth, successor
from stablecast.overlays.tree import (
    Tree,
    complete_tree,
    contract_tree,
    star_tree,
    tree_from_parents,
    tree_links,
)

__all__ = [
    "Tree",
    "back_and_forth",
    "complete_tree",
    "contract_tree",
    "star_tree",
    "successor",
    "tree_from_parents",
    "tree_links",
]
