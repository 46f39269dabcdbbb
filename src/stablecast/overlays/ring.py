"""Rings: a cyclic order of members, laid so that a tour of a tree takes few hops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stablecast.overlays.tree import Tree

Ints = NDArray[np.int64]


def back_and_forth(tree: Tree) -> Ints:
    """Number the nodes of a tree level by level, odd levels left to right and even ones right to left.

    The last node of a level is then the parent of the first node of the next one wherever it has children,
    so the tour goes down without crossing the tree.
    """
    starts = tree.level_starts
    levels = [np.arange(starts[k], starts[k + 1]) for k in range(tree.height + 1)]
    return np.concatenate([nodes if k % 2 else nodes[::-1] for k, nodes in enumerate(levels)])


def successor(order: Ints) -> Ints:
    """Return, for each member, the one that follows it in the cyclic order."""
    following = np.empty_like(order)
    following[order] = np.roll(order, -1)
    return following
