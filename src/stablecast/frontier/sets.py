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
def add(members: IntArray, j: int) -> None:
    """Put ``j`` into the set."""
    members[j // BITS] |= 1 << (j % BITS)


@kernel
def remove(members: IntArray, j: int) -> None:
    """Take ``j`` out of the set."""
    members[j // BITS] &= ~(1 << (j % BITS))


@kernel
def has(members: IntArray, j: int) -> bool:
    """Tell whether ``j`` is in the set."""
    return bool(members[j // BITS] >> (j % BITS) & 1)


@kernel
def holds_only(members: IntArray, j: int) -> bool:
    """Tell whether ``j`` is in the set, and nobody else."""
    for k in range(members.size):
        if members[k] != (1 << (j % BITS) if k == j // BITS else 0):
            return False
    return True


@kernel
def clear(members: IntArray) -> None:
    """Take everyone out of the set."""
    for k in range(members.size):
        members[k] = 0


@kernel
def is_empty(members: IntArray) -> bool:
    """Tell whether nobody is in the set."""
    for k in range(members.size):
        if members[k] != 0:
            return False
    return True


@kernel
def is_full(members: IntArray, n: int) -> bool:
    """Tell whether all of ``n`` are in the set."""
    for k in range(words(n)):
        if members[k] != (1 << min(BITS, n - k * BITS)) - 1:
            return False
    return True


@kernel
def fill(members: IntArray, n: int) -> None:
    """Put all of ``n`` into the set."""
    for k in range(words(n)):
        members[k] = (1 << min(BITS, n - k * BITS)) - 1


@kernel
def join(members: IntArray, others: IntArray) -> bool:
    """Put all that another set holds into the set; tell whether any of it was new."""
    new = 0
    for k in range(members.size):
        both = members[k] | others[k]
        new |= both ^ members[k]
        members[k] = both
    return bool(new != 0)


@kernel
def keep_only(members: IntArray, others: IntArray) -> None:
    """Take out of the set whoever is not in another one."""
    for k in range(members.size):
        members[k] &= others[k]


@kernel
def holds_more(others: IntArray, members: IntArray) -> bool:
    """Tell whether another set has someone that the set has not."""
    for k in range(members.size):
        if others[k] & ~members[k]:
            return True
    return False


@kernel
def highest_in_both(members: IntArray, others: IntArray, first: int, last: int) -> int:
    """Return the highest number from ``first`` to ``last`` that is in both sets; ``first - 1`` if none is."""
    j = last
    while j >= first:
        both = members[j // BITS] & others[j // BITS]
        if both >> (j % BITS) & 1:
            return j
        j -= 1 if both != 0 else j % BITS + 1
    return first - 1


@kernel
def ranges(members: IntArray) -> int:
    """Return how many ranges of consecutive members the set consists of."""
    count, before = 0, 0
    for k in range(members.size):
        word = members[k]
        if word == 0 or word == (1 << BITS) - 1:
            count += word != 0 and before == 0
            before = word & 1
            continue
        for bit in range(BITS):
            this = word >> bit & 1
            count += this > before
            before = this
    return count


@kernel
def keep_highest(members: IntArray, most: int) -> int:
    """Take all but the highest out of the set, so that ``most`` are left at most; return how many are."""
    count = 0
    for k in range(members.size - 1, -1, -1):
        word = members[k]
        if word != 0:
            for bit in range(BITS - 1, -1, -1):
                if word >> bit & 1:
                    if count < most:
                        count += 1
                    else:
                        members[k] &= ~(1 << bit)
    return count
