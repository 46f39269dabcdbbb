"""What is safe to delete, group by group, for an analysis of positions: in words, and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stablecast.report.analysis_gather import first_rows, gather
from stablecast.report.analysis_section import Fact, Section
from stablecast.report.analysis_tables import POSITIONS, Tables
from stablecast.report.analysis_trace import Trace
from stablecast.report.analysis_units import duration, name_cell, percent, prefixed, short
from stablecast.report.table import Table
from stablecast.report.view import Cell
from stablecast.words import counted

KEY = "safe-to-delete"
MOST_ROWS, MOST_SENTENCES = 50, 3
COLUMNS = POSITIONS["totals"]
ORDER = (("retained", "descending"), ("oldest_us", "ascending"), ("group", "ascending"))
MEANING = (
    "A source numbers what it sends; how far it has come is its head. A reader's position says that it has"
    " everything up to there. What all readers of a group have is safe to delete: it ends at the frontier."
    " What comes after the frontier is retained, until the reader that is furthest behind has read it, too."
)


@dataclass(frozen=True)
class Group:
    """A group at the end."""

    group: str
    sources: int
    sent: int
    stable: int
    """How many numbers are safe to delete."""
    retained: int
    oldest_frontier_us: int | None
    """Of the sources that retain anything, when the frontier moved that has stood longest."""
    oldest_us: int | None
    """When the oldest number was sent that is retained."""
    blocker: str | None
    """Whom the most sources wait for."""
    blocked: int
    """How many wait for it."""
    waiting: int
    """Sources that retain anything."""
    heads_missing: int
    """Sources without a head."""
    retained_bytes: int | None
    """None if numbers are not bytes."""

    def amount(self, numbers: int) -> str:
        """Return a number of numbers, as bytes if they are that."""
        return counted(numbers, "number") if self.retained_bytes is None else prefixed(numbers, "B")


@dataclass(frozen=True)
class Groups:
    """All groups."""

    worst: list[Group]
    """Those that retain most first; at most ``MOST_ROWS``."""
    count: int
    whole: Group
    """All of them added up; its blocker is None."""


def read_groups(tables: Tables) -> Groups:
    """Read how all groups stand, and keep those that retain most."""
    sums = dict.fromkeys(("sources", "sent", "stable", "retained"), 0)
    oldest: list[int] = []

    def added_up() -> Iterator[pa.Table]:
        for batch in tables.batches("totals", COLUMNS):
            for name in sums:
                # Added up in Python: all groups together may be more than 64 bits hold.
                sums[name] += sum(batch.column(name).to_pylist())
            oldest.extend(filter(None, [pc.min(batch.column("oldest_us")).as_py()]))
            yield batch

    first = first_rows(added_up(), ORDER, MOST_ROWS)
    rows = [] if first is None else first.to_pylist()
    of_sources, blocked = _of_sources(tables), _blocked(tables)
    every = list(of_sources.values())
    nothing = {"waiting": 0, "heads_missing": 0, "retained_bytes": None}
    sizes = [one["retained_bytes"] for one in every if one["retained_bytes"] is not None]
    whole = {
        **{name: sum(one[name] for one in every) for name in ("waiting", "heads_missing")},
        "retained_bytes": sum(sizes) if sizes else None,
    }
    return Groups(
        worst=[
            Group(
                **row,
                **of_sources.get(row["group"], nothing),
                blocked=blocked.get((row["group"], row["blocker"]), 0),
            )
            for row in rows
        ],
        count=tables.rows("totals"),
        whole=Group(
            group="",
            **sums,
            oldest_frontier_us=None,
            oldest_us=min(oldest, default=None),
            blocker=None,
            blocked=0,
            **whole,
        ),
    )


def _of_sources(tables: Tables) -> dict[str, dict[str, Any]]:
    """Return for each group what only the table of sources tells."""

    def counts() -> Iterator[pa.Table]:
        columns = ("group", "waiting", "heads_missing", "retained_bytes")
        for batch in tables.batches("sources", columns):
            waiting = pc.cast(pc.greater(pc.fill_null(batch.column("waiting"), 0), 0), pa.int64())
            yield pa.table(
                {
                    "group": batch.column("group"),
                    "waiting": waiting,
                    "heads_missing": pc.cast(batch.column("heads_missing"), pa.int64()),
                    "retained_bytes": batch.column("retained_bytes"),
                }
            )

    names = ("waiting", "heads_missing", "retained_bytes")
    found = gather(counts(), ("group",), {name: (name, "sum") for name in names})
    rows = [] if found is None else found.to_pylist()
    return {row["group"]: {name: row[name] for name in names} for row in rows}


def _blocked(tables: Tables) -> dict[tuple[str, str], int]:
    """Return how many sources wait for each reader."""
    blocking = (
        batch.filter(batch.column("blocks"))
        for batch in tables.batches("readers", ("group", "member", "source", "blocks"))
    )
    found = gather(blocking, ("group", "member"), {"blocked": ("source", "count")})
    rows = [] if found is None else found.to_pylist()
    return {(row["group"], row["member"]): row["blocked"] for row in rows}


def groups_section(trace: Trace, groups: Groups) -> Section:
    """Return the section that says in words what is safe to delete."""
    if not groups.count:
        return Section(key=KEY, title="Safe to delete", words=("The log names no source.",))
    words = [MEANING]
    if groups.count > 1:
        words.append(_all_words(groups))
    shown = groups.worst[:MOST_SENTENCES]
    words += [_words(trace, one, groups.count) for one in shown]
    if groups.count > len(shown):
        rest = groups.count - len(shown)
        words.append(f"{counted(rest, 'more group')} {'retains' if rest == 1 else 'retain'} as much or less.")
    if missing := groups.whole.heads_missing:
        words.append(missing_words(missing, trace.sources))
    return Section(
        key=KEY,
        title="Safe to delete",
        words=tuple(words),
        tables=(_table(trace, groups),) if groups.count > 1 else (),
    )


def missing_words(missing: int, sources: int) -> str:
    """Return what it means that heads are missing."""
    of = "of its only source" if sources == 1 else f"of {missing:,} of {counted(sources, 'source')}"
    return (
        f"Sends are missing: the log has no head {of}. What was sent there is not known; the largest position"
        " of any reader stands for it, so this is the frontier among readers only, and more may be retained."
    )


def _all_words(groups: Groups) -> str:
    whole = groups.whole
    return (
        f"In all {groups.count:,} groups together {whole.amount(whole.sent)} were sent,"
        f" {whole.amount(whole.stable)} ({percent(whole.stable, whole.sent)}) are safe to delete, and"
        f" {whole.amount(whole.retained)} are retained."
    )


def _words(trace: Trace, one: Group, groups: int) -> str:
    """Return how one group stands."""
    within = "" if groups == 1 else f" of {short(one.group)}"
    sources = ("the source" if one.sources == 1 else counted(one.sources, "source")) + within
    if not one.sent:
        return f"Nothing was sent by {sources}."
    if not one.retained:
        return f"All of {one.amount(one.sent)} that {sources} sent may be deleted."
    safe = f"{one.amount(one.stable)} ({percent(one.stable, one.sent)}) are" if one.stable else "nothing is"
    words = (
        f"Of {one.amount(one.sent)} that {sources} sent, {safe} safe to delete, and"
        f" {one.amount(one.retained)} {'is' if one.retained == 1 else 'are'} retained."
    )
    return f"{words}{_since(trace, one)}{_wait(one)}"


def _since(trace: Trace, one: Group) -> str:
    if one.oldest_us is None:
        return ""
    return (
        f" The oldest that is retained was sent {duration(trace.last_us - one.oldest_us)} before the end of"
        f" the log ({trace.dated(one.oldest_us)})."
    )


def _wait(one: Group) -> str:
    if one.blocker is None:
        return ""
    name = short(one.blocker)
    if one.sources == 1:
        return f" The source waits for {name}."
    if one.waiting == 1:
        return f" The one source that retains anything waits for {name}."
    return f" Most sources wait for {name}: {one.blocked:,} of the {one.waiting:,} that retain anything."


def safe_fact(trace: Trace, groups: Groups) -> Fact:
    """Return how much is safe to delete."""
    whole = groups.whole
    if not whole.sent:
        return Fact(name="Safe to delete", value="nothing", note="nothing was sent", section=KEY)
    value = (
        f"{whole.stable:,} of {whole.sent:,}"
        if whole.retained_bytes is None
        else f"{whole.amount(whole.stable)} of {whole.amount(whole.sent)}"
    )
    readers = "" if trace.members is None else f", {counted(trace.members, 'reader')}"
    within = f" in {counted(groups.count, 'group')}" if trace.grouped else ""
    return Fact(
        name="Safe to delete",
        value=value,
        note=f"{percent(whole.stable, whole.sent)} of what was sent;"
        f" {counted(whole.sources, 'source')}{readers}{within}",
        tone="" if whole.retained else "holds",
        section=KEY,
    )


def retained_fact(trace: Trace, groups: Groups) -> Fact:
    """Return how much is retained, and since when."""
    whole = groups.whole
    if not whole.retained:
        return Fact(name="Retained", value="nothing", section=KEY)
    since = "" if whole.oldest_us is None else duration(trace.last_us - whole.oldest_us)
    return Fact(
        name="Retained",
        value=whole.amount(whole.retained),
        note=f"of {counted(whole.waiting, 'source')}" + (f"; the oldest is {since} old" if since else ""),
        section=KEY,
    )


def missing_fact(trace: Trace, groups: Groups) -> list[Fact]:
    """Return how many sources have no head, if any."""
    missing = groups.whole.heads_missing
    if not missing:
        return []
    return [
        Fact(
            name="Sends are missing",
            value=f"{missing:,} of {counted(trace.sources, 'source')}",
            note="frontier among readers only",
            tone="missed",
            section=KEY,
        )
    ]


def _table(trace: Trace, groups: Groups) -> Table:
    omitted = groups.count - len(groups.worst)
    return Table(
        key="groups",
        title="Groups, those that retain most first",
        columns=("group", "sources", "sent", "safe to delete", "retained", "oldest", "most wait for"),
        rows=tuple(_row(trace, one) for one in groups.worst),
        note="Oldest: how long before the end of the log the oldest was sent that is retained."
        + (f" {counted(omitted, 'group')} that retain as much or less left out." if omitted else ""),
    )


def _row(trace: Trace, one: Group) -> tuple[Any, ...]:
    waits = "–" if one.blocker is None else f"{short(one.blocker)} ({counted(one.blocked, 'source')})"
    return (
        name_cell(one.group),
        one.sources,
        amount_cell(one.sent, sized=one.retained_bytes is not None),
        amount_cell(one.stable, sized=one.retained_bytes is not None),
        amount_cell(one.retained, sized=one.retained_bytes is not None),
        Cell("–", number=True) if one.oldest_us is None else trace.until_end(one.oldest_us),
        Cell(waits, title=name_cell(one.blocker).title, unbroken=True),
    )


def amount_cell(numbers: int, *, sized: bool) -> Cell:
    """Return a number of numbers, as bytes if they are that; pointing at these shows them all."""
    if sized:
        return Cell(prefixed(numbers, "B"), title=f"{numbers:,} bytes", number=True)
    return Cell(f"{numbers:,}", number=True)
