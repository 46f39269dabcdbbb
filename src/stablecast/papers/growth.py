"""Read an order of growth off measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SHAPES: dict[str, Callable[[Floats], Floats]] = {
    "O(1)": lambda n: np.zeros_like(n),
    "O(log n)": lambda n: np.log(n),
    "O(n)": lambda n: n,
    "O(n log n)": lambda n: n * np.log(n),
    "O(n^2)": lambda n: n * n,
}


def growth_order(sizes: Sequence[int], values: Sequence[float]) -> str:
    """Return the order whose curve ``a + c·f(n)`` fits the values best, relative to each value.

    The slowest order within a thousandth of the best fit is taken, so that a constant is not called a
    logarithm of slope zero.
    """
    n, measured = np.asarray(sizes, float), np.asarray(values, float)
    misfits = {}
    for name, curve in _SHAPES.items():
        weighted = np.stack((np.ones_like(n), curve(n)), axis=1) / measured[:, None]
        solution, *_ = np.linalg.lstsq(weighted, np.ones_like(n), rcond=None)
        misfits[name] = float(np.abs(weighted @ solution - 1).max())
    best = min(misfits.values())
    return next(name for name, misfit in misfits.items() if misfit <= best + 1e-3)
