"""Who holds the others back: members by how much memory they made everybody keep, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    Unit,
    digits,
    duration,
    long_unit,
    name_cell,
    names,
    percent,
    prefixed,
    prefixed_unit,
)
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.report.view import Cell
from stablecast.words import counted

KEY = "laggards"
MOST_BARS, MOST_ROWS = 15, 50
NAME = "held back"
COLUMNS = ("group", "member", "completed_last", "held_us", "held_bytes_us")
ORDER = (
    *(("bytes_us", "descending"), ("amount_us", "descending"), ("completed_last", "descending")),
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


@dataclass(frozen=True, kw_only=True)
class Told:
    """How it is told: of messages that members receive, or of numbers that readers reach."""

    thing: str = "message"
    who: str = "member"
    per: Unit = field(default_factory=lambda: Unit("s", SECOND))
    """The time that amounts are multiplied with."""
    title: str = "Who holds back"
    nobody: str = "No message became stable, so nobody was the last."
    meaning: str = (
        "Of each stable message somebody was the last to receive it. What it held back is the time by which"
        " it came after the one before it, summed over these messages"
    )
    sized: str = " and weighted with their sizes."
    unsized: str = "; the sizes of the messages are not known."
    none_held: str = "Here nobody came after anyone else."
    fact: str = "{held}; last to receive {count}"
    worst: str = (
        "{name} held {held}: it was the last to receive {count} of {stable:,}, on average {each} after the"
        " one before it."
    )
    caption: str = (
        "Left: what nobody could delete because this member came last. Right: how often it came last."
    )
    completed: str = "Last to receive"
    columns: tuple[str, ...] = ("last of", "share", "each")
    alike: bool = False
    """Whether messages are as many as bytes, so that one column tells both."""
    note: str = (
        "Last of: messages that it was the last to receive, also as a share of the stable ones. Each:"
        " how long it came after the one before it, on average."
    )

    @property
    def time(self) -> str:
        """The unit of messages or numbers times how long."""
        return f"{self.thing}·{self.per.name}"

    def held(self, laggard: Laggard, sized: bool) -> str:
        """Return how much somebody held back."""
        if sized:
            return prefixed(laggard.held_bytes_us / self.per.size, f"B·{self.per.name}")
        return f"{digits(laggard.held_us / self.per.size)} {self.time}"


OF_MESSAGES = Told()


def told_of_positions(trace: Trace) -> Told:
    """Return how it is told of numbers that readers reach."""
    return Told(
        thing="number",
        who="reader",
        per=long_unit(trace.span_us),
        title="What it cost",
        nobody="Nobody was waited for alone, so nothing was kept for one reader only.",
        meaning="What a reader cost is what had to be kept for it alone: all that every other reader had and"
        " it had not, times how long",
        sized=", in bytes × time.",
        unsized=", in numbers × time: 60 numbers that wait for one reader for a minute make 3,600 number·s,"
        " or 1 number·h.",
        none_held="Here nobody was waited for alone.",
        fact="{held} kept for this reader alone",
        worst="{name} cost {held}. The frontier moved on by {count} of {stable:,} after waiting for it.",
        caption="Left: what had to be kept for this reader alone. Right: by how many numbers the frontier"
        " moved on after it had waited for this reader.",
        completed="Waited for",
        columns=("waited for", "share"),
        alike=True,
        note="Waited for: numbers by which the frontier moved on after it had waited for this reader, also as"
        " a share of all that are safe to delete.",
    )


def read_laggards(tables: Tables) -> Laggards:
    """Return the members that held back most."""
    found = first_rows(map(_sortable, tables.batches("laggards", COLUMNS)), ORDER, MOST_ROWS)
    rows = [] if found is None else found.select(COLUMNS).to_pylist()
    return Laggards(
        worst=[
            Laggard(**{**row, **{name: int(row[name] or 0) for name in ("held_us", "held_bytes_us")}})
            for row in rows
        ],
        count=tables.rows("laggards"),
    )


def _sortable(batch: pa.Table) -> pa.Table:
    """Add the amounts as numbers that can be sorted, which decimals cannot everywhere."""
    held = batch.column("held_us")
    amount = pc.cast(held, pa.float64()) if pa.types.is_decimal(held.type) else held
    batch = batch.append_column("amount_us", amount)
    return batch.append_column("bytes_us", pc.cast(batch.column("held_bytes_us"), pa.float64()))


def laggards_section(trace: Trace, laggards: Laggards, stable: int, told: Told = OF_MESSAGES) -> Section:
    """Return the section on who holds back whom."""
    if not laggards.worst:
        return Section(key=KEY, title=told.title, words=(told.nobody,))
    words = [told.meaning + (told.sized if laggards.sized else told.unsized)]
    if not any(one.held_us for one in laggards.worst):
        words.append(told.none_held)
        return Section(key=KEY, title=told.title, words=tuple(words))
    return Section(
        key=KEY,
        title=told.title,
        words=(*words, _worst_words(trace, laggards, stable, told)),
        figures=(_figure(trace, laggards, told),) if len(laggards.worst) > 1 else (),
        tables=(_table(trace, laggards, stable, told),),
    )


def laggards_fact(trace: Trace, laggards: Laggards, told: Told = OF_MESSAGES) -> Fact:
    """Return the member that held back most."""
    if not laggards.worst or not laggards.worst[0].held_us:
        return Fact(name="Held back most by", value="nobody", section=KEY)
    worst = laggards.worst[0]
    return Fact(
        name="Held back most by",
        value=trace.named(worst.pair),
        note=told.fact.format(
            held=told.held(worst, laggards.sized), count=counted(worst.completed_last, told.thing)
        ),
        section=KEY,
    )


def _worst_words(trace: Trace, laggards: Laggards, stable: int, told: Told) -> str:
    worst = laggards.worst[0]
    return told.worst.format(
        name=trace.named(worst.pair),
        held=told.held(worst, laggards.sized),
        count=counted(worst.completed_last, told.thing),
        stable=stable,
        each=duration(worst.held_us / max(1, worst.completed_last)),
    )


def _figure(trace: Trace, laggards: Laggards, told: Told) -> Figure:
    # The first place of an axis is at the bottom, and the worst should be at the top.
    shown = laggards.worst[:MOST_BARS][::-1]
    members = tuple(names([one.pair for one in shown], groups=trace.grouped))
    y = Axis(told.who, names=members)
    panels = [
        _panel(
            "Time held back",
            Axis(f"{told.thing}s × time [{told.time}]"),
            y,
            [told.per.of(one.held_us) for one in shown],
        ),
        _panel(told.completed, Axis(f"{told.thing}s"), y, [float(one.completed_last) for one in shown]),
    ]
    if laggards.sized:
        amounts = [told.per.of(one.held_bytes_us) for one in shown]
        unit = prefixed_unit(max(amounts), f"B·{told.per.name}")
        axis = Axis(f"bytes × time [{unit.name}]")
        panels[0] = _panel("Memory held back", axis, y, [unit.of(amount) for amount in amounts])
    omitted = laggards.count - len(shown)
    rest = f" {counted(omitted, told.who)} that held back less left out." if omitted else ""
    return Figure(
        key=KEY,
        title=f"{told.who.capitalize()}s that hold back",
        caption=told.caption + rest,
        panels=tuple(panels),
    )


def _panel(title: str, x: Axis, y: Axis, values: list[float]) -> Panel:
    places = tuple(float(k) for k in range(len(values)))
    return Panel(
        title=title, x=x, y=y, series=(Series(name=NAME, x=tuple(values), y=places, style="across"),)
    )


def _table(trace: Trace, laggards: Laggards, stable: int, told: Told) -> Table:
    omitted = laggards.count - len(laggards.worst)
    amounts = [*(["bytes × time"] if laggards.sized else []), f"{told.thing}s × time"]
    columns = (told.who, *amounts[: 1 if told.alike else 2], *told.columns)
    return Table(
        key="laggards",
        title=f"{told.who.capitalize()}s by what they held back",
        columns=("group", *columns) if trace.grouped else columns,
        rows=tuple(_row(trace, one, laggards.sized, stable, told) for one in laggards.worst),
        note=told.note + (f" {counted(omitted, told.who)} that held back less left out." if omitted else ""),
    )


def _row(trace: Trace, one: Laggard, sized: bool, stable: int, told: Told) -> tuple[Any, ...]:
    row: list[Any] = [name_cell(one.group)] if trace.grouped else []
    row.append(name_cell(one.member))
    if sized:
        row.append(Cell(told.held(one, sized), title=f"{one.held_bytes_us:,} B·µs", number=True))
    if not (sized and told.alike):
        row.append(Cell(told.held(one, sized=False), title=f"{one.held_us:,} µs", number=True))
    each = Cell(duration(one.held_us / max(1, one.completed_last)), number=True)
    return (
        *row,
        one.completed_last,
        Cell(percent(one.completed_last, stable), number=True),
        *((each,) if "each" in told.columns else ()),
    )
