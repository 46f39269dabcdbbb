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
MOST_FRAMES = 3
"""Of one datagram, told in its text."""


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
    graph = run.graph
    origin, member = (run.members[int(graph.member[step])] for step in (edge.origin, edge.into))
    start_us, end_us = int(graph.time_us[edge.origin]), int(graph.time_us[edge.into])
    arrival, rows = is_arrival(run, edge.into), _starting(run, edge.into)
    named = run.executions.row_of(edge.into)
    text = f"{_what(run, rows)} from {origin} to {member}" if arrival else _wait_text(run, rows, member)
    kind = _kind(run, rows, named) if arrival else WAIT
    if underway:
        kind, text = UNDERWAY, f"{text}, which had begun {duration(begin_us - start_us)} before the sending"
    whole = arrival and begin_us == start_us and rows
    parts = _parts(run, rows[0], end_us - start_us) if whole else (None, None, None)
    execution = None if named == ABSENT else int(run.rows.execution[named])
    message = AND.join(_names(run, rows)) or None
    return Segment(kind, text, origin, member, begin_us, end_us, message, execution, *parts, edge=edge)


def is_arrival(run: Run, step: int) -> bool:
    """Tell steps that something started that came from a member."""
    row = int(run.graph.cause_row[step])
    return run.kind_of(row) == "arrive" if row != ABSENT else not run.has_wire


def _starting(run: Run, step: int) -> list[int]:
    """Return the rows that started a step: all frames of a datagram, or all timers that were due."""
    row = int(run.graph.cause_row[step])
    kind = run.kind_of(row) if row != ABSENT else None
    return [other for other in run.graph.rows_of(step) if run.kind_of(other) == kind]


def _names(run: Run, rows: list[int]) -> list[str]:
    names = [run.message_of(row) for row in rows]
    return list(dict.fromkeys(name for name in names if name is not None))


def _kind(run: Run, rows: list[int], named: int) -> str:
    """Tell what is for lost data alone from a datagram that brings something of an execution as well."""
    names = set(_names(run, rows))
    return REPAIR if names & {*ASKING, *ANSWERING} and named == ABSENT else HOP


def _wait_text(run: Run, rows: list[int], member: str) -> str:
    names = _names(run, rows)
    return f"{member} waits for its timer" + (f" ({AND.join(names)})" if names else "")


def _what(run: Run, rows: list[int]) -> str:
    if not rows:
        return "DATA"  # of a trace that tells of messages alone
    found = list(dict.fromkeys(_frame(run, row) for row in rows))
    more = len(found) - MOST_FRAMES
    return AND.join(found[:MOST_FRAMES]) + (f" and {more} more" if more > 0 else "")


def _frame(run: Run, row: int) -> str:
    rows = run.rows
    name = run.message_of(row) or "a transmission"
    execution, source, seq, first = (
        int(column[row]) for column in (rows.execution, rows.source, rows.seq, rows.first_seq)
    )
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
