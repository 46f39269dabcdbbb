"""What has happened in a group lately, numbered, for observers who ask again and again.

A member keeps its last ``MOST_NOTES`` events, and who has gone, while it serves observers.  Each note has a
number; who asks for what comes after a number misses nothing as long as it asks often enough, and can tell
from the numbers if it has.  Copies that were let go are not noted: there are as many as messages.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable

from stablecast.engine.observed import FAILED, LEFT, Gone, Note
from stablecast.engine.results import Event, Released, ViewChanged
from stablecast.live.words import in_words, names
from stablecast.words import counted

MOST_NOTES = 1_000
GONE_S = 600.0
"""Seconds for which it is told that a member has gone."""
MOST_GONE = 64
MOST_NAMED = 12
"""Members that are named in the text of a note."""


class Notes:
    """The last events of a group at one member; ``now`` is the clock of its transport."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.last = 0
        """Number of the last note."""
        self._now = now
        self._notes: deque[Note] = deque(maxlen=MOST_NOTES)
        self._gone: dict[str, tuple[str, float]] = {}
        self._waiters: set[asyncio.Future[None]] = set()
        self._is_over = False

    def take(self, event: Event) -> None:
        """Take note of an event, unless there are as many of its kind as messages."""
        if isinstance(event, Released):
            return
        if isinstance(event, ViewChanged):
            self._note_change(event)
        self.last += 1
        note = Note(
            number=self.last, time_us=time.time_ns() // 1000, kind=kind_of(event), text=text_of(event)
        )
        self._notes.append(note)
        self._wake()

    def _note_change(self, event: ViewChanged) -> None:
        for state, labels in ((FAILED, event.failed), (LEFT, event.left)):
            for label in labels:
                self._gone.pop(label, None)
                self._gone[label] = (state, self._now())
        for label in event.members:
            self._gone.pop(label, None)
        while len(self._gone) > MOST_GONE:
            del self._gone[next(iter(self._gone))]

    def after(self, number: int) -> tuple[Note, ...]:
        """Return the notes after a number, as far as they are kept."""
        return tuple(note for note in self._notes if note.number > number)

    def gone(self) -> tuple[Gone, ...]:
        """Return who has gone lately, the latest first."""
        now = self._now()
        latest = [(name, state, now - at) for name, (state, at) in reversed(self._gone.items())]
        return tuple(
            Gone(name=name, state=state, since_s=since) for name, state, since in latest if since <= GONE_S
        )

    async def wait(self, number: int, seconds: float) -> None:
        """Return once there is a note after a number, the group is closed, or the time is over."""
        if self.last > number or self._is_over or seconds <= 0:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await asyncio.wait({waiter}, timeout=seconds)
        finally:
            self._waiters.discard(waiter)

    def end(self) -> None:
        """Let nobody wait any more."""
        self._is_over = True
        self._wake()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)


def kind_of(event: Event) -> str:
    """Return the name of an event's type in the form of ``view_changed``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(event).__name__).lower()


def text_of(event: Event) -> str:
    """Return what happened, with no more names than a line has room for."""
    if not isinstance(event, ViewChanged):
        return in_words(event)
    parts = (("joined", event.joined), ("left", event.left), ("failed", event.failed))
    changes = "".join(f"; {what}: {_few(who)}" for what, who in parts if who)
    cut_off = "" if event.main else "; cut off from the main part"
    return f"view of {counted(len(event.members), 'member')}{changes}{cut_off}"


def _few(labels: tuple[str, ...]) -> str:
    more = len(labels) - MOST_NAMED
    return names(labels) if more <= 0 else f"{names(labels[:MOST_NAMED])} and {more:,} more"
