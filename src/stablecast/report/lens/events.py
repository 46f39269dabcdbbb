"""What a run's diagram draws: arrows and points, as columns, sorted by time.

An *arrow* is a transmission to one addressee: from the step that sent it to the step that handled it. The
rows of kind ``arrive`` are the arrows that came; each finds its beginning by its transmitter and number.
A transmission is lost to a member if it was meant for it and has no such row: the one that it names, or,
where it names none, everybody who had joined by then, if anybody joins, and whose own rows end after it
should have come.  (Members whose rows end sooner may have got it after the end of the trace.)  An arrival
whose transmission is not in the trace has no beginning, and is not drawn; the run's remarks count those.

Traces without transmissions have an arrow for each delivery instead, from the sending to the receipt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from stablecast.causes import Run

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
NONE = -1
POINT_KINDS = ("send", "receive", "stable", "release", "timer", "join", "leave", "fail")
DELIVERY = "delivery"


@dataclass(frozen=True)
class Arrows:
    """Transmissions to one addressee each, the first one sent first."""

    sent: Ints
    end: Ints
    """When it was handled; of a lost one, when it should have been."""
    origin: Ints
    dest: Ints
    kind: Ints
    """Places in the list of kinds."""
    lost: Ints
    source: Ints
    first: Ints
    seq: Ints
    execution: Ints
    size: Ints
    queue: Ints
    service: Ints

    def __len__(self) -> int:
        return int(self.sent.size)

    def taken(self, rows: Ints | Mask) -> Arrows:
        """Return the chosen rows, in the order given."""
        return replace(self, **{name: column[rows] for name, column in vars(self).items()})


@dataclass(frozen=True)
class Points:
    """What members did, in the order of time."""

    time: Ints
    kind: Ints
    """Places in ``POINT_KINDS``."""
    member: Ints
    source: Ints
    seq: Ints
    """Of a timer its place in the list of names."""

    def __len__(self) -> int:
        return int(self.time.size)

    def taken(self, rows: Ints | Mask) -> Points:
        """Return the chosen rows, in the order given."""
        return replace(self, **{name: column[rows] for name, column in vars(self).items()})


@dataclass(frozen=True)
class Events:
    """All that is drawn of a run."""

    kinds: tuple[str, ...]
    arrows: Arrows
    points: Points

    def within(self, from_us: int | None, to_us: int | None) -> Events:
        """Return what reaches into a window of time."""
        low = np.iinfo(np.int64).min if from_us is None else from_us
        high = np.iinfo(np.int64).max if to_us is None else to_us
        arrows = self.arrows.taken((self.arrows.end >= low) & (self.arrows.sent <= high))
        points = self.points.taken((self.points.time >= low) & (self.points.time <= high))
        return replace(self, arrows=arrows, points=points)


def events_of(run: Run) -> Events:
    """Return a run's arrows and points."""
    if not run.has_wire:
        return Events((DELIVERY,), _deliveries(run), _points(run))
    came = _arrived(run)
    arrows = _joined([came, _lost(run, came)])
    return Events(run.messages, arrows.taken(np.argsort(arrows.sent, kind="stable")), _points(run))


def _of_kind(run: Run, kind: str) -> Ints:
    if kind not in run.kinds:
        return np.zeros(0, np.int64)
    return np.flatnonzero(run.rows.kind == run.kinds.index(kind))


def _points(run: Run) -> Points:
    rows = [_of_kind(run, kind) for kind in POINT_KINDS]
    at = np.concatenate(rows)
    kind = np.repeat(np.arange(len(POINT_KINDS)), [part.size for part in rows])
    is_timer = kind == POINT_KINDS.index("timer")
    seq = np.where(is_timer, run.rows.message[at], run.rows.seq[at])
    points = Points(run.rows.time_us[at], kind, run.rows.member[at], run.rows.source[at], seq)
    return points.taken(np.argsort(points.time, kind="stable"))


def _keys(member: Ints, number: Ints, width: int) -> Ints:
    keys: Ints = member * width + number
    return keys


def _arrived(run: Run) -> Arrows:
    """Return the transmissions that came, but for those of which only the arrival is in the trace."""
    rows, at, sent = run.rows, _of_kind(run, "arrive"), _of_kind(run, "transmit")
    width = int(rows.number.max(initial=0)) + 1
    keys = _keys(rows.member[sent], rows.number[sent], width)
    order = np.argsort(keys, kind="stable")
    wanted = _keys(rows.peer[at], rows.number[at], width)
    place = np.minimum(np.searchsorted(keys[order], wanted), max(0, keys.size - 1))
    known = keys[order][place] == wanted if keys.size else np.zeros(at.size, np.bool_)
    begin = sent[order][place[known]] if keys.size else sent
    at = at[known]
    arrows = _arrows(run, at, begin=rows.time_us[begin], end=rows.time_us[at], origin=rows.peer[at])
    return replace(arrows, dest=rows.member[at])


def _arrows(run: Run, at: Ints, *, begin: Ints, end: Ints, origin: Ints, lost: int = 0) -> Arrows:
    rows = run.rows
    return Arrows(
        sent=begin,
        # Clocks of live members may run apart; an arrow never goes back.
        end=np.maximum(begin, end),
        origin=origin,
        dest=rows.peer[at],
        kind=rows.message[at],
        lost=np.full(at.size, lost),
        source=rows.source[at],
        first=rows.first_seq[at],
        seq=rows.seq[at],
        execution=rows.execution[at],
        size=rows.size[at],
        queue=rows.queue_us[at],
        service=rows.service_us[at],
    )


def _lost(run: Run, came: Arrows) -> Arrows:
    """Return what was transmitted to members that never handled it."""
    rows, sent = run.rows, _of_kind(run, "transmit")
    usual = int(np.median(came.end - came.sent)) if len(came) else 0
    begin, end = rows.time_us[sent], rows.time_us[sent] + usual
    at, dest = _addressed(run, sent, end)
    handled = _handled(run)
    width = int(rows.number.max(initial=0)) + 1
    keys = _keys(_keys(rows.member[at], rows.number[at], width), dest, len(run.members))
    missing = ~np.isin(keys, handled)
    at, dest = at[missing], dest[missing]
    begin = rows.time_us[at]
    arrows = _arrows(run, at, begin=begin, end=begin + usual, origin=rows.member[at], lost=1)
    return replace(arrows, dest=dest)


def _handled(run: Run) -> Ints:
    """Return a key for each transmission and member that handled it."""
    rows, at = run.rows, _of_kind(run, "arrive")
    width = int(rows.number.max(initial=0)) + 1
    return _keys(_keys(rows.peer[at], rows.number[at], width), rows.member[at], len(run.members))


def _addressed(run: Run, sent: Ints, due: Ints) -> tuple[Ints, Ints]:
    """Return each transmission once for every member that it was meant for."""
    rows = run.rows
    named = rows.peer[sent] != NONE
    single, everybody = sent[named], sent[~named]
    first, last = _present(run)
    at, dest = [single], [rows.peer[single]]
    for member in range(len(run.members)):
        there = (first[member] <= rows.time_us[everybody]) & (due[~named] <= last[member])
        those = everybody[there & (rows.member[everybody] != member)]
        at.append(those)
        dest.append(np.full(those.size, member))
    return np.concatenate(at), np.concatenate(dest)


def _present(run: Run) -> tuple[Ints, Ints]:
    """Return since when each member is there, and the time of its last row."""
    first = np.full(len(run.members), np.iinfo(np.int64).min)
    last = np.full(len(run.members), np.iinfo(np.int64).min)
    joins = _of_kind(run, "join")
    first[run.rows.member[joins]] = run.rows.time_us[joins]
    np.maximum.at(last, run.rows.member, run.rows.time_us)
    return first, last


def _deliveries(run: Run) -> Arrows:
    """Return an arrow from each message's sending to each receipt by another member."""
    rows, at, sent = run.rows, _of_kind(run, "receive"), _of_kind(run, "send")
    at = at[rows.member[at] != rows.source[at]]
    width = int(rows.seq.max(initial=0)) + 2
    keys = _keys(rows.source[sent], rows.seq[sent], width)
    order = np.argsort(keys, kind="stable")
    wanted = _keys(rows.source[at], rows.seq[at], width)
    place = np.minimum(np.searchsorted(keys[order], wanted), max(0, keys.size - 1))
    known = keys[order][place] == wanted if keys.size else np.zeros(at.size, np.bool_)
    begin = sent[order][place[known]] if keys.size else sent
    at = at[known]
    arrows = _arrows(run, at, begin=rows.time_us[begin], end=rows.time_us[at], origin=rows.source[at])
    none = np.full(at.size, NONE)
    arrows = replace(arrows, dest=rows.member[at], kind=np.zeros(at.size, np.int64), first=none)
    return arrows.taken(np.argsort(arrows.sent, kind="stable"))


def _joined(parts: list[Arrows]) -> Arrows:
    return Arrows(**{name: np.concatenate([vars(part)[name] for part in parts]) for name in vars(parts[0])})
