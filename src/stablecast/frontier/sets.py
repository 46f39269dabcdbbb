"""Sets of members as bits in an array of whole numbers, beside the sequence numbers that they belong to.

Thirty to a word, so that a word is positive in 32 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel

IntArray = NDArray[np.integer[Any]]

BITS = 30
"""Members in one word of a set."""


@kernel
def words(n: int) -> int:
    """Return the length of a set of ``n`` members."""
    return (n + BITS - 1) // BITS


@kernel
def add(array: IntArray, at: int, j: int) -> None:
    """Put ``j`` into the set that begins at ``at``."""
    array[at + j // BITS] |= 1 << (j % BITS)


@kernel
def remove(array: IntArray, at: int, j: int) -> None:
    """Take ``j`` out of the set."""
    array[at + j // BITS] &= ~(1 << (j % BITS))


@kernel
def has(array: IntArray, at: int, j: int) -> bool:
    """Tell whether ``j`` is in the set."""
    return bool(array[at + j // BITS] >> (j % BITS) & 1)


@kernel
def is_full(array: IntArray, at: int, n: int) -> bool:
    """Tell whether all of ``n`` are in the set."""
    for k in range(words(n)):
        if array[at + k] != (1 << min(BITS, n - k * BITS)) - 1:
            return False
    return True


@kernel
def fill(array: IntArray, at: int, n: int) -> None:
    """Put all of ``n`` into the set."""
    for k in range(words(n)):
        array[at + k] = (1 << min(BITS, n - k * BITS)) - 1


@kernel
def join(array: IntArray, at: int, other: IntArray, other_at: int, n: int) -> bool:
    """Put all that another set of ``n`` holds into the set; tell whether any of it was new."""
    length = words(n)
    mine, theirs = array[at : at + length], other[other_at : other_at + length]
    new = 0
    for k in range(length):
        both = mine[k] | theirs[k]
        new |= both ^ mine[k]
        mine[k] = both
    return bool(new != 0)
