"""The arrays of positions: what the kernel is given, what it keeps of one source, and what it writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
Records = NDArray[np.void]

NOBODY = -1
NO_NUMBER = -(1 << 62)
"""Below all numbers: where a number is told, none."""
WAITING_NAMES = 10
"""How many of those that a source waits for are named."""
LIMB_BITS = 62
"""Bits of the low limb of a sum that may exceed 64 bits."""


class Sources(NamedTuple):
    """The sources to follow, by group and name, and their rows by time."""

    group: IntArray
    """The number of its group in the memberships."""
    first: IntArray
    """The number that it begins with."""
    has_heads: IntArray
    """0 if it has no head; then every position says that so much was sent."""
    unasked: IntArray
    """The reader that is the source itself and has no position of it, or ``NOBODY``."""
    row_from: IntArray
    """For each source its first row, and at the end how many rows there are."""
    reader: IntArray
    """For each row the reader whose position it is, or ``NOBODY`` for a head."""
    seq: IntArray
    time_us: IntArray


class Reading(NamedTuple):
    """What is known of the readers of the source that is followed now, and its heads so far."""

    reached: IntArray
    winner: IntArray
    position: IntArray
    behind_us: IntArray
    """Since when it is behind, as far as that was looked up; else ``EVER``."""
    alone_us: IntArray
    alone_low: IntArray
    alone_high: IntArray
    completed: IntArray
    beyond: IntArray
    """Its row among those beyond the head, or -1."""
    head_seq: IntArray
    head_us: IntArray


class Found(NamedTuple):
    """What the kernel writes: records of the types below, with room for what there can be at most."""

    counts: IntArray
    """Records of ``frontier``, ``reader`` and ``beyond`` so far."""
    frontier: Records
    source: Records
    """One record for each source."""
    waiting: IntArray
    """For each source the first readers that it waits for."""
    reader: Records
    beyond: Records


FRONTIERS, READERS, BEYOND = 0, 1, 2


def _record(names: str) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in names.split()])


FRONTIER = _record("source time_us sent stable blocker")
SOURCE = _record("head stable stable_us oldest_us waiting")
READER = _record(
    "source reader position lag behind_since_us alone_us alone_low alone_high completed without_seq gone"
)
BEYOND_HEAD = _record("source reader seq time_us")
