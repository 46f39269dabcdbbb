"""Datagrams without a cipher, for engines that are all in one process.

What is on the wire has the same header and the same length as if it were sealed, and a datagram counts once.
Engines that get the same datagram share what is in it, decoded once: frames are values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from struct import Struct

from stablecast.engine.keys import Keyring
from stablecast.engine.seal import HEADER_BYTES, NO_KEY_NUMBER, REASONS, TAG_BYTES, VERSION, WINDOW, Opened
from stablecast.engine.sealing import Sealing
from stablecast.engine.wire import unpack

SHARED = 1 << 14
"""Datagrams whose content is remembered, those that were opened last."""
_HEADER = Struct(">BBQQ")
_TAG = bytes(TAG_BYTES)
_WINDOW = (1 << WINDOW) - 1
_NOTHING = (0, 0)


def open_sealing() -> Sealing:
    """Return a way to seal without a cipher, for the engines of one simulation."""
    taken = lru_cache(SHARED)(_taken)
    return Sealing(lambda _group, session, _keyring: OpenSeal(session, taken), lru_cache(SHARED)(unpack))


def _taken(datagram: bytes) -> Opened:
    _, _, session, counter = _HEADER.unpack_from(datagram)
    return Opened(session, counter, datagram[HEADER_BYTES:-TAG_BYTES])


class OpenSeal:
    """Closes and opens the datagrams of one process; which ones have come is kept as :class:`Seal` does."""

    def __init__(self, session: int, taken: Callable[[bytes], Opened]) -> None:
        self.session = session
        self.refused = dict.fromkeys(REASONS, 0)
        self.last_refusal = ""
        self._taken = taken
        self._sealed = 0
        self._windows: dict[int, tuple[int, int]] = {}
        """For each session its newest counter, and which ones up to it have come, the newest lowest."""

    def close(self, inside: bytes) -> bytes:
        """Return a datagram with this inside."""
        self._sealed += 1
        return _HEADER.pack(VERSION, NO_KEY_NUMBER, self.session, self._sealed) + inside + _TAG

    def open(self, datagram: bytes) -> Opened | None:
        """Return who sent a datagram and what is inside; None, and a count, if it is refused."""
        opened = self._taken(datagram)
        session, counter = opened.session, opened.counter
        if session == self.session:
            return self._refuse("own")
        newest, bits = self._windows.get(session, _NOTHING)
        if counter > newest:
            shift = min(counter - newest, WINDOW)
            self._windows[session] = (counter, (bits << shift | 1) & _WINDOW)
            return opened
        behind = newest - counter
        if behind >= WINDOW or bits >> behind & 1:
            return self._refuse("replay")
        self._windows[session] = (newest, bits | 1 << behind)
        return opened

    def keep(self, session: int) -> None:
        """Do nothing: the windows of all sessions are kept."""

    def forget(self, session: int) -> None:
        """Do nothing: the windows of all sessions are kept."""

    def rotate(self, keyring: Keyring) -> None:
        """Do nothing: there is no key."""

    def _refuse(self, reason: str) -> Opened | None:
        self.refused[reason] += 1
        self.last_refusal = reason
        return None
