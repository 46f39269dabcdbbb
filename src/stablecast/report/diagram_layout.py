"""Where everything in a space-time diagram goes, for print and screen alike.

Time runs to the right, processes lie under each other.  Lengths are in em, the size of the letters: x from
the left end of the time axis, y down from the top.  Heights are the same at any width, so that a wider window
only draws the picture out in time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Literal

from stablecast.report.label_places import Box, Choice, Segment, choose

if TYPE_CHECKING:
    from stablecast.report.diagram import Arrow, Diagram, Mark, Span

Align = Literal["left", "center", "right"]
ALIGNS: tuple[tuple[Align, float], ...] = (("center", 0.0), ("right", 0.3), ("left", 0.4))
"""How a text may lie to its point, and how much less it is liked than in the middle."""

LETTER = 0.6
"""Width of a letter, on the safe side."""
LINE = 1.3
"""Height of a line of text."""
GAP = 7.0
"""From one process to the next."""
SIDE = 1.8
"""Empty at both ends of the time axis."""
MARGIN = 2.2
"""Above the first process and below the last one; more if they have spans or marks."""
LANE = 2.1
"""From one dimension line to the next."""
NEAR_MARK = 1.05
FAR_MARK = NEAR_MARK + LINE
"""From a process's line to a mark's text; one that is far has a line that leads to it."""
LINE_COST, HEAD_COST, PALE_COST = 3.0, 5.0, 0.4
"""Of covering a process's line, an arrowhead, or what is pale, where an arrow costs 1."""


@dataclass(frozen=True)
class Stroke:
    """A message as a line: to where it is received, or halfway if it is lost."""

    message: Arrow
    end: float
    """The time at which the line ends."""
    y0: float
    y1: float


@dataclass(frozen=True)
class Placed:
    """A text, aligned at a time, with its middle at a height."""

    text: str
    time: float
    y: float
    align: Align
    about: Arrow | Mark | Span

    def leader(self, row: float) -> tuple[float, float] | None:
        """Return the heights of a line from a mark on a process's line to its text, if that is far."""
        side = 1 if self.y > row else -1
        return (row, self.y - side * LINE / 2) if abs(self.y - row) > NEAR_MARK + LINE / 2 else None


@dataclass(frozen=True)
class Dimension:
    """The line of a span, and the text on top of it."""

    span: Span
    y: float
    text: Placed


@dataclass(frozen=True)
class Layout:
    """All places."""

    width: float
    height: float
    start: float
    """The time at the left end, and at the right one."""
    end: float
    rows: tuple[float, ...]
    strokes: tuple[Stroke, ...]
    dimensions: tuple[Dimension, ...] = ()
    labels: tuple[Placed, ...] = ()
    """Of messages."""
    marks: tuple[Placed, ...] = ()

    def x(self, time: float) -> float:
        """Return how far right a time is."""
        return (time - self.start) / (self.end - self.start) * self.width


def lay_out(diagram: Diagram, width: float) -> Layout:
    """Place everything on a time axis of the given width."""
    start, end = _extent(diagram, width)
    lanes = _lanes(diagram, width / (end - start))
    rows, height = _rows(diagram, lanes)
    strokes = tuple(_strokes(diagram, rows))
    layout = Layout(width, height, start, end, rows, strokes)
    return _with_texts(diagram, replace(layout, dimensions=tuple(_dimensions(diagram, layout, lanes))))


def _extent(diagram: Diagram, width: float) -> tuple[float, float]:
    times = [event.time for event in diagram.events]
    times += [time for span in diagram.spans for time in (span.start, span.end)]
    for message in diagram.messages:
        times += [message.sent, _end(message, diagram)]
    low, high = min(times), max(times)
    long = high - low or 1.0
    side = SIDE * long / (width - 2 * SIDE)
    return low - side, low + long + side


def _end(message: Arrow, diagram: Diagram) -> float:
    if message.received is not None:
        return message.received
    return message.sent + _usual_delay(message, diagram) / 2


def _usual_delay(lost: Arrow, diagram: Diagram) -> float:
    """Return how long a lost message would have taken: as others on its way, or of its kind, or any."""
    arrived = [(one, one.received - one.sent) for one in diagram.messages if one.received is not None]
    same_way = [d for one, d in arrived if (one.source, one.dest) == (lost.source, lost.dest)]
    same_kind = [d for one, d in arrived if one.kind == lost.kind]
    return median(same_way or same_kind or [d for _, d in arrived] or [1.0])


def _is_above(process: int, processes: int) -> bool:
    """Whether a process's spans are above its line: those of the upper half."""
    return 2 * process < processes


def _lanes(diagram: Diagram, per_time: float) -> dict[Span, int]:
    """Number the spans of each process from its line outwards; those that overlap have different numbers."""
    numbers: dict[Span, int] = {}
    taken: dict[tuple[int, int], float] = {}
    for span in sorted(diagram.spans, key=lambda span: (span.start, span.end)):
        # A text that is longer than its span sticks out at both ends.
        over = max(0.0, (_long(span.text) + 1) / per_time - (span.end - span.start)) / 2
        lane = 0
        while taken.get((span.process, lane), float("-inf")) > span.start - over:
            lane += 1
        numbers[span] = lane
        taken[span.process, lane] = span.end + over
    return numbers


def _rows(diagram: Diagram, lanes: dict[Span, int]) -> tuple[tuple[float, ...], float]:
    """Return the height of each process's line, and that of all."""
    count = len(diagram.processes)
    rows = []
    y, below = 0.0, 0.0
    for process in range(count):
        used = [lane for span, lane in lanes.items() if span.process == process]
        room = _first_lane(process, diagram) + LANE * max(used) if used else 0.0
        above = room if _is_above(process, count) else 0.0
        if process == 0:
            y = max(MARGIN + _marks_room(process, diagram), above + LINE + 0.6)
        else:
            y += GAP + above + below
        rows.append(y)
        below = 0.0 if _is_above(process, count) else room
    return tuple(rows), y + max(MARGIN + _marks_room(count - 1, diagram), below + 1.0)


def _marks_room(process: int, diagram: Diagram) -> float:
    return LINE if any(event.process == process for event in diagram.events) else 0.0


def _first_lane(process: int, diagram: Diagram) -> float:
    """Return how far from its line a process's first span is: beyond its labels and marks."""
    below = 0.0 if _is_above(process, len(diagram.processes)) else LINE
    return 2.2 + _marks_room(process, diagram) + below


def _strokes(diagram: Diagram, rows: Sequence[float]) -> Iterator[Stroke]:
    for message in diagram.messages:
        y0, y1 = rows[message.source], rows[message.dest]
        yield Stroke(message, _end(message, diagram), y0, (y0 + y1) / 2 if message.lost else y1)


def _dimensions(diagram: Diagram, layout: Layout, lanes: dict[Span, int]) -> Iterator[Dimension]:
    for span in diagram.spans:
        away = _first_lane(span.process, diagram) + LANE * lanes[span]
        y = layout.rows[span.process] + (-away if _is_above(span.process, len(layout.rows)) else away)
        middle = (span.start + span.end) / 2
        yield Dimension(span, y, Placed(span.text, middle, y - 0.85, "center", span))


def _with_texts(diagram: Diagram, layout: Layout) -> Layout:
    labels = [list(_label_places(group, layout)) for group in _said_once(diagram)]
    marks = [list(_mark_places(mark, layout)) for mark in diagram.events]
    wanted = [*labels, *marks]
    chosen = choose(
        [[Choice(_box(place, layout), cost) for place, cost in places] for places in wanted],
        list(_segments(layout)),
        [_box(one.text, layout) for one in layout.dimensions],
        Box(0, 0, layout.width, layout.height),
    )
    placed = [places[at][0] for places, at in zip(wanted, chosen, strict=True)]
    return replace(layout, labels=tuple(placed[: len(labels)]), marks=tuple(placed[len(labels) :]))


def _said_once(diagram: Diagram) -> list[list[Arrow]]:
    """Return the messages with a label; what a process sends to several at once is one group."""
    groups: dict[tuple[int, float, str], list[Arrow]] = {}
    for message in diagram.messages:
        if message.label:
            groups.setdefault((message.source, message.sent, message.label), []).append(message)
    return [sorted(group, key=lambda message: message.lost) for group in groups.values()]


def _label_places(group: Sequence[Arrow], layout: Layout) -> Iterator[tuple[Placed, float]]:
    """At the start, on the side where no arrow of it goes; else on the other side; else on an arrow."""
    first = group[0]
    row = layout.rows[first.source]
    down = sum(1 if message.dest > message.source else -1 for message in group)
    free = -1.0 if down >= 0 else 1.0
    for side, dislike in ((free, 0.0), (-free, 1.5)):
        for align, less in ALIGNS:
            yield Placed(first.label, first.sent, row + side, align, first), dislike + less
    for stroke in layout.strokes:
        if stroke.message in group:
            for k in range(2, 10):
                part = k / 12
                time = stroke.message.sent + part * (stroke.end - stroke.message.sent)
                y = stroke.y0 + part * (stroke.y1 - stroke.y0)
                yield Placed(first.label, time, y, "center", first), 1.0 + part


def _mark_places(mark: Mark, layout: Layout) -> Iterator[tuple[Placed, float]]:
    """Around its point, rather outside than among the arrows."""
    row = layout.rows[mark.process]
    outer = -1.0 if _is_above(mark.process, len(layout.rows)) else 1.0
    for tier, far in ((NEAR_MARK, 0.0), (FAR_MARK, 1.5)):
        for side, dislike in ((outer, 0.0), (-outer, 0.5)):
            for align, less in ALIGNS:
                place = Placed(mark.text, mark.time, row + side * tier, align, mark)
                yield place, far + dislike + less


def _segments(layout: Layout) -> Iterator[Segment]:
    for row in layout.rows:
        yield Segment(0, row, layout.width, row, LINE_COST)
    for stroke in layout.strokes:
        x0, x1 = layout.x(stroke.message.sent), layout.x(stroke.end)
        weight = PALE_COST if stroke.message.pale else 1.0
        yield Segment(x0, stroke.y0, x1, stroke.y1, weight)
        head = 1 / max(1.0, math.hypot(x1 - x0, stroke.y1 - stroke.y0))
        near = (x1 - head * (x1 - x0), stroke.y1 - head * (stroke.y1 - stroke.y0))
        yield Segment(*near, x1, stroke.y1, HEAD_COST * weight)
    for one in layout.dimensions:
        yield Segment(layout.x(one.span.start), one.y, layout.x(one.span.end), one.y)
        for time in (one.span.start, one.span.end):
            yield Segment(layout.x(time), layout.rows[one.span.process], layout.x(time), one.y, PALE_COST)


def _box(placed: Placed, layout: Layout) -> Box:
    long, at = _long(placed.text), layout.x(placed.time)
    left = at - {"left": 0.0, "center": long / 2, "right": long}[placed.align]
    return Box(left, placed.y - LINE / 2, left + long, placed.y + LINE / 2)


def _long(text: str) -> float:
    return LETTER * len(text) + 0.4
