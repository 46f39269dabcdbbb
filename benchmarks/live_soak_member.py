"""One process of the soak: a member of the demo that can be cut off from others, and may come back."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from multiprocessing.connection import Connection

import msgspec

from stablecast.errors import StablecastError
from stablecast.live.demo.member import Part, Player
from stablecast.live.demo.reports import Failed, Leave, SendUpTo, Stopped, StopTrace, Told, encode
from stablecast.live.group import Group
from stablecast.live.injection import InjectedTransport
from stablecast.live.transport import parse_address


class Block(Told, frozen=True):
    """Cut these addresses off, both ways."""

    addresses: list[str]


class Unblock(Told, frozen=True):
    """Cut nobody off any more."""


decode_order = msgspec.json.Decoder(SendUpTo | StopTrace | Leave | Block | Unblock).decode


def play(part: Part, pipe: Connection) -> None:
    """Be a member until told to leave; the entry of its process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(BrokenPipeError, EOFError):
        try:
            asyncio.run(SoakPlayer(part, pipe).play())
        except StablecastError as error:
            pipe.send_bytes(encode(Failed(str(error))))


class SoakPlayer(Player):
    """A member at work."""

    def _obey(self) -> None:
        try:
            order = decode_order(self._pipe.recv_bytes())
        except (EOFError, OSError):
            os._exit(1)
        group = self._group
        match order:
            case SendUpTo(count):
                self._allowed = count
                self._more_allowed.set()
            case StopTrace():
                self._log.close()
                self._tell(Stopped(self._status(group)))
            case Leave():
                self._over.set()
            case Block(addresses):
                self._transport(group).block(map(parse_address, addresses))
            case Unblock():
                self._transport(group).unblock()

    def _transport(self, group: Group) -> InjectedTransport:
        return group._engine.transport

    async def _take(self, group: Group) -> None:
        """Hold deliveries against what was sent; who comes back as a new member may have missed some."""
        incarnations = dict.fromkeys(group.members, group.me)
        async for batch in group.batches():
            for delivery in batch:
                came_to = group.me
                is_first = incarnations.get(delivery.source) != came_to
                wrong = self._deliveries.wrong
                self._deliveries.take([delivery], from_the_start=False)
                if self._deliveries.wrong > wrong and is_first:
                    self._deliveries.wrong = wrong
                    incarnations[delivery.source] = came_to
