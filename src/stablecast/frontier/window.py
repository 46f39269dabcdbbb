"""Which numbers beyond the frontier have already arrived: a ring of bits for each sender.

Bit ``seq % size`` stands for number ``seq``.  Only numbers above the frontier and at most ``size`` beyond it
may be set, so each bit has one meaning at a time; the frontier clears bits as it passes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel

IntArray = NDArray[np.integer[Any]]

DUPLICATE = 0
NEW = 1
BEYOND = 2


@kernel
def accept(received: IntArray, ahead: NDArray[np.bool_], column: int, seq: int) -> int:
    """Note the arrival of ``seq`` from the sender of ``column`` and advance the frontier over it.

    Returns ``NEW``, ``DUPLICATE``, or ``BEYOND`` when the number lies past the window and was not taken.
    """
    size = ahead.shape[1]
    if seq <= received[column]:
        return DUPLICATE
    if seq > received[column] + size:
        return BEYOND
    if ahead[column, seq % size]:
        return DUPLICATE
    ahead[column, seq % size] = True
    front = received[column]
    while ahead[column, (front + 1) % size]:
        front += 1
        ahead[column, front % size] = False
    received[column] = front
    return NEW
