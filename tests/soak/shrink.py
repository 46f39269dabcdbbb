"""Make a schedule that fails smaller: leave out faults as long as it fails in the same way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tests.soak.run import run_schedule
from tests.soak.schedules import Schedule


def keep(schedule: Schedule, places: Sequence[int]) -> Schedule:
    """Return a schedule with only these of its faults."""
    return replace(schedule, faults=tuple(schedule.faults[place] for place in places))


def shrink(schedule: Schedule) -> tuple[Schedule, list[int]]:
    """Return a schedule with only the faults that it takes to fail, and their places."""
    places = list(range(len(schedule.faults)))
    first = run_schedule(schedule).problem
    if first is None:
        return schedule, places
    for place in reversed(places.copy()):
        fewer = [other for other in places if other != place]
        problem = run_schedule(keep(schedule, fewer)).problem
        if problem is not None and cause(problem) == cause(first):
            places = fewer
    return keep(schedule, places), places


def cause(problem: str) -> str:
    """Return what kind of problem it is: what is said, without names, numbers and lists."""
    plain = re.sub(r"^\w+ at [\d.]+ s: ", "", problem)
    return re.sub(r"\S*\d\S*|[\[({].*", "_", plain)[:60]
