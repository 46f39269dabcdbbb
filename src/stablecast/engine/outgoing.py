"""What leaves a member: frames gather, fill datagrams and are sealed; data at no more than a rate.

No datagram is larger than ``largest``: a frame that does not fit goes in pieces.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from stablecast.engine.fan_out import Route
from stablecast.engine.in_view import InView
from stablecast.engine.pieces import cut
from stablecast.engine.sealing import AnySeal, room_in
from stablecast.engine.stats import Counters
from stablecast.engine.wire import AnyFrame, encode, pack_encoded
from stablecast.engine.wire_tracing import WireTracing
from stablecast.membership.messages import Trial, TrialPassed
from stablecast.membership.view import Address
from stablecast.multicast.flow import Pacer
from stablecast.multicast.frames import Data, Fragment, Run

LONG_PADDING = 256
"""Bytes of padding from which on, up to 65,535, its length is written in the same number of bytes."""


class Datagram(NamedTuple):
    """What is to be sent."""

    data: bytes
    to: Sequence[Address]
    is_for_all: bool
    """Whether all members may get it, so that one copy will do where there is IP multicast: those whom it is
    not for ignore it."""


class Outgoing:
    """The way out."""

    def __init__(self, seal: AnySeal, counters: Counters, *, largest: int, rate: float, now: float) -> None:
        self.datagrams: list[Datagram] = []
        """What is to be sent, in this order."""
        self.wire: WireTracing | None = None
        """Who writes down what goes, if anybody does."""
        self._seal = seal
        self._counters = counters
        self._pacer = Pacer(rate, now)
        self._room = room_in(largest)
        self._data: deque[bytes] = deque()
        self._for_all: list[bytes] = []
        self._for_audience: list[bytes] = []
        self._for_rank: dict[int, list[bytes]] = {}
        self._for_address: dict[tuple[Address, int], list[bytes]] = {}

    def data(self, run: Run) -> None:
        """Have a run of this member's messages sent to all who receive them."""
        packed = self._packed(run)
        self._counters.data_bytes += len(packed)
        self._data.append(packed)

    def to_rank(self, frame: AnyFrame, rank: int) -> None:
        """Have a frame sent to one member of the view."""
        self._for_rank.setdefault(rank, []).append(self._counted(frame))

    def to_all(self, frame: AnyFrame) -> None:
        """Have a frame sent to all other members of the view."""
        self._for_all.append(self._counted(frame))

    def _counted(self, frame: AnyFrame) -> bytes:
        """Return a frame packed, and count it: data that does not go out by itself is a repair."""
        packed = self._packed(frame)
        if isinstance(frame, Data | Fragment):
            self._counters.repair_bytes += len(packed)
        else:
            self._counters.control_bytes += len(packed)
        return packed

    def _packed(self, frame: AnyFrame) -> bytes:
        return encode(frame) if self.wire is None else self.wire.made(encode(frame))

    def to_audience(self, frame: AnyFrame) -> None:
        """Have a frame sent to all members of the view that receive from this one."""
        packed = self._packed(frame)
        self._counters.control_bytes += len(packed)
        self._for_audience.append(packed)

    def to_address(self, frame: AnyFrame, address: Address, session: int) -> None:
        """Have a frame sent to a process; a trial of the way fills its datagram."""
        packed = self._packed(self._filled(frame) if isinstance(frame, Trial | TrialPassed) else frame)
        self._counters.control_bytes += len(packed)
        self._for_address.setdefault((address, session), []).append(packed)

    @property
    def has_data(self) -> bool:
        """Whether runs wait to be sent."""
        return bool(self._data)

    def ready_at(self) -> float:
        """Return when the next run may go out."""
        return self._pacer.ready_at() if self._data else float("inf")

    def send_data(self, here: InView, now: float, *, at_once: bool = False) -> None:
        """Let runs go, as many as the rate allows, or all of them."""
        waiting, route = self._data, here.fan_out.to_audience()
        copies = len(route.to)
        while waiting and (at_once or self._pacer.may_send(now)):
            packed = waiting.popleft()
            if copies:
                self._pacer.sent(copies * len(packed))
                self._send_all([packed], route)

    def pass_on(self, datagram: bytes, to: Sequence[Address]) -> None:
        """Have another member's datagram sent on as it is, before what waits of one's own data."""
        size = len(to) * len(datagram)
        self._counters.passed_on_bytes += size
        self._pacer.sent(size)
        self.datagrams.append(Datagram(datagram, to, False))
        if self.wire is not None:
            self.wire.passed_on()

    def flush(self, here: InView | None) -> None:
        """Let the frames go that have gathered, as many in a datagram as fit."""
        if self._for_address:
            self._flush_addresses()
        for_all, for_audience, by_rank = self._for_all, self._for_audience, self._for_rank
        if for_audience:
            self._for_audience = []
            if here is not None and (route := here.fan_out.to_audience()).to:
                for group in self._fitted(for_audience):
                    self._send_all(group, route)
        if for_all:
            self._for_all = []
            if here is not None and (route := here.fan_out.to_all()).to:
                for group in self._fitted(for_all):
                    self._send_all(group, route)
        if by_rank:
            self._for_rank = {}
            if here is not None:
                for rank, frames in by_rank.items():
                    to = here.view.members[rank]
                    for group in self._fitted(frames):
                        self._send(group, to.address, to.session)

    def _flush_addresses(self) -> None:
        waiting, self._for_address = self._for_address, {}
        for (address, session), frames in waiting.items():
            for group in self._fitted(frames):
                self._send(group, address, session)

    def _send(self, frames: list[bytes], to: Address, session: int) -> None:
        inside = pack_encoded(frames, session)
        datagram = self._seal.close(inside)
        self.datagrams.append(Datagram(datagram, [to], False))
        if self.wire is not None:
            self.wire.sent(datagram, inside, frames, to)

    def _send_all(self, frames: list[bytes], route: Route) -> None:
        inside = pack_encoded([route.mark, *frames] if route.mark else frames)
        datagram = self._seal.close(inside)
        self.datagrams.append(Datagram(datagram, route.to, True))
        if self.wire is not None:
            self.wire.sent(datagram, inside, frames, None)

    def _filled(self, frame: Trial | TrialPassed) -> Trial | TrialPassed:
        """Return a trial with as much padding as fits into a datagram."""
        short = msgspec.structs.replace(frame, padding=bytes(LONG_PADDING))
        padding = bytes(LONG_PADDING + self._room - len(encode(short)))
        return msgspec.structs.replace(frame, padding=padding)

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
