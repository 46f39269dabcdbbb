"""Violations: how many of each kind, and the first of each with the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stablecast.report.analysis_evidence import Found, Message, Violation, look_up
from stablecast.report.analysis_gather import first_rows
from stablecast.report.analysis_section import Fact, Section
from stablecast.report.analysis_tables import NEEDED, Tables
from stablecast.report.analysis_trace import Trace
from stablecast.report.analysis_units import clean, duration, listed, name_cell, short
from stablecast.report.table import Table
from stablecast.words import counted

KEY = "violations"
MOST_ROWS = 50
MOST_KINDS = 20
COLUMNS = NEEDED["violations"]
ORDER = tuple((name, "ascending") for name in ("time_us", "group", "source", "seq", "member"))
MEANING: Mapping[str, str] = {
    "early_stable": "a member called a message stable that somebody still lacked",
    "early_release": "a member let a message go that somebody still lacked",
    "receive_after_departure": "a member received after it had left or failed",
    "duplicate": "a member received the same message again",
    "receive_before_send": "a message was received before it was sent: clocks differ",
    "sent_again": "a source sent the same number again",
    "missing_send": "a message is named that nobody sent",
    "gap": "numbers are missing among what a source sent",
    "send_out_of_order": "a larger number was sent before a smaller one",
    "position_beyond_head": "a reader says that it has numbers that were not sent by then",
}
"""The kinds, the gravest first."""
BROKEN = ("early_stable", "early_release")
"""These say that a promise was broken; the others may be the log's fault as well."""


NONE = "None: nothing was called stable or released too early, and the trace is in order."
NO_POSITION = "None: no reader's position is beyond what its source had sent."
BEYOND = (
    "Nothing beyond the head is called safe to delete, but once the head gets there, the reader is taken to"
    " have it. The cause may be clocks that differ, heads that are noted late, numbers that count from 0 in"
    " one place and from 1 in another, or positions that name the next number to be read (--next-offset)."
)


@dataclass(frozen=True)
class Violations:
    """How many there are of each kind, and the first of each."""

    counts: dict[str, int]
    """The gravest kind first."""
    first: dict[str, list[Violation]]
    """At most ``MOST_ROWS`` of each kind."""

    @property
    def count(self) -> int:
        """How many there are in all."""
        return sum(self.counts.values())


def read_violations(tables: Tables) -> Violations:
    """Count all, and keep the first of each kind."""
    counts: dict[str, int] = {}
    kept: dict[str, pa.Table] = {}
    for batch in tables.batches("violations", COLUMNS):
        for kind, rows in _by_kind(batch):
            counts[kind] = counts.get(kind, 0) + rows.num_rows
            if kind in kept or len(kept) < MOST_KINDS:
                known = [kept[kind]] if kind in kept else []
                kept[kind] = first_rows([*known, rows], ORDER, MOST_ROWS)
    order = {kind: k for k, kind in enumerate(MEANING)}
    kinds = sorted(counts, key=lambda kind: (order.get(kind, len(order)), kind))
    return Violations(
        counts={kind: counts[kind] for kind in kinds},
        first={
            kind: [Violation(**row) for row in kept[kind].select(COLUMNS).to_pylist()]
            for kind in kinds
            if kind in kept
        },
    )


def _by_kind(batch: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    kinds = batch.column("kind")
    for kind in pc.unique(kinds).to_pylist():
        yield kind, batch.filter(pc.equal(kinds, kind))


def violations_section(tables: Tables, trace: Trace, violations: Violations) -> Section:
    """Return the section on violations."""
    if not violations.count:
        words = NO_POSITION if tables.of_positions else NONE
        return Section(key=KEY, title="Violations", words=(words,))
    flat = [one for first in violations.first.values() for one in first]
    found = dict(zip(map(id, flat), look_up(tables, flat), strict=True))
    tables_of_kinds = tuple(
        _kind_table(trace, kind, violations.counts[kind], first, [found[id(one)] for one in first])
        for kind, first in violations.first.items()
    )
    return Section(
        key=KEY,
        title="Violations",
        words=(BEYOND,) if tables.of_positions else _words(violations),
        tables=(_count_table(violations), *tables_of_kinds),
    )


def violations_fact(violations: Violations) -> Fact:
    """Return how many there are."""
    if not violations.count:
        return Fact(name="Violations", value="none", tone="holds", section=KEY)
    kinds = [f"{number:,} {_title(kind)}" for kind, number in violations.counts.items()]
    note = listed(kinds, 4, "kinds")
    return Fact(name="Violations", value=f"{violations.count:,}", note=note, tone="missed", section=KEY)


def _words(violations: Violations) -> tuple[str, ...]:
    broken = sum(violations.counts.get(kind, 0) for kind in BROKEN)
    if broken:
        return (
            f"{counted(broken, 'time')} a message was called stable or released while a member that had to"
            " receive it lacked it: what was deleted then may be lost.",
        )
    return (
        "Nothing was called stable or released too early. What is listed may be the fault of the group or of"
        " the log.",
    )


def _title(kind: str) -> str:
    return short(kind).replace("_", " ")


def _count_table(violations: Violations) -> Table:
    return Table(
        key="violation-kinds",
        title="Violations by kind",
        columns=("kind", "violations", "what happened"),
        rows=tuple(
            (clean(kind), number, MEANING.get(kind, "")) for kind, number in violations.counts.items()
        ),
    )


def _kind_table(
    trace: Trace, kind: str, count: int, first: Sequence[Violation], found: Sequence[Found]
) -> Table:
    columns = ("at", "member", "source", "number", "evidence")
    more = count - len(first)
    return Table(
        key=f"violations-{kind}",
        title=f"{_title(kind).capitalize()}: {count:,}",
        columns=("group", *columns) if trace.grouped else columns,
        rows=tuple(_row(trace, one, known) for one, known in zip(first, found, strict=True)),
        note=f"{counted(more, 'later one')} left out." if more else "",
    )


def _row(trace: Trace, one: Violation, found: Found) -> tuple[Any, ...]:
    row = (
        trace.moment(one.time_us),
        name_cell(one.member),
        name_cell(one.source),
        one.seq,
        EVIDENCE.get(one.kind, _nothing)(one, found),
    )
    return (name_cell(one.group), *row) if trace.grouped else row


def _early_stable(one: Violation, found: Found) -> str:
    if found.lacking is None:
        return f"called everything up to {one.seq:,} stable"
    return f"called everything up to {one.seq:,} stable {_while_lacking(one, found.lacking)}"


def _while_lacking(one: Violation, message: Message) -> str:
    if message.stable_us is None:
        return f"although {message.seq:,} never was: {_had(message)}"
    return f"{duration(message.stable_us - one.time_us)} before {_last(message)} had {message.seq:,}"


def _early_release(one: Violation, found: Found) -> str:
    message = found.itself
    if message is None:
        return "released before it was stable"
    if message.stable_us is None:
        return f"released although it never became stable: {_had(message)}"
    return f"released {duration(message.stable_us - one.time_us)} before {_last(message)} had it"


def _had(message: Message) -> str:
    return f"{message.received:,} of {counted(message.required, 'member')} had it"


def _last(message: Message) -> str:
    return "everybody" if message.last_member is None else short(message.last_member)


def _receive_after_departure(one: Violation, found: Found) -> str:
    return f"received after it had left or failed{_since_sending(one, found)}"


def _duplicate(one: Violation, found: Found) -> str:
    return f"received again{_since_sending(one, found)}"


def _since_sending(one: Violation, found: Found) -> str:
    if found.itself is None:
        return "; nobody sent this number"
    later = one.time_us - found.itself.sent_us
    return f", {duration(abs(later))} {'after' if later >= 0 else 'before'} its sending"


def _receive_before_send(one: Violation, found: Found) -> str:
    if found.itself is None:
        return "received before its sending"
    return f"received {duration(found.itself.sent_us - one.time_us)} before {short(one.source)} sent it"


def _sent_again(one: Violation, found: Found) -> str:
    if found.itself is None:
        return "sent again"
    return f"sent again {duration(one.time_us - found.itself.sent_us)} after the first time"


def _missing_send(one: Violation, found: Found) -> str:
    between = [f"{message.seq:,}" for message in (found.before, found.after) if message is not None]
    if not between:
        return f"{short(one.source)} sent nothing at all"
    return f"never sent; the nearest that {short(one.source)} sent: {listed(between)}"


def _gap(one: Violation, found: Found) -> str:
    if found.after is None:
        return f"{one.seq:,} was never sent"
    last = found.after.seq - 1
    what = f"{one.seq:,} was" if last <= one.seq else f"{one.seq:,} to {last:,} were"
    return f"{what} never sent; the next is {found.after.seq:,}"


def _send_out_of_order(one: Violation, found: Found) -> str:
    if found.before is None:
        return "sent before a smaller number"
    return f"sent {duration(found.before.sent_us - one.time_us)} before {found.before.seq:,}"


def _position_beyond_head(one: Violation, found: Found) -> str:
    if found.head is None:
        return f"told {one.seq:,}; its source had sent nothing"
    if found.head < one.seq:
        return f"told {one.seq:,}; at the end the head is at {found.head:,}"
    return f"told {one.seq:,} before it was sent; at the end the head is at {found.head:,}"


def _nothing(one: Violation, found: Found) -> str:
    return _since_sending(one, found).lstrip(",; ")


EVIDENCE: Mapping[str, Callable[[Violation, Found], str]] = {
    "early_stable": _early_stable,
    "early_release": _early_release,
    "receive_after_departure": _receive_after_departure,
    "duplicate": _duplicate,
    "receive_before_send": _receive_before_send,
    "sent_again": _sent_again,
    "missing_send": _missing_send,
    "gap": _gap,
    "send_out_of_order": _send_out_of_order,
    "position_beyond_head": _position_beyond_head,
}
"""What is told of each kind, in a few words."""
