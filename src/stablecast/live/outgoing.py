"""What leaves a member: frames gather, fill datagrams, are sealed and sent; data at no more than a rate.

No datagram is larger than the transport's ``largest``: a frame that does not fit goes in pieces.
"""

from __future__ import annotations

from collections import deque

import msgspec

from stablecast.live.flow import Pacer
from stablecast.live.in_view import InView
from stablecast.live.pieces import cut
from stablecast.live.seal import OVERHEAD, Seal
from stablecast.live.sides import Log
from stablecast.live.stats import Counters
from stablecast.live.transport import Transport
from stablecast.live.wire import INSIDE_BYTES, AnyFrame, Data, Fragment, encode, pack_encoded
from stablecast.membership.messages import Trial, TrialPassed
from stablecast.membership.view import Address

LONG_PADDING = 256
"""Bytes of padding from which on, up to 65,535, its length is written in the same number of bytes."""


class Outgoing:
    """The way out."""

    def __init__(
        self, transport: Transport, seal: Seal, counters: Counters, *, rate: float, log: Log | None
    ) -> None:
        self._transport = transport
        self._seal = seal
        self._counters = counters
        self._log = log
        self._pacer = Pacer(rate, transport.now())
        self._room = transport.largest - OVERHEAD - INSIDE_BYTES
        self._data: deque[bytes] = deque()
        self._for_all: list[bytes] = []
        self._for_rank: dict[int, list[bytes]] = {}

    def data(self, run: Data | Fragment) -> None:
        """Have a run of this member's messages sent to all others."""
        packed = encode(run)
        self._counters.data_bytes += len(packed)
        self._data.append(packed)

    def to_rank(self, frame: AnyFrame, rank: int) -> None:
        """Have a frame sent to one member of the view."""
        packed = encode(frame)
        if isinstance(frame, Data | Fragment):
            self._counters.repair_bytes += len(packed)
        else:
            self._counters.control_bytes += len(packed)
        self._for_rank.setdefault(rank, []).append(packed)

    def to_all(self, frame: AnyFrame) -> None:
        """Have a frame sent to all other members of the view."""
        packed = encode(frame)
        self._counters.control_bytes += len(packed)
        self._for_all.append(packed)

    def to_address(self, frame: AnyFrame, address: Address, session: int) -> None:
        """Send a frame at once; a trial of the way fills its datagram."""
        packed = encode(self._filled(frame) if isinstance(frame, Trial | TrialPassed) else frame)
        self._counters.control_bytes += len(packed)
        self._write_down()
        for piece in self._fitting(packed):
            self._transport.send(self._seal.close(pack_encoded([piece], session)), [address])

    @property
    def has_data(self) -> bool:
        """Whether runs wait to be sent."""
        return bool(self._data)

    def ready_at(self) -> float:
        """Return when the next run may go out."""
        return self._pacer.ready_at() if self._data else float("inf")

    def send_data(self, here: InView, now: float, *, at_once: bool = False) -> None:
        """Send runs, as many as the rate allows, or all of them."""
        waiting, copies = self._data, len(here.others)
        self._write_down()
        while waiting and (at_once or self._pacer.may_send(now)):
            packed = waiting.popleft()
            if copies:
                self._pacer.sent(copies * len(packed))
                self._transport.send_all(self._seal.close(pack_encoded([packed])), here.others)

    def flush(self, here: InView | None) -> None:
        """Send the frames that have gathered, as many in a datagram as fit."""
        for_all, by_rank = self._for_all, self._for_rank
        if for_all or by_rank:
            self._write_down()
        if for_all:
            self._for_all = []
            if here is not None and here.others:
                for group in self._fitted(for_all):
                    self._transport.send_all(self._seal.close(pack_encoded(group)), here.others)
        if by_rank:
            self._for_rank = {}
            if here is not None:
                for rank, frames in by_rank.items():
                    to = here.view.members[rank]
                    for group in self._fitted(frames):
                        self._transport.send(self._seal.close(pack_encoded(group, to.session)), [to.address])

    def _filled(self, frame: Trial | TrialPassed) -> Trial | TrialPassed:
        """Return a trial with as much padding as fits into a datagram."""
        short = msgspec.structs.replace(frame, padding=bytes(LONG_PADDING))
        padding = bytes(LONG_PADDING + self._room - len(encode(short)))
        return msgspec.structs.replace(frame, padding=padding)

    def _write_down(self) -> None:
        """Have the log written before others can know of what it tells: this process may be killed."""
        if self._log is not None:
            self._log.flush()

    def _fitting(self, packed: bytes) -> list[bytes]:
        """Return a frame as it is, or in pieces if it does not fit into a datagram."""
        return [packed] if len(packed) <= self._room else cut(packed, self._room)

    def _fitted(self, frames: list[bytes]) -> list[list[bytes]]:
        groups: list[list[bytes]] = []
        room = -1
        for frame in frames:
            if len(frame) > self._room:
                groups += [[piece] for piece in cut(frame, self._room)]
                room = -1
                continue
            if len(frame) > room:
                groups.append([])
                room = self._room
            groups[-1].append(frame)
            room -= len(frame)
        return groups
