"""Columns of names as codes: each name once, and its place for each row.

Python handles distinct names, and distinct pairs of a group and a name, but never rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stablecast.delivery.columns import Ints

DENSE = 1 << 22
"""Up to so many combinations are looked up in an array; more are sorted."""
Meaning = Callable[[list[str], list[str]], Ints]
"""Takes groups and names, and gives a number for each pair."""


@dataclass(frozen=True)
class Coded:
    """A column of names: their codes, -1 for none, and what each code stands for."""

    codes: Ints
    values: pa.Array

    @classmethod
    def of(cls, column: pa.ChunkedArray | pa.Array) -> Coded:
        """Read a column of strings, encoded or not."""
        array = column
        if isinstance(column, pa.ChunkedArray):
            # Chunks may have dictionaries of their own, and there may be no chunk at all.
            array = column.unify_dictionaries().combine_chunks()
        if not pa.types.is_dictionary(array.type):
            array = array.dictionary_encode()
        indices = array.indices
        if indices.null_count:
            indices = indices.fill_null(-1)
        return cls(indices.to_numpy(zero_copy_only=False), array.dictionary.cast(pa.string()))

    def array(self) -> pa.DictionaryArray:
        """Return the names again, encoded."""
        codes = pa.array(self.codes.astype(np.int32), mask=self.codes < 0)
        return pa.DictionaryArray.from_arrays(codes, self.values)

    def names(self, codes: Ints) -> pa.Array:
        """Return what codes stand for."""
        return self.values.take(pa.array(codes))


def combinations(columns: tuple[Ints, ...], sizes: tuple[int, ...]) -> list[Ints]:
    """Return each combination of numbers below some sizes that there is, once and in order, as columns."""
    key = np.zeros(len(columns[0]), np.int64)
    for column, size in zip(columns, sizes, strict=True):
        key = key * max(size, 1) + column
    total = int(np.prod([max(size, 1) for size in sizes], dtype=np.float64))
    found = np.flatnonzero(np.bincount(key, minlength=1)) if total <= DENSE else np.unique(key)
    parts: list[Ints] = []
    for size in reversed(sizes):
        parts.append(found % max(size, 1))
        found = found // max(size, 1)
    return parts[::-1]


def looked_up(group: Coded, name: Coded, rows: Ints | slice, meaning: Meaning) -> Ints:
    """Return what the group and the name of each row mean together, asking once for each pair."""
    width = max(len(name.values), 1)
    pair = group.codes[rows].astype(np.int64) * width + name.codes[rows]
    if len(group.values) * width > DENSE:
        seen, which = np.unique(pair, return_inverse=True)
        return _meant(group, name, seen, meaning)[which]
    seen = np.flatnonzero(np.bincount(pair, minlength=1))
    meant = _meant(group, name, seen, meaning)
    table = np.zeros(len(group.values) * width, meant.dtype)
    table[seen] = meant
    found: Ints = table[pair]
    return found


def _meant(group: Coded, name: Coded, pairs: Ints, meaning: Meaning) -> Ints:
    width = max(len(name.values), 1)
    return meaning(group.names(pairs // width).to_pylist(), name.names(pairs % width).to_pylist())


class Numbers:
    """Finds the numbers that pairs of a group and a name have."""

    def __init__(self, groups: list[str], names: list[str]) -> None:
        self._of = {pair: number for number, pair in enumerate(zip(groups, names, strict=True))}

    def of(self, group: Coded, name: Coded, rows: Ints | slice = slice(None)) -> Ints:
        """Return the number of the group and the name in each row."""
        return looked_up(group, name, rows, self._numbers)

    def _numbers(self, groups: list[str], names: list[str]) -> Ints:
        return np.array([self._of[pair] for pair in zip(groups, names, strict=True)], np.int32)
