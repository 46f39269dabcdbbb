"""Aggregates over batches: no more in memory than one batch and one row a group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stablecast.report.analysis_units import Pair

TOGETHER = 32
"""So many batches' groups are kept before they are merged."""
MERGE = {"count": "sum", "sum": "sum", "min": "min", "max": "max"}
Integers = npt.NDArray[np.int64]


def gather(
    batches: Iterable[pa.Table], keys: Sequence[str], aggregates: Mapping[str, tuple[str, str]]
) -> pa.Table | None:
    """Group all batches by some columns; None if there is no row.

    Parameters
    ----------
    batches
        The rows.
    keys
        Columns whose values make a group.
    aggregates
        For each column of the result, a column of the rows and what is made of it: ``count`` (of values that
        are not null), ``sum``, ``min`` or ``max``.
    """
    merging = {name: (name, MERGE[how]) for name, (_, how) in aggregates.items()}
    partial: list[pa.Table] = []
    for batch in batches:
        partial.append(_grouped(batch, keys, aggregates))
        if len(partial) == TOGETHER:
            partial = [_grouped(pa.concat_tables(partial), keys, merging)]
    return _grouped(pa.concat_tables(partial), keys, merging) if partial else None


def _grouped(table: pa.Table, keys: Sequence[str], aggregates: Mapping[str, tuple[str, str]]) -> pa.Table:
    made = table.group_by(list(keys), use_threads=False).aggregate(list(aggregates.values()))
    columns = {name: made.column(f"{column}_{how}") for name, (column, how) in aggregates.items()}
    return pa.table({**{key: made.column(key) for key in keys}, **columns})


def first_rows(batches: Iterable[pa.Table], order: Sequence[tuple[str, str]], most: int) -> pa.Table | None:
    """Return the rows that come first by some columns, each ``ascending`` or ``descending``, sorted."""
    kept: pa.Table | None = None
    for batch in batches:
        rows = batch if kept is None else pa.concat_tables([kept, batch])
        if rows.num_rows > 2 * most:
            # The same rows come first in whatever order the batches come, but for equals of all columns.
            rows = rows.take(pc.select_k_unstable(rows, most, list(order)))
        kept = rows
    return None if kept is None else kept.sort_by(list(order)).slice(0, most)


class Places:
    """Numbers of some (group, member) or (group, source), to find their rows in a batch at once."""

    def __init__(self, pairs: Sequence[Pair], column: str) -> None:
        self.pairs = list(pairs)
        self._column = column
        self._groups = sorted({group for group, _ in pairs})
        self._names = sorted({name for _, name in pairs})
        group_at = {group: k for k, group in enumerate(self._groups)}
        name_at = {name: k for k, name in enumerate(self._names)}
        codes = np.array([group_at[g] * len(self._names) + name_at[n] for g, n in pairs], dtype=np.int64)
        self._order = np.argsort(codes)
        self._codes = codes[self._order]

    def of(self, batch: pa.Table) -> Integers:
        """Return for each row the number of its pair; −1 for a row of none of them."""
        if not self.pairs:
            return np.full(batch.num_rows, -1, dtype=np.int64)
        group = _index_in(batch.column("group"), self._groups)
        name = _index_in(batch.column(self._column), self._names)
        code = np.where((group < 0) | (name < 0), -1, group * len(self._names) + name)
        found = np.minimum(np.searchsorted(self._codes, code), len(self._codes) - 1)
        return np.where(self._codes[found] == code, self._order[found], -1)

    def add_to(self, batch: pa.Table) -> pa.Table:
        """Return the rows of these pairs only, with the pair's number as column ``place``."""
        place = self.of(batch)
        return batch.append_column("place", pa.array(place)).filter(pa.array(place >= 0))


def integers(column: pa.ChunkedArray, null: int = 0) -> Integers:
    """Return a column of numbers, with one number in the place of nulls."""
    return np.asarray(pc.fill_null(pc.cast(column, pa.int64()), null).to_numpy(), dtype=np.int64)


def _index_in(column: pa.ChunkedArray, values: Sequence[str]) -> Integers:
    return integers(pc.index_in(column, value_set=pa.array(values, pa.string())), null=-1)
