"""What the page is told: the run's events, the slowest messages, and critical paths.

The page finds the life of any message by itself, for that is a look through the events. Critical paths
are computed here, once, by ``stablecast.causes``: a second computation in the page would have to be kept
the same. One takes 1 to 2 ms (24 to 40 members, 4 to 9 pieces), so the page has those of the 1,000
slowest messages, which are the ones in its list, and of the message that was asked for; of any other it
says which command puts it there.

Times are relative to the first event that is drawn, so that they are short.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stablecast.causes.segments import HOP
from stablecast.report.lens.chosen import Answer, Lacking, answer, answers
from stablecast.report.lens.events import Events, events_of
from stablecast.report.palette import MESSAGES, TRANSMISSIONS, Dash, assign
from stablecast.words import counted

if TYPE_CHECKING:
    from stablecast.causes import Run, Segment

LISTED = 1_000
"""Messages in the list of the slowest ones, each with its critical path."""
LABELS = {
    "had": ("until everyone had it", "all have it"),
    "begun": ("until a round could count that", "round begins"),
    "counted": ("that round", "round"),
}
ANNOUNCING = ("SENT", "HEARTBEAT", "ALIVE")
"""They name numbers of messages, and neither carry nor ask for them."""
DASHES: dict[Dash, list[int]] = {"solid": [], "dash": [6, 4], "dot": [2, 3], "dashdot": [7, 3, 2, 3]}
IN_THE_DARK = 0.3
"""How far colours are moved towards white on a dark background."""


@dataclass(frozen=True)
class Asked:
    """What a page is to open with."""

    message: tuple[str, int] | None = None
    at: str | None = None
    """At whom the time to stable ends: a member, ``first`` or ``last``."""
    from_us: int | None = None
    """A window of time, relative to the first event of the run; only what is in it goes into the page."""
    to_us: int | None = None


@dataclass(frozen=True)
class Content:
    """The page's header and columns, and what the command tells."""

    header: Mapping[str, Any]
    columns: Mapping[str, Any]
    start_us: int
    transmissions: int
    events: int
    slowest: tuple[Answer, ...]
    asked: Answer | Lacking | None
    """The message that was asked for."""


def content_of(run: Run, title: str, asked: Asked, *, most: int = LISTED) -> Content:
    """Return what a page of a run contains."""
    start = int(run.rows.time_us.min(initial=np.iinfo(np.int64).max))
    own = None if asked.message is None else answer(run, *asked.message, asked.at)
    whole = events_of(run)
    events = _asked_for(whole, start, asked)
    listed, known = answers(run, whole.arrows, asked.at, most)
    listed = [one for one in listed if _is_within(one, start, asked)]
    told = [*listed, *([own] if isinstance(own, Answer) else [])]
    header = {
        "title": title,
        "members": run.members,
        "timers": run.messages,
        "kinds": _kinds(events),
        "span": _span(events, start),
        "from": 0 if asked.from_us is None else asked.from_us,
        "to": _span(events, start) if asked.to_us is None else asked.to_us,
        "sent": _sent(run),
        "messages": [_listed(one) for one in listed],
        "paths": {one.name: _told(run, one, start) for one in told},
        "lacking": {f"{own.source}/{own.seq}": own.line} if isinstance(own, Lacking) else {},
        "known": bool(listed) and listed[0].known,
        "open": None if asked.message is None else "{}/{}".format(*asked.message),
        "facts": _facts(run, events, start),
        "note": _note(run, len(listed), known),
        "remarks": list(run.remarks),
    }
    columns = _columns(events, start)
    return Content(header, columns, start, len(events.arrows), len(events.points), tuple(listed), own)


def _asked_for(events: Events, start: int, asked: Asked) -> Events:
    if asked.from_us is None and asked.to_us is None:
        return events
    window = (None if limit is None else start + limit for limit in (asked.from_us, asked.to_us))
    return events.within(*window)


def _is_within(one: Answer, start: int, asked: Asked) -> bool:
    begun = asked.to_us is None or one.begin_us <= start + asked.to_us
    return begun and (asked.from_us is None or one.end_us >= start + asked.from_us)


def _kinds(events: Events) -> list[dict[str, Any]]:
    kinds = MESSAGES | TRANSMISSIONS
    known = [name for name in kinds if name in events.kinds]
    looks = assign([*known, *events.kinds], kinds)
    return [
        {"name": name, "light": looks[name].colour, "dark": _lighter(looks[name].colour)}
        | {"dash": DASHES[looks[name].dash], "carries": name not in ANNOUNCING}
        for name in events.kinds
    ]


def _lighter(colour: str) -> str:
    parts = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(part + IN_THE_DARK * (255 - part)):02x}" for part in parts)


def _span(events: Events, start: int) -> int:
    ends = (events.arrows.end.max(initial=start + 1), events.points.time.max(initial=start + 1))
    return int(max(ends)) - start


def _sent(run: Run) -> dict[int, tuple[int, int]]:
    """Return the first and last number that each source sent, by the source's place."""
    if "send" not in run.kinds:
        return {}
    sent = run.rows.kind == run.kinds.index("send")
    source, seq = run.rows.source[sent], run.rows.seq[sent]
    return {
        int(one): (int(seq[source == one].min()), int(seq[source == one].max())) for one in np.unique(source)
    }


def _listed(one: Answer) -> dict[str, Any]:
    return {"name": one.name, "length": one.length_us}


def _told(run: Run, path: Answer, start: int) -> dict[str, Any]:
    place = {name: k for k, name in enumerate(run.members)}
    return {
        "begin": path.begin_us - start,
        "end": path.end_us - start,
        "until": path.until,
        "last": place.get(path.last_member or "", -1),
        "segments": [_segment(one, place, start) for one in path.segments],
        "way": [_segment(one, place, start) for one in path.way],
        "phases": [
            {"name": one.name, "label": LABELS[one.name][0], "short": LABELS[one.name][1], "text": one.text}
            | {"begin": one.begin_us - start, "end": one.end_us - start}
            for one in path.phases
        ],
        "remarks": path.remarks,
    }


def _segment(one: Segment, place: Mapping[str, int], start: int) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "text": one.text,
        "label": _label(one),
        "from": place[one.origin],
        "to": place[one.member],
        "begin": one.begin_us - start,
        "end": one.end_us - start,
        "queue": one.queue_us,
        "service": one.service_us,
    }


def _label(one: Segment) -> str:
    """Return a segment's name in the diagram, where its members can be seen."""
    name = one.message or ""
    if one.origin == one.member and one.kind != HOP:
        return f"waits for its {name} timer" if name else "waits"
    return name if one.execution is None else f"{name} {one.execution}"


def _facts(run: Run, events: Events, start: int) -> list[str]:
    sends = int((run.rows.kind == run.kinds.index("send")).sum()) if "send" in run.kinds else 0
    drawn = "transmission" if run.has_wire else "delivery"
    return [
        counted(len(run.members), "member"),
        counted(sends, "message"),
        f"{len(events.arrows):,} {drawn.replace('delivery', 'deliverie')}s",
        f"{_span(events, start) / 1e6:,.3f} s",
    ]


def _note(run: Run, listed: int, known: int) -> str:
    if not run.has_wire:
        return (
            "The trace does not tell of transmissions (one made with --wire does),"
            " so paths go as far as sendings and receipts do."
        )
    if listed < known:
        return (
            f"The list has the critical paths of {listed:,} of {known:,} messages, the slowest ones;"
            " stablecast lens TRACE --message NAME puts any other into it."
        )
    return "The page has the critical paths of all messages that were known to be stable."


def _columns(events: Events, start: int) -> dict[str, Any]:
    arrows, points = events.arrows, events.points
    return {
        "arrow_sent": arrows.sent - start,
        "arrow_end": arrows.end - start,
        "arrow_from": arrows.origin,
        "arrow_to": arrows.dest,
        "arrow_kind": arrows.kind,
        "arrow_lost": arrows.lost,
        "arrow_source": arrows.source,
        "arrow_first": arrows.first,
        "arrow_seq": arrows.seq,
        "arrow_execution": arrows.execution,
        "arrow_bytes": arrows.size,
        "arrow_queue": arrows.queue,
        "arrow_service": arrows.service,
        "point_time": points.time - start,
        "point_kind": points.kind,
        "point_member": points.member,
        "point_source": points.source,
        "point_seq": points.seq,
    }
