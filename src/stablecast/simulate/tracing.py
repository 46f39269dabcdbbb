"""Turn the loop's trace rows into events of the shared schema."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stablecast.protocols.contract import Protocol
from stablecast.simulate.costs import PS_PER_US
from stablecast.simulate.result import Result
from stablecast.simulate.run import Progress, simulate
from stablecast.simulate.senders import sender_columns, sender_members
from stablecast.simulate.setup import Setup
from stablecast.simulate.state import DATA_KINDS
from stablecast.simulate.timer_rows import TIMER_NAMES
from stablecast.simulate.trace_rows import HANDLE_EVENT, NONE, REPAIR, ROW
from stablecast.trace.schema import WIRE_KINDS
from stablecast.trace.writer import NULL, TraceWriter, WireRows

_KINDS = ["send", "receive", "stable", "release", "join", *WIRE_KINDS]
"""By the codes of rows; the one of messages handled, which no trace tells, is that of members that join."""
_JOIN = HANDLE_EVENT

Ints = NDArray[np.int64]


def member_names(count: int) -> list[str]:
    """Name members so that the order of names is the order of numbers."""
    width = len(str(max(count - 1, 0)))
    return [f"m{number:0{width}d}" for number in range(count)]


def simulate_with_trace(
    setup: Setup,
    file: Path,
    *,
    group: str = "simulated",
    progress: Progress | None = None,
    wire: bool = False,
) -> Result:
    """Run a simulation and write what happened to its data traffic, one Parquet row an event.

    Every member joins at time 0; times are cut to whole microseconds.  With ``wire`` the trace also tells
    what members transmit, what arrives and which timers go off (see :mod:`stablecast.trace.schema`).
    """
    with TraceWriter(file, group=group, wire=wire) as writer:
        rows = _Rows(setup, writer)
        rows.join()
        return simulate(setup, progress=progress, trace=rows.take, wire=wire)


class _Rows:
    """Writes the rows of one run."""

    def __init__(self, setup: Setup, writer: TraceWriter) -> None:
        self._writer = writer
        self._members = member_names(setup.topology.member_count)
        first_of_column = np.searchsorted(sender_columns(setup), np.arange(setup.column_count))
        self._leaders = sender_members(setup)[first_of_column]
        self._messages = message_names(setup.found_protocol)

    def join(self) -> None:
        """Write that every member joins."""
        everyone = np.arange(len(self._members), dtype=np.int64)
        zeros = np.zeros_like(everyone)
        wire = None
        if self._writer.wire:
            rows = np.full((everyone.size, len(ROW)), NONE, np.int64)
            rows[:, ROW.index("step")] = 0
            wire = self._wire(rows)
        self._writer.write(_KINDS, zeros + _JOIN, self._members, everyone, time_us=zeros, wire=wire)

    def take(self, rows: Ints) -> None:
        """Write rows of the loop."""
        rows = rows[rows[:, 0] != HANDLE_EVENT]
        code, time_ps, member, column, seq, size = rows[:, :6].T
        # Rows of messages name their column, and those of a wire trace its leader.
        of_message = code < HANDLE_EVENT
        source = np.where(of_message, self._leaders[np.where(of_message, column, 0)], column)
        self._writer.write(
            _KINDS,
            code,
            self._members,
            member,
            source=source,
            seq=seq,
            time_us=time_ps // PS_PER_US,
            size=size,
            wire=self._wire(rows) if self._writer.wire else None,
        )

    def _wire(self, rows: Ints) -> WireRows:
        told = dict(zip(ROW, rows.T, strict=True))
        return WireRows(
            step=told["step"],
            peer=told["peer"],
            messages=self._messages,
            message=told["kind"],
            number=told["number"],
            execution=told["execution"],
            first_seq=told["first_seq"],
            queue_us=_whole_us(told["queue_ps"]),
            service_us=_whole_us(told["service_ps"]),
            since_us=_whole_us(told["since_ps"]),
        )


def message_names(protocol: Protocol) -> list[str]:
    """Return the names of messages and timers by the numbers that they have in rows."""
    named = dict(enumerate(protocol.kinds)) | DATA_KINDS | {REPAIR: "REPAIR"} | TIMER_NAMES
    return [named.get(number, "") for number in range(max(named) + 1)]


def _whole_us(times_ps: Ints) -> Ints:
    return np.where(times_ps == NONE, NULL, times_ps // PS_PER_US)
