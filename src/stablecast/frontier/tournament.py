"""The least of many numbers that rise one by one: a tournament tree.

Of ``count`` numbers, entry ``start + count + k`` of an array is number ``k``, each entry below is the lesser
of two further up, and ``start + 1`` is the least of all; entry ``start`` is not used.  Raising a number costs
one comparison for each level that changes, so about log2(count), and reading the least costs nothing.
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
def raise_number(tree: IntArray, start: int, count: int, k: int, value: int) -> int:
    """Raise number ``k`` to at least a value; return the comparisons that it took."""
    at = count + k
    if value <= tree[start + at]:
        return 1
    tree[start + at] = value
    steps = 1
    while at > 1:
        at //= 2
        steps += 1
        least = min(tree[start + 2 * at], tree[start + 2 * at + 1])
        if least == tree[start + at]:
            return steps
        tree[start + at] = least
    return steps


@kernel
def number_of(tree: IntArray, start: int, count: int, k: int) -> int:
    """Return number ``k``."""
    return int(tree[start + count + k])


@kernel
def least_of(tree: IntArray, start: int) -> int:
    """Return the least of all."""
    return int(tree[start + 1])
