"""Vector clocks of the steps of a run, computed over a window of time.

The clock of a step has for each member the number of its latest step that happened before, or is, this one.
One step happened before another if there is a path of edges from it, and a clock is the maximum over the
step's edges, with one more for the member itself.  So clock a is nowhere above clock b exactly if a happened
before b, or is b.

In a window, only its steps count, from 1 on for each member.  That loses nothing between them: all steps on a
path have times between those of its ends, as long as clocks agree.  Where they do not, a path may leave the
window, and the window's clocks then miss that one of its ends happened before the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stablecast.causes.graph import Graph
from stablecast.causes.run import ABSENT, Ints

Clocks = NDArray[np.int32]


def window(graph: Graph, from_us: int | None, to_us: int | None) -> list[int]:
    """Return the steps of a window of time, each after those that happened before it.

    They stand in the order of their times, unless clocks that run apart contradict it.
    """
    steps = np.array(graph.in_order, np.int64)
    if not graph.clocks_contradict:
        steps = steps[np.argsort(graph.time_us[steps], kind="stable")]
    times = graph.time_us[steps]
    chosen = np.ones(steps.size, np.bool_)
    if from_us is not None:
        chosen &= times >= from_us
    if to_us is not None:
        chosen &= times <= to_us
    found: list[int] = steps[chosen].tolist()
    return found


def clocks_of(graph: Graph, steps: list[int], members: int) -> Clocks:
    """Return the clock of each of some steps, which stand in the order in which they happened."""
    clocks = np.zeros((len(steps), members), np.int32)
    row = np.full(len(graph), ABSENT)
    row[steps] = np.arange(len(steps))
    latest: Ints = np.full(members, ABSENT)
    for place, step in enumerate(steps):
        member = int(graph.member[step])
        clock = clocks[place]
        for earlier in (latest[member], ABSENT if graph.cause[step] == ABSENT else row[graph.cause[step]]):
            if earlier != ABSENT:
                np.maximum(clock, clocks[earlier], out=clock)
        clock[member] += 1
        latest[member] = place
    return clocks
