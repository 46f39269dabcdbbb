"""Who holds the others back: members by how much memory they made everybody keep, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stablecast.report.analysis_gather import first_rows
from stablecast.report.analysis_section import Fact, Section
from stablecast.report.analysis_tables import Tables
from stablecast.report.analysis_trace import Trace
from stablecast.report.analysis_units import (
    SECOND,
    Pair,
    counted,
    duration,
    message_time,
    name_cell,
    names,
    percent,
    prefixed,
    prefixed_unit,
)
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.report.view import Cell

KEY = "laggards"
MOST_BARS, MOST_ROWS = 15, 50
NAME = "held back"
COLUMNS = ("group", "member", "completed_last", "held_us", "held_bytes_us")
ORDER = (
    *(("bytes_us", "descending"), ("held_us", "descending"), ("completed_last", "descending")),
    *(("group", "ascending"), ("member", "ascending")),
)


@dataclass(frozen=True)
class Laggard:
    """A member that was the last to receive some messages."""

    group: str
    member: str
    completed_last: int
    held_us: int
    held_bytes_us: int

    @property
    def pair(self) -> Pair:
        """Its group and its name."""
        return self.group, self.member


@dataclass(frozen=True)
class Laggards:
    """All of them."""

    worst: list[Laggard]
    """By bytes times time where sizes are known, then by time; at most ``MOST_ROWS``."""
    count: int

    @property
    def sized(self) -> bool:
        """Whether the sizes of messages are known."""
        return any(one.held_bytes_us for one in self.worst)


def read_laggards(tables: Tables) -> Laggards:
    """Return the members that held back most."""
    found = first_rows(
        (
            batch.append_column("bytes_us", pc.cast(batch.column("held_bytes_us"), pa.float64()))
            for batch in tables.batches("laggards", COLUMNS)
        ),
        ORDER,
        MOST_ROWS,
    )
    rows = [] if found is None else found.select(COLUMNS).to_pylist()
    return Laggards(
        worst=[Laggard(**{**row, "held_bytes_us": int(row["held_bytes_us"] or 0)}) for row in rows],
        count=tables.rows("laggards"),
    )


def laggards_section(trace: Trace, laggards: Laggards, stable: int) -> Section:
    """Return the section on who holds back whom."""
    if not laggards.worst:
        return Section(
            key=KEY, title="Who holds back", words=("No message became stable, so nobody was the last.",)
        )
    words = [
        "Of each stable message somebody was the last to receive it. What it held back is the time by which"
        " it came after the one before it, summed over these messages"
        + (
            " and weighted with their sizes."
            if laggards.sized
            else "; the sizes of the messages are not known."
        )
    ]
    if not any(one.held_us for one in laggards.worst):
        words.append("Here nobody came after anyone else.")
        return Section(key=KEY, title="Who holds back", words=tuple(words))
    return Section(
        key=KEY,
        title="Who holds back",
        words=(*words, _worst_words(trace, laggards, stable)),
        figures=(_figure(trace, laggards),) if len(laggards.worst) > 1 else (),
        tables=(_table(trace, laggards, stable),),
    )


def laggards_fact(trace: Trace, laggards: Laggards) -> Fact:
    """Return the member that held back most."""
    if not laggards.worst or not laggards.worst[0].held_us:
        return Fact(name="Held back most by", value="nobody", section=KEY)
    worst = laggards.worst[0]
    return Fact(
        name="Held back most by",
        value=trace.named(worst.pair),
        note=f"{_held(worst, laggards.sized)}; last to receive {counted(worst.completed_last, 'message')}",
        section=KEY,
    )


def _worst_words(trace: Trace, laggards: Laggards, stable: int) -> str:
    worst = laggards.worst[0]
    return (
        f"{trace.named(worst.pair)} held {_held(worst, laggards.sized)}: it was the last to receive"
        f" {counted(worst.completed_last, 'message')} of {stable:,}, on average"
        f" {duration(worst.held_us / max(1, worst.completed_last))} after the one before it."
    )


def _held(laggard: Laggard, sized: bool) -> str:
    return prefixed(laggard.held_bytes_us / SECOND, "B·s") if sized else message_time(laggard.held_us)


def _figure(trace: Trace, laggards: Laggards) -> Figure:
    # The first place of an axis is at the bottom, and the worst should be at the top.
    shown = laggards.worst[:MOST_BARS][::-1]
    members = tuple(names([one.pair for one in shown], groups=trace.grouped))
    y = Axis("member", names=members)
    panels = [
        _panel(
            "Time held back", Axis("messages × time [message·s]"), y, [one.held_us / SECOND for one in shown]
        ),
        _panel("Last to receive", Axis("messages"), y, [float(one.completed_last) for one in shown]),
    ]
    if laggards.sized:
        amounts = [one.held_bytes_us / SECOND for one in shown]
        unit = prefixed_unit(max(amounts), "B·s")
        axis = Axis(f"bytes × time [{unit.name}]")
        panels[0] = _panel("Memory held back", axis, y, [unit.of(amount) for amount in amounts])
    omitted = laggards.count - len(shown)
    rest = f" {counted(omitted, 'member')} that held back less left out." if omitted else ""
    return Figure(
        key=KEY,
        title="Members that hold back",
        caption="Left: what nobody could delete because this member came last. Right: how often it came last."
        + rest,
        panels=tuple(panels),
    )


def _panel(title: str, x: Axis, y: Axis, values: list[float]) -> Panel:
    places = tuple(float(k) for k in range(len(values)))
    return Panel(
        title=title, x=x, y=y, series=(Series(name=NAME, x=tuple(values), y=places, style="across"),)
    )


def _table(trace: Trace, laggards: Laggards, stable: int) -> Table:
    omitted = laggards.count - len(laggards.worst)
    columns = (
        "member",
        *(("bytes × time",) if laggards.sized else ()),
        "messages × time",
        "last of",
        "share",
        "each",
    )
    return Table(
        key="laggards",
        title="Members by what they held back",
        columns=("group", *columns) if trace.grouped else columns,
        rows=tuple(_row(trace, one, laggards.sized, stable) for one in laggards.worst),
        note="Last of: messages that it was the last to receive, also as a share of the stable ones. Each:"
        " how long it came after the one before it, on average."
        + (f" {counted(omitted, 'member')} that held back less left out." if omitted else ""),
    )


def _row(trace: Trace, one: Laggard, sized: bool, stable: int) -> tuple[Any, ...]:
    row: list[Any] = [name_cell(one.group)] if trace.grouped else []
    row.append(name_cell(one.member))
    if sized:
        amount = prefixed(one.held_bytes_us / SECOND, "B·s")
        row.append(Cell(amount, title=f"{one.held_bytes_us:,} B·µs", number=True))
    return (
        *row,
        Cell(message_time(one.held_us), title=f"{one.held_us:,} µs", number=True),
        one.completed_last,
        Cell(percent(one.completed_last, stable), number=True),
        Cell(duration(one.held_us / max(1, one.completed_last)), number=True),
    )
