"""Kinds of events as small numbers, and times that stand for none."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

KINDS = ("send", "stable", "receive", "release", "join", "leave", "fail", "head", "position")
"""The number of a kind is its place."""
SEND, STABLE, RECEIVE, RELEASE, JOIN, LEAVE, FAIL, HEAD, POSITION = range(len(KINDS))
LATE = len(KINDS)
"""A receipt by somebody who was gone: it does not count."""
EVER, NEVER = -(2**63), 2**63 - 1
"""When one joined who was there before the trace began; and what has not happened."""

EARLIEST = "earliest"
FirstSeq = int | str
"""The number that every source begins with, or ``earliest``: the smallest that it sent."""
RUN_BITS = 12
RUN = 1 << RUN_BITS
"""Numbers of a source that stay together, in one process."""

Ints = NDArray[np.integer[Any]]
Longs = Ints
"""Whole numbers of 64 bits, which types cannot tell from narrower ones in kernels."""
Columns = TypeVar("Columns", bound=tuple[Any, ...])


def shortened(columns: Columns, count: int) -> Columns:
    """Return the first so many rows of arrays of equal length."""
    cut: Any = type(columns)
    made: Columns = cut(*(column[:count] for column in columns))
    return made


def chosen(columns: Columns, rows: Any) -> Columns:
    """Return some rows of arrays of equal length."""
    cut: Any = type(columns)
    made: Columns = cut(*(column[rows] for column in columns))
    return made
