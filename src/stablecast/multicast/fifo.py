"""FIFO repair: a receiver that hears of a number beyond its prefix asks the sender for what is missing.

Promise
    Every message that its sender keeps until it is stable reaches every member, in order and once, as long
    as some of the messages about it get through.
How
    A gap shows when a later number arrives, by a data message or by a heartbeat, which a sender repeats at
    doubling distances while it has unstable messages.  The receiver asks for the first missing range and
    asks again after a while if that did not help.  The sender answers with copies for that member alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel
from stablecast.frontier.window import accept

IntArray = NDArray[np.integer[Any]]

ASK_MAX = 32
"""Most messages that one request asks for."""


@kernel
def take_data(received: IntArray, ahead: NDArray[np.bool_], highest: IntArray, column: int, seq: int) -> int:
    """Take in a data message; returns what :func:`stablecast.frontier.accept` says of it."""
    highest[column] = max(highest[column], seq)
    return accept(received, ahead, column, seq)


@kernel
def is_missing(received: IntArray, highest: IntArray, column: int) -> bool:
    """Tell whether a number of this column is known to exist and has not arrived."""
    return bool(received[column] < highest[column])


@kernel
def missing_until(received: IntArray, ahead: NDArray[np.bool_], highest: IntArray, column: int) -> int:
    """Return the last number of the first missing range, which begins right behind the prefix."""
    size = ahead.shape[1]
    last = received[column] + 1
    most = received[column] + min(ASK_MAX, size)
    while last < highest[column] and last < most and not ahead[column, (last + 1) % size]:
        last += 1
    return int(last)
