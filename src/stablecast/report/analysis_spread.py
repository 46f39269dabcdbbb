"""How times are spread: counted in bins that grow with the time, in the same memory for any number."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stablecast.report.analysis_gather import Integers

FINE = 200
"""Bins for each factor of ten; a percentile is right to 1.2 %."""
DECADES = 19
"""As many as 64-bit microseconds need."""
Floats = npt.NDArray[np.float64]


class Spread:
    """Times in microseconds, by how many there are of each size; those below 1 µs are counted together."""

    def __init__(self) -> None:
        self._counts = np.zeros(FINE * DECADES, dtype=np.int64)
        self._sum = 0.0
        self.count = 0
        self.instant = 0
        """How many are 0 or less: clocks differ, or one member was alone."""
        self.smallest = self.largest = 0

    def add(self, times: Integers) -> None:
        """Count some times."""
        if not times.size:
            return
        least, most = int(times.min()), int(times.max())
        self.smallest = min(self.smallest, least) if self.count else least
        self.largest = max(self.largest, most) if self.count else most
        self.count += times.size
        self.instant += int((times <= 0).sum())
        self._sum += float(times.sum(dtype=np.float64))
        bins = np.floor(FINE * np.log10(np.maximum(times, 1))).astype(np.int64)
        self._counts += np.bincount(bins, minlength=self._counts.size)

    @property
    def mean(self) -> float:
        """The mean; of nothing it is 0."""
        return self._sum / max(1, self.count)

    def percentile(self, share: float) -> float:
        """Return about the smallest time that a share of all, from 0 to 1, does not exceed."""
        if not self.count:
            return 0.0
        rank = min(self.count, max(1, math.ceil(share * self.count)))
        if rank <= self.instant:
            return float(min(0, self.largest))
        upper = 10 ** ((int(np.searchsorted(np.cumsum(self._counts), rank)) + 1) / FINE)
        return float(min(max(upper, 1), self.largest))

    def cumulative(self) -> tuple[Floats, Floats]:
        """Return times where it changes, and the part of all, from 0 to 1, that are below each of them."""
        used = np.flatnonzero(self._counts)
        if not used.size:
            return np.zeros(0), np.zeros(0)
        edges = np.arange(used[0], used[-1] + 2)
        below = np.concatenate([[0], np.cumsum(self._counts[used[0] : used[-1] + 1])]) / self.count
        changes = np.flatnonzero(np.diff(below, prepend=-1) != 0)
        return 10 ** (edges[changes] / FINE), below[changes]

    def histogram(self, *, low: float, high: float, bins: int) -> tuple[Floats, Floats]:
        """Return edges of bins that are equally wide on a log axis, and the part of all that each holds.

        Parameters
        ----------
        low, high
            Times in microseconds between which everything lies.
        bins
            About how many.
        """
        first = math.floor(FINE * math.log10(max(low, 1)))
        last = max(first + 1, math.ceil(FINE * math.log10(max(high, 1))))
        width = max(1, math.ceil((last - first) / bins))
        starts = np.arange(first, last, width)
        padded = np.concatenate([self._counts, np.zeros(width + 1, dtype=np.int64)])
        held = np.add.reduceat(padded[: starts[-1] + width], starts)
        edges = 10 ** (np.append(starts, starts[-1] + width) / FINE)
        return edges, held / max(1, self.count)
