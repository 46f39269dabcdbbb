"""What a message may hold, as its declaration says: for drivers that take messages from a network.

Kernels check no bounds, so a message that does not fit its declaration must not reach them.  It fits if it
has as many numbers as declared, each of them in its range, arrays of the declared length, and in its sets
only elements that exist.  Whether the message is true cannot be seen from a declaration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.frontier.sets import BITS
from stablecast.protocols.contract.fields import Kind, Sizes

IntArray = NDArray[np.integer[Any]]
LONG = 1 << 63
"""Whole numbers of 64 bits are at least minus this, and below it."""


class Limits:
    """What a message with some fields may hold."""

    def __init__(self, fields: Mapping[str, Kind], sizes: Sizes) -> None:
        numbers = [kind for kind in fields.values() if kind.storage == "number"]
        arrays = [kind for kind in fields.values() if kind.storage != "number"]
        self._ranges = [_range_of(kind, sizes) for kind in numbers]
        self._width = sum(kind.length(sizes) for kind in arrays)
        self._unused: NDArray[np.int64] | None = None
        """The bits of each entry that must not be set."""
        if any(kind.elements is not None and kind.length(sizes) > 0 for kind in arrays):
            self._unused = np.concatenate([_unused_bits(kind, sizes) for kind in arrays])

    def hold(self, numbers: Sequence[int], array: IntArray | None) -> bool:
        """Tell whether a message with these numbers and entries is one."""
        if len(numbers) != len(self._ranges) or (0 if array is None else array.size) != self._width:
            return False
        for value, (least, below) in zip(numbers, self._ranges, strict=True):
            if not least <= value < below:
                return False
        return array is None or self._unused is None or not (array & self._unused).any()


def _range_of(kind: Kind, sizes: Sizes) -> tuple[int, int]:
    return (-LONG, LONG) if kind.below is None else (0, kind.below(sizes))


def _unused_bits(kind: Kind, sizes: Sizes) -> NDArray[np.int64]:
    """Return, for each entry of an array, the bits that stand for no element; none if it is no set."""
    length = kind.length(sizes)
    if kind.elements is None:
        return np.zeros(length, np.int64)
    count = kind.elements(sizes)
    used = [(1 << min(BITS, count - k * BITS)) - 1 for k in range(length)]
    return ~np.array(used, np.int64)
