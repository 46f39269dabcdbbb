"""What is said of a group, as text: rows of members, and lines of who holds back what.

Nothing here knows of a screen.  Names come from other machines, so all of them pass through ``printable``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from stablecast.engine.observed import (
    BEHIND,
    FAILED,
    LEFT,
    OK,
    SILENT,
    SUSPECTED,
    UNHEARD,
    Note,
    Observed,
    SeenHolding,
    SeenMember,
    SeenSource,
)
from stablecast.holdback.units import duration_text, size_text
from stablecast.observe.history import Sample
from stablecast.words import counted, printable

COLUMNS = ("MEMBER", "STATE", "HEARD", "SENT", "FRONTIER", "LAG", "LAG BYTES", "FOR", "KEPT")
SEVERITY = {FAILED: 0, SUSPECTED: 1, SILENT: 2, BEHIND: 3, UNHEARD: 4, LEFT: 6, OK: 7}
"""Worst first; any other state of the member that tells comes between."""
OTHER = 5
NOTHING = "-"
HELD_S = 0.25
"""Seconds from which on a message that somebody lacks is listed: others are on their way."""
GONE_SHOWN_S = 120.0
"""Seconds for which a member that has gone is among the rows."""


@dataclass(frozen=True, slots=True)
class Line:
    """One member among the rows, in the view or lately gone."""

    name: str
    state: str
    heard_s: float | None
    sent: int
    frontier: int
    lag: int
    lag_bytes: int
    lag_s: float
    kept_bytes: int | None
    is_me: bool = False
    is_known: bool = True

    @property
    def severity(self) -> int:
        """How much it needs to be looked at; less is more."""
        return SEVERITY.get(self.state, OTHER)

    def cells(self) -> tuple[str, ...]:
        """Return what its row shows, in the order of ``COLUMNS``."""
        is_gone = self.state in (FAILED, LEFT)
        lag = "?" if not self.is_known else f"{self.lag:,}" if self.lag else NOTHING
        return (
            printable(self.name) + (" *" if self.is_me else ""),
            self.state,
            NOTHING if self.heard_s is None else ago(self.heard_s),
            f"{self.sent:,}" if self.sent else NOTHING,
            f"{self.frontier:,}" if self.sent else NOTHING,
            NOTHING if is_gone else lag,
            size_text(self.lag_bytes) if self.lag_bytes else NOTHING,
            short(self.lag_s) if self.lag else NOTHING,
            NOTHING if self.kept_bytes is None else size_text(self.kept_bytes),
        )


def lines_of(seen: Observed) -> list[Line]:
    """Return all rows, in the order of the view, then who has gone."""
    sources = {one.name: one for one in seen.sources}
    here = [_line(one, sources.get(one.name), one.name == seen.me) for one in seen.members]
    present = {one.name for one in seen.members}
    gone = [
        Line(one.name, one.state, one.since_s, 0, 0, 0, 0, 0.0, None)
        for one in seen.gone
        if one.since_s <= GONE_SHOWN_S and one.name not in present
    ]
    return here + gone


def _line(one: SeenMember, source: SeenSource | None, is_me: bool) -> Line:
    return Line(
        one.name,
        one.state,
        one.last_heard_s,
        0 if source is None else source.received,
        0 if source is None else source.stable,
        one.behind_messages,
        one.behind_bytes,
        one.behind_s,
        one.kept_bytes,
        is_me,
        one.is_known,
    )


Key = Callable[[Line], Any]
SORTS: dict[str, Key] = {
    "state": lambda line: (line.severity, -line.lag_s),
    "lag": lambda line: (-line.lag, -line.lag_s),
    "heard": lambda line: -(line.heard_s or 0.0),
    "sent": lambda line: -line.sent,
    "name": lambda line: line.name,
    "view": lambda line: 0,
}
"""What rows can be sorted by; equals stay in the order of the view."""


def ordered(lines: list[Line], by: str, *, is_reversed: bool = False) -> list[Line]:
    """Return rows in an order."""
    found = sorted(lines, key=SORTS[by])
    return found[::-1] if is_reversed else found


# Sentences


def title(seen: Observed) -> str:
    """Say what this is, and from whose point of view."""
    whose = f"seen by {seen.me}, {seen.state}" if seen.me else seen.state
    protocol = f" · {seen.protocol}" if seen.protocol else ""
    epoch = f" · view {seen.view_epoch}" if seen.me else ""
    cut_off = "" if seen.main else " · cut off from the main part"
    members = counted(len(seen.members), "member")
    return printable(f"{seen.group}{protocol} · {members}{epoch} · {whose}{cut_off}")


def summary(seen: Observed, sample: Sample | None) -> str:
    """Say how much comes and goes, and what is kept."""
    words = []
    rates = None if sample is None else sample.rates
    if rates is not None:
        words.append(f"{rates.received:,.0f} msg/s, stable {rates.stable:,.0f}/s")
        if seen.me:
            data, control = size_text(round(rates.data_bytes)), size_text(round(rates.control_bytes))
            words.append(f"sends {data}/s and {control}/s control")
        if rates.repairs:
            words.append(f"{rates.repairs:,.0f} repairs/s asked")
    limit = f" of {size_text(seen.buffer_bytes)}" if seen.buffer_bytes else ""
    words.append(f"kept {size_text(seen.kept_bytes)}{limit}")
    waiting = seen.received_messages - seen.stable_messages
    words.append(f"{max(waiting, 0):,} not stable")
    if seen.waiting:
        words.append(f"{seen.waiting:,} wait for the application")
    return " · ".join(words)


def times_text(sample: Sample | None) -> str:
    """Say how long it takes until a message is known to be everywhere."""
    if sample is None or sample.to_stable_s is None:
        return "time to stable: nothing became stable"
    what = "of own messages" if sample.is_own else "from coming here"
    return f"time to stable {milliseconds(sample.to_stable_s)}, {what}"


def held_back(seen: Observed) -> list[SeenHolding]:
    """Return who holds back what for longer than a message is on its way."""
    return [one for one in seen.holding if one.since_s >= HELD_S]


def holding_text(one: SeenHolding) -> str:
    """Say who holds back what since when."""
    first = f"{one.source}/{one.first}"
    more = f" and {counted(one.messages - 1, 'more message')}" if one.messages > 1 else ""
    return printable(f"{one.member} lacks {first}{more} ({size_text(one.bytes)}), for {short(one.since_s)}")


def holders(seen: Observed) -> list[str]:
    """Return a line for each member that holds something back, for longest first."""
    found: dict[str, list[SeenHolding]] = {}
    for one in held_back(seen):
        found.setdefault(one.member, []).append(one)
    return [_holder(mine) for mine in found.values()]


def _holder(mine: list[SeenHolding]) -> str:
    if len(mine) == 1:
        return holding_text(mine[0])
    oldest = max(mine, key=lambda one: one.since_s)
    messages, size = sum(one.messages for one in mine), sum(one.bytes for one in mine)
    what = f"{counted(messages, 'message')} of {counted(len(mine), 'source')} ({size_text(size)})"
    since = f"for {short(oldest.since_s)}, the oldest {oldest.source}/{oldest.first}"
    return printable(f"{oldest.member} lacks {what}, {since}")


def note_text(note: Note) -> str:
    """Say what happened when."""
    clock = time.strftime("%H:%M:%S", time.localtime(note.time_us / 1e6))
    return f"{clock} {printable(note.text)}"


def troubles(seen: Observed) -> Iterator[str]:
    """Yield a line for each member that something is wrong with, worst first."""
    for line in ordered(lines_of(seen), "state"):
        if line.severity >= SEVERITY[LEFT]:
            continue
        heard = "" if line.heard_s is None else f", last heard of {ago(line.heard_s)}"
        if line.state == FAILED:
            heard = "" if line.heard_s is None else f" {ago(line.heard_s)}"
        yield printable(f"{line.name} {'is ' * (line.state != FAILED)}{line.state}{heard}")


def details(seen: Observed, name: str) -> list[str]:
    """Return all that is known of one member, a line each."""
    member = next((one for one in seen.members if one.name == name), None)
    if member is None:
        gone = next((one for one in seen.gone if one.name == name), None)
        said = "is not in the view" if gone is None else f"{gone.state} {ago(gone.since_s)}"
        return [printable(f"{name} {said}")]
    heard = (
        "this member tells" if member.last_heard_s is None else f"last heard of {ago(member.last_heard_s)}"
    )
    zone = f", zone {member.zone}" if member.zone else ""
    found = [f"{member.name}{zone}, at {member.address or 'no known address'}", f"{member.state}; {heard}"]
    if not member.is_known:
        found.append("Its neighbours hear what it has; they do not say that it lacks anything overdue.")
    mine = [one for one in held_back(seen) if one.member == name]
    found += ["", "LACKS, AS FAR AS IS KNOWN"] + ([holding_text(one) for one in mine] or ["nothing"])
    source = next((one for one in seen.sources if one.name == name), None)
    found += ["", "SENDS"] + ([_of_source(source)] if source is not None else ["nothing so far"])
    if source is not None and source.lacking:
        more = source.lacking_count - len(source.lacking)
        beyond = f" and {more:,} more" if more else ""
        found.append(f"oldest not stable for {short(source.oldest_s)}: {', '.join(source.lacking)}{beyond}")
    return [printable(line) for line in found]


def _of_source(source: SeenSource) -> str:
    waiting = source.received - source.stable
    missing = f", {source.missing_parts:,} parts missing here" if source.missing_parts else ""
    kept = f", {size_text(source.kept_bytes)} kept" if source.kept_bytes else ""
    return f"{source.received:,} messages, {source.stable:,} stable, {waiting:,} not{kept}{missing}"


def snapshot(seen: Observed, notes: list[Note], *, sort: str = "state") -> str:
    """Return everything as plain lines."""
    rows = [line.cells() for line in ordered(lines_of(seen), sort)]
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows, strict=True)]
    table = [_row(cells, widths) for cells in (COLUMNS, *rows)]
    found = [title(seen), summary(seen, None), "", *table]
    if held_back(seen):
        found += ["", "HOLDING BACK", *holders(seen)[:10]]
    if notes:
        found += ["", "EVENTS", *map(note_text, notes[-10:])]
    return "\n".join(found)


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    texts = [
        cell.ljust(width) if place < 2 else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(texts).rstrip()


# Numbers


def heights(values: list[float]) -> list[float]:
    """Return times as heights of logarithmic bars: one long time leaves the others visible."""
    least = min((value for value in values if value > 0), default=1.0)
    return [1.0 + math.log10(max(value, least) / least) for value in values]


def short(seconds: float) -> str:
    """Return a time with a decimal below ten seconds."""
    return f"{seconds:.1f} s" if seconds < 10 else duration_text(seconds)


def ago(seconds: float) -> str:
    """Return how long ago something was."""
    return f"{short(seconds)} ago"


def milliseconds(seconds: float) -> str:
    """Return a short time with three figures."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
