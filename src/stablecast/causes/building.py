"""The graph of a run from its rows: which step caused which, found by sorting and searching.

A step's rows stand together, so steps are where the member or the number changes; a row without a step is
one for itself.  The first row of kind ``arrive`` or ``timer`` of a step is what started it.  An arrival of
(peer, number) belongs to the step in which ``peer`` transmitted that number.  A member that was started again
may count from the beginning again; of several transmissions with one number, the arrival is that of the
latest one before it.

A trace without transmissions has a step for every row, and a receipt's cause is the sending of the message:
that is what a delivery log knows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stablecast.causes.graph import EARLIEST, Graph
from stablecast.causes.run import ABSENT, Ints, Mask, Run
from stablecast.words import counted


@dataclass(frozen=True)
class _Steps:
    """Steps before it is known what caused them."""

    member: Ints
    time_us: Ints
    first_row: Ints
    of_row: Ints
    start: Ints
    """The row that started a step, or -1."""
    before: Ints


def graph_of(run: Run) -> Graph:
    """Return the causal graph of a run."""
    steps = _steps(run)
    cause = np.full(steps.member.size, ABSENT)
    remarks: list[str] = []
    if run.has_wire:
        _set_arrivals(run, steps, cause, remarks)
        _set_timers(run, steps, cause)
    else:
        _set_receipts(run, steps, cause)
    wait_us = np.where(cause == ABSENT, 0, steps.time_us - steps.time_us[cause])
    fixed_us = np.where(cause == ABSENT, steps.time_us, EARLIEST)
    remarks += _clock_remarks(run, steps, wait_us)
    before = _without_leaps_back(steps)
    number = run.rows.step[steps.first_row]
    first_row = np.append(steps.first_row, len(run.rows))
    start, member = steps.start, steps.member
    return Graph(
        member, number, steps.time_us, first_row, cause, start, wait_us, before, fixed_us, tuple(remarks)
    )


def _steps(run: Run) -> _Steps:
    rows = run.rows
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = (np.diff(rows.member) != 0) | (np.diff(rows.step) != 0) | (rows.step[1:] == ABSENT)
    first_row, of_row = np.flatnonzero(begins), np.cumsum(begins) - 1
    start = np.full(first_row.size, ABSENT)
    starting = np.flatnonzero(run.of_kind("arrive", "timer"))[::-1]
    start[of_row[starting]] = starting  # of several rows the first one, which is written last
    time_us = rows.time_us[np.where(start == ABSENT, first_row, start)]
    member = rows.member[first_row]
    before = np.arange(-1, member.size - 1)
    before[np.flatnonzero(np.diff(member, prepend=ABSENT - 1))] = ABSENT
    return _Steps(member, time_us, first_row, of_row, start, before)


def _set_arrivals(run: Run, steps: _Steps, cause: Ints, remarks: list[str]) -> None:
    """Set the causes of the steps that an arrival started."""
    into = np.flatnonzero(_started_by(run, steps, "arrive"))
    if not into.size:
        return
    rows, arrivals = run.rows, steps.start[into]
    found = _transmissions(run, steps).of(rows.peer[arrivals], rows.number[arrivals], steps.time_us[into])
    # A step that is said to have started itself tells nothing.
    found[found == into] = ABSENT
    cause[into] = found
    missing = int((found == ABSENT).sum())
    if missing:
        remarks.append(
            f"The transmissions of {counted(missing, 'arrival')} are not in the trace: chains end there."
        )


class _Transmissions:
    """Steps in which members transmitted, found by transmitter and number."""

    def __init__(self, member: Ints, number: Ints, step: Ints, time_us: Ints, width: int) -> None:
        keys = member * width + number
        order = np.lexsort((step, keys))
        keys, step = keys[order], step[order]
        again = np.zeros(keys.size, np.bool_)
        again[1:] = (keys[1:] == keys[:-1]) & (step[1:] == step[:-1])
        self._keys, self._steps, self._width = keys[~again], step[~again], width
        self._time_us = time_us

    def of(self, member: Ints, number: Ints, time_us: Ints) -> Ints:
        """Return for each arrival the step that transmitted it, -1 if there is none."""
        wanted = np.where((number < 0) | (number >= self._width), -1, member * self._width + number)
        left = np.searchsorted(self._keys, wanted, side="left")
        right = np.searchsorted(self._keys, wanted, side="right")
        found = np.full(wanted.size, ABSENT)
        there = np.flatnonzero(right > left)
        found[there] = self._steps[left[there]]
        for k in np.flatnonzero(right > left + 1).tolist():
            several = self._steps[left[k] : right[k]]
            earlier = several[self._time_us[several] <= time_us[k]]
            found[k] = earlier[-1] if earlier.size else several[0]
        return found


def _transmissions(run: Run, steps: _Steps) -> _Transmissions:
    rows, sent = run.rows, np.flatnonzero(run.of_kind("transmit") & (run.rows.number != ABSENT))
    width = int(rows.number.max(initial=0)) + 1
    return _Transmissions(rows.member[sent], rows.number[sent], steps.of_row[sent], steps.time_us, width)


def _set_timers(run: Run, steps: _Steps, cause: Ints) -> None:
    """Set the causes of the steps that a timer started: the step that set it, or the step before."""
    into = np.flatnonzero(_started_by(run, steps, "timer"))
    since_us = run.rows.since_us[steps.start[into]]
    known = since_us != ABSENT
    cause[into[~known]] = steps.before[into[~known]]
    cause[into[known]] = _latest_until(steps, into[known], since_us[known])


def _latest_until(steps: _Steps, into: Ints, since_us: Ints) -> Ints:
    """Return for each step the same member's latest one before it that was not later than a time."""
    if not into.size:
        return into
    earliest = int(steps.time_us.min())
    width = int(steps.time_us.max()) - earliest + 2
    # A clock that was set back would break the order that the search needs.
    keys = np.maximum.accumulate(steps.member * width + steps.time_us - earliest)
    offset = np.clip(since_us - earliest, -1, width - 1)
    found = np.searchsorted(keys, steps.member[into] * width + offset, side="right") - 1
    found = np.minimum(found, into - 1)
    same = (found >= 0) & (steps.member[found] == steps.member[into])
    return np.where(same, found, ABSENT)


def _set_receipts(run: Run, steps: _Steps, cause: Ints) -> None:
    """Set the sending of the message as the cause of every receipt; each row is a step."""
    receipts = np.flatnonzero(run.of_kind("receive"))
    sends = run.deliveries.send_rows(run.rows.source[receipts], run.rows.seq[receipts])
    own = run.rows.source[receipts] == run.rows.member[receipts]
    cause[receipts] = np.where(own, ABSENT, sends)


def _started_by(run: Run, steps: _Steps, kind: str) -> Mask:
    started: Mask = (steps.start != ABSENT) & (run.rows.kind[steps.start] == run.kinds.index(kind))
    return started


def _without_leaps_back(steps: _Steps) -> Ints:
    """Return each step's step before it, except where the member's clock was set back in between."""
    back = (steps.before != ABSENT) & (steps.time_us < steps.time_us[steps.before])
    return np.where(back, ABSENT, steps.before)


def _clock_remarks(run: Run, steps: _Steps, wait_us: Ints) -> list[str]:
    remarks = []
    early = wait_us[(wait_us < 0) & _started_by(run, steps, "arrive")]
    if early.size:
        came = f"{counted(early.size, 'arrival')} came before {'its' if early.size == 1 else 'their'}"
        remarks.append(
            f"Clocks run apart: by them, {came} transmission{'s' * (early.size > 1)},"
            f" by up to {-int(early.min())} µs; single hops mislead."
        )
    back = int(((steps.before != ABSENT) & (steps.time_us < steps.time_us[steps.before])).sum())
    if back:
        remarks.append(f"A member's clock went back {counted(back, 'time')}; chains ignore the order there.")
    return remarks
