"""The least of many numbers that rise one by one: a tournament tree.

Of ``count`` numbers, entry ``count + k`` of an array of twice that length is number ``k``, each entry below
is the lesser of two further up, and entry 1 is the least of all; entry 0 is not used.  Raising a number
costs one comparison for each level that changes, so about log2(count), and reading the least costs nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel

IntArray = NDArray[np.integer[Any]]


def tournament_size(count: int) -> int:
    """Return the entries that a tournament of so many numbers takes."""
    return 2 * count


@kernel
def raise_number(tree: IntArray, k: int, value: int) -> int:
    """Raise number ``k`` to at least a value; return the comparisons that it took."""
    at = tree.size // 2 + k
    if value <= tree[at]:
        return 1
    tree[at] = value
    steps = 1
    while at > 1:
        at //= 2
        steps += 1
        least = min(tree[2 * at], tree[2 * at + 1])
        if least == tree[at]:
            return steps
        tree[at] = least
    return steps


@kernel
def set_number(tree: IntArray, k: int, value: int) -> None:
    """Set number ``k`` to a value, which may be lower than it is."""
    at = tree.size // 2 + k
    tree[at] = value
    while at > 1:
        at //= 2
        tree[at] = min(tree[2 * at], tree[2 * at + 1])


@kernel
def number_of(tree: IntArray, k: int) -> int:
    """Return number ``k``."""
    return int(tree[tree.size // 2 + k])


@kernel
def least_of(tree: IntArray) -> int:
    """Return the least of all."""
    return int(tree[1])
