"""Chains of causes: from a step back to the sending of a message, along tight edges.

A trigger edge always gives its step's time exactly (see :mod:`.graph`), so a chain that goes from a step to
what started it, and on, has the whole time between its ends in it: the lengths of its edges sum to the
difference of the ends' times, in whole microseconds.

A chain ends in one of three ways:

- it meets the sending of the message: everything since then is in it;
- it passes below the time of the sending: then the edge that spans this time was under way when the message
  was sent, and is cut there;
- it meets a step that nothing in the trace started, after the sending: the group then waited for whatever
  happened outside, such as a call of the application, and the time from the sending to there is one segment.

In each case the segments begin at the time of the sending and sum exactly to the time of the end less it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from stablecast.causes.graph import TRIGGER, Edge
from stablecast.causes.run import ABSENT, Run
from stablecast.causes.segments import AND, ASKING, CALL, HOP, REPAIR, UNTOLD, WAIT, Segment, segment_of
from stablecast.errors import InvalidInput


@dataclass(frozen=True)
class Chain:
    """What led from the sending of a message to a later row."""

    segments: tuple[Segment, ...]
    """From the sending on."""
    earlier: tuple[Edge, ...]
    """Edges before the sending, on to a step that nothing in the trace started; the earliest one last."""

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Those of the segments."""
        return tuple(segment.edge for segment in self.segments if segment.edge is not None)


def chain(run: Run, row: int, sent_row: int) -> Chain:
    """Return what led from the sending of a message to a row that is not earlier."""
    graph, sent_us = run.graph, int(run.rows.time_us[sent_row])
    end, sending = graph.step_of(row), graph.step_of(sent_row)
    path = _back(run, end)
    count = _until(run, path, sending, sent_us)
    steps = path[: count + 1]
    edges = [Edge(origin, into, TRIGGER) for into, origin in pairwise(steps)]
    found = _segments(run, edges, sending, sent_us)
    before = _before_first(run, steps[-1], sent_us, sending)
    after = _after_last(run, row, max(sent_us, int(graph.time_us[end])))
    segments = tuple(_with_repairs(run, [*before, *found, *after]))
    rest = path[count:]
    earlier = tuple(Edge(origin, into, TRIGGER) for into, origin in pairwise(rest))
    return Chain(segments, earlier)


def _segments(run: Run, edges: list[Edge], sending: int, sent_us: int) -> list[Segment]:
    """Return the segments of edges that are given from the last one on.

    The first one begins with the sending, also where a live member noted that later than its step's begin.
    """
    time_us = run.graph.time_us
    found = []
    for edge in reversed(edges):
        begin_us = int(time_us[edge.origin])
        is_first = edge == edges[-1]
        meets = edge.origin == sending
        underway = is_first and not meets and begin_us < sent_us
        starts = sent_us if underway or (is_first and meets) else begin_us
        found.append(segment_of(run, edge, begin_us=starts, underway=underway))
    return found


def _back(run: Run, end: int) -> list[int]:
    """Return the steps from one back to one that nothing in the trace started."""
    cause, path, seen = run.graph.cause, [end], {end}
    while (origin := int(cause[path[-1]])) != ABSENT:
        if origin in seen:
            raise InvalidInput("a step of the trace is a cause of itself (accepted: a trace of one run)")
        seen.add(origin)
        path.append(origin)
    return path


def _until(run: Run, path: list[int], sending: int, sent_us: int) -> int:
    """Return how many edges of a path back are needed to come to the sending, or below its time."""
    if sending in path:
        return path.index(sending)
    for count, step in enumerate(path):
        if run.graph.time_us[step] <= sent_us:
            return count
    return len(path) - 1


def _before_first(run: Run, step: int, sent_us: int, sending: int) -> list[Segment]:
    """Return what lies between the sending and a first step that nothing in the trace started."""
    at_us = int(run.graph.time_us[step])
    if step == sending or at_us <= sent_us:
        return []
    member = run.members[int(run.graph.member[step])]
    kind, text = _outside(run, step, member)
    return [Segment(kind, text, member, member, sent_us, at_us)]


def _outside(run: Run, step: int, member: str) -> tuple[str, str]:
    row = int(run.graph.cause_row[step])
    if row != ABSENT:
        name = run.message_of(row) or run.kind_of(row)
        return UNTOLD, f"what led to {name} at {member}, which the trace does not tell"
    for row in run.graph.rows_of(step):
        if run.kind_of(row) == "send":
            name = f"{run.members[int(run.rows.source[row])]}/{int(run.rows.seq[row])}"
            return CALL, f"until the application at {member} sent {name}"
    return CALL, f"until the next call at {member}"


def _after_last(run: Run, row: int, from_us: int) -> list[Segment]:
    """Return the time within the last step, whose rows a live member may write a little later."""
    at_us, member = int(run.rows.time_us[row]), run.members[int(run.rows.member[row])]
    if at_us == from_us:
        return []
    return [Segment(WAIT, f"work at {member}", member, member, from_us, at_us)]


def _with_repairs(run: Run, segments: list[Segment]) -> list[Segment]:
    """Tell what is due to a lost message from others: asking, transmitting again, and waits before."""
    found = [_again(run, one) for one in segments]
    for k, (one, following) in enumerate(pairwise(found)):
        if one.kind != WAIT or following.kind != REPAIR or following.origin != one.member:
            continue
        asks = following.message is not None and set(following.message.split(AND)) & set(ASKING)
        then = "asks for what it lacks" if asks else f"transmits {following.message} again"
        found[k] = replace(one, kind=REPAIR, text=f"{one.member} waits before it {then}")
    return found


def _again(run: Run, segment: Segment) -> Segment:
    """Return a hop as a repair if what it brought had been transmitted before, and was lost."""
    if segment.kind != HOP or segment.edge is None or segment.execution is None:
        return segment
    if not run.executions.was_lost_before(run.executions.row_of(segment.edge.into)):
        return segment
    return replace(segment, kind=REPAIR, text=f"{segment.text}, transmitted again")
