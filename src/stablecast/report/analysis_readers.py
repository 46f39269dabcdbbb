"""Readers of positions: how far behind each is and since when, and what could be deleted without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stablecast.report.analysis_blockers import blockers_figure
from stablecast.report.analysis_gather import first_rows, gather
from stablecast.report.analysis_groups import amount_cell
from stablecast.report.analysis_section import Fact, Section
from stablecast.report.analysis_sources import Sources
from stablecast.report.analysis_tables import POSITIONS, Tables
from stablecast.report.analysis_trace import Trace
from stablecast.report.analysis_units import duration, name_cell, prefixed, short
from stablecast.report.table import Table
from stablecast.report.view import Cell
from stablecast.words import counted

KEY = "readers"
TITLE = "Who stands in the way"
MOST_ROWS, MOST_SENTENCES = 15, 3
KEYS = ("group", "source")
COLUMNS = POSITIONS["readers"]
ORDER = (
    *(("freed", "descending"), ("blocking", "descending"), ("alone", "descending"), ("lag", "descending")),
    *(("group", "ascending"), ("source", "ascending"), ("member", "ascending")),
)
"""What it holds back now by itself, then with others, then what it has cost."""
ORDER_OF_ALL = (
    *(("freed", "descending"), ("blocking", "descending"), ("alone", "descending"), ("lag", "descending")),
    ("member", "ascending"),
)
WAITED_FOR = (("blocking", "descending"), ("freed", "descending"), ("member", "ascending"))


@dataclass(frozen=True)
class Reader:
    """One reader of one source; or of all sources, with all that have its name."""

    member: str
    lag: int | None
    """How many numbers it lacks, of all sources the most; None if it is gone."""
    behind_since_us: int | None
    """Since when it has lacked some, of all sources the earliest."""
    alone_us: int
    """How long it alone kept anything from being deleted, of all sources the longest."""
    freed: int
    """How many numbers more could be deleted without it."""
    blocking: int
    """How many sources wait for it now."""
    group: str = ""
    source: str = ""
    position: int | None = None
    stable_seq: int | None = None
    """Where the frontier is."""
    without_seq: int | None = None
    """Where it would be without this reader."""
    sources: int = 1
    groups: int = 1


@dataclass(frozen=True)
class Readers:
    """Readers that stand in the way most come first."""

    of_sources: list[Reader]
    """A row for a reader of one source; at most ``MOST_ROWS``."""
    rows: int
    """How many such rows there are."""
    of_all: list[Reader]
    """By name, over all sources; at most ``MOST_ROWS``."""
    count: int
    """How many names there are."""
    most_waited_for: Reader | None
    """Whom the most sources wait for."""


def read_readers(tables: Tables) -> Readers:
    """Read who is how far behind, source by source and over all sources."""
    frontiers = pa.concat_tables(
        [_no_frontiers(), *tables.batches("sources", (*KEYS, "first_seq", "stable_seq"))]
    )
    first = first_rows(_with_freed(tables, frontiers), ORDER, MOST_ROWS)
    sums = {name: (name, "sum") for name in ("freed", "blocking", "alone")}
    sums |= {"lag": ("lag", "max"), "behind_since_us": ("behind_since_us", "min")}
    sums |= {"alone_us": ("alone_us", "max")}
    in_groups = gather(
        _with_freed(tables, frontiers), ("group", "member"), {**sums, "sources": ("source", "count")}
    )
    by_name = {**sums, "sources": ("sources", "sum"), "groups": ("group", "count")}
    summed = None if in_groups is None else gather([in_groups], ("member",), by_name)
    if first is None or summed is None:
        return Readers(of_sources=[], rows=0, of_all=[], count=0, most_waited_for=None)
    ranked = first_rows([summed], ORDER_OF_ALL, MOST_ROWS)
    waited = first_rows([summed], WAITED_FOR, 1)
    worst = [_reader(row) for row in waited.to_pylist() if row["blocking"]] if waited is not None else []
    return Readers(
        of_sources=[_reader(row) for row in first.to_pylist()],
        rows=tables.rows("readers"),
        of_all=[_reader(row) for row in ranked.to_pylist()] if ranked is not None else [],
        count=summed.num_rows,
        most_waited_for=worst[0] if worst else None,
    )


def _no_frontiers() -> pa.Table:
    text, number = pa.string(), pa.int64()
    types = {"group": text, "source": text, "first_seq": number, "stable_seq": number}
    return pa.schema(list(types.items())).empty_table()


def _with_freed(tables: Tables, frontiers: pa.Table) -> Iterator[pa.Table]:
    """Yield readers with ``freed``: by how much the frontier would move on without each."""
    for batch in tables.batches("readers", COLUMNS):
        rows = batch.join(frontiers, list(KEYS))
        # A frontier that is null ends before the first number.
        before = pc.subtract(rows.column("first_seq"), 1)
        now, then = (pc.coalesce(rows.column(name), before) for name in ("stable_seq", "without_seq"))
        freed = pc.max_element_wise(pc.fill_null(pc.subtract(then, now), 0), 0)
        # Sums of many may be more than 64 bits hold.
        added = {
            "freed": pc.cast(freed, pa.float64()),
            "blocking": pc.cast(rows.column("blocks"), pa.int64()),
            "alone": pc.cast(rows.column("alone_numbers_us"), pa.float64()),
        }
        for name, column in added.items():
            rows = rows.append_column(name, column)
        yield rows


def _reader(row: dict[str, Any]) -> Reader:
    known = {name: row[name] for name in Reader.__dataclass_fields__ if name in row}
    return Reader(**{**known, "freed": round(row["freed"])})


def readers_section(
    tables: Tables, trace: Trace, readers: Readers, sources: Sources, *, sized: bool
) -> Section:
    """Return the section on who stands in the way since when."""
    if not readers.of_sources:
        words = "The log names no reader, so nothing has to be kept for any."
        return Section(key=KEY, title=TITLE, words=(words,))
    over_all = (_table_of_all(trace, readers, sized=sized),) if readers.rows > readers.count else ()
    figure = blockers_figure(tables, trace, sources)
    return Section(
        key=KEY,
        title=TITLE,
        words=_words(trace, readers, sized=sized),
        figures=() if figure is None else (figure,),
        tables=(*over_all, _table(trace, readers, sized=sized)),
    )


def way_fact(trace: Trace, readers: Readers, waiting: int, *, sized: bool) -> Fact:
    """Return whom the most sources wait for."""
    worst = readers.most_waited_for
    if worst is None:
        return Fact(name="In the way", value="nobody", tone="holds", section=KEY)
    since = (
        "" if worst.behind_since_us is None else f", behind for {trace.until_end(worst.behind_since_us).text}"
    )
    who = (
        "the only source that retains anything waits"
        if waiting == 1
        else f"{worst.blocking:,} of {waiting:,} sources that retain anything"
        f" {'waits' if worst.blocking == 1 else 'wait'}"
    )
    return Fact(
        name="In the way",
        value=short(worst.member),
        note=f"{who} for it{since}; without it {_freed(worst, sized)} more may be deleted",
        section=KEY,
    )


def _words(trace: Trace, readers: Readers, *, sized: bool) -> tuple[str, ...]:
    if readers.most_waited_for is None:
        return ("Nobody: every reader has all that was sent.",)
    alone = [one for one in readers.of_sources if one.freed]
    if not alone:
        return (
            "Of every source that retains anything the next number is lacked by several readers: no single"
            " one stands in the way alone, and without any one of them no frontier would move on.",
        )
    words = [_sentence(trace, one, sized=sized) for one in alone[:MOST_SENTENCES]]
    shared = [one for one in readers.of_all if one.blocking and not one.freed]
    if shared:
        names = [short(one.member) for one in shared[:MOST_SENTENCES]]
        more = len(shared) - len(names)
        told = ", ".join(names) + (f" and {counted(more, 'other')}" if more else "")
        words.append(f"Waited for as well, but never alone: {told}.")
    return tuple(words)


def _sentence(trace: Trace, one: Reader, *, sized: bool) -> str:
    """Return what could be deleted without a reader."""
    within = f" of {short(one.group)}" if trace.grouped and one.group != one.source else ""
    source = short(one.source) + within
    now = "nothing may be deleted" if one.stable_seq is None else f"it is at {one.stable_seq:,}"
    then = "before its first number" if one.without_seq is None else f"at {one.without_seq:,}"
    since = (
        f" It has been behind since {trace.dated(one.behind_since_us)}, for"
        f" {duration(trace.last_us - one.behind_since_us)}."
        if one.behind_since_us is not None
        else ""
    )
    return (
        f"Without {short(one.member)}, the frontier of {source} is {then}; with it, {now}:"
        f" {_freed(one, sized)} wait for this reader alone.{since}"
    )


def _freed(one: Reader, sized: bool) -> str:
    return prefixed(one.freed, "B") if sized else counted(one.freed, "number")


def _table_of_all(trace: Trace, readers: Readers, *, sized: bool) -> Table:
    omitted = readers.count - len(readers.of_all)
    columns = ("reader", "sources", "wait for it", "freed without it", "lag", "behind for", "alone for")
    return Table(
        key="readers",
        title="Readers of all sources, by what they hold back",
        columns=(columns[0], "groups", *columns[1:]) if trace.grouped else columns,
        rows=tuple(_row_of_all(trace, one, sized) for one in readers.of_all),
        note="Wait for it: sources whose frontier it holds back now. Freed without it: how much more could be"
        " deleted now. Lag, behind for, alone for: the most of any source; alone is how long it alone kept"
        " anything from being deleted."
        + (" Those with the same name in several groups are added up." if trace.grouped else "")
        + (f" {counted(omitted, 'reader')} that hold back less left out." if omitted else ""),
    )


def _row_of_all(trace: Trace, one: Reader, sized: bool) -> tuple[Any, ...]:
    return (
        name_cell(one.member),
        *((one.groups,) if trace.grouped else ()),
        one.sources,
        one.blocking,
        amount_cell(one.freed, sized=sized),
        *_lateness(trace, one, sized),
    )


def _table(trace: Trace, readers: Readers, *, sized: bool) -> Table:
    omitted = readers.rows - len(readers.of_sources)
    columns = (
        *("reader", "source", "freed", "without it", "safe up to"),
        *("lag", "behind for", "alone for", "position"),
    )
    return Table(
        key="readers-of-sources",
        title="Readers of each source, by what they hold back",
        columns=("group", *columns) if trace.grouped else columns,
        rows=tuple(_row(trace, one, sized) for one in readers.of_sources),
        note="Without it: where the frontier would be without this reader, and freed: how much more could be"
        " deleted then. Safe up to: where the frontier is. Behind for: how long it has lacked some of what"
        " was sent, up to the end of the log. Alone for: how long it alone kept anything from being deleted,"
        " in the whole log. Pointing at a time shows since when."
        + (f" {counted(omitted, 'row')} of readers that hold back less left out." if omitted else ""),
    )


def _row(trace: Trace, one: Reader, sized: bool) -> tuple[Any, ...]:
    return (
        *((name_cell(one.group),) if trace.grouped else ()),
        name_cell(one.member),
        name_cell(one.source),
        amount_cell(one.freed, sized=sized),
        _number(one.without_seq),
        _number(one.stable_seq),
        *_lateness(trace, one, sized),
        _number(one.position),
    )


def _lateness(trace: Trace, one: Reader, sized: bool) -> tuple[Cell, Cell, Cell]:
    """Return how far behind a reader is, for how long, and for how long it was waited for alone."""
    since = one.behind_since_us
    return (
        Cell("gone", number=True) if one.lag is None else amount_cell(one.lag, sized=sized),
        Cell("–", number=True) if since is None else trace.until_end(since),
        Cell(duration(one.alone_us), title=f"{one.alone_us:,} µs", number=True) if one.alone_us else _DASH,
    )


_DASH = Cell("–", number=True)


def _number(seq: int | None) -> Cell:
    return Cell("nothing" if seq is None else f"{seq:,}", number=True)
