"""How many times something of a known probability may happen by chance: intervals of the binomial.

A measured count is compared with the interval that holds all but ``1 - confidence`` of the probability, half
of the rest on either side. Numbers of trials are large and probabilities small, so only the terms around the
mean are added up; those left out are below 1e-12.
"""

from __future__ import annotations

import math

import numpy as np

DRAWS = 0.999
"""For Monte Carlo: with some dozens of comparisons one in a thousand may stray."""
RUNS = 0.99
"""For simulated runs, as `docs/papers/buffering.md` asks."""


def interval(trials: int, probability: float, confidence: float) -> tuple[int, int]:
    """Return the least and the most successes that chance explains.

    Examples
    --------
    >>> interval(10_000, 0.001, 0.99)
    (3, 19)
    """
    if probability <= 0:
        return 0, 0
    if probability >= 1:
        return trials, trials
    mean = trials * probability
    reach = 9 * math.sqrt(mean * (1 - probability)) + 40
    counts = np.arange(max(0, math.floor(mean - reach)), min(trials, math.ceil(mean + reach)) + 1)
    cumulated = np.cumsum([_term(trials, int(k), probability) for k in counts])
    outside = (1 - confidence) / 2
    low = int(np.searchsorted(cumulated, outside, side="right"))
    high = int(np.searchsorted(cumulated, 1 - outside, side="left"))
    return int(counts[low]), int(counts[min(high, counts.size - 1)])


def explains(seen: int, trials: int, probability: float, confidence: float) -> bool:
    """Tell whether a count lies in the interval."""
    low, high = interval(trials, probability, confidence)
    return low <= seen <= high


def _term(trials: int, successes: int, probability: float) -> float:
    ways = math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
    failures = trials - successes
    return math.exp(ways + successes * math.log(probability) + failures * math.log1p(-probability))
