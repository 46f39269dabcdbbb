"""A trace in space and time: who received what when, and when it was known to be stable.

What is shown
    An arrow for each receipt, from the sending at its source.  A mark where a member first knows messages to
    be stable, and how many: such an event stands for everything up to its number, so a message's is the first
    that reaches it.  Of one message there is a span as well, from its sending to its source's knowing.
What is left out
    A receipt without a sending in the trace, and a sender's own receipt.  Members that have no receipt are
    named in the caption: the trace does not say whether it was lost or is still on its way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from stablecast.delivery.kinds import RECEIVE, SEND, STABLE
from stablecast.errors import InvalidInput, unknown_name
from stablecast.report.diagram import Arrow, Diagram, Mark, Span
from stablecast.words import counted

MOST_ARROWS = 200
MOST_MEMBERS = 40


@dataclass(frozen=True, kw_only=True)
class Window:
    """What of a trace is shown."""

    message: tuple[str, int] | None = None
    members: Collection[str] | None = None
    start_us: int | None = None
    end_us: int | None = None


@dataclass(frozen=True)
class _Event:
    kind: int
    member: str
    source: str
    seq: int
    time_us: int


def read_message(text: str) -> tuple[str, int]:
    """Return source and number of a message that is named as ``ann/17``."""
    source, slash, number = text.rpartition("/")
    if not (slash and source and number.isascii() and number.isdigit()):
        raise InvalidInput(f"message '{text}' is not accepted (accepted: SOURCE/NUMBER, such as ann/17)")
    return source, int(number)


def diagram_of(events: pa.Table, window: Window) -> Diagram:
    """Return the diagram of classified events."""
    known = set(pc.unique(events["member"].cast(pa.string())).to_pylist()) - {None}
    for name in window.members or ():
        if name not in known:
            raise unknown_name("member", name, known)
    shown = _within(events, window)
    sent = {(one.source, one.seq): one.time_us for one in _rows(events, [SEND], window.message)}
    if window.message is not None and window.message not in sent:
        source, seq = window.message
        raise InvalidInput(
            f"the trace has no sending of message '{source}/{seq}' (accepted: one that it has)"
        )
    receipts = [one for one in _rows(shown, [RECEIVE], window.message) if one.member != one.source]
    arrows = [one for one in receipts if (one.source, one.seq) in sent]
    _check_size(arrows)
    stable = list(_first_stable(_rows(shown, [STABLE]), window, arrows))
    names = _processes(arrows, stable, window)
    if not (arrows or stable):
        raise InvalidInput("nothing to draw: no message is received in what was asked for of the trace")
    return _drawn(names, arrows, sent, stable, window, known)


def _within(events: pa.Table, window: Window) -> pa.Table:
    """Return the rows of the stretch of time and of the members that were asked for."""
    if window.start_us is not None:
        events = events.filter(pc.greater_equal(events["time_us"], window.start_us))
    if window.end_us is not None:
        events = events.filter(pc.less_equal(events["time_us"], window.end_us))
    if window.members is not None:
        wanted = pa.array(list(window.members), pa.string())
        events = events.filter(pc.is_in(events["member"].cast(pa.string()), value_set=wanted))
    return events


def _rows(events: pa.Table, kinds: Sequence[int], message: tuple[str, int] | None = None) -> Iterator[_Event]:
    mask = pc.is_in(events["kind"], value_set=pa.array(kinds, pa.int8()))
    if message is not None:
        is_it = pc.and_(
            pc.equal(events["source"].cast(pa.string()), message[0]), pc.equal(events["seq"], message[1])
        )
        mask = pc.and_(mask, is_it)
    found = events.filter(mask).select(["kind", "member", "source", "seq", "time_us"])
    if found.num_rows > 50 * MOST_ARROWS and STABLE not in kinds and SEND not in kinds:
        _refuse(found.num_rows)
    return (_Event(*row.values()) for row in found.sort_by("time_us").to_pylist())


def _check_size(arrows: Sequence[_Event]) -> None:
    if len(arrows) > MOST_ARROWS:
        _refuse(len(arrows))


def _refuse(count: int) -> None:
    raise InvalidInput(
        f"{count:,} receipts are too many for one diagram (accepted: up to {MOST_ARROWS}; name a message,"
        " members, or a stretch of time with start_us and end_us)"
    )


def _first_stable(
    stable: Iterator[_Event], window: Window, arrows: Sequence[_Event]
) -> Iterator[tuple[_Event, int]]:
    """Yield, for each member and message that is shown, the first event that says that it is stable."""
    wanted = {(one.source, one.seq) for one in arrows} if window.message is None else {window.message}
    told: set[tuple[str, str, int]] = set()
    for one in stable:
        for source, seq in sorted(wanted):
            is_new = (one.member, source, seq) not in told
            if source == one.source and seq <= one.seq and is_new:
                told.add((one.member, source, seq))
                yield one, seq


def _processes(
    arrows: Sequence[_Event], stable: Sequence[tuple[_Event, int]], window: Window
) -> tuple[str, ...]:
    names = {name for one in arrows for name in (one.source, one.member)}
    names |= {one.member for one, _ in stable} | set(window.members or ())
    if len(names) > MOST_MEMBERS:
        raise InvalidInput(
            f"{len(names):,} members are too many for one diagram (accepted: up to {MOST_MEMBERS};"
            " name members)"
        )
    return tuple(sorted(names))


def _drawn(
    names: tuple[str, ...],
    arrows: Sequence[_Event],
    sent: dict[tuple[str, int], int],
    stable: Sequence[tuple[_Event, int]],
    window: Window,
    known: Collection[str],
) -> Diagram:
    at = {name: place for place, name in enumerate(names)}
    times = [one.time_us for one, _ in stable]
    for one in arrows:
        times += [sent[one.source, one.seq], one.time_us]
    start = min(times)
    return Diagram(
        key="trace",
        title=_title(arrows, window),
        caption=_caption(arrows, window, known),
        time_label=f"time since {start:,} µs [ms]",
        processes=names,
        messages=tuple(
            _arrow(one, at, (sent[one.source, one.seq] - start) / 1e3, (one.time_us - start) / 1e3)
            for one in arrows
        ),
        events=tuple(_marks(stable, at, start, window)),
        spans=tuple(_span(stable, sent, at, start, window)),
    )


def _arrow(one: _Event, at: dict[str, int], sent_ms: float, received_ms: float) -> Arrow:
    return Arrow(
        source=at[one.source],
        dest=at[one.member],
        sent=sent_ms,
        received=max(sent_ms, received_ms),
        kind="data",
        label=f"{one.source}/{one.seq}",
    )


def _marks(
    stable: Sequence[tuple[_Event, int]], at: dict[str, int], start: int, window: Window
) -> Iterator[Mark]:
    """Yield one mark for each time at which a member learns something, with how many messages it is about."""
    learned = Counter((one.member, one.time_us) for one, _ in stable)
    for (member, time_us), count in learned.items():
        text = "stable" if window.message is not None else f"{count} stable"
        yield Mark(process=at[member], time=(time_us - start) / 1e3, text=text)


def _span(
    stable: Sequence[tuple[_Event, int]],
    sent: dict[tuple[str, int], int],
    at: dict[str, int],
    start: int,
    window: Window,
) -> Iterator[Span]:
    if window.message is None:
        return
    begun = sent[window.message]
    ends = [one.time_us for one, _ in stable if one.member == window.message[0]]
    if ends and min(ends) > begun:
        low, high = (begun - start) / 1e3, (min(ends) - start) / 1e3
        yield Span(
            process=at[window.message[0]], start=low, end=high, text=f"{high - low:.4g} ms until stable"
        )


def _title(arrows: Sequence[_Event], window: Window) -> str:
    if window.message is not None:
        return f"Message {window.message[0]}/{window.message[1]}"
    count = len({(one.source, one.seq) for one in arrows})
    return f"{counted(count, 'message')} in space and time"


def _caption(arrows: Sequence[_Event], window: Window, known: Collection[str]) -> str:
    words = "An arrow leads from a sending to a receipt; a mark is where a member learns that "
    words += "it is stable." if window.message is not None else "so many messages are stable."
    if window.message is None or window.members is not None or window.end_us is not None:
        return words
    missing = sorted(set(known) - {window.message[0]} - {one.member for one in arrows})
    if not missing:
        return words
    named = ", ".join(missing[:5]) + (" and others" if len(missing) > 5 else "")
    return f"{words} Without a receipt in the trace: {named}."
