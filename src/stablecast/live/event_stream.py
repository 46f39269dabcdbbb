"""The events of a group for one reader, from when it asked; if it does not read, the oldest are lost."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Self

from stablecast.engine.results import Event

EVENTS_KEPT = 10_000


class EventStream:
    """What ``Group.events`` returns, for ``async for``; who drops it is told nothing any more.

    Waiting for the next event may be cancelled, by a timeout for instance, and begun again.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._events: deque[Event] = deque(maxlen=EVENTS_KEPT)
        self._waiters: set[asyncio.Future[None]] = set()
        self._is_over = False

    def put(self, event: Event) -> None:
        """Take an event."""
        if not self._is_over:
            self._events.append(event)
            self._wake()

    def end(self) -> None:
        """Let the reader stop after the events that there are."""
        self._is_over = True
        self._wake()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._is_over:
                raise StopAsyncIteration
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._waiters.add(waiter)
            try:
                await waiter
            finally:
                self._waiters.discard(waiter)
        return self._events.popleft()

    async def aclose(self) -> None:
        """Want no more events."""
        self._events.clear()
        self.end()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
