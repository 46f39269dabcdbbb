"""Measure heads and positions: a million rows over 10^12 numbers, of few sources and of many.

`python -m benchmarks.positions` prints the seconds of each after compilation; nothing is judged.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import numpy as np
import pyarrow as pa

from stablecast.delivery.kinds import HEAD, JOIN, LEAVE, POSITION
from stablecast.delivery.positions.tables import position_tables

NUMBERS = 10**12
LAST_US = 10**12
HEADS = 0.2
"""How many of the rows are heads."""


def history(rows: int, sources: int, readers: int, seed: int = 1) -> pa.Table:
    """Return rows in the order of time, whose numbers rise to a total of 10^12."""
    draw = np.random.default_rng(seed)
    time_us = np.sort(draw.integers(0, LAST_US, rows))
    source = draw.integers(0, sources, rows).astype(np.int32)
    is_head = draw.random(rows) < HEADS
    member = draw.integers(0, readers, rows).astype(np.int32)
    each = NUMBERS // sources
    behind = np.where(is_head, 0, draw.integers(0, each // 50 + 2, rows) * (1 + member % 3))
    seq = np.maximum(0, (time_us / LAST_US * each).astype(np.int64) - behind)
    return pa.table(
        {
            "group": pa.array(np.repeat("orders", rows)),
            "kind": np.where(is_head, HEAD, POSITION).astype(np.int8),
            "member": _names("reader", member, readers),
            "source": _names("partition", source, sources),
            "seq": seq,
            "time_us": time_us,
        }
    )


def with_visitors(events: pa.Table, readers: int, visitors: int) -> pa.Table:
    """Let the readers join at the beginning, and others join and leave without reading anything."""
    begins = np.sort(np.random.default_rng(3).integers(0, LAST_US, visitors))
    names = [f"reader-{k}" for k in range(readers)] + 2 * [f"visitor-{k}" for k in range(visitors)]
    moves = pa.table(
        {
            "group": ["orders"] * len(names),
            "kind": pa.array([JOIN] * (readers + visitors) + [LEAVE] * visitors, pa.int8()),
            "member": names,
            "source": pa.nulls(len(names), pa.string()),
            "seq": pa.nulls(len(names), pa.int64()),
            "time_us": np.concatenate([np.zeros(readers, np.int64), begins, begins + LAST_US // 1000]),
        }
    )
    return pa.concat_tables([events, moves])


def _names(prefix: str, codes: np.ndarray, count: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(codes, [f"{prefix}-{k}" for k in range(count)]).cast(pa.string())


def measure(rows: int, sources: int, readers: int, *, shuffled: bool = False, visitors: int = 0) -> None:
    events = history(rows, sources, readers)
    if visitors:
        events = with_visitors(events, readers, visitors)
    if shuffled:
        events = events.take(pa.array(np.random.default_rng(2).permutation(rows)))
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        tables = position_tables(events)
        seconds.append(time.perf_counter() - begin)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    order = "in no order" if shuffled else "in the order of time"
    print(
        f"{rows:,} rows {order}, {sources:,} sources, {readers:,} readers, {visitors:,} that join and leave:"
        f" {min(seconds):.2f} s"
        f" (of {', '.join(f'{s:.2f}' for s in seconds)}), {tables['frontiers'].num_rows:,} frontiers,"
        f" {memory:,.0f} MB at most",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.positions", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    begin = time.perf_counter()
    position_tables(history(1000, 10, 5))
    print(f"first call, with compilation unless it was kept: {time.perf_counter() - begin:.1f} s")
    measure(options.rows, 100, 10)
    measure(options.rows, 100, 10, shuffled=True)
    measure(options.rows, 10_000, 10)
    measure(options.rows, 100, 5_000)
    measure(options.rows, 100, 10, visitors=1_000)
    measure(options.rows, 10_000, 10, visitors=1_000)
    return 0


if __name__ == "__main__":
    sys.exit(main())
