"""The causal graph of a run: a step of a member waited for what started it, and for the step before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

TRIGGER, ORDER = "trigger", "order"
"""An edge from what started a step, and from the same member's step before it."""


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
    fixed_us: Ints
    """Time of a step that nothing in the trace started, such as a call; the smallest number for others."""

    def __len__(self) -> int:
        return int(self.time_us.size)

    def edges_into(self, step: int) -> tuple[Edge, ...]:
        """Return what a step waited for, what started it first."""
        raise NotImplementedError

    def length_us(self, edge: Edge) -> int:
        """Return how long after the origin the other end can happen at the earliest."""
        raise NotImplementedError


def recompute(graph: Graph, shortened: Mapping[Edge, int]) -> Ints:
    """Return the times of all steps if some edges were shorter by so many microseconds."""
    raise NotImplementedError
