"""How long it took until messages were stable and until that was known, as counts in narrow bins.

Counts add up, so that the parts of a stream give the same numbers as the whole at once.  A bin is a part in
:data:`BINS_PER_DOUBLING` of a doubling; sums are exact, whatever their size.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stablecast.delivery.claims import Known
from stablecast.delivery.judge import Messages
from stablecast.delivery.kinds import NEVER, Ints, Longs

BINS_PER_DOUBLING = 128
SENT, TO_STABLE, TO_DETECT = "sent", "time_to_stable", "time_to_detect"
DURATIONS = pa.schema(
    [
        ("what", pa.string()),
        ("bin", pa.int32()),
        ("count", pa.int64()),
        ("total", pa.decimal128(38, 0)),
        ("most", pa.int64()),
    ]
)
"""``bin`` is -1 for less than a microsecond; ``total`` and ``most`` are microseconds."""
_LOW_BITS = 31


def durations_of(messages: Messages, known: Known | None, rows: Ints) -> pa.Table:
    """Return the counts of some messages."""
    sent, stable = messages.sent[rows], messages.stable[rows]
    parts = [_counted(SENT, np.zeros(len(sent), np.int64))]
    parts.append(_counted(TO_STABLE, (stable - sent)[stable < NEVER]))
    if known is not None:
        last = known.last[rows]
        parts.append(_counted(TO_DETECT, (last - sent)[last < NEVER]))
    return pa.concat_tables(parts)


def bin_of(took: Longs) -> Ints:
    """Return the bin of each duration."""
    bins: Ints = np.floor(np.log2(np.maximum(took, 1).astype(float)) * BINS_PER_DOUBLING).astype(np.int32)
    return np.where(took < 1, -1, bins)


def _counted(what: str, took: Longs) -> pa.Table:
    bins, place, counts = np.unique(bin_of(took), return_inverse=True, return_counts=True)
    low, high, most = np.zeros(len(bins), np.int64), np.zeros(len(bins), np.int64), np.full(len(bins), -NEVER)
    np.add.at(low, place, took & ((1 << _LOW_BITS) - 1))
    np.add.at(high, place, took >> _LOW_BITS)
    np.maximum.at(most, place, took)
    totals = [
        Decimal(one + (other << _LOW_BITS)) for one, other in zip(low.tolist(), high.tolist(), strict=True)
    ]
    columns = [pa.array([what] * len(bins), pa.string()), bins.astype(np.int32), counts]
    return pa.table([*columns, pa.array(totals, pa.decimal128(38, 0)), most], schema=DURATIONS)


def added(durations: list[pa.Table]) -> pa.Table:
    """Add up the counts of several parts."""
    sums = pa.concat_tables(durations).group_by(["what", "bin"])
    added_up = sums.aggregate([("count", "sum"), ("total", "sum"), ("most", "max")])
    return added_up.rename_columns(DURATIONS.names).cast(DURATIONS)


def count_of(durations: pa.Table, what: str) -> int:
    """Return how many there are of one kind."""
    return int(pc.sum(durations.filter(pc.equal(durations["what"], what))["count"]).as_py() or 0)
