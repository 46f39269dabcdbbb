"""The causal graph of a run: a step of a member waited for what started it, and for the step before it.

Nodes are steps.  There are edges of two kinds into a step:

- *trigger*, from what started it: the step that transmitted what arrived, as long as the way took; or for a
  timer the step that set it, as long as the timer was set to; or, where that is not known, the member's step
  before it, as long as the time between.
- *order*, from the member's step before it, of length 0: a member handles one thing at a time.

The time of a step is the latest, over its edges, of the other end's time and the edge's length together.  A
step that nothing in the trace started, such as a call of the application, has a fixed time; it still comes
after the member's step before it.

Why this gives the trace's own times: a trigger edge's length is the difference of its ends' times in the
trace, so it alone gives exactly the step's time, and an order edge can only give the same or an earlier one,
because a member's steps stand in the order of their times.  An edge is *tight* if it gives the step's time;
every trigger edge of a trace is.  After a change of some lengths, times follow in the order of the graph,
every step after those it waited for.

What can go wrong: clocks of two machines that run apart make lengths that are negative, which changes nothing
of the above; a member whose clock was set back has a step earlier than the one before it, and such an order
edge is left out; a trace in which a step is, by several edges, a cause of itself is refused.

What it does not tell: in the simulator a transmission waits in queues because of others.  Its length is taken
as it was, so shortening another transmission does not shorten the queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from stablecast.causes.run import ABSENT, Ints
from stablecast.errors import InvalidInput

TRIGGER, ORDER = "trigger", "order"
"""An edge from what started a step, and from the same member's step before it."""
EARLIEST = int(np.iinfo(np.int64).min)
"""Instead of a fixed time, for steps that have none."""


class Edge(NamedTuple):
    """``into`` could not happen before ``origin``; both are places of steps in the graph."""

    origin: int
    into: int
    kind: str


@dataclass(frozen=True)
class Graph:
    """Steps by member and number, a place each: the steps of a member stand together and in order."""

    member: Ints
    step: Ints
    time_us: Ints
    first_row: Ints
    """Of each step in the run's rows; one more entry at the end."""
    cause: Ints
    """The step that transmitted what started this one, or that set the timer; -1 without one."""
    cause_row: Ints
    """The row that started this step (``arrive`` or ``timer``); -1 for a call."""
    wait_us: Ints
    """Length of the edge from the cause."""
    before: Ints
    """The member's step before this one; -1 for its first."""
    fixed_us: Ints
    """Time of a step that nothing in the trace started, such as a call; ``EARLIEST`` for others."""
    remarks: tuple[str, ...] = ()
    """What is odd about the trace, a sentence each."""

    def __len__(self) -> int:
        return int(self.time_us.size)

    def edges_into(self, step: int) -> tuple[Edge, ...]:
        """Return what a step waited for, what started it first."""
        ends = ((int(self.cause[step]), TRIGGER), (int(self.before[step]), ORDER))
        return tuple(Edge(origin, step, kind) for origin, kind in ends if origin != ABSENT)

    def length_us(self, edge: Edge) -> int:
        """Return how long after the origin the other end can happen at the earliest."""
        self._check(edge)
        return int(self.wait_us[edge.into]) if edge.kind == TRIGGER else 0

    def step_of(self, row: int) -> int:
        """Return the place of the step in which a row happened."""
        return int(np.searchsorted(self.first_row, row, side="right")) - 1

    def steps_of(self, rows: Ints) -> Ints:
        """Return the places of the steps in which rows happened."""
        found: Ints = np.searchsorted(self.first_row, rows, side="right") - 1
        return found

    def rows_of(self, step: int) -> range:
        """Return the rows of a step."""
        return range(int(self.first_row[step]), int(self.first_row[step + 1]))

    @cached_property
    def clocks_contradict(self) -> bool:
        """Whether something happened before what it followed, by the clocks of the trace."""
        back = np.diff(self.time_us)[np.diff(self.member) == 0]
        return bool((self.wait_us < 0).any() or (back < 0).any())

    def _check(self, edge: Edge) -> None:
        if not 0 <= edge.into < len(self) or edge not in self.edges_into(edge.into):
            raise InvalidInput(f"no edge of the graph: {edge} (accepted: those of edges_into)")

    @cached_property
    def in_order(self) -> list[int]:
        """All steps, each after those it waited for."""
        # A member's steps keep their order, also where its clock was set back.
        previous = np.arange(-1, len(self) - 1)
        previous[np.flatnonzero(np.diff(self.member, prepend=-1))] = ABSENT
        cause, before = self.cause.tolist(), previous.tolist()
        missing = ((self.cause != ABSENT).astype(np.int8) + (previous != ABSENT)).tolist()
        after: list[list[int]] = [[] for _ in missing]
        for step, (one, other) in enumerate(zip(cause, before, strict=True)):
            if one != ABSENT:
                after[one].append(step)
            if other != ABSENT:
                after[other].append(step)
        ready = [step for step, count in enumerate(missing) if not count]
        for step in ready:
            for later in after[step]:
                missing[later] -= 1
                if not missing[later]:
                    ready.append(later)
        if len(ready) < len(missing):
            raise InvalidInput("a step of the trace is a cause of itself (accepted: a trace of one run)")
        return ready

    @cached_property
    def in_order_with_origins(self) -> list[tuple[int, int, int]]:
        """All steps in order, with the other ends of their edges."""
        steps = np.array(self.in_order, np.int64)
        return list(zip(self.in_order, self.cause[steps].tolist(), self.before[steps].tolist(), strict=True))


def recompute(graph: Graph, shortened: Mapping[Edge, int]) -> Ints:
    """Return the times of all steps if some edges were shorter by so many microseconds."""
    wait_us = graph.wait_us.copy()
    for edge, by_us in shortened.items():
        length = graph.length_us(edge)
        if not 0 <= by_us <= max(length, 0):
            raise InvalidInput(f"{edge} shorter by {by_us} µs (accepted: from 0 to its length, {length} µs)")
        if edge.kind == TRIGGER:
            wait_us[edge.into] -= by_us
    times, waits = graph.fixed_us.tolist(), wait_us.tolist()
    for step, cause, before in graph.in_order_with_origins:
        at_us = times[step]
        if cause != ABSENT:
            by_cause = times[cause] + waits[step]
            at_us = by_cause if by_cause > at_us else at_us
        if before != ABSENT and times[before] > at_us:
            at_us = times[before]
        times[step] = at_us
    return np.array(times, np.int64)
