"""A critical path in three phases, for an answer in a sentence or two.

A message cannot be known to be stable before everyone has it, and the group learns of that by executions
(rounds) of its protocol.  So the time from the sending to the detection is cut in two places:

1. *had*: until every member that had to have it had it.  The last of them, and how it came by the message,
   say why that took so long.
2. *begun*: until the execution that counted it had begun.  It is empty if that one was under way already and
   had not passed the last member yet.  An execution that had passed that member is the usual reason for a
   long wait, and is named.
3. *counted*: from there to the detection.

Cuts lie within the path and in this order, by definition, so the three lengths sum exactly to the whole.
A protocol without executions, such as one of acknowledgements alone, has no second phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stablecast.causes.coming import COPY, REPAIRED, coming
from stablecast.causes.deliveries import NEVER, Truth
from stablecast.causes.run import ABSENT, Run
from stablecast.causes.segments import REPAIR, WAIT, Segment, duration

HAD, BEGUN, COUNTED = "had", "begun", "counted"
PHASES = (HAD, BEGUN, COUNTED)
"""Until everyone had the message; until the execution that counted it had begun; that execution."""


@dataclass(frozen=True)
class Phase:
    """A stretch of a critical path; the three of a path sum exactly to it, and each may be empty."""

    name: str
    begin_us: int
    end_us: int
    text: str
    """A sentence or two for a person, without its number."""

    @property
    def length_us(self) -> int:
        """How long it took."""
        return self.end_us - self.begin_us


@dataclass(frozen=True)
class Told:
    """What phases are made of."""

    run: Run
    truth: Truth
    knower: str
    detected_us: int
    segments: Sequence[Segment]
    way: Sequence[Segment]
    """How the message came to the member that had it last."""
    execution: int | None
    """The one that counted it."""

    @property
    def last(self) -> str:
        """Who had it last."""
        return self.run.members[self.truth.last]

    def within(self, at_us: int, earliest_us: int) -> int:
        """Return a time, brought between one and the detection."""
        return min(max(at_us, earliest_us), self.detected_us)


def phases_of(told: Told) -> tuple[Phase, ...]:
    """Return the three phases of a path."""
    had_us = told.within(told.truth.stable_us, told.truth.sent_us)
    execution, begun_us = told.execution, had_us
    if execution is not None:
        begun_us = told.within(told.run.executions.begin_us(execution), had_us)
    return (
        Phase(HAD, told.truth.sent_us, had_us, _had_text(told)),
        Phase(BEGUN, had_us, begun_us, _begun_text(told, begun_us - had_us)),
        Phase(COUNTED, begun_us, told.detected_us, _counted_text(told, begun_us)),
    )


def _had_text(told: Told) -> str:
    truth, last = told.truth, told.last
    if truth.stable_us == NEVER:
        return f"{last} never had it in this trace, and {told.knower} knew it to be stable all the same."
    if truth.stable_us > told.detected_us:
        return f"{last} had it only {duration(truth.stable_us - told.detected_us)} after {told.knower} knew."
    row = int(truth.received_row[truth.last])
    if row == ABSENT or told.run.rows.time_us[row] > truth.stable_us:
        return f"Everyone had it, or was gone: {last}, which lacked it, was gone last."
    if last == told.run.members[int(told.run.rows.source[row])] and truth.stable_us == truth.sent_us:
        return "Everyone who had to have it had it at once."
    return f"Everyone had it when {last} had it{_coming_text(told, row)}."


def _coming_text(told: Told, row: int) -> str:
    came = coming(told.run, row)
    held = 0 if came.arrival_us is None else told.truth.stable_us - came.arrival_us
    behind = f" and held it for {duration(held)} until what came before it was there" if held > 0 else ""
    if came.how == REPAIRED:
        waits = sum(
            one.length_us for one in told.way if one.kind in (REPAIR, WAIT) and one.origin == one.member
        )
        waited = f", after {duration(waits)} of waiting" if waits else ""
        return f": the first copy did not come there, and {came.origin} transmitted it again{waited}{behind}"
    if came.how == COPY and came.origin is not None:
        return f", which had the first copy from {came.origin}{behind}"
    return ""


def _begun_text(told: Told, length_us: int) -> str:
    execution, last, had_us = told.execution, told.truth.last, told.truth.stable_us
    if execution is None:
        if not told.run.has_wire:
            return "The trace does not tell of transmissions, so what the group waited for is not known."
        return "No execution had to begin."
    if told.truth.stable_us > told.detected_us:
        return "The group waited for nothing else."
    if not length_us:
        at_us = told.run.executions.passed_us(execution, last)
        yet = f" and had not passed {told.last} yet" if at_us is not None and at_us >= had_us else ""
        return f"Execution {execution}, which counted it, was under way{yet}."
    passed = told.run.executions.before(execution, last)
    if passed is None or passed.came_us >= had_us or passed.end_us < told.truth.sent_us:
        return f"The group waited for the next execution, {execution}."
    was_through = passed.at_us < had_us
    by = duration(had_us - (passed.at_us if was_through else passed.came_us))
    verb = "passed" if was_through else "had come to"
    reason = f"execution {passed.execution} {verb} {told.last} {by} before {told.last} had it"
    return f"The group waited for execution {execution}, because {reason}."


def _counted_text(told: Told, begun_us: int) -> str:
    if not told.run.has_wire:
        return f"{told.knower} learned that it was stable."
    what = "The news" if told.execution is None else f"Execution {told.execution}"
    verb = "came" if told.execution is None else "ran, and what it found came"
    inside = {segment.end_us - max(segment.begin_us, begun_us): segment for segment in told.segments}
    longest_us = max(inside, default=0)
    if longest_us <= 0:
        return f"{what} {verb} to {told.knower}."
    part = f"{inside[longest_us].text} ({duration(longest_us)})"
    return f"{what} {verb} to {told.knower}; the longest part: {part}."
