"""Means with their confidence intervals, and verdicts that say whether they rest on enough seeds.

A mean over seeds is an estimate: its interval holds the mean over all seeds with a probability of 95 % if the
values are nearly normal (Student's t).  A ratio of two means has an interval by the delta method; where both
were measured with the same seeds, that they vary together is taken into account.

A claim compares estimates with limits.  A comparison is *settled* if the whole interval lies on one side of
the limit.  A verdict is settled if it holds and every comparison is settled, or if it is missed and one
settled comparison is enough to miss it.  Where a verdict is not settled, more seeds could turn it: the report
says so, and ``reproduce --full`` adds seeds up to a limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number that was measured, and the interval in which it is likely to be."""

    value: float
    low: float
    high: float
    seeds: int
    """Runs that it rests on; 0 if chance has no part in it."""

    @property
    def half_width(self) -> float:
        """How far the interval reaches on the wider side."""
        return max(self.high - self.value, self.value - self.low)

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.value:.4g}"
        return f"{self.value:.4g} ± {self.half_width:.2g}"


def exactly(value: float) -> Estimate:
    """Return a number in which chance has no part."""
    return Estimate(value, value, value, 0)


def mean_of(values: Sequence[float]) -> Estimate:
    """Return the mean over seeds; of one value nothing is known of the others.

    Examples
    --------
    >>> mean_of([1.0, 2.0, 3.0])
    Estimate(value=2.0, low=-0.48..., high=4.48..., seeds=3)
    """
    data = np.asarray(values, float)
    if data.size == 0:
        raise ValueError("a mean of no values")
    value = float(data.mean())
    if data.size == 1:
        return Estimate(value, -math.inf, math.inf, 1)
    reach = _t_quantile(data.size - 1) * float(data.std(ddof=1)) / math.sqrt(data.size)
    return Estimate(value, value - reach, value + reach, int(data.size))


def ratio_of(above: Sequence[float], below: Sequence[float], *, paired: bool = False) -> Estimate:
    """Return the ratio of two means; ``paired`` if the k-th values of both have the same seed."""
    a, b = np.asarray(above, float), np.asarray(below, float)
    value = float(a.mean() / b.mean())
    fewest = min(a.size, b.size)
    if fewest == 1:
        return Estimate(value, -math.inf, math.inf, 1)
    if paired:
        if a.size != b.size:
            raise ValueError(f"{a.size} values beside {b.size} are not pairs")
        # The error of a mean ratio is that of the mean of a - value * b, over the mean of b.
        variance = float((a - value * b).var(ddof=1)) / a.size
    else:
        variance = float(a.var(ddof=1)) / a.size + value**2 * float(b.var(ddof=1)) / b.size
    reach = _t_quantile(fewest - 1) * math.sqrt(variance) / abs(float(b.mean()))
    return Estimate(value, value - reach, value + reach, fewest)


def _t_quantile(degrees: int) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + CONFIDENCE) / 2, degrees))


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """An estimate and what is accepted."""

    what: str
    """What was measured, for the sentence that tells of it."""
    found: Estimate
    least: float = -math.inf
    most: float = math.inf

    @property
    def holds(self) -> bool:
        """Whether the estimate itself is accepted."""
        return self.least <= self.found.value <= self.most

    @property
    def settled(self) -> bool:
        """Whether the whole interval is accepted, or none of it."""
        inside = self.least <= self.found.low and self.found.high <= self.most
        return inside or self.found.high < self.least or self.found.low > self.most


def holds(comparisons: Iterable[Comparison]) -> bool:
    """Tell whether all comparisons hold."""
    return all(each.holds for each in comparisons)


def undecided(comparisons: Iterable[Comparison]) -> str:
    """Say which comparisons more seeds could turn, if that could turn the verdict; else nothing."""
    known = list(comparisons)
    open_ones = [each for each in known if not each.settled]
    if any(each.settled and not each.holds for each in known) or not open_ones:
        return ""
    worst = min(open_ones, key=_margin)
    more = f" and {len(open_ones) - 1} more" if len(open_ones) > 1 else ""
    return f"{worst.what}: {worst.found} ({worst.found.seeds} seeds) against {_limit(worst)}{more}"


def _margin(each: Comparison) -> float:
    """Return the distance to the limit in parts of the interval."""
    distance = min(abs(each.found.value - each.least), abs(each.found.value - each.most))
    return distance / each.found.half_width if math.isfinite(each.found.half_width) else 0.0


def _limit(each: Comparison) -> str:
    if math.isinf(each.least):
        return f"at most {each.most:g}"
    return f"at least {each.least:g}" if math.isinf(each.most) else f"{each.least:g} to {each.most:g}"
