"""The arrays of positions: what the kernel is given, what it keeps of one source, and what it writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stablecast.delivery.columns import Ints, Longs

Records = NDArray[np.void]

NO_NUMBER = -(1 << 62)
"""Below all numbers: where a number is told, none."""
WAITING_NAMES = 10
"""How many of those that a source waits for are named."""
LIMB_BITS = 62
"""Bits of the low limb of a sum that may exceed 64 bits."""


class Sources(NamedTuple):
    """The sources to follow, by group and name, and their rows by time."""

    name: Ints
    group: Ints
    """Numbers of the membership."""
    first: Longs
    """The number that it begins with."""
    has_heads: Ints
    """0 if it has no head; then every position says that so much was sent."""
    unasked: Ints
    """The reader that is the source itself and has no position of it, or ``NOBODY``."""
    first_row: Longs
    """The first row of each source; one more entry than there are sources."""
    reader: Ints
    """For each row the reader whose position it is, or ``NOBODY`` for a head."""
    seq: Longs
    time_us: Longs


class Reading(NamedTuple):
    """What is known of the readers of the source that is followed now, and its heads so far."""

    reached: Longs
    winner: Longs
    position: Longs
    behind_us: Longs
    """Since when it is behind, as far as that was looked up; else ``EVER``."""
    alone_us: Longs
    alone_low: Longs
    alone_high: Longs
    completed: Longs
    beyond: Longs
    """Its row among those beyond the head, or -1."""
    head_seq: Longs
    head_us: Longs


class Found(NamedTuple):
    """What the kernel writes: records of the types below, with room for what there can be at most."""

    counts: Longs
    """Records of ``frontier``, ``reader`` and ``beyond`` so far."""
    frontier: Records
    source: Records
    """One record for each source."""
    waiting: Longs
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
