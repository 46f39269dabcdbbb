"""What is to happen in a plain simulation, in a total order."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Protocol

Action = Callable[[], None]


class Timeline(Protocol):
    """What a network needs to have things happen later."""

    before_each: Callable[[int], None] | None

    @property
    def now_ps(self) -> int:
        """The time."""

    def add(self, at_ps: int, server: int, action: Action) -> object:
        """Let a server do something at a time."""


class Entry:
    """An event to come; one without an action was called off."""

    __slots__ = ("action", "at_ps")

    def __init__(self, at_ps: int, action: Action | None) -> None:
        self.at_ps = at_ps
        self.action = action


class Calendar:
    """What is to happen: by time, then by the server's number, then in order of arrival."""

    def __init__(self) -> None:
        self.now_ps = 0
        self.handled = 0
        self.before_each: Callable[[int], None] | None = None
        """Called with the time of each event before it happens, if there is something to call."""
        self.stopped = False
        """Whether ``run`` is to take no further event; whoever happens may set it."""
        self._heap: list[tuple[int, int, int, Entry]] = []
        self._added = 0

    def add(self, at_ps: int, server: int, action: Action) -> Entry:
        """Let a server do something at a time."""
        entry = Entry(at_ps, action)
        self._added += 1
        heapq.heappush(self._heap, (at_ps, server, self._added, entry))
        return entry

    def run(self, until_ps: int, most: int) -> bool:
        """Do what comes next, so many times; tell whether there may be more to do by ``until_ps``."""
        heap, pop = self._heap, heapq.heappop
        for _ in range(most):
            if self.stopped or not heap or heap[0][0] > until_ps:
                return False
            self.now_ps, _, _, entry = pop(heap)
            if entry.action is not None:
                self.handled += 1
                entry.action()
        return True

    def step(self, until_ps: int) -> bool:
        """Do what comes next; tell whether there was anything to do by ``until_ps``."""
        heap = self._heap
        while heap and heap[0][0] <= until_ps:
            at_ps, _, _, entry = heapq.heappop(heap)
            if entry.action is not None:
                self.now_ps = at_ps
                self.handled += 1
                if self.before_each is not None:
                    self.before_each(at_ps)
                entry.action()
                return True
        return False
