"""The datagrams of a measurement of the network, and the side that answers them.

    magic 4 | kind 1 | token 8 | number 4 | fill | code 16

A ``PING`` is answered with a ``PONG`` of the same length.  ``DATA`` is counted, and ``ASK`` is answered with
what was counted under its token: datagrams, bytes, and the microseconds from the first to the last of them.

An answer is never longer than what it answers, so nobody can have this side send more than he sends.  The
code is keyed with the group's key, if there is one, and what has a wrong one is not answered.
"""

from __future__ import annotations

import hashlib
import struct
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stablecast.engine.keys import Keyring
from stablecast.live.udp import UdpTransport
from stablecast.membership.view import Address

MAGIC = b"SCC1"
PING, PONG, DATA, ASK, TELL = range(5)
HEAD = struct.Struct("<4sBQI")
TOLD = struct.Struct("<IQQ")
CODE_BYTES = 16
LEAST_BYTES = HEAD.size + TOLD.size + CODE_BYTES
TOKENS_MOST = 64
"""Measurements that are counted at the same time; the oldest is forgotten."""


class Frame(NamedTuple):
    """One datagram."""

    kind: int
    token: int
    number: int
    fill: bytes


@dataclass(slots=True)
class Counted:
    """What has come of a measurement."""

    datagrams: int = 0
    bytes: int = 0
    first_s: float = 0.0
    last_s: float = 0.0


class Coder:
    """Writes and reads datagrams with a key, or without one."""

    def __init__(self, keyring: Keyring | None) -> None:
        self._secret = b"" if keyring is None else keyring.keys[0].secret

    def write(
        self, kind: int, token: int, number: int, *, size: int = LEAST_BYTES, told: bytes = b""
    ) -> bytes:
        """Return a datagram of so many bytes."""
        head = HEAD.pack(MAGIC, kind, token, number)
        body = head + told + bytes(max(size, LEAST_BYTES) - len(head) - len(told) - CODE_BYTES)
        return body + self._code(body)

    def read(self, datagram: bytes) -> Frame | None:
        """Return what a datagram says, None if it is none of ours."""
        if len(datagram) < LEAST_BYTES or datagram[:4] != MAGIC:
            return None
        body, code = datagram[:-CODE_BYTES], datagram[-CODE_BYTES:]
        if code != self._code(body):
            return None
        _, kind, token, number = HEAD.unpack_from(body)
        return Frame(kind, token, number, body[HEAD.size :])

    def _code(self, body: bytes) -> bytes:
        return hashlib.blake2s(body, key=self._secret, person=MAGIC, digest_size=CODE_BYTES).digest()


class Echo:
    """Answers on a transport, until that is closed."""

    def __init__(self, transport: UdpTransport, keyring: Keyring | None) -> None:
        self._transport = transport
        self._coder = Coder(keyring)
        self._counted: OrderedDict[int, Counted] = OrderedDict()
        transport.start(self._receive)

    @property
    def address(self) -> Address:
        """Where it answers."""
        return self._transport.address

    def _receive(self, batch: Sequence[tuple[bytes, Address]]) -> None:
        for datagram, source in batch:
            frame = self._coder.read(datagram)
            if frame is None:
                continue
            if frame.kind == PING:
                answer = self._coder.write(PONG, frame.token, frame.number, size=len(datagram))
                self._transport.send(answer, [source])
            elif frame.kind == DATA:
                self._count(frame.token, len(datagram))
            elif frame.kind == ASK:
                self._transport.send(self._told(frame), [source])

    def _count(self, token: int, size: int) -> None:
        if token not in self._counted and len(self._counted) >= TOKENS_MOST:
            self._counted.popitem(last=False)
        now = self._transport.now()
        counted = self._counted.setdefault(token, Counted(first_s=now))
        counted.datagrams += 1
        counted.bytes += size
        counted.last_s = now

    def _told(self, frame: Frame) -> bytes:
        counted = self._counted.get(frame.token, Counted())
        span_us = round((counted.last_s - counted.first_s) * 1e6)
        told = TOLD.pack(counted.datagrams, counted.bytes, span_us)
        return self._coder.write(TELL, frame.token, frame.number, told=told)
