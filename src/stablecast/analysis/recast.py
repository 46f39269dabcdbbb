"""Events taken for other kinds of events."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stablecast.delivery.kinds import HEAD, POSITION, RECEIVE, RELEASE, SEND, STABLE


def as_positions(events: pa.Table) -> pa.Table:
    """Take sends for heads and receipts for positions; claims and releases say nothing then."""
    kind = events["kind"].to_numpy()
    said = np.flatnonzero((kind != STABLE) & (kind != RELEASE))
    now = kind[said].copy()
    now[kind[said] == SEND], now[kind[said] == RECEIVE] = HEAD, POSITION
    kept = events.take(pa.array(said)) if len(said) < len(kind) else events
    return kept.set_column(kept.column_names.index("kind"), "kind", pa.array(now, pa.int8()))
