"""The truth beside each violation: what the table of messages says of the message that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from stablecast.report.analysis_gather import Integers, Places, integers
from stablecast.report.analysis_tables import Tables
from stablecast.report.analysis_units import Pair

COLUMNS = ("group", "source", "seq", "sent_us", "stable_us", "last_member", "required", "received")
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Violation:
    """A row of the table of violations."""

    group: str
    kind: str
    member: str | None
    source: str
    seq: int
    time_us: int


@dataclass(frozen=True)
class Message:
    """A row of the table of messages."""

    seq: int
    sent_us: int
    stable_us: int | None
    last_member: str | None
    required: int
    received: int


@dataclass
class Found:
    """What there is to know of one violation; None for a message that is not there."""

    itself: Message | None = None
    before: Message | None = None
    """With the next smaller number."""
    after: Message | None = None
    """With the next larger number."""
    lacking: Message | None = None
    """The first, up to its number, that was not stable at its time."""
    head: int | None = None
    """What its source had sent at the end, if the analysis is one of positions."""


def look_up(tables: Tables, violations: Sequence[Violation]) -> list[Found]:
    """Go through the messages of the sources concerned once, and return what is found for each violation."""
    found = [Found() for _ in violations]
    asked_of: dict[Pair, list[int]] = {}
    for k, one in enumerate(violations):
        asked_of.setdefault((one.group, one.source), []).append(k)
    if not asked_of:
        return found
    places = Places(list(asked_of), "source")
    if tables.of_positions:
        for batch in tables.batches("sources", ("group", "source", "last_seq")):
            for row in places.add_to(batch).to_pylist():
                for k in asked_of[places.pairs[row["place"]]]:
                    found[k].head = row["last_seq"]
        return found
    for batch in tables.batches("messages", COLUMNS):
        for place, rows in _by_place(places.add_to(batch)):
            asked = asked_of[places.pairs[place]]
            _see_neighbours(rows, [violations[k] for k in asked], [found[k] for k in asked])
            claims = [k for k in asked if violations[k].kind == "early_stable"]
            _see_lacking(rows, [violations[k] for k in claims], [found[k] for k in claims])
    return found


def _by_place(rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of each source, sorted by number."""
    rows = rows.sort_by([("place", "ascending"), ("seq", "ascending")])
    place = integers(rows.column("place"))
    starts = [int(k) for k in np.flatnonzero(np.diff(place, prepend=-1))]
    for first, last in pairwise([*starts, len(place)]):
        yield int(place[first]), rows.slice(first, last - first)


def _see_neighbours(rows: pa.Table, violations: Iterable[Violation], found: Iterable[Found]) -> None:
    numbers = integers(rows.column("seq"))
    for one, known in zip(violations, found, strict=True):
        at, beyond = (int(k) for k in np.searchsorted(numbers, [one.seq, one.seq + 1]))
        if at < beyond:
            known.itself = _message(rows, at)
        if at > 0 and (known.before is None or numbers[at - 1] > known.before.seq):
            known.before = _message(rows, at - 1)
        if beyond < len(numbers) and (known.after is None or numbers[beyond] < known.after.seq):
            known.after = _message(rows, beyond)


def _see_lacking(rows: pa.Table, violations: Sequence[Violation], found: Sequence[Found]) -> None:
    if not violations:
        return
    stable: Integers = integers(rows.column("stable_us"), null=NEVER)
    numbers = integers(rows.column("seq"))
    # Few messages are late for the earliest claim, and no other can be late for any.
    late = np.flatnonzero(stable > min(one.time_us for one in violations))
    for one, known in zip(violations, found, strict=True):
        lacking = late[(stable[late] > one.time_us) & (numbers[late] <= one.seq)]
        if lacking.size and (known.lacking is None or numbers[lacking[0]] < known.lacking.seq):
            known.lacking = _message(rows, int(lacking[0]))


def _message(rows: pa.Table, at: int) -> Message:
    row: dict[str, Any] = rows.slice(at, 1).to_pylist()[0]
    return Message(**{name: row[name] for name in COLUMNS[2:]})
