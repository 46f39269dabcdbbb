"""Prediction intervals: where the same measurement of one more run will be.

With many runs
    If k runs and one more are alike, the one more is as likely to come anywhere among them: below the j-th
    smallest with probability j / (k + 1).  So from the j-th smallest to the j-th largest of 79 runs, j = 2,
    are 95 % of further ones, whatever their distribution.  ``ENOUGH`` runs are the fewest with j = 1.
With fewer
    Logarithms are taken to be normal, and the interval is Student's, for one more run: times and bytes
    are above 0, and vary by factors.
What can go wrong
    The interval is itself drawn: that of 79 runs holds between 90 and 99 % of all further ones in 19 of 20
    cases.  Where runs hardly differ, it is as narrow as they are alike, and more than 95 % fall into it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, median, stdev

LEVEL = 0.95
ENOUGH = 39
WIDE = 1e-9
"""Share by which an interval is wider, so that equal runs are in it whatever their last digit."""


@dataclass(frozen=True)
class Interval:
    """What was measured, and where further runs will be."""

    mid: float
    """The median of the runs."""
    low: float
    high: float
    runs: int

    def holds(self, value: float) -> bool:
        """Tell whether a value is in it."""
        return self.low <= value <= self.high

    def times(self, factor: Interval) -> Interval:
        """Return it times a factor that is itself in an interval."""
        return Interval(self.mid * factor.mid, self.low * factor.low, self.high * factor.high, self.runs)

    def scaled(self, factor: float) -> Interval:
        """Return it in another unit."""
        return Interval(self.mid * factor, self.low * factor, self.high * factor, self.runs)


def predict(values: Sequence[float], *, level: float = LEVEL) -> Interval:
    """Return the prediction interval of one more run."""
    ordered, runs = sorted(values), len(values)
    if runs >= ENOUGH or not all(0 < value < math.inf for value in values):
        out = max(1, math.floor((runs + 1) * (1 - level) / 2 + 1e-9))
        low, high = ordered[out - 1], ordered[-out]
    else:
        low, high = _normal(ordered, level)
    return Interval(median(ordered), low * (1 - WIDE), high * (1 + WIDE), runs)


def _normal(values: Sequence[float], level: float) -> tuple[float, float]:
    logs = [math.log(value) for value in values]
    if len(logs) < 2:
        return 0.0, math.inf
    half = student(level, len(logs) - 1) * stdev(logs) * math.sqrt(1 + 1 / len(logs))
    return math.exp(fmean(logs) - half), math.exp(fmean(logs) + half)


def student(level: float, freedom: int) -> float:
    """Return the quantile of Student's distribution that both tails beyond have ``1 - level`` of.

    Exact for one and two degrees of freedom; otherwise Hill's expansion, to within a thousandth.
    """
    tail = 1 - level
    if freedom == 1:
        return 1 / math.tan(math.pi * tail / 2)
    if freedom == 2:
        return math.sqrt(2 / (tail * (2 - tail)) - 2)
    z = NormalDist().inv_cdf(1 - tail / 2)
    n = float(freedom)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    fourth = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
    return z + first / n + second / n**2 + third / n**3 + fourth / n**4


def surely_worse(one: Sequence[float], other: Sequence[float], *, level: float = LEVEL) -> bool:
    """Tell whether one is larger than another beyond doubt, by pairs of runs that had the same seeds."""
    differences = [
        math.log(a / b) for a, b in zip(one, other, strict=False) if 0 < a < math.inf and 0 < b < math.inf
    ]
    if len(differences) < 3:
        return False
    half = student(level, len(differences) - 1) * stdev(differences) / math.sqrt(len(differences))
    return fmean(differences) - half > 0
