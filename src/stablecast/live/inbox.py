"""Deliveries between a member and its application, for one reader at a time.

What is kept, and for how long
    From the first call of ``deliveries`` or ``batches`` on the application reads, and nothing is lost: while
    ``queue_messages`` deliveries of others' messages wait for it, the member takes no more of them in, which
    holds its group up (:mod:`stablecast.engine.engine`).  Its own messages do not count, so that it can
    always send: a reader that answers what it reads would otherwise wait for itself.
    An application that has never asked for deliveries may never do so, as one that only sends.  It must
    neither hold up itself and its group, nor fill its memory.  What came is kept for it until
    ``queue_messages`` wait, own ones included; then all of it is given up, and nothing more is kept.  Who
    asks after that is told so by an error: a gap without a word would be worse.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator

from stablecast.engine.results import Delivery
from stablecast.errors import DeliveriesGone, InvalidInput

_log = logging.getLogger(__name__)


class Inbox:
    """What was delivered and not read yet.

    Parameters
    ----------
    name
        The group's name, for errors.
    most
        How many deliveries are kept for an application that has not asked for any.
    consumed
        Is told how many were read, or given up.
    on_given_up
        Is told how many were given up, once.
    """

    def __init__(
        self,
        name: str,
        *,
        most: int,
        consumed: Callable[[int], object],
        on_given_up: Callable[[int], object],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._name = name
        self._most = most
        self._consumed = consumed
        self._on_given_up = on_given_up
        self._batches: deque[list[Delivery]] = deque()
        self._rest: Iterator[Delivery] = iter(())
        self._reader: asyncio.Future[None] | None = None
        self._unread = 0
        self._warn_at = most
        self._is_wanted = False
        self._is_given_up = False
        self._is_over = False

    def put(self, batch: list[Delivery]) -> None:
        """Take deliveries."""
        if self._is_given_up:
            self._consumed(len(batch))
            return
        self._batches.append(batch)
        self._unread += len(batch)
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
        elif self._unread >= self._warn_at:
            self._have_too_many()

    def want(self) -> None:
        """Take note that the application reads."""
        if self._is_given_up:
            raise DeliveriesGone(
                f"nobody had asked for deliveries of '{self._name}' when {self._most} waited, so they were "
                "given up (accepted: to ask for deliveries() earlier, or a larger queue_messages)"
            )
        self._is_wanted = True

    def end(self) -> None:
        """Let the reader stop after what there is."""
        self._is_over = True
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def batches(self) -> AsyncGenerator[list[Delivery], None]:
        """Yield deliveries, as many at once as there are."""
        rest = list(self._rest)
        if rest:
            yield rest
        while batch := await self._next():
            yield batch

    async def deliveries(self) -> AsyncGenerator[Delivery, None]:
        """Yield deliveries one by one; who stops in between leaves the rest to the next reader."""
        while True:
            for delivery in self._rest:
                yield delivery
            batch = await self._next()
            if not batch:
                return
            self._rest = iter(batch)

    async def _next(self) -> list[Delivery]:
        """Wait for deliveries; there are none once the group is closed."""
        while not self._batches:
            if self._is_over:
                return []
            if self._reader is not None and not self._reader.done():
                raise InvalidInput(
                    "somebody else reads this group's deliveries already (accepted: one reader)"
                )
            self._reader = self._loop.create_future()
            await self._reader
        batch = self._batches.popleft()
        self._unread -= len(batch)
        if not self._unread:
            self._warn_at = self._most
        self._consumed(len(batch))
        return batch

    def _have_too_many(self) -> None:
        """Give up what nobody wants; warn who wants it and does not read, at twice as many each time."""
        if not self._is_wanted:
            self._give_up()
            return
        _log.warning("%s: %d deliveries wait to be read, own ones included", self._name, self._unread)
        self._warn_at *= 2

    def _give_up(self) -> None:
        count, self._unread = self._unread, 0
        self._is_given_up = True
        self._batches.clear()
        self._on_given_up(count)
        self._consumed(count)
