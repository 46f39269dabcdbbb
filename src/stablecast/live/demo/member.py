"""What one process of a demo does: join, send its share at its rate, tell how it is doing, and obey."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from stablecast.engine.degrees import AUTO
from stablecast.engine.pace import PaceOptions
from stablecast.engine.results import Delivery
from stablecast.errors import StablecastError
from stablecast.live.demo.plan import payload_of
from stablecast.live.demo.reports import (
    Failed,
    Joined,
    Leave,
    Report,
    SendUpTo,
    Status,
    Stopped,
    StopTrace,
    decode_order,
    encode,
)
from stablecast.live.group import Group
from stablecast.live.injection import InjectedTransport, Injection
from stablecast.live.joining import join
from stablecast.live.udp import UdpTransport
from stablecast.multicast.delivery import read_delivery
from stablecast.trace.log import EventLog

STATUS_EVERY_S = 0.1
BEHIND_S = 0.1
"""A sender that was held up makes good for so much of it."""


@dataclass(frozen=True)
class Part:
    """One member's part in a demo."""

    name: str
    group: str
    protocol: str
    """A name, or a path that every process finds."""
    protocol_options: dict[str, Any]
    zone: str
    adaptive: bool
    key: bytes
    seeds: tuple[str, ...]
    share: int
    rate_per_s: float
    size: int
    injection: Injection
    trace: Path
    trace_offset_s: float
    """The same at all members, so that their times can be compared."""
    delivery: str = "reliable"
    fan_out: str = AUTO
    wire: bool = False
    """Whether the trace is to tell datagrams, timers and steps, too."""


def play(part: Part, pipe: Connection) -> None:
    """Be a member until told to leave; the entry of its process."""
    # Who interrupts the demo interrupts its conductor, which ends the members.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(BrokenPipeError, EOFError):
        try:
            asyncio.run(Player(part, pipe).play())
        except StablecastError as error:
            pipe.send_bytes(encode(Failed(str(error))))
        except Exception as error:
            pipe.send_bytes(encode(Failed(f"{type(error).__name__}: {error}")))
            raise


class Deliveries:
    """Holds what comes against what was sent: in order, once, and unchanged.

    Parameters
    ----------
    size
        Bytes of a message.
    has_all
        Whether none may be missing.
    """

    def __init__(self, size: int, *, has_all: bool = True) -> None:
        self.last: dict[str, int] = {}
        self.wrong = 0
        self._size = size
        self._has_all = has_all

    def take(self, batch: list[Delivery], *, from_the_start: bool) -> None:
        """Look at deliveries; who was not there from the start may begin with any number."""
        for delivery in batch:
            source, seq = delivery.source, delivery.seq
            before = self.last.get(source, 0 if from_the_start else seq - 1)
            self.last[source] = seq
            follows = seq == before + 1 if self._has_all else seq > before
            if not follows or not self._is_intact(delivery):
                self.wrong += 1

    def _is_intact(self, delivery: Delivery) -> bool:
        if "#" in delivery.source:  # it goes on with its count, and its numbers begin anew
            return len(delivery.payload) == self._size
        return delivery.payload == payload_of(delivery.source, delivery.seq, self._size)


class Player:
    """A member at work."""

    def __init__(self, part: Part, pipe: Connection) -> None:
        self._part = part
        self._pipe = pipe
        self._group: Group | None = None
        self._sent = 0
        self._allowed = 0
        self._more_allowed = asyncio.Event()
        self._over = asyncio.Event()
        self._deliveries = Deliveries(part.size, has_all=read_delivery(part.delivery) is None)
        self._log = EventLog(part.trace, wire=part.wire)

    async def play(self) -> None:
        """Join, send what is asked for, tell how it goes, and leave when told to."""
        part = self._part
        loop = asyncio.get_running_loop()
        loop.add_reader(self._pipe.fileno(), self._obey)
        udp = await UdpTransport.open(("127.0.0.1", 0))
        group = await join(
            part.group,
            seeds=part.seeds,
            protocol=part.protocol,
            protocol_options=part.protocol_options,
            zone=part.zone,
            pace=PaceOptions(adaptive=part.adaptive),
            delivery=part.delivery,
            fan_out=part.fan_out,
            key=part.key,
            member=part.name,
            transport=InjectedTransport(udp, part.injection),
            trace=self._log,
            trace_offset_s=part.trace_offset_s,
        )
        async with group:
            self._group = group
            self._tell(Joined(group.address))
            async with asyncio.TaskGroup() as tasks:
                working = [tasks.create_task(work(group)) for work in (self._send, self._take, self._report)]
                await self._over.wait()
                for task in working:
                    task.cancel()

    def _tell(self, report: Report) -> None:
        self._pipe.send_bytes(encode(report))

    def _obey(self) -> None:
        try:
            order = decode_order(self._pipe.recv_bytes())
        except (EOFError, OSError):
            os._exit(1)  # the conductor is gone, and nobody wants to know
        match order:
            case SendUpTo(count):
                self._allowed = count
                self._more_allowed.set()
            case StopTrace():
                self._log.close()
                assert self._group is not None  # it is told to stop only after it has joined
                self._tell(Stopped(self._status(self._group)))
            case Leave():
                self._over.set()

    async def _send(self, group: Group) -> None:
        part, loop = self._part, asyncio.get_running_loop()
        due = loop.time()
        while self._sent < part.share:
            while self._sent >= self._allowed:
                self._more_allowed.clear()
                await self._more_allowed.wait()
            due = max(due, loop.time() - BEHIND_S) + 1 / part.rate_per_s
            if due > loop.time():
                await asyncio.sleep(due - loop.time())
            await group.send(payload_of(part.name, self._sent + 1, part.size))
            self._sent += 1

    async def _take(self, group: Group) -> None:
        async for batch in group.batches():
            self._deliveries.take(batch, from_the_start="#" not in group.me)

    async def _report(self, group: Group) -> None:
        while not group.trace_error:
            self._tell(self._status(group))
            await asyncio.sleep(STATUS_EVERY_S)
        self._tell(Failed(group.trace_error))
        self._over.set()

    def _status(self, group: Group) -> Status:
        stats = group.stats()
        return Status(
            me=stats.me,
            state=stats.state,
            members=stats.members,
            sent=self._sent,
            frontier=stats.frontier,
            received=self._deliveries.last,
            waiting=stats.waiting,
            unstable_messages=stats.unstable_messages,
            unstable_bytes=stats.unstable_bytes,
            peak_bytes=stats.peak_bytes,
            repairs_asked=stats.repairs_asked,
            repairs_sent=stats.repairs_sent,
            wrong=self._deliveries.wrong,
            lost=stats.lost_messages,
            p_fail=0.0 if math.isnan(stats.p_fail) else stats.p_fail,
        )
