"""Which execution of a protocol counted a message, and which one passed a member that still lacked it.

An execution, or round, collects what members have.  The first member that knows a message to be stable knows
it by an execution, which is therefore the one that counted it: it is that of the last transmission on the
chain to this first knowledge that has an execution.

A member contributes to an execution by the last type of message that it transmits before anybody learns
something from the execution, when it transmits it first: what comes later passes on the outcome, or repeats.
An execution in which a member transmits nothing passes it with the last thing that it handles.  An execution
that passed the last member before that one had the message could not count it.

This is read from the trace and knows nothing of the protocol.  Some protocols take down what a member has
when the execution comes to it, and some when it transmits; so both times are told, and which one mattered is
seen from which execution counted.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from stablecast.causes.run import ABSENT, Ints, Run

NEVER = int(np.iinfo(np.int64).max)


class Passed(NamedTuple):
    """An execution that passed a member."""

    execution: int
    came_us: int
    """When the member first handled or transmitted something in it."""
    at_us: int
    """When the member contributed to it."""
    end_us: int
    """When any member handled or transmitted something in it for the last time."""


class Executions:
    """When executions began and passed each member, and what was transmitted in them."""

    def __init__(self, run: Run) -> None:
        rows = run.rows
        chosen = np.flatnonzero((rows.execution >= 0) & run.of_kind("transmit", "arrive", "timer"))
        order = np.lexsort((rows.time_us[chosen], rows.execution[chosen]))
        self._run = run
        self._rows: Ints = chosen[order]
        self._execution = rows.execution[self._rows]

    def row_of(self, step: int) -> int:
        """Return what started a step and is of an execution, the first row of several; -1 without one."""
        return int(self._row_of_step[step])

    @cached_property
    def _row_of_step(self) -> Ints:
        run = self._run
        starting = np.flatnonzero(run.of_kind("arrive", "timer") & (run.rows.execution >= 0))[::-1]
        found = np.full(len(run.graph), ABSENT)
        found[run.graph.steps_of(starting)] = starting
        return found

    def begin_us(self, execution: int) -> int:
        """Return when an execution began."""
        return int(self._run.rows.time_us[self._of(execution)[0]])

    def passed_us(self, execution: int, member: int) -> int | None:
        """Return when a member contributed to an execution; None if it never came there."""
        rows, time_us = self._run.rows, self._run.rows.time_us
        found = self._of(execution)
        own = found[rows.member[found] == member]
        transmitted = own[rows.kind[own] == self._run.kinds.index("transmit")]
        before = transmitted[time_us[transmitted] <= self._learned_us.get(execution, NEVER)]
        if before.size:
            firsts = np.unique(rows.message[before], return_index=True)[1]
            return int(time_us[before[firsts]].max())
        return int(time_us[own[-1]]) if own.size else None

    def before(self, execution: int, member: int) -> Passed | None:
        """Return the latest execution before one that came to a member."""
        earlier = self._numbers[: np.searchsorted(self._numbers, execution)]
        for one in earlier[::-1][:MOST_LOOKED_AT].tolist():
            passed_us = self.passed_us(one, member)
            if passed_us is not None:
                found, time_us = self._of(one), self._run.rows.time_us
                own = found[self._run.rows.member[found] == member]
                return Passed(one, int(time_us[own[0]]), passed_us, int(time_us[found[-1]]))
        return None

    def was_lost_before(self, row: int) -> bool:
        """Tell whether what an ``arrive`` row brought had been transmitted before, and had not come."""
        rows = self._run.rows
        among = self._of(int(rows.execution[row]))
        same = among[(rows.message[among] == rows.message[row])]
        to_it = (rows.peer[same] == rows.member[row]) | (rows.peer[same] == ABSENT)
        sent = (rows.kind[same] == self._run.kinds.index("transmit")) & (rows.member[same] == rows.peer[row])
        earlier = rows.number[same[sent & to_it & (rows.number[same] < rows.number[row])]]
        here = (rows.kind[same] == self._run.kinds.index("arrive")) & (rows.member[same] == rows.member[row])
        came = rows.number[same[here & (rows.peer[same] == rows.peer[row])]]
        return bool(earlier.size and not np.isin(earlier, came).any())

    @cached_property
    def _learned_us(self) -> dict[int, int]:
        """When anybody first learned something from each execution that anybody learned from."""
        run = self._run
        claims = np.flatnonzero(run.of_kind("stable"))
        starts = self._row_of_step[run.graph.steps_of(claims)]
        execution = np.where(starts == ABSENT, ABSENT, run.rows.execution[starts])
        order = np.argsort(run.rows.time_us[claims], kind="stable")[::-1]
        return dict(zip(execution[order].tolist(), run.rows.time_us[claims[order]].tolist(), strict=True))

    @cached_property
    def _numbers(self) -> Ints:
        return np.unique(self._execution)

    def _of(self, execution: int) -> Ints:
        left, right = np.searchsorted(self._execution, [execution, execution + 1])
        return self._rows[left:right]


MOST_LOOKED_AT = 100
"""Executions before the one that counted; further back nothing is of interest any more."""
