"""Which order of growth measurements follow, and how sure that is.

What is compared
    Counts v(n) at several sizes with curves c·f(n).  The misfit of an order f is the standard deviation of
    ln(v(n) / f(n)), so that twice as much counts as half as much, at any size.  Times and queues have a part
    that does not grow, and are compared with a + c·f(n) as they lie on the paper's linear axes; their misfit
    is the standard deviation of what the best a and c leave, over that of the values.  Measurements follow
    the order that fits best; of orders that fit alike, the slowest.
How sure
    Every size has several graphs.  Leaving out the first of each size, then the second of each and so on (the
    jackknife) tells how far a misfit, or a difference of two, is likely to be off.
What can go wrong
    Neighbouring orders differ little over a range of sizes: n from 10 to 1900 tells log n from log² n, and n
    log n from n log² n; it does not tell n from n log n once a constant is added, so that times are not
    compared with n log n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from stablecast.papers.hypercube.grid import Index, Sample
from stablecast.papers.statistics import Comparison, Estimate, mean_of
from stablecast.pipeline.runs import MissingRun

ORDERS: dict[str, Callable[[float], float]] = {
    "1": lambda n: 1.0,
    "log n": lambda n: math.log2(n),
    "log² n": lambda n: math.log2(n) ** 2,
    "n": lambda n: n,
    "n log n": lambda n: n * math.log2(n),
    "n log² n": lambda n: n * math.log2(n) ** 2,
    "n²": lambda n: n * n,
}
"""The slowest first."""
COUNTS = tuple(ORDERS)
"""Orders that counts are compared with."""
TIMES = ("1", "log n", "log² n", "n", "n²")
"""Orders that times and queues are compared with, each with a constant added."""
ALIKE = 1e-9


def misfit(sizes: Sequence[int], values: Sequence[float], order: str, *, constant: bool = False) -> float:
    """Return how far values stray from an order of growth, with a constant added or without."""
    measured = np.asarray(values, float)
    shape = np.array([ORDERS[order](float(n)) for n in sizes])
    if not constant:
        return float(np.log(measured / shape).std())
    if not measured.std():
        return 0.0
    columns = np.stack((np.ones_like(shape), shape), axis=1)
    solution, *_ = np.linalg.lstsq(columns, measured, rcond=None)
    return float((measured - columns @ solution).std() / measured.std())


def least_misfit(
    sizes: Sequence[int], values: Sequence[float], orders: Sequence[str], *, constant: bool = False
) -> float:
    """Return the misfit of the order that fits best."""
    return min(misfit(sizes, values, order, constant=constant) for order in orders)


def sizes_of(samples: Sequence[Sample]) -> list[int]:
    """Return the sizes of samples; fewer than three tell nothing of growth."""
    if len(samples) < 3:
        raise MissingRun(f"an order of growth needs three sizes, and {len(samples)} was run")
    return [each.members for each in samples]


def best_order(samples: Sequence[Sample], index: Index, *, constant: bool = False) -> str:
    """Return the order that the means of an index follow."""
    sizes, values = sizes_of(samples), [each.mean(index) for each in samples]
    found = {
        order: misfit(sizes, values, order, constant=constant) for order in (TIMES if constant else COUNTS)
    }
    best = min(found.values())
    return next(order for order, stray in found.items() if stray <= best + ALIKE)


def rather(
    what: str,
    samples: Sequence[Sample],
    index: Index,
    wanted: Sequence[str],
    others: Sequence[str],
    *,
    constant: bool = False,
) -> Comparison:
    """Compare how well some orders fit with how well others do: the first must not be worse."""
    sizes = sizes_of(samples)

    def worse(means: Sequence[float]) -> float:
        mine = least_misfit(sizes, means, wanted, constant=constant)
        return mine - least_misfit(sizes, means, others, constant=constant)

    return Comparison(what=what, found=jackknifed(worse, samples, index), most=ALIKE)


def explained_by_line(samples: Sequence[Sample], index: Index) -> Estimate:
    """Return the share of the variance over sizes that a straight line explains."""
    sizes = sizes_of(samples)
    return jackknifed(lambda means: 1 - misfit(sizes, means, "n", constant=True) ** 2, samples, index)


def jackknifed(
    statistic: Callable[[Sequence[float]], float], samples: Sequence[Sample], index: Index
) -> Estimate:
    """Return a number made of the means at all sizes, with its interval over graphs."""
    values = [each.values(index) for each in samples]
    value = statistic([float(np.mean(each)) for each in values])
    folds = min(map(len, values))
    if folds == 1:
        return Estimate(value, -math.inf, math.inf, 1)
    without = [statistic([_mean_without(each, fold, folds) for each in values]) for fold in range(folds)]
    spread = mean_of([folds * value - (folds - 1) * each for each in without])
    reach = spread.half_width
    return Estimate(value, value - reach, value + reach, folds)


def _mean_without(values: Sequence[float], fold: int, folds: int) -> float:
    """Return the mean of all values but every ``folds``-th, beginning with number ``fold``."""
    return float(np.mean([value for k, value in enumerate(values) if k % folds != fold]))
