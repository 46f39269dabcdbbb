"""Arrays that travel as their changed entries, in the plain driver: a sender's and a receiver's side of it.

It is the model of :mod:`stablecast.simulate.changes` told a second time, with dictionaries of places and
entries for what travels.  It knows nothing of networks, so that any pattern of losses can be tried on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.simulate.state import WHOLE_EVERY

IntArray = NDArray[np.integer[Any]]
Entries = dict[int, int]
"""What travels of an array: by place."""


class WentBack(Exception):
    """An entry of a stream is lower than before."""


@dataclass(eq=False)
class Stream:
    """The arrays of one type that one member sends."""

    width: int
    may_miss: bool
    """Whether a receiver may lack one."""
    last: IntArray = field(init=False)
    """The first array of the newest execution, and which one and whom that was."""
    execution: int = 0
    dest: int | None = None
    sent: int = 0
    """How many executions have had an array."""
    highest: IntArray = field(init=False)
    """The highest of each entry sent so far."""

    def __post_init__(self) -> None:
        self.last = np.zeros(self.width, np.int64)
        self.highest = np.zeros(self.width, np.int64)

    def changes(self, array: IntArray, dest: int, execution: int | None, learned: int) -> Entries:
        """Return the entries of the next array that would do for receivers that have the one before.

        ``execution`` is None in protocols that have none; ``learned`` is the newest one whose result the
        sender knows.
        """
        if (array < self.highest).any():
            raise WentBack
        self.highest = array.astype(np.int64)
        follows = self._follows(dest, execution, learned)
        places = np.flatnonzero(array != self.last) if follows else np.arange(self.width)
        if execution is None or execution > self.execution:
            self.last, self.dest, self.sent = array.astype(np.int64), dest, self.sent + 1
            self.execution = execution or 0
        return {int(place): int(array[place]) for place in places}

    def _follows(self, dest: int, execution: int | None, learned: int) -> bool:
        if self.sent == 0:
            return True
        if dest != self.dest or (self.may_miss and self.sent % WHOLE_EVERY == 0):
            return False
        return execution is None or (execution == self.execution + 1 and learned >= self.execution)


def whole(array: IntArray) -> Entries:
    """Return all entries of an array."""
    return {place: int(entry) for place, entry in enumerate(array)}


@dataclass(eq=False)
class Kept:
    """What one receiver has of one stream."""

    array: IntArray

    def take(self, entries: Entries) -> IntArray:
        """Take in what has come; return the array that the protocol gets."""
        for place, entry in entries.items():
            self.array[place] = max(self.array[place], entry)
        return self.array
