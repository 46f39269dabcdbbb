"""What may be deleted: the stable prefix of each source against what it has sent, over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stablecast.report.analysis_curves import CELLS, Curve, Curves, read_curves
from stablecast.report.analysis_section import Fact, Section
from stablecast.report.analysis_sources import Source, Sources
from stablecast.report.analysis_tables import Tables
from stablecast.report.analysis_trace import Trace
from stablecast.report.analysis_units import clean, listed, name_cell, names, percent, short
from stablecast.report.figure import Axis, Figure, Panel, Series, Style
from stablecast.report.table import Table
from stablecast.report.view import Cell
from stablecast.words import counted

KEY = "safe-to-delete"
MOST_PANELS, MOST_LINES = 12, 6


def frontiers_section(tables: Tables, trace: Trace, sources: Sources) -> Section:
    """Return the section on what may be deleted."""
    if not sources.count:
        return Section(key=KEY, title="Safe to delete", words=("No message was sent.",))
    curves = read_curves(tables, trace, sources.held_back[:MOST_PANELS])
    return Section(
        key=KEY,
        title="Safe to delete",
        words=_words(sources),
        figures=(frontier_figure(trace, curves, sources.count), _kept_figure(trace, curves[:MOST_LINES])),
        tables=(_table(trace, sources),),
    )


def deletable_fact(trace: Trace, sources: Sources, messages: int) -> Fact:
    """Return how much may be deleted; of a single source, up to where."""
    if not messages:
        return Fact(name="Safe to delete", value="nothing", note="no message was sent", section=KEY)
    value = f"{sources.deletable:,} of {messages:,}"
    note = f"{percent(sources.deletable, messages)} of the messages"
    if sources.count == 1:
        [source] = sources.held_back
        value = "nothing" if source.stable_seq is None else f"up to {source.stable_seq:,}"
        note = f"{sources.deletable:,} of {messages:,} messages"
    waits = [source for source in sources.held_back if source.left]
    if waits and (waiting := waits[0].waiting) is not None and waiting.count:
        of = "" if sources.count == 1 else f" of {trace.named(waits[0].pair)}"
        note += f"; the next{of} waits for {people(waiting.names, waiting.count)}"
    return Fact(name="Safe to delete", value=value, note=note, section=KEY)


class Lines(NamedTuple):
    """How the two lines of the figure are told and drawn."""

    title: str = "Stable prefix against what was sent"
    caption: str = (
        "Between the two lines are the messages that have to be kept: every member has everything up to the"
        " lower line. Where it is level, one message holds back all that follow."
    )
    number: str = "message number"
    sent: str = "sent"
    stable: str = "stable"
    sent_style: Style = "steps"
    groups: bool | None = None
    """Whether sources are told with their groups; None if they are where there are several."""


MESSAGE_LINES = Lines()


def frontier_figure(
    trace: Trace, curves: Sequence[Curves], count: int, lines: Lines = MESSAGE_LINES
) -> Figure:
    """Return a panel for each of some sources, of as many as there are: what it sent, and what is stable."""
    groups = trace.grouped if lines.groups is None else lines.groups
    titles = names([one.source.pair for one in curves], groups=groups)
    panels = tuple(_panel(trace, one, title, lines) for one, title in zip(curves, titles, strict=True))
    omitted = count - len(curves)
    rest = (
        f" Shown are the {len(curves)} sources that are held back most; {counted(omitted, 'other')} left out."
        if omitted
        else ""
    )
    return Figure(
        key="frontiers",
        title=lines.title,
        caption=f"{lines.caption}{rest}",
        panels=panels,
    )


def _panel(trace: Trace, curves: Curves, title: str, lines: Lines) -> Panel:
    return Panel(
        title=title,
        x=Axis(f"time [{trace.unit.name}]"),
        y=Axis(lines.number),
        series=(
            _line(lines.sent, trace, curves.sent, lines.sent_style),
            _line(lines.stable, trace, curves.stable),
        ),
    )


def _line(name: str, trace: Trace, curve: Curve, style: Style = "steps") -> Series:
    return Series(
        name=name,
        x=tuple(trace.at(int(time)) for time in curve.times),
        y=tuple(float(number) for number in curve.numbers),
        style=style,
    )


def _kept_figure(trace: Trace, curves: Sequence[Curves]) -> Figure:
    labels = names([one.source.pair for one in curves], groups=trace.grouped)
    panel = Panel(
        title="Sent but not in the stable prefix",
        x=Axis(f"time [{trace.unit.name}]"),
        y=Axis("messages"),
        series=tuple(_kept(trace, one, label) for one, label in zip(curves, labels, strict=True)),
    )
    return Figure(
        key="kept",
        title="Messages to keep, over time",
        caption="The distance of the two lines above, at the end of short cells of time. It is level where"
        " messages become stable as fast as they are sent, and rises where one holds back those behind it.",
        panels=(panel,),
    )


def _kept(trace: Trace, curves: Curves, name: str) -> Series:
    ends = [trace.first_us + k * trace.span_us // CELLS for k in range(CELLS + 1)]
    kept = curves.kept(np.array(ends, dtype=np.int64))
    return Series(name=name, x=tuple(map(trace.at, ends)), y=tuple(map(float, kept)), style="steps")


def _words(sources: Sources) -> tuple[str, ...]:
    held = [source for source in sources.held_back if source.left]
    if not held:
        return (
            "Every message that was sent may be deleted: each is at every member that had to receive it.",
        )
    more = "At least " if len(held) == len(sources.held_back) < sources.count else ""
    words = [
        "A source's messages may be deleted up to the end of its stable prefix: all numbers up to there are"
        f" at every member that had to receive them. {more}{counted(len(held), 'source')} of"
        f" {sources.count:,} still {'has' if len(held) == 1 else 'have'} messages that must be kept."
    ]
    if held[0].waiting is None:
        words.append("This analysis does not tell whom the others wait for: it has no table of sources.")
    return tuple(words)


def _table(trace: Trace, sources: Sources) -> Table:
    shown = sources.held_back
    told = any(source.waiting is not None for source in shown)
    omitted = sources.count - len(shown)
    columns = (
        "source",
        "messages",
        "numbers",
        "safe up to",
        "since",
        "to keep",
        *(("waits for",) if told else ()),
    )
    return Table(
        key="sources",
        title="Sources, those held back most first",
        columns=("group", *columns) if trace.grouped else columns,
        rows=tuple(_row(trace, source, told) for source in shown),
        note=f"{counted(omitted, 'source')} with less to keep or shorter waits left out." if omitted else "",
    )


def _row(trace: Trace, source: Source, told: bool) -> tuple[Any, ...]:
    row: list[Any] = [name_cell(source.group)] if trace.grouped else []
    row += [
        name_cell(source.name),
        source.messages,
        Cell(f"{source.first_seq:,} to {source.last_seq:,}", number=True),
        Cell("nothing", number=True) if source.stable_seq is None else source.stable_seq,
        Cell("–", number=True) if source.stable_us is None else trace.moment(source.stable_us),
        source.left,
    ]
    return (*row, waits_cell(source)) if told else tuple(row)


def waits_cell(source: Source) -> Cell:
    """Return whom a source waits for."""
    waiting = source.waiting
    if not source.left or waiting is None:
        return Cell("–")
    if waiting.count:
        return Cell(people(waiting.names, waiting.count), title=", ".join(map(clean, waiting.names)))
    # Had it been sent, somebody would lack it.
    missing = "the first number" if source.stable_seq is None else f"number {source.stable_seq + 1:,}"
    return Cell(f"{missing}, which was never sent")


def people(some: Sequence[str], count: int) -> str:
    """Return names in a sentence; of many, the first few and how many more."""
    shown = [short(name) for name in some[:4]]
    if not shown:
        return counted(count, "member")
    more = count - len(shown)
    return listed([*shown, counted(more, "other")] if more > 0 else shown)
