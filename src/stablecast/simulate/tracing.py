"""Turn the loop's trace rows into events of the shared schema."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stablecast.simulate.costs import PS_PER_US
from stablecast.simulate.result import Result
from stablecast.simulate.run import Progress, simulate
from stablecast.simulate.senders import sender_columns, sender_members
from stablecast.simulate.setup import Setup
from stablecast.trace.writer import TraceWriter

_KINDS = ["send", "receive", "stable", "release", "join"]
_DATA_EVENTS = 4
_JOIN = 4


def member_names(count: int) -> list[str]:
    """Name members so that the order of names is the order of numbers."""
    width = len(str(max(count - 1, 0)))
    return [f"m{number:0{width}d}" for number in range(count)]


def simulate_with_trace(
    setup: Setup, file: Path, *, group: str = "simulated", progress: Progress | None = None
) -> Result:
    """Run a simulation with data traffic and write what happened, one Parquet row an event.

    Every member joins at time 0; times are cut to whole microseconds.
    """
    count = setup.topology.member_count
    names = member_names(count)
    first_of_column = np.searchsorted(sender_columns(setup), np.arange(setup.column_count))
    leaders = sender_members(setup)[first_of_column]
    with TraceWriter(file, group=group) as writer:
        everyone = np.arange(count, dtype=np.int64)
        zeros = np.zeros(count, np.int64)
        writer.write(_KINDS, zeros + _JOIN, names, everyone, time_us=zeros)

        def take(rows: NDArray[np.int64]) -> None:
            data = rows[rows[:, 0] < _DATA_EVENTS]
            code, time_ps, member, column, seq, size = data.T
            writer.write(
                _KINDS,
                code,
                names,
                member,
                source=leaders[column],
                seq=seq,
                time_us=time_ps // PS_PER_US,
                size=size,
            )

        return simulate(setup, progress=progress, trace=take)
