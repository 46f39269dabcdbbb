"""Arrays of equal length that belong together, as named tuples that kernels take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer[Any]]
Longs = Ints
"""Whole numbers of 64 bits, which types cannot tell from narrower ones in kernels."""
Columns = TypeVar("Columns", bound=tuple[Any, ...])


def shortened(columns: Columns, count: int) -> Columns:
    """Return the first so many rows."""
    return chosen(columns, slice(count))


def chosen(columns: Columns, rows: Any) -> Columns:
    """Return some rows."""
    return _made(columns, (column[rows] for column in columns))


def joined(parts: Sequence[Columns]) -> Columns:
    """Return the rows of several parts, of which there is one at least."""
    return _made(parts[0], (np.concatenate(each) for each in zip(*parts, strict=True)))


def _made(like: Columns, columns: Any) -> Columns:
    kind: Any = type(like)
    made: Columns = kind(*columns)
    return made
