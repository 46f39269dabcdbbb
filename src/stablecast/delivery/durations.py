"""How long it took until messages were stable and until that was known, as counts in narrow bins.

Counts add up, so that the parts of a stream give the same numbers as the whole at once.  A bin is a part in
:data:`BINS_PER_DOUBLING` of a doubling; sums are exact, whatever their size.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stablecast.delivery.claims import Known
from stablecast.delivery.columns import Ints, Longs
from stablecast.delivery.kinds import NEVER
from stablecast.delivery.messages import Messages

BINS_PER_DOUBLING = 128
SHOWN_PER_DOUBLING = 4
"""Of the bins that a report shows."""
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


class Described:
    """Durations of one kind, for people: percentiles come from the bins, mean and maximum are exact."""

    def __init__(self, durations: pa.Table, what: str) -> None:
        rows = durations.filter(pc.equal(durations["what"], what)).to_pylist()
        self._bins: dict[int, int] = {row["bin"]: row["count"] for row in rows}
        self._total = sum(int(row["total"]) for row in rows)
        self._most = max((row["most"] for row in rows), default=0)
        self.count = sum(self._bins.values())

    def facts(self) -> dict[str, Any] | None:
        """Return count, mean, percentiles and maximum in microseconds; None for nothing."""
        if not self.count:
            return None
        told: dict[str, Any] = {"count": self.count, "mean": self._total / self.count}
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            told[name] = min(_middle(self._bin_at(share * self.count)), float(self._most))
        return told | {"max": self._most}

    def histogram(self) -> list[list[float]]:
        """Return [low, high, count] of wider bins, as a report shows them."""
        step = BINS_PER_DOUBLING // SHOWN_PER_DOUBLING
        wide: dict[int, int] = {}
        for one, count in self._bins.items():
            wide[one // step] = wide.get(one // step, 0) + count
        edge = SHOWN_PER_DOUBLING
        return [[0.0 if k < 0 else 2 ** (k / edge), 2 ** ((k + 1) / edge), wide[k]] for k in sorted(wide)]

    def _bin_at(self, rank: float) -> int:
        so_far = 0
        for one in sorted(self._bins):
            so_far += self._bins[one]
            if so_far >= rank:
                return one
        return max(self._bins)


def _middle(one: int) -> float:
    return 0.0 if one < 0 else round(math.exp2((one + 0.5) / BINS_PER_DOUBLING), 1)


def durations_between(sent: Longs, stable: Longs, known: Longs) -> pa.Table:
    """Return the counts of messages by their times, NEVER for what has not come."""
    return pa.concat_tables(
        [
            _counted(SENT, np.zeros(len(sent), np.int64)),
            _counted(TO_STABLE, (stable - sent)[stable < NEVER]),
            _counted(TO_DETECT, (known - sent)[known < NEVER]),
        ]
    )


def durations_of(messages: Messages, known: Known | None, rows: Ints | slice) -> pa.Table:
    """Return the counts of some messages."""
    last = np.full(len(messages.seq), NEVER) if known is None else known.last
    return durations_between(messages.sent[rows], messages.stable[rows], last[rows])


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
