"""Deliveries on their way to the application, and whether too many wait for it.

One's own messages do not count: a reader that sends would wait for itself.
"""

from __future__ import annotations

from collections import deque
from itertools import repeat

from stablecast.engine.results import Delivery
from stablecast.errors import InvalidInput
from stablecast.multicast.frames import Run
from stablecast.multicast.streams import Stream


class Backlog:
    """What was delivered, and what of it waits.

    Parameters
    ----------
    most
        Deliveries of others' messages from which on no more of them is taken in.
    """

    def __init__(self, most: int) -> None:
        self.delivered = 0
        """Messages that were handed over in all."""
        self.waiting = 0
        """Deliveries that the application has not taken yet."""
        self._most = most
        self._next: list[Delivery] = []
        self._next_foreign = 0
        self._foreign = 0
        self._batches: deque[tuple[int, int]] = deque()
        """For each batch that waits, how many deliveries it has, and how many of them are foreign."""
        self._was_full = False

    @property
    def is_full(self) -> bool:
        """Whether the application has too much of others waiting for it."""
        return self._foreign >= self._most

    def deliver(self, stream: Stream, run: Run, me: str) -> None:
        """Take the messages that end in a run, for the member of this label."""
        seq, payloads = stream.messages_of(run)
        self._next.extend(
            map(Delivery, repeat(stream.label), range(seq, seq + len(payloads)), payloads, repeat(me))
        )
        if stream.label != me:
            self._next_foreign += len(payloads)

    def hand_over(self) -> tuple[list[Delivery], bool]:
        """Return what was delivered since the last call, and whether too much waits with it."""
        if not self._next:
            return [], False
        batch, self._next = self._next, []
        foreign, self._next_foreign = self._next_foreign, 0
        self.delivered += len(batch)
        self.waiting += len(batch)
        self._foreign += foreign
        self._batches.append((len(batch), foreign))
        if self._was_full or not self.is_full:
            return batch, False
        self._was_full = True
        return batch, True

    def take(self, count: int) -> bool:
        """Take note that deliveries were taken; tell whether there is room again, which there was not."""
        if count > self.waiting:
            raise InvalidInput(f"{count} deliveries were taken (accepted: up to {self.waiting}, which wait)")
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
