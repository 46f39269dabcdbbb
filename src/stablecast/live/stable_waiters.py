"""Who waits until a message is stable: woken in the order of messages, and forgotten when they give up."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from typing import TYPE_CHECKING

from stablecast.engine.results import Outcome

if TYPE_CHECKING:
    from stablecast.live.receipt import Receipt

Entry = tuple[int, int, "Receipt", "asyncio.Future[Outcome]"]
"""Number of the message, which makes the order; a count, so that nothing else is compared; who waits."""


class StableWaiters:
    """A heap of waiters for each source.

    Those who give up stay in the heap until they are half of it, so that giving up costs next to nothing and
    leaves nothing behind in the long run.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._heaps: dict[str, list[Entry]] = {}
        self._given_up: dict[str, int] = {}
        self._order = itertools.count()

    def __len__(self) -> int:
        return sum(map(len, self._heaps.values()))

    async def wait(self, receipt: Receipt) -> Outcome:
        """Wait for what becomes of a message; to be cancelled by who has waited long enough."""
        waiter: asyncio.Future[Outcome] = self._loop.create_future()
        source, seq = receipt.id
        entry = (seq, next(self._order), receipt, waiter)
        heapq.heappush(self._heaps.setdefault(source, []), entry)
        try:
            return await waiter
        except asyncio.CancelledError:
            self._give_up(source)
            raise

    def wake(self) -> None:
        """Wake those whose message is stable."""
        for source in list(self._heaps):
            self._wake(source)

    def fail(self, error: Exception) -> None:
        """Let nobody wait any more."""
        for heap in self._heaps.values():
            for *_, waiter in heap:
                if not waiter.done():
                    waiter.set_exception(error)
        self._heaps.clear()
        self._given_up.clear()

    def _wake(self, source: str) -> None:
        heap = self._heaps[source]
        while heap and (outcome := heap[0][2].outcome) is not None:
            waiter = heapq.heappop(heap)[3]
            if waiter.done():
                self._given_up[source] = self._given_up.get(source, 0) - 1
            else:
                waiter.set_result(outcome)
        self._drop_if_empty(source)

    def _give_up(self, source: str) -> None:
        """Count one that is cancelled, unless its heap is gone."""
        heap = self._heaps.get(source)
        if heap is None:
            return
        self._given_up[source] = given_up = self._given_up.get(source, 0) + 1
        if 2 * given_up > len(heap):
            heap[:] = [entry for entry in heap if not entry[3].done()]
            heapq.heapify(heap)
            self._given_up[source] = 0
            self._drop_if_empty(source)

    def _drop_if_empty(self, source: str) -> None:
        if not self._heaps[source]:
            del self._heaps[source]
            self._given_up.pop(source, None)
