"""Which execution of a protocol counted a message, and which one passed a member that still lacked it.

An execution, or round, collects what members have.  A member's last transmission in it is when the execution
passed the member: what the member received afterwards is for a later one.  So the execution that counted a
message is the first one, among those on the message's critical path, that passed the member who had it last
only after it had it.  An execution in which that member does not transmit at all is taken by the last thing
that the member handled in it.

This is read from the trace and knows nothing of the protocol.  It is an explanation, not a proof: a protocol
may carry more in an execution's messages than what its members had when they transmitted.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from stablecast.causes.run import Ints, Run


class Passed(NamedTuple):
    """An execution that passed a member."""

    execution: int
    at_us: int
    """When the member transmitted last in it."""
    end_us: int
    """When any member handled or transmitted something in it for the last time."""


class Executions:
    """When executions began, ended, and passed each member."""

    def __init__(self, run: Run) -> None:
        rows = run.rows
        chosen = np.flatnonzero((rows.execution >= 0) & run.of_kind("transmit", "arrive", "timer"))
        order = np.lexsort((rows.time_us[chosen], rows.execution[chosen]))
        self._run = run
        self._rows: Ints = chosen[order]
        self._execution = rows.execution[self._rows]

    def begin_us(self, execution: int) -> int:
        """Return when an execution began."""
        return int(self._run.rows.time_us[self._of(execution)[0]])

    def end_us(self, execution: int) -> int:
        """Return when anything happened in an execution for the last time."""
        return int(self._run.rows.time_us[self._of(execution)[-1]])

    def passed_us(self, execution: int, member: int) -> int | None:
        """Return when an execution passed a member; None if it never came there."""
        rows = self._of(execution)
        own = rows[self._run.rows.member[rows] == member]
        transmitted = own[self._run.rows.kind[own] == self._run.kinds.index("transmit")]
        last = transmitted if transmitted.size else own
        return int(self._run.rows.time_us[last[-1]]) if last.size else None

    def counted(self, among: list[int], member: int, had_us: int) -> int | None:
        """Return the execution, among those on a path, that counted what a member has had since a time."""
        for execution in sorted(set(among)):
            passed_us = self.passed_us(execution, member)
            if passed_us is not None and passed_us >= had_us:
                return execution
        return max(among, default=None)

    def too_early(self, before: int, member: int, had_us: int) -> Passed | None:
        """Return the latest execution before one that passed a member before it had a message."""
        earlier = self._numbers[: np.searchsorted(self._numbers, before)]
        for execution in earlier[::-1][:MOST_LOOKED_AT].tolist():
            passed_us = self.passed_us(execution, member)
            if passed_us is not None and passed_us < had_us:
                return Passed(execution, passed_us, self.end_us(execution))
        return None

    @cached_property
    def _numbers(self) -> Ints:
        return np.unique(self._execution)

    def _of(self, execution: int) -> Ints:
        left, right = np.searchsorted(self._execution, [execution, execution + 1])
        return self._rows[left:right]


MOST_LOOKED_AT = 100
"""Executions before the one that counted; further back nothing is of interest any more."""
