"""What members held: over time where the analysis has it, and the peaks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stablecast.report.analysis_gather import Integers, first_rows
from stablecast.report.analysis_occupancy import MOST_MEMBERS, Held, Occupancy, read_occupancy
from stablecast.report.analysis_section import Fact, Section
from stablecast.report.analysis_tables import Tables
from stablecast.report.analysis_trace import Trace
from stablecast.report.analysis_units import (
    Pair,
    Unit,
    digits,
    message_time,
    name_cell,
    names,
    prefixed,
    prefixed_unit,
)
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.report.view import Cell
from stablecast.words import counted

KEY = "buffers"
MOST_CURVES, MOST_ROWS = 6, 50
TOTAL = "all members"
COLUMNS = ("group", "member", "messages_max", "bytes_max", "message_us")
ORDER = (
    *(("bytes_max", "descending"), ("messages_max", "descending"), ("message_us", "descending")),
    *(("group", "ascending"), ("member", "ascending")),
)


@dataclass(frozen=True)
class Buffer:
    """What one member held at most, and all in all."""

    group: str
    member: str
    messages_max: int
    bytes_max: int
    message_us: int

    @property
    def pair(self) -> Pair:
        """Its group and its name."""
        return self.group, self.member


@dataclass(frozen=True)
class Buffers:
    """The members that held anything."""

    largest: list[Buffer]
    """By peak in bytes, then in messages; at most ``MOST_ROWS``."""
    count: int

    @property
    def sized(self) -> bool:
        """Whether the sizes of messages are known."""
        return any(one.bytes_max for one in self.largest)


def read_buffers(tables: Tables) -> Buffers:
    """Return the members with the largest peaks."""
    found = first_rows(tables.batches("buffers", COLUMNS), ORDER, MOST_ROWS)
    rows = [] if found is None else found.to_pylist()
    return Buffers(
        largest=[
            Buffer(row["group"], row["member"], *(row[name] or 0 for name in COLUMNS[2:])) for row in rows
        ],
        count=tables.rows("buffers"),
    )


def buffers_section(tables: Tables, trace: Trace, buffers: Buffers, *, released: bool) -> Section:
    """Return the section on what members held."""
    if not buffers.largest:
        return Section(key=KEY, title="Buffers", words=("No member held a message.",))
    words = ["A member holds a message from its sending or receipt until it releases it or leaves."]
    if not released:
        words.append(
            "Nobody releases a message in this trace, so members are taken to hold what they have until they"
            " leave or the trace ends."
        )
    if not tables.has("occupancy"):
        words.append(
            "This analysis has no table of occupancy, so only the peaks are shown, not their course."
        )
    return Section(
        key=KEY,
        title="Buffers",
        words=tuple(words),
        figures=(_figure(trace, buffers, _occupancy(tables, trace, buffers)),)
        if tables.has("occupancy")
        else (),
        tables=(_table(trace, buffers),),
    )


def buffers_fact(trace: Trace, buffers: Buffers) -> Fact:
    """Return the largest peak of one member."""
    if not buffers.largest:
        return Fact(name="Largest buffer", value="empty", section=KEY)
    peak = buffers.largest[0]
    messages = counted(peak.messages_max, "message")
    return Fact(
        name="Largest buffer",
        value=prefixed(peak.bytes_max, "B") if buffers.sized else messages,
        note=(f"{messages} " if buffers.sized else "") + f"at {trace.named(peak.pair)}",
        section=KEY,
    )


def _occupancy(tables: Tables, trace: Trace, buffers: Buffers) -> Occupancy:
    shown = [one.pair for one in buffers.largest[:MOST_CURVES]]
    everybody: list[Pair] = []
    if buffers.count <= MOST_MEMBERS:
        for batch in tables.batches("buffers", ("group", "member")):
            everybody += zip(
                batch.column("group").to_pylist(), batch.column("member").to_pylist(), strict=True
            )
    return read_occupancy(tables, trace, shown, everybody)


def _figure(trace: Trace, buffers: Buffers, occupancy: Occupancy) -> Figure:
    panels = _panels(trace, occupancy, "messages", lambda held: held.messages)
    if buffers.sized:
        panels += _panels(trace, occupancy, "bytes", lambda held: held.bytes)
    omitted = buffers.count - len(occupancy.members)
    rest = f" The curves of {counted(omitted, 'member')} with smaller peaks are left out." if omitted else ""
    added = "" if occupancy.total else " There are too many members to add them up."
    return Figure(
        key="occupancy",
        title="What was held over time",
        caption="Read at the end of short cells of time, so a peak between two of them is higher in the table"
        f" than here.{rest}{added}",
        panels=tuple(panels),
    )


def _panels(trace: Trace, occupancy: Occupancy, what: str, take: Callable[[Held], Integers]) -> list[Panel]:
    """Return a panel for all together, if they are known, and one for those with the largest peaks."""
    labels = names(list(occupancy.members), groups=trace.grouped)
    curves = {label: take(held) for label, held in zip(labels, occupancy.members.values(), strict=True)}
    parts = [("Members with the largest peaks", curves)]
    if occupancy.total is not None and len(curves) > 1:
        parts.insert(0, ("All members together", {TOTAL: take(occupancy.total)}))
    panels = []
    for title, lines in parts:
        unit = _unit(what, list(lines.values()))
        panels.append(
            Panel(
                title=title if len(curves) > 1 else "The only member",
                x=Axis(f"time [{trace.unit.name}]"),
                y=Axis(f"held [{unit.name}]"),
                series=tuple(
                    _series(name, trace, occupancy.times_us, line, unit) for name, line in lines.items()
                ),
            )
        )
    return panels


def _unit(what: str, lines: Sequence[Integers]) -> Unit:
    peak = max((int(line.max()) for line in lines), default=0)
    return prefixed_unit(peak, "B") if what == "bytes" else Unit("messages", 1.0)


def _series(name: str, trace: Trace, times: Sequence[int], held: Integers, unit: Unit) -> Series:
    """Return a line with a point where it changes, and at both ends."""
    changes = [int(k) for k in np.flatnonzero(np.diff(held, prepend=-1))]
    kept = [*changes, len(held) - 1] if changes[-1] < len(held) - 1 else changes
    return Series(
        name=name,
        x=tuple(trace.at(times[k]) for k in kept),
        y=tuple(unit.of(int(held[k])) for k in kept),
        style="steps",
    )


def _table(trace: Trace, buffers: Buffers) -> Table:
    omitted = buffers.count - len(buffers.largest)
    columns = ("member", "peak", *(("peak bytes",) if buffers.sized else ()), "messages × time", "on average")
    return Table(
        key="buffers",
        title="Members by their largest buffer",
        columns=("group", *columns) if trace.grouped else columns,
        rows=tuple(_row(trace, one, buffers.sized) for one in buffers.largest),
        note="Peak: the most messages held at any instant. On average: messages held, over the whole trace."
        + (f" {counted(omitted, 'member')} with smaller peaks left out." if omitted else ""),
    )


def _row(trace: Trace, one: Buffer, sized: bool) -> tuple[Any, ...]:
    row: list[Any] = [name_cell(one.group)] if trace.grouped else []
    row += [name_cell(one.member), one.messages_max]
    if sized:
        row.append(Cell(prefixed(one.bytes_max, "B"), title=f"{one.bytes_max:,} bytes", number=True))
    return (
        *row,
        Cell(message_time(one.message_us), title=f"{one.message_us:,} µs", number=True),
        Cell(digits(one.message_us / trace.span_us), number=True),
    )
