"""Frontiers against heads, for an analysis of positions: over time, and as a table of sources."""

from __future__ import annotations

from typing import Any

from stablecast.report.analysis_curves import read_head_curves
from stablecast.report.analysis_frontiers import MOST_PANELS, Lines, frontier_figure, waits_cell
from stablecast.report.analysis_groups import amount_cell
from stablecast.report.analysis_section import Section
from stablecast.report.analysis_sources import Source, Sources, has_own_groups
from stablecast.report.analysis_tables import Tables
from stablecast.report.analysis_trace import Trace
from stablecast.report.analysis_units import name_cell
from stablecast.report.table import Table
from stablecast.report.view import Cell
from stablecast.words import counted

KEY = "frontiers"
TITLE = "Frontier against head"
CAPTION = (
    "Between the two lines is what is retained: every reader has everything up to the lower one, the"
    " frontier, and the upper one is the head. Where the frontier is level, it waits for a reader. How far"
    " the head was is known where the frontier moved and at the end; between these it is drawn straight."
)
HEADS = Lines(
    title="Frontier and head over time",
    caption=CAPTION,
    number="number",
    sent="head",
    stable="frontier",
    sent_style="line",
)
NO_HEADS = (
    " Where sends are missing, the largest position of any reader stands for the head: this is the frontier"
    " among readers only."
)


def heads_section(tables: Tables, trace: Trace, sources: Sources, *, sized: bool) -> Section:
    """Return the section on how frontiers followed heads."""
    shown = [one for one in sources.held_back if one.messages][:MOST_PANELS]
    if not shown:
        return Section(key=KEY, title=TITLE, words=("Nothing was sent.",))
    caption = CAPTION + (NO_HEADS if any(one.heads_missing for one in shown) else "")
    curves = read_head_curves(tables, trace, shown)
    return Section(
        key=KEY,
        title=TITLE,
        words=_words(sources),
        figures=(
            frontier_figure(
                trace,
                curves,
                sources.count,
                HEADS._replace(caption=caption, groups=has_own_groups(trace, shown)),
            ),
        ),
        tables=(_table(trace, sources, sized=sized),),
    )


def _words(sources: Sources) -> tuple[str, ...]:
    held = [one for one in sources.held_back if one.left]
    if not held:
        return ("No source retains anything: every frontier is at its head.",)
    more = "At least " if len(held) == len(sources.held_back) < sources.count else ""
    return (
        f"{more}{counted(len(held), 'source')} of {sources.count:,}"
        f" {'retains' if len(held) == 1 else 'retain'} something that a reader still lacks.",
    )


def _table(trace: Trace, sources: Sources, *, sized: bool) -> Table:
    omitted = sources.count - len(sources.held_back)
    columns = ("source", "head", "safe up to", "since", "retained", "oldest", "waits for")
    missing = any(one.heads_missing for one in sources.held_back)
    return Table(
        key="sources",
        title="Sources, those that retain most first",
        columns=("group", *columns) if trace.grouped else columns,
        rows=tuple(_row(trace, one, sized) for one in sources.held_back),
        note="Since: how long before the end the frontier came to where it is. Oldest: how long before the"
        " end the oldest was sent that is retained. Pointing at either shows when that was."
        + (" A head in brackets is missing: it is the largest position of any reader." if missing else "")
        + (f" {counted(omitted, 'source')} that retain as much or less left out." if omitted else ""),
    )


def _row(trace: Trace, one: Source, sized: bool) -> tuple[Any, ...]:
    head = "nothing" if not one.messages else f"{one.last_seq:,}"
    return (
        *((name_cell(one.group),) if trace.grouped else ()),
        name_cell(one.name),
        Cell(f"({head})" if one.heads_missing else head, number=True),
        Cell("nothing" if one.stable_seq is None else f"{one.stable_seq:,}", number=True),
        _until_end(trace, one.stable_us),
        amount_cell(one.left, sized=sized),
        _until_end(trace, one.oldest_us),
        waits_cell(one),
    )


def _until_end(trace: Trace, us: int | None) -> Cell:
    return Cell("–", number=True) if us is None else trace.until_end(us)
