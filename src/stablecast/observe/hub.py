"""From one follower to all who look at its page: each update is encoded once, and handed to everyone.

Who does not read loses nothing but its place: after ``MOST_WAITING`` updates it is cut off, and its browser
comes back by itself and begins anew.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import msgspec

from stablecast.observe import shown
from stablecast.observe.follow import Follower, Happened, Looked, Lost, Update
from stablecast.words import printable

MOST_WAITING = 20
MOST_NOTES = 200


class Hub:
    """Follows a place for several readers."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self._readers: set[asyncio.Queue[bytes | None]] = set()
        self._notes: deque[str] = deque(maxlen=MOST_NOTES)

    async def run(self) -> None:
        """Follow until this is cancelled."""
        async for update in self.follower.updates():
            if isinstance(update, Happened):
                self._notes.extend(map(shown.note_text, update.notes))
            message = self._encoded(update)
            for reader in list(self._readers):
                self._hand(reader, message)

    def _hand(self, reader: asyncio.Queue[bytes | None], message: bytes | None) -> None:
        if reader.qsize() >= MOST_WAITING:
            self._readers.discard(reader)
            message = None
        reader.put_nowait(message)

    def read(self) -> asyncio.Queue[bytes | None]:
        """Return where a new reader finds what there is and what comes; None is the end."""
        reader: asyncio.Queue[bytes | None] = asyncio.Queue()
        samples = list(self.follower.history.samples)
        begin = {"place": self.follower.place.shown, "samples": samples[:-1], "notes": list(self._notes)}
        reader.put_nowait(event("begin", begin))
        if self.follower.seen is not None and samples:
            reader.put_nowait(self._encoded(Looked(self.follower.seen, samples[-1])))
        if self.follower.lost is not None:
            reader.put_nowait(self._encoded(self.follower.lost))
        self._readers.add(reader)
        return reader

    def leave(self, reader: asyncio.Queue[bytes | None]) -> None:
        """Hand nothing more to a reader."""
        self._readers.discard(reader)

    def end(self) -> None:
        """Send all readers away."""
        for reader in self._readers:
            reader.put_nowait(None)

    def _encoded(self, update: Update) -> bytes:
        match update:
            case Happened(notes):
                return event("notes", list(map(shown.note_text, notes)))
            case Lost():
                return event("lost", printable(update.line))
            case Looked(seen, sample):
                told: dict[str, Any] = {
                    "title": shown.title(seen),
                    "summary": shown.summary(seen, sample),
                    "lines": shown.lines_of(seen),
                    "sample": sample,
                    "seen": {
                        "me": seen.me,
                        "kept_bytes": seen.kept_bytes,
                        "buffer_bytes": seen.buffer_bytes,
                        "holding": seen.holding,
                    },
                }
                return event("look", told)


def event(name: str, value: object) -> bytes:
    """Return a server-sent event; JSON has no line ends, so the value is one line."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(value))
