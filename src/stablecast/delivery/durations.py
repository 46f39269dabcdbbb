"""How long things took, as counts in narrow bins, from which percentiles follow within one part in 180.

Counts add up, so that parts of a trace give the same numbers as the whole at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stablecast.delivery.kinds import NEVER, Longs

BINS_PER_DOUBLING = 128
SHOWN_PER_DOUBLING = 4
"""Of the bins that a report shows."""


@dataclass(frozen=True)
class Bins:
    """Durations in microseconds."""

    counts: dict[int, int]
    """By bin: -1 for less than a microsecond."""
    total: int
    most: int

    @classmethod
    def nothing(cls) -> Bins:
        """Return no durations."""
        return cls({}, 0, 0)

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(self.counts.values())

    def described(self) -> dict[str, Any] | None:
        """Return count, mean, percentiles and maximum; None for nothing."""
        if not self.counts:
            return None
        told: dict[str, Any] = {"count": self.count, "mean": self.total / self.count}
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            told[name] = min(_middle(self._bin_at(share * self.count)), float(self.most))
        return told | {"max": self.most}

    def histogram(self) -> list[list[float]]:
        """Return [low, high, count] of wider bins, as a report shows them."""
        step = BINS_PER_DOUBLING // SHOWN_PER_DOUBLING
        wide: dict[int, int] = {}
        for one, count in self.counts.items():
            wide[one // step] = wide.get(one // step, 0) + count
        edge = SHOWN_PER_DOUBLING
        return [[0.0 if k < 0 else 2 ** (k / edge), 2 ** ((k + 1) / edge), wide[k]] for k in sorted(wide)]

    def _bin_at(self, rank: float) -> int:
        so_far = 0
        for one in sorted(self.counts):
            so_far += self.counts[one]
            if so_far >= rank:
                return one
        return max(self.counts)


def _middle(one: int) -> float:
    return 0.0 if one < 0 else round(math.exp2((one + 0.5) / BINS_PER_DOUBLING), 1)


def bins_of(since: Longs, until: Longs) -> Bins:
    """Count the durations of what has an end."""
    took = (until - since)[until < NEVER]
    if not len(took):
        return Bins.nothing()
    short = took < 1
    place = np.floor(np.log2(np.where(short, 1, took)) * BINS_PER_DOUBLING).astype(np.int64)
    bins, counts = np.unique(np.where(short, -1, place), return_counts=True)
    # A sum of 64 bits could overflow: halves are added up apart.
    total = (int((took >> 32).sum()) << 32) + int((took & 0xFFFFFFFF).sum())
    return Bins(dict(zip(bins.tolist(), counts.tolist(), strict=True)), total, int(took.max()))


def summed_bins(parts: Iterable[Bins]) -> Bins:
    """Add up."""
    counts: dict[int, int] = {}
    total = most = 0
    for part in parts:
        for one, count in part.counts.items():
            counts[one] = counts.get(one, 0) + count
        most = max(most, part.most) if counts else part.most
        total += part.total
    return Bins(counts, total, most)
