"""Following a place: looks at it in even intervals, and what happened as soon as it is told.

When a place does not answer, that is told with the first failure and again with each look that fails; it is
asked again in the same intervals.  Nothing here ends by itself but when it is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

from stablecast.engine.observed import Note, Observed
from stablecast.observe.history import History, Sample
from stablecast.observe.place import NoAnswer, Place

LOOK_EVERY_S = 0.5
WAIT_S = 20
"""Seconds for which a question for events stays open."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A look that succeeded."""

    seen: Observed
    sample: Sample


@dataclass(frozen=True, slots=True)
class Happened:
    """Notes that were not told before, oldest first."""

    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Lost:
    """The place does not answer."""

    why: str
    seconds: float
    """Since when it has not."""

    @property
    def line(self) -> str:
        """Say so."""
        return f"lost contact {self.seconds:.0f} s ago, trying again: {self.why}"


Update = Looked | Happened | Lost


class Follower:
    """Follows one place, and keeps what was seen."""

    def __init__(self, place: Place, *, every_s: float = LOOK_EVERY_S) -> None:
        self.place = place
        self.history = History()
        self.seen: Observed | None = None
        self.lost: Lost | None = None
        self._every_s = every_s
        self._updates: asyncio.Queue[Update | BaseException] = asyncio.Queue()
        self._answered = asyncio.Event()

    async def first(self) -> Looked:
        """Look once; raises ``NoAnswer`` if nobody answers."""
        return self._took(await self.place.look())

    def _took(self, seen: Observed) -> Looked:
        self.seen, self.lost = seen, None
        self._answered.set()
        return Looked(seen, self.history.take(seen))

    async def updates(self) -> AsyncIterator[Update]:
        """Yield what is new, for as long as it is read."""
        tasks = [asyncio.create_task(self._look()), asyncio.create_task(self._listen())]
        for task in tasks:
            task.add_done_callback(self._ended)
        try:
            while True:
                update = await self._updates.get()
                if isinstance(update, BaseException):
                    raise update
                yield update
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Hand on why a task has ended, which only a mistake here makes it do."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._updates.put_nowait(error)

    async def _look(self) -> None:
        loop = asyncio.get_running_loop()
        answered_at = loop.time()
        while True:
            due = loop.time() + self._every_s
            try:
                update: Update = self._took(await self.place.look())
                answered_at = loop.time()
            except NoAnswer as error:
                self._answered.clear()
                self.lost = update = Lost(str(error), loop.time() - answered_at)
            self._updates.put_nowait(update)
            await asyncio.sleep(max(due - loop.time(), 0.0))

    async def _listen(self) -> None:
        """Wait for events; who answers after a break may be another process, and numbers begin anew."""
        after, incarnation = 0, ""
        while True:
            await self._answered.wait()
            with suppress(NoAnswer):
                told = await self.place.notes(after, WAIT_S if incarnation else 0)
                if incarnation and told.incarnation != incarnation:
                    after, incarnation = 0, ""
                    continue
                if told.notes:
                    self._updates.put_nowait(Happened(told.notes))
                after, incarnation = told.last, told.incarnation
                continue
            await asyncio.sleep(self._every_s)
