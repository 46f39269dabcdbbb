"""Rooted trees whose nodes are numbered breadth first, so that siblings are neighbours in every array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stablecast.errors import InvalidInput

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree on nodes ``0 … size-1``; node 0 is the root, parents and siblings come in order.

    ``parent`` never falls from one node to the next: the children of a node are therefore consecutive, and
    those of an earlier node come before those of a later one.  :func:`tree_from_parents` makes any tree so.
    """

    parent: Ints
    """The parent of each node; -1 for the root."""

    def __post_init__(self) -> None:
        parent = self.parent
        ordered = parent.size > 0 and parent[0] == -1 and bool(np.all(np.diff(parent) >= 0))
        if not ordered or not bool(np.all(parent[1:] < np.arange(1, parent.size))) or (parent[1:] < 0).any():
            raise InvalidInput("a tree needs node 0 as its root and parents in breadth-first order")

    @property
    def size(self) -> int:
        """Number of nodes."""
        return int(self.parent.size)

    @cached_property
    def child_count(self) -> Ints:
        """Number of children of each node."""
        return np.bincount(self.parent[1:], minlength=self.size).astype(np.int64)

    @cached_property
    def first_child(self) -> Ints:
        """The first child of each node; meaningless where there is none."""
        return 1 + np.concatenate(([0], np.cumsum(self.child_count)[:-1]))

    @cached_property
    def level_starts(self) -> Ints:
        """First node of each level, and the number of nodes behind the last."""
        starts = [0, 1]
        while starts[-1] < self.size:
            last = starts[-1] - 1
            starts.append(int(self.first_child[last] + self.child_count[last]))
        return np.array(starts[: len(starts)], dtype=np.int64)

    @property
    def height(self) -> int:
        """Levels below the root."""
        return int(self.level_starts.size) - 2

    @cached_property
    def depth(self) -> Ints:
        """Distance of each node from the root."""
        return np.repeat(np.arange(self.height + 1), np.diff(self.level_starts))

    @cached_property
    def subtree_size(self) -> Ints:
        """Number of nodes at or below each node."""
        size = np.ones(self.size, dtype=np.int64)
        starts = self.level_starts
        for level in range(self.height, 0, -1):
            nodes = slice(starts[level], starts[level + 1])
            np.add.at(size, self.parent[nodes], size[nodes])
        return size

    @cached_property
    def entry(self) -> Ints:
        """Depth-first visiting order: the subtree of ``v`` is ``entry[v] … entry[v]+subtree_size[v]-1``."""
        entry = np.zeros(self.size, dtype=np.int64)
        starts = self.level_starts
        for level in range(1, self.height + 1):
            nodes = np.arange(starts[level], starts[level + 1])
            before = np.cumsum(self.subtree_size[nodes]) - self.subtree_size[nodes]
            parent = self.parent[nodes]
            older = before - before[self.first_child[parent] - starts[level]]
            entry[nodes] = entry[parent] + 1 + older
        return entry

    @cached_property
    def last_child(self) -> Ints:
        """The last child of each node, -1 for a leaf."""
        last = self.first_child + self.child_count - 1
        return np.where(self.child_count > 0, last, -1)

    @cached_property
    def previous_sibling(self) -> Ints:
        """The sibling before each node, -1 for a first child and for the root."""
        nodes = np.arange(self.size)
        previous = nodes - 1
        previous[0] = -1
        previous[self.first_child[self.child_count > 0]] = -1
        return previous

    @cached_property
    def next_sibling(self) -> Ints:
        """The sibling after each node, -1 for a last child and for the root."""
        following = np.arange(1, self.size + 1)
        following[0] = -1
        following[self.last_child[self.child_count > 0]] = -1
        return following


def tree_links(tree: Tree) -> tuple[Ints, Ints]:
    """Return the neighbours of each node, those of one node after the other, and where each one's begin."""
    child, parent = np.arange(1, tree.size), tree.parent[1:]
    ends, others = np.concatenate((child, parent)), np.concatenate((parent, child))
    start = np.concatenate(([0], np.cumsum(np.bincount(ends, minlength=tree.size))))
    return others[np.argsort(ends, kind="stable")], start.astype(np.int64)


def star_tree(size: int) -> Tree:
    """Return the tree in which the root is the parent of everyone else."""
    parent = np.zeros(size, np.int64)
    parent[0] = -1
    return Tree(parent)


def check_shape(degree: int, height: int, fill: int) -> None:
    """Raise :class:`InvalidInput` unless degree, height and fill describe a tree."""
    if degree < 1:
        raise InvalidInput(f"tree degree {degree} makes no tree (accepted: 1 or more)")
    if height < 1:
        raise InvalidInput(f"tree height {height} makes no tree (accepted: 1 or more)")
    if not 1 <= fill <= degree:
        raise InvalidInput(f"tree fill {fill} does not fit degree {degree} (accepted: 1 to {degree})")


def complete_tree(degree: int, height: int, *, fill: int | None = None) -> Tree:
    """Build the tree complete to level ``height - 1``, with ``fill`` children under each node there."""
    fill = degree if fill is None else fill
    check_shape(degree, height, fill)
    inner = sum(degree**k for k in range(height - 1))
    bottom_parents = degree ** (height - 1)
    parents = np.concatenate(
        (
            [-1],
            np.repeat(np.arange(inner), degree),
            np.repeat(np.arange(inner, inner + bottom_parents), fill),
        )
    )
    return Tree(parents.astype(np.int64))


def tree_from_parents(parents: Sequence[int] | Ints) -> Tree:
    """Renumber any tree breadth first, keeping the order of siblings.

    ``parents`` holds the parent of each node, -1 for the root, in any numbering.
    """
    given = np.asarray(parents, dtype=np.int64)
    roots = np.flatnonzero(given < 0)
    if roots.size != 1:
        raise InvalidInput(f"a tree has one root, not {roots.size}")
    if (given >= given.size).any():
        raise InvalidInput(f"parent {int(given.max())} is no node (accepted: -1 to {given.size - 1})")
    by_parent = np.argsort(given, kind="stable")
    bounds = np.searchsorted(given[by_parent], np.arange(given.size + 1))
    renumbered = [-1]
    level = roots
    placed = 1
    while level.size:
        first = placed - level.size
        children = [by_parent[bounds[v] : bounds[v + 1]] for v in level]
        for offset, group in enumerate(children):
            renumbered += [first + offset] * int(group.size)
        level = np.concatenate(children) if children else level[:0]
        placed += int(level.size)
    if placed != given.size:
        raise InvalidInput("the parents contain a cycle")
    return Tree(np.array(renumbered, dtype=np.int64))


def contract_tree(tree: Tree, chosen: Ints) -> tuple[Tree, Ints]:
    """Keep only the chosen nodes of a tree: each hangs under its nearest chosen ancestor.

    Chosen nodes without one hang under the first of them, which becomes the root.  Returns the smaller tree
    and, for each of its nodes, the node of the larger one.
    """
    chosen = np.sort(np.asarray(chosen, dtype=np.int64))
    if chosen.size == tree.size:
        return tree, chosen
    number = np.full(tree.size, -1, dtype=np.int64)
    number[chosen] = np.arange(chosen.size)
    nearest = number.copy()
    for level in range(1, tree.height + 1):
        nodes = np.arange(tree.level_starts[level], tree.level_starts[level + 1])
        inherit = nodes[nearest[nodes] < 0]
        nearest[inherit] = nearest[tree.parent[inherit]]
    above = tree.parent[chosen]
    parents = np.where(above >= 0, nearest[above], -1)
    parents[1:][parents[1:] < 0] = 0
    parents[0] = -1
    order = _breadth_first_order(parents)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    renumbered = np.where(parents[order] >= 0, place[parents[order]], -1)
    return Tree(renumbered), chosen[order]


def _breadth_first_order(parents: Ints) -> Ints:
    """Order nodes, given with every parent before its children, so that siblings are consecutive."""
    depth = np.zeros(parents.size, dtype=np.int64)
    for v in range(1, parents.size):
        depth[v] = depth[parents[v]] + 1
    order = np.zeros(1, dtype=np.int64)
    place = np.zeros(parents.size, dtype=np.int64)
    for level in range(1, int(depth.max(initial=0)) + 1):
        nodes = np.flatnonzero(depth == level)
        nodes = nodes[np.argsort(place[parents[nodes]], kind="stable")]
        place[nodes] = order.size + np.arange(nodes.size)
        order = np.concatenate((order, nodes))
    return order
