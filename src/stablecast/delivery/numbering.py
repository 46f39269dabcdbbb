"""Names become numbers: columns of an Arrow table as arrays that kernels can go through.

Names are numbered in the order of their code points, so that of two numbers of the same column the smaller
has the smaller name.  Python handles distinct names at most, never rows.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stablecast.errors import InvalidInput

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

LARGEST = 1 << 60
"""Numbers and times are at most this far from 0: what kernels compute of them then fits."""
SPARSE = 8
"""A table of marks may have this many entries for each row before sorting is cheaper."""


class Kind(IntEnum):
    """The kinds of rows that positions consist of; others are passed over."""

    HEAD = 0
    POSITION = 1
    JOIN = 2
    LEAVE = 3
    FAIL = 4


def encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return a column of names as one dictionary array; a column that is one already costs nothing."""
    if pa.types.is_dictionary(column.type):
        whole = column.unify_dictionaries().combine_chunks()
    else:
        whole = column.cast(pa.string()).combine_chunks().dictionary_encode()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def coded(column: pa.ChunkedArray) -> tuple[IntArray, pa.Array]:
    """Return the number of the name in each row (-1 for null), and the names in order."""
    whole = encoded(column)
    dictionary = whole.dictionary.cast(pa.string())
    names = dictionary.unique().drop_null().sort()
    return _looked_up(whole, pc.index_in(dictionary, names)), names


def coded_kinds(column: pa.ChunkedArray) -> IntArray:
    """Return the ``Kind`` of each row; -1 for kinds that are none of these."""
    whole = encoded(column)
    kinds = pa.array([kind.name.lower() for kind in Kind])
    return _looked_up(whole, pc.index_in(whole.dictionary.cast(pa.string()), kinds))


def _looked_up(whole: pa.DictionaryArray, numbers: pa.Array) -> IntArray:
    """Return for each row what its entry of the dictionary stands for, -1 for nothing."""
    table = np.append(numbers.fill_null(-1).to_numpy(zero_copy_only=False), -1).astype(np.int64)
    found: IntArray = table[whole.indices.fill_null(len(whole.dictionary)).to_numpy(zero_copy_only=False)]
    return found


def distinct_of(keys: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """Return the distinct keys in order, and for each row which of them it has; keys are below a limit."""
    if limit > SPARSE * keys.size + 1024:
        distinct, which = np.unique(keys, return_inverse=True)
        return distinct, which.astype(np.int64)
    marked = np.zeros(limit, np.bool_)
    marked[keys] = True
    number = np.cumsum(marked, dtype=np.int64) - 1
    return np.flatnonzero(marked).astype(np.int64), number[keys]


def numbers_of(events: pa.Table, name: str, needed: BoolArray) -> IntArray:
    """Return a column of whole numbers, 0 where it is not needed; refuse what is missing or too large."""
    column = events.column(name)
    nulls = column.is_null().to_numpy()[needed].sum() if column.null_count else 0
    if nulls:
        raise InvalidInput(f"{nulls} rows have no '{name}', which rows of their kind must have")
    whole = column.cast(pa.int64()).fill_null(0).to_numpy()
    numbers: IntArray = whole if needed.all() else np.where(needed, whole, 0)
    if numbers.size and (numbers.max() > LARGEST or numbers.min() < -LARGEST):
        raise InvalidInput(f"'{name}' is beyond 2^60 in some row")
    return numbers


def refuse_nameless(column: str, codes: IntArray) -> None:
    """Refuse rows without a name where they need one."""
    if (codes < 0).any():
        nameless = int((codes < 0).sum())
        raise InvalidInput(f"{nameless} rows have no '{column}', which rows of their kind must have")
