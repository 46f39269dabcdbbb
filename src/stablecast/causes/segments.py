"""One piece of a chain of causes, named and timed for a person."""

from __future__ import annotations

from dataclasses import dataclass

from stablecast.causes.graph import Edge
from stablecast.causes.run import ABSENT, Run

HOP, WAIT, REPAIR, UNDERWAY, CALL, UNTOLD = ("hop", "wait", "repair", "underway", "call", "untold")
SEGMENT_KINDS = (HOP, WAIT, REPAIR, UNDERWAY, CALL, UNTOLD)
"""A transmission; a timer; either of them for a lost message; what was under way at the sending already;
waiting for the application; what the trace does not tell."""
ASKING = ("NAK", "REQUEST")
"""Messages that ask for data that a member lacks."""
ANSWERING = ("REPAIR", "KEPT")
"""Messages that carry data again."""
AND = " and "
"""Between the names of what comes in one datagram."""


def duration(us: int) -> str:
    """Return a time as a person says it: ``12 µs``, ``1.25 ms``, ``3.5 s``."""
    for unit, size in (("s", 1_000_000), ("ms", 1_000)):
        if abs(us) >= size:
            return f"{us / size:.3g} {unit}" if abs(us) < 1000 * size else f"{us / size:,.0f} {unit}"
    return f"{us} µs"


@dataclass(frozen=True)
class Segment:
    """A stretch of time that one thing took."""

    kind: str
    text: str
    """``START of execution 12 from m0 to m3``."""
    origin: str
    """Member at the beginning."""
    member: str
    """Member at the end; the same one for a wait."""
    begin_us: int
    end_us: int
    message: str | None = None
    """What was transmitted, or the timer's name."""
    execution: int | None = None
    queue_us: int | None = None
    service_us: int | None = None
    propagation_us: int | None = None
    edge: Edge | None = None
    """In the run's graph."""

    @property
    def length_us(self) -> int:
        """How long it took."""
        return self.end_us - self.begin_us


def segment_of(run: Run, edge: Edge, *, begin_us: int, underway: bool = False) -> Segment:
    """Return the segment of a trigger edge.

    Parameters
    ----------
    run, edge
        An edge of the run's graph.
    begin_us
        Where it begins; later than the edge does if a part of the edge lies before what is looked at.
    underway
        Whether that is so because it had begun before the sending.
    """
    graph, row = run.graph, int(run.graph.cause_row[edge.into])
    origin, member = (run.members[int(graph.member[step])] for step in (edge.origin, edge.into))
    start_us, end_us = int(graph.time_us[edge.origin]), int(graph.time_us[edge.into])
    arrival = is_arrival(run, edge.into)
    message = _message(run, edge.into)
    what = _what(run, row, message)
    text = f"{what} from {origin} to {member}" if arrival else f"{what} at {member}"
    kind = _kind(arrival, message)
    if underway:
        kind, text = UNDERWAY, f"{text}, which had begun {duration(begin_us - start_us)} before the sending"
    whole = begin_us == start_us
    parts = _parts(run, row, end_us - start_us) if arrival and whole else (None, None, None)
    return Segment(
        kind, text, origin, member, begin_us, end_us, message, _execution(run, row), *parts, edge=edge
    )


def is_arrival(run: Run, step: int) -> bool:
    """Tell steps that something started that came from a member."""
    row = int(run.graph.cause_row[step])
    return run.kind_of(row) == "arrive" if row != ABSENT else not run.has_wire


def _kind(arrival: bool, message: str | None) -> str:
    if not arrival:
        return WAIT
    named = set(message.split(AND)) if message else set()
    return REPAIR if named & {*ASKING, *ANSWERING} else HOP


def _execution(run: Run, row: int) -> int | None:
    execution = ABSENT if row == ABSENT else int(run.rows.execution[row])
    return None if execution == ABSENT else execution


def _message(run: Run, step: int) -> str | None:
    """Return what started a step: of a datagram, everything that was in it."""
    row = int(run.graph.cause_row[step])
    if row == ABSENT:
        return None if run.has_wire else "DATA"
    kind = run.kind_of(row)
    found = [run.message_of(other) for other in run.graph.rows_of(step) if run.kind_of(other) == kind]
    return AND.join(dict.fromkeys(message for message in found if message is not None)) or None


def _what(run: Run, row: int, message: str | None) -> str:
    rows = run.rows
    if row == ABSENT:
        return message or "the next step"
    if run.kind_of(row) == "timer":
        return f"timer {message}" if message else "a timer"
    execution, source, seq, first = (
        int(column[row]) for column in (rows.execution, rows.source, rows.seq, rows.first_seq)
    )
    name = message or "a transmission"
    if execution != ABSENT:
        return f"{name} of execution {execution}"
    if source == ABSENT or seq == ABSENT:
        return name
    numbers = f"{first}-{seq}" if first not in (ABSENT, seq) else f"{seq}"
    return f"{name} {run.members[source]}/{numbers}"


def _parts(run: Run, row: int, length_us: int) -> tuple[int | None, int | None, int | None]:
    """Return time in queues, time being served, and propagation, which together are the length.

    Times are cut to whole microseconds, each by itself, so that the first two may be a little too long.
    """
    queue_us, service_us = int(run.rows.queue_us[row]), int(run.rows.service_us[row])
    if ABSENT in (queue_us, service_us) or length_us < 0:
        return None, None, None
    queue_us = min(queue_us, length_us)
    service_us = min(service_us, length_us - queue_us)
    return queue_us, service_us, length_us - queue_us - service_us
