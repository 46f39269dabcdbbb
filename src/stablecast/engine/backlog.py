"""Deliveries that wait for the application, and whether they are too many.

One's own messages do not count: a reader that sends would wait for itself.
"""

from __future__ import annotations

from collections import deque


class Backlog:
    """How much waits.

    Parameters
    ----------
    most
        Deliveries of others' messages from which on no more of them is taken in.
    """

    def __init__(self, most: int) -> None:
        self.waiting = 0
        """Deliveries that the application has not taken yet."""
        self._most = most
        self._foreign = 0
        self._batches: deque[tuple[int, int]] = deque()
        """For each batch that waits, how many deliveries it has, and how many of them are foreign."""
        self._was_full = False

    @property
    def is_full(self) -> bool:
        """Whether the application has too much of others waiting for it."""
        return self._foreign >= self._most

    def add(self, count: int, foreign: int) -> bool:
        """Take note of a batch, with so many of others' messages; tell whether it is too much with it."""
        self.waiting += count
        self._foreign += foreign
        self._batches.append((count, foreign))
        if self._was_full or not self.is_full:
            return False
        self._was_full = True
        return True

    def take(self, count: int) -> bool:
        """Take note that deliveries were taken; tell whether there is room again, which there was not."""
        self.waiting -= count
        while count:
            size, foreign = self._batches.popleft()
            taken = min(size, count)
            if taken < size:
                self._batches.appendleft((size - taken, max(foreign - taken, 0)))
            self._foreign -= min(foreign, taken)
            count -= taken
        if not self._was_full or self._foreign > self._most // 2:
            return False
        self._was_full = False
        return True
