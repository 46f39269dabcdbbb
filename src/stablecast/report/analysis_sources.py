"""The sources of a trace: how far each is stable, and whom the rest waits for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stablecast.report.analysis_gather import Places, first_rows, gather
from stablecast.report.analysis_messages import Messages
from stablecast.report.analysis_tables import POSITIONS, Tables
from stablecast.report.analysis_trace import Trace, whole
from stablecast.report.analysis_units import Pair

MOST_SOURCES = 200
"""The table on the page has no more."""
KEYS = ("group", "source")
ORDER = (("left", "descending"), ("waited", "descending"), ("group", "ascending"), ("source", "ascending"))
POSITION_COLUMNS = POSITIONS["sources"]
POSITION_ORDER = (
    *(("left", "descending"), ("oldest_us", "ascending"), ("group", "ascending"), ("source", "ascending")),
)


@dataclass(frozen=True)
class Waiting:
    """Who lacks the first message that may not be deleted."""

    names: tuple[str, ...]
    """Some of them."""
    count: int


@dataclass(frozen=True)
class Source:
    """One source at the end of the trace."""

    group: str
    name: str
    messages: int
    first_seq: int
    last_seq: int
    stable_seq: int | None
    """Everything up to here may be deleted; None if nothing."""
    stable_us: int | None
    """Since when."""
    left: int
    """How many messages may not be deleted."""
    waiting: Waiting | None = None
    """None if the analysis does not tell."""
    oldest_us: int | None = None
    """When the first that may not be deleted was sent, if positions tell; None if all may be."""
    heads_missing: bool = False
    """Whether nobody told what it has sent, so that the largest position stands for that."""
    left_bytes: int | None = None
    """The size of what may not be deleted; None if it is not known."""

    @property
    def pair(self) -> Pair:
        """Its group and its name."""
        return self.group, self.name


@dataclass(frozen=True)
class Sources:
    """All sources of a trace."""

    held_back: list[Source]
    """Those with the most left come first, of equals those that waited longest; at most ``MOST_SOURCES``."""
    count: int
    deletable: int
    """Messages that may be deleted, of all sources together."""


def has_own_groups(trace: Trace, sources: Iterable[Source]) -> bool:
    """Tell whether the groups of sources say more than their names: not if each is a group of its own."""
    return trace.grouped and any(one.group != one.name for one in sources)


def read_sources(tables: Tables, messages: Messages) -> Sources:
    """Find out how far every source is stable, and return those first that are held back most."""
    if messages.by_source is None:
        return Sources(held_back=[], count=0, deletable=0)
    ranked = _with_left(_with_prefix(tables, messages.by_source), whole(tables.summary.get("first_seq")))
    first = first_rows([ranked], ORDER, MOST_SOURCES)
    rows = [] if first is None else first.to_pylist()
    waiting = _waiting(tables, [(row["group"], row["source"]) for row in rows])
    return Sources(
        held_back=[_source(row, waiting.get((row["group"], row["source"]))) for row in rows],
        count=ranked.num_rows,
        deletable=messages.count - (pc.sum(ranked.column("left")).as_py() or 0),
    )


def read_position_sources(tables: Tables) -> Sources:
    """Return the sources of an analysis of positions, those first that retain most."""
    count = deletable = 0

    def with_left() -> Iterator[pa.Table]:
        nonlocal count, deletable
        for batch in tables.batches("sources", POSITION_COLUMNS):
            rows = _with_left(batch, None)
            count += rows.num_rows
            # Added up in Python, since all numbers together may be more than 64 bits hold.
            deletable += sum(pc.subtract(rows.column("messages"), rows.column("left")).to_pylist())
            yield rows

    first = first_rows(with_left(), POSITION_ORDER, MOST_SOURCES)
    rows = [] if first is None else first.to_pylist()
    return Sources(held_back=[_position_source(row) for row in rows], count=count, deletable=deletable)


def _position_source(row: dict[str, Any]) -> Source:
    return replace(
        _source(row, waiting_of(row)),
        oldest_us=row["oldest_us"],
        heads_missing=row["heads_missing"],
        left_bytes=row["retained_bytes"],
    )


def waiting_of(row: dict[str, Any]) -> Waiting:
    """Return whom a row of the table of sources waits for."""
    names = tuple(row["waiting_for"] or ())
    return Waiting(names, max(len(names), row["waiting"] or 0))


def _with_prefix(tables: Tables, by_source: pa.Table) -> pa.Table:
    """Add ``stable_seq`` and ``stable_us``, null where nothing of a source is stable."""
    prefixes = _told_prefixes(tables) if tables.has("sources") else _frontier_ends(tables)
    if prefixes is None:
        nothing = pa.nulls(by_source.num_rows, pa.int64())
        return by_source.append_column("stable_seq", nothing).append_column("stable_us", nothing)
    return by_source.join(prefixes, list(KEYS))


def _told_prefixes(tables: Tables) -> pa.Table | None:
    batches = list(tables.batches("sources", (*KEYS, "stable_seq", "stable_us")))
    return pa.concat_tables(batches) if batches else None


def _frontier_ends(tables: Tables) -> pa.Table | None:
    # A frontier never goes back, so the last is the largest.
    batches = tables.batches("frontiers", (*KEYS, "time_us", "stable"))
    return gather(batches, KEYS, {"stable_seq": ("stable", "max"), "stable_us": ("time_us", "max")})


def _with_left(sources: pa.Table, first_seq: int | None) -> pa.Table:
    """Add ``left``: the messages behind the stable prefix, in which every number is a message."""
    start = sources.column("first_seq")
    if first_seq is not None:
        start = pc.max_element_wise(start, first_seq)
    prefix = pc.fill_null(pc.add(pc.subtract(sources.column("stable_seq"), start), 1), 0)
    left = pc.subtract(sources.column("messages"), pc.max_element_wise(prefix, 0))
    return sources.append_column("left", pc.cast(pc.max_element_wise(left, 0), pa.int64()))


def _waiting(tables: Tables, pairs: list[Pair]) -> dict[Pair, Waiting]:
    if not tables.has("sources"):
        return {}
    places = Places(pairs, "source")
    found: dict[Pair, Waiting] = {}
    for batch in tables.batches("sources", (*KEYS, "waiting_for", "waiting")):
        for row in places.add_to(batch).to_pylist():
            found[pairs[row["place"]]] = waiting_of(row)
    return found


def _source(row: dict[str, Any], waiting: Waiting | None) -> Source:
    return Source(
        group=row["group"],
        name=row["source"],
        messages=row["messages"],
        first_seq=row["first_seq"],
        last_seq=row["last_seq"],
        stable_seq=row["stable_seq"],
        stable_us=row["stable_us"],
        left=row["left"],
        waiting=waiting,
    )
