"""Sealing: what makes a datagram of bytes, and takes bytes only from who has the group's key, once.

A datagram is a header, ``version (1) | key number (1) | session (8) | counter (8)``, and AES-256-GCM's
ciphertext and tag; the header is authenticated with it.

Why it is safe
    Each session has a key of its own, HKDF-SHA256 of the group's secret, its name and the session, and counts
    its datagrams, so no nonce is used twice under a key.  That holds if no two processes have the same
    session; sessions are random numbers of 64 bits.  A fork of the process has the same session and counter,
    so it seals nothing.  A rotation goes on with the same counter.
    A datagram opens once: each session's newest counters are remembered, and what is older is refused.  Of a
    session whose window had to go only the newest counter is remembered, and all up to it is refused.
What a stranger costs
    A datagram that does not authenticate is counted and changes nothing else.  Windows are made only for
    sessions that have authenticated, derived keys are kept in a table of bounded size.  Deriving one costs
    about three times as much as opening a datagram.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import OrderedDict
from functools import lru_cache
from struct import Struct
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from stablecast.engine.forks import Process
from stablecast.engine.keys import Key, Keyring
from stablecast.errors import InvalidInput, NotHere, StablecastError

VERSION: Final = 2
HEADER_BYTES: Final = 18
TAG_BYTES: Final = 16
OVERHEAD: Final = HEADER_BYTES + TAG_BYTES
"""Bytes that a datagram has beyond what is inside."""

NO_KEY_NUMBER: Final = 255
"""Key number of a group without a key."""

WINDOW: Final = 4096
"""How far behind a session's newest datagram another one may come."""

GUESTS_MAX: Final = 512
"""Sessions that have a window without :meth:`Seal.keep`."""

GONE_MAX: Final = 1 << 16
"""Further sessions of which the newest counter is remembered: who has recorded more can replay some."""

DERIVED_MAX: Final = 4096
COUNTER_LIMIT: Final = 1 << 63
REASONS: Final = ("short", "version", "key", "authentication", "replay", "own")
"""Why a datagram is refused."""

_WORDS: Final = 2 * WINDOW >> 6
_WORD_MASK: Final = _WORDS - 1
_HEADER: Final = Struct(">BBQQ")
_START: Final = Struct(">BBQ")
_NONCE_START: Final = bytes(4)


class Exhausted(StablecastError):
    """A session has sealed as many datagrams as it may."""


class Opened(msgspec.Struct, frozen=True, gc=False):
    """A datagram that was opened."""

    session: int
    """Who sealed it."""
    counter: int
    """Which of its datagrams this is, from 1."""
    inside: bytes


class _Window:
    """What is remembered of a session: its cipher, and which of its newest counters have come.

    There is a bit for each counter, in words of 64 that go round twice the window.  As the window moves on,
    the words that it comes to are cleared (RFC 6479); what they had is too old by then.
    """

    __slots__ = ("cipher", "floor", "key", "top", "words")

    cipher: AESGCM
    """Of the key ``key``; not set while that is -1."""

    def __init__(self, floor: int) -> None:
        self.key = -1
        self.floor = self.top = floor
        self.words = array("Q", bytes(8 * _WORDS))

    def has(self, counter: int) -> bool:
        """Whether a counter up to the newest has come, or is too old to tell."""
        if counter <= self.floor or counter <= self.top - WINDOW:
            return True
        return bool(self.words[counter >> 6 & _WORD_MASK] >> (counter & 63) & 1)

    def add(self, counter: int) -> None:
        """Note that a counter has come."""
        if counter > self.top:
            word, newest = self.top >> 6, counter >> 6
            if word != newest:
                for cleared in range(max(word + 1, newest - _WORDS + 1), newest + 1):
                    self.words[cleared & _WORD_MASK] = 0
            self.top = counter
        self.words[counter >> 6 & _WORD_MASK] |= 1 << (counter & 63)


class Seal:
    """Closes and opens the datagrams of one process.

    Parameters
    ----------
    group
        The group's name; datagrams of other groups do not open.
    session
        The process's own session: a fresh random number of 64 bits, not 0.
    keyring
        The group's keys.  Without, the group's name takes their place: that tells groups apart, and keeps
        out nobody who knows the name.
    """

    refused: dict[str, int]
    """How many datagrams were refused, by reason (``REASONS``)."""
    last_refusal = ""
    """Why the last one was."""

    def __init__(self, group: str, session: int, *, keyring: Keyring | None) -> None:
        if not 0 < session < 1 << 64:
            raise InvalidInput(f"session {session} is not accepted (accepted: 1 to 2^64 - 1)")
        self.session: Final = session
        self.refused = dict.fromkeys(REASONS, 0)
        self._sealed = 0
        self._forks = Process.forks
        self._windows: dict[int, _Window] = {}
        self._kept: set[int] = set()
        self._guests: OrderedDict[int, None] = OrderedDict()
        self._gone: OrderedDict[int, int] = OrderedDict()
        info = b"stablecast 1 " + group.encode()

        def derive(secret: bytes, session: int) -> AESGCM:
            return derive_cipher(secret, session, info)

        self._derive = lru_cache(DERIVED_MAX)(derive)
        self._use(Keyring((Key(NO_KEY_NUMBER, secret_of_name(group)),)) if keyring is None else keyring)

    def rotate(self, keyring: Keyring) -> None:
        """Seal with the first of these keys from now on, and refuse every key that is not among them."""
        self._use(keyring)

    def close(self, inside: bytes) -> bytes:
        """Return a datagram with this inside."""
        if self._forks != Process.forks:
            raise NotHere(f"session {self.session} belongs to the process that this one was forked from")
        self._sealed = sealed = self._sealed + 1
        if sealed >= COUNTER_LIMIT:
            raise Exhausted(f"session {self.session} has sealed 2^63 datagrams; start the process anew")
        counter = sealed.to_bytes(8, "big")
        header = self._start + counter
        return header + self._encrypt(_NONCE_START + counter, inside, header)

    def open(self, datagram: bytes | memoryview) -> Opened | None:
        """Return who sealed a datagram and what is inside; None, and a count, if it is refused."""
        if len(datagram) < OVERHEAD:
            return self._refuse("short")
        version, number, session, counter = _HEADER.unpack_from(datagram)
        if version != VERSION:
            return self._refuse("version")
        if session == self.session:
            return self._refuse("own")
        window = self._windows.get(session)
        if window is None:
            if counter <= self._gone.get(session, 0):
                return self._refuse("replay")
        elif counter <= window.top and window.has(counter):
            return self._refuse("replay")
        if window is not None and window.key == number:
            cipher = window.cipher
        elif number in self._secrets:
            cipher = self._derive(self._secrets[number], session)
        else:
            return self._refuse("key")
        try:
            inside = cipher.decrypt(_NONCE_START + datagram[10:18], datagram[18:], datagram[:18])
        except InvalidTag:
            return self._refuse("authentication")
        if window is None:
            window = self._make_window(session)
        if window.key != number:
            window.key, window.cipher = number, cipher
        if session not in self._kept:
            self._touch(session)
        window.add(counter)
        return Opened(session, counter, inside)

    def keep(self, session: int) -> None:
        """Remember which datagrams of a session have come until :meth:`forget`; for trusted sessions.

        Other sessions' windows go when there are more than ``GUESTS_MAX`` of them, the longest unused first,
        and leave their newest counter behind.  A window is made when the first datagram comes: most members
        of a large group never send one to most others.
        """
        self._kept.add(session)
        self._guests.pop(session, None)
        if session in self._gone:
            self._make_window(session)

    def forget(self, session: int) -> None:
        """Undo :meth:`keep`; what has come is still remembered while there is room, against replays."""
        if session in self._kept:
            self._kept.remove(session)
            if session in self._windows:
                self._touch(session)

    def remembered(self) -> dict[int, tuple[int, bytes]]:
        """Return the newest counter and the window of each session that has one."""
        return {session: (window.top, window.words.tobytes()) for session, window in self._windows.items()}

    def _use(self, keyring: Keyring) -> None:
        """Take a keyring; ciphers of keys that it does not have are dropped."""
        first = keyring.keys[0]
        self._secrets = {key.number: key.secret for key in keyring.keys}
        self._derive.cache_clear()
        self._start = _START.pack(VERSION, first.number, self.session)
        self._encrypt = self._derive(first.secret, self.session).encrypt
        for window in self._windows.values():
            window.key = -1

    def _refuse(self, reason: str) -> Opened | None:
        self.refused[reason] += 1
        self.last_refusal = reason
        return None

    def _touch(self, session: int) -> None:
        """Make a session the guest that goes last, and let the first go if there are too many."""
        self._guests[session] = None
        self._guests.move_to_end(session)
        if len(self._guests) > GUESTS_MAX:
            gone, _ = self._guests.popitem(last=False)
            self._gone[gone] = self._windows.pop(gone).top
            if len(self._gone) > GONE_MAX:
                self._gone.popitem(last=False)

    def _make_window(self, session: int) -> _Window:
        window = self._windows[session] = _Window(self._gone.pop(session, 0))
        return window


def number_in(datagram: bytes) -> int:
    """Return which of the datagrams of who sealed it this is, as its header says."""
    return int(_HEADER.unpack_from(datagram)[3])


def derive_cipher(secret: bytes, session: int, info: bytes) -> AESGCM:
    """Return a session's cipher."""
    kdf = HKDF(algorithm=SHA256(), length=32, salt=session.to_bytes(8, "big"), info=info)
    return AESGCM(kdf.derive(secret))


def secret_of_name(group: str) -> bytes:
    """Return what stands for the secret of a group without a key; anyone who knows the name can make it."""
    return hashlib.sha256(b"stablecast group without a key: " + group.encode()).digest()
