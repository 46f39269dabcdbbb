"""Events taken for other kinds of events, and kinds by their names again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stablecast.delivery.kinds import HEAD, KINDS, POSITION, RECEIVE, RELEASE, SEND, STABLE


def as_positions(events: pa.Table) -> pa.Table:
    """Take sends for heads and receipts for positions; claims and releases say nothing then."""
    kind = events["kind"].to_numpy()
    said = np.flatnonzero((kind != STABLE) & (kind != RELEASE))
    now = kind[said].copy()
    now[kind[said] == SEND], now[kind[said] == RECEIVE] = HEAD, POSITION
    kept = events.take(pa.array(said)) if len(said) < len(kind) else events
    return kept.set_column(kept.column_names.index("kind"), "kind", pa.array(now, pa.int8()))


def with_kinds(events: pa.Table) -> pa.Table:
    """Return events with names of kinds in place of their numbers."""
    codes = events["kind"].combine_chunks().cast(pa.int32())
    kinds = pa.DictionaryArray.from_arrays(codes, pa.array(KINDS))
    return events.set_column(events.column_names.index("kind"), "kind", kinds)
