"""The papers' ``ArrayMin``, in place, and its companions.

Every function writes into its first argument, so that a protocol step allocates nothing.  All of them work
on any integer type: the simulator keeps 32-bit numbers, as on the papers' wire, and a live group 64-bit ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel

IntArray = NDArray[np.integer[Any]]


@kernel
def take_minimum(into: IntArray, array: IntArray) -> None:
    """Lower each entry of ``into`` to the same entry of ``array``: ``into = ArrayMin(into, array)``."""
    for j in range(into.size):
        into[j] = min(into[j], array[j])


@kernel
def raise_to(into: IntArray, array: IntArray) -> None:
    """Raise each entry of ``into`` to the same entry of ``array``."""
    for j in range(into.size):
        into[j] = max(into[j], array[j])


@kernel
def exceeds(array: IntArray, bound: IntArray) -> bool:
    """Tell whether any entry is above its bound."""
    above = False
    for j in range(array.size):
        above = above | (array[j] > bound[j])
    return above


@kernel
def copy_into(into: IntArray, array: IntArray) -> None:
    """Overwrite ``into`` with ``array``."""
    for j in range(into.size):
        into[j] = array[j]
