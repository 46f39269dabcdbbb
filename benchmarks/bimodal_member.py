"""One process of the benchmark of bimodal delivery: joins, sends, and tells what it got and kept."""

from __future__ import annotations

import asyncio
import signal
import statistics
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from stablecast.engine.results import MessagesLost
from stablecast.live.event_stream import EventStream
from stablecast.live.group import Group
from stablecast.live.injection import InjectedTransport, Injection
from stablecast.live.joining import join
from stablecast.live.udp import UdpTransport
from stablecast.multicast.delivery import Bimodal

SAMPLE_S = 0.1


@dataclass(frozen=True)
class Part:
    """What a process is told."""

    name: str
    bimodal: Bimodal
    seeds: tuple[str, ...]
    key: bytes
    share: int
    rate_per_s: float
    size: int
    injection: Injection


@dataclass
class Account:
    """What a process tells in the end."""

    name: str
    sent: int = 0
    delivered: dict[str, int] = field(default_factory=dict)
    """Messages by source."""
    lost: set[tuple[str, int]] = field(default_factory=set)
    out_of_order: int = 0
    p_fail: float = 0.0
    loss: float = 0.0
    multicasts_again: int = 0
    repairs_asked: int = 0
    repairs_sent: int = 0
    omitted: int = 0
    views: int = 0
    kept: float = 0.0
    """Runs that it kept, in the mean over time."""
    living: float = 0.0
    """Runs that were in their rounds: what it would have kept if everyone kept everything."""
    waiting: float = 0.0
    """Runs that waited behind a gap."""
    late_most_s: float = 0.0
    """By how much its timers were late at most: a process that does not run is out of reach."""


def play(part: Part, pipe: Connection) -> None:
    """Be a member until told to end; the entry of its process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(Member(part, pipe).play())


class Member:
    """A member at work."""

    def __init__(self, part: Part, pipe: Connection) -> None:
        self._part = part
        self._pipe = pipe
        self._account = Account(part.name)
        self._samples: list[tuple[int, int, int]] = []
        self._last: dict[str, int] = {}
        self._sends = False

    async def play(self) -> None:
        """Join, wait for the word, send, wait for the word, and tell."""
        part = self._part
        udp = await UdpTransport.open(("127.0.0.1", 0))
        transport = InjectedTransport(udp, part.injection)
        async with join(
            "bimodal",
            seeds=part.seeds,
            key=part.key,
            member=part.name,
            transport=transport,
            delivery=part.bimodal,
        ) as group:
            self._pipe.send(group.address)
            events = group.events()
            tasks = [
                asyncio.create_task(work)
                for work in (self._take(group), self._hear(events), self._sample(group))
            ]
            while True:
                order = await asyncio.to_thread(self._pipe.recv)
                if order == "members":
                    self._pipe.send(len(group.members))
                elif order == "send":
                    await self._send(group)
                    self._pipe.send("sent")
                else:
                    break
            self._conclude(group, transport)
            for task in tasks:
                task.cancel()
            self._pipe.send(self._account)

    async def _send(self, group: Group) -> None:
        loop, part = asyncio.get_running_loop(), self._part
        self._sends = True
        due = loop.time()
        for _ in range(part.share):
            due = max(due, loop.time() - SAMPLE_S) + 1 / part.rate_per_s
            if due > loop.time():
                await asyncio.sleep(due - loop.time())
            await group.send(bytes(part.size))
        receipt = await group.send(b"last")
        await receipt.stable()
        self._sends = False

    async def _take(self, group: Group) -> None:
        account = self._account
        async for batch in group.batches():
            for delivery in batch:
                source, seq = delivery.source, delivery.seq
                account.out_of_order += seq <= self._last.get(source, 0)
                self._last[source] = seq
                account.delivered[source] = account.delivered.get(source, 0) + 1

    async def _hear(self, events: EventStream) -> None:
        async for event in events:
            if isinstance(event, MessagesLost):
                self._account.lost |= {(event.source, seq) for seq in range(event.first, event.last + 1)}

    async def _sample(self, group: Group) -> None:
        """Look now and then how many runs are kept, in the midst of sending."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + SAMPLE_S
            await asyncio.sleep(SAMPLE_S)
            here = group._engine.in_view
            if self._sends and here is not None:
                self._account.late_most_s = max(self._account.late_most_s, loop.time() - due)
                streams = here.data.streams
                living = sum(len(stream.kept) for stream in streams)
                kept = sum(kept.run is not None for stream in streams for kept in stream.kept.values())
                self._samples.append((kept, living, sum(len(stream.ahead) for stream in streams)))

    def _conclude(self, group: Group, transport: InjectedTransport) -> None:
        account, stats = self._account, group.stats()
        account.sent = stats.sent
        account.p_fail, account.loss = stats.p_fail, stats.loss
        account.multicasts_again = stats.multicasts_again
        account.repairs_asked, account.repairs_sent = stats.repairs_asked, stats.repairs_sent
        account.omitted, account.views = transport.injected.omitted, stats.views
        middle = self._samples[len(self._samples) // 5 : -len(self._samples) // 5 or None]
        if middle:
            account.kept, account.living, account.waiting = (
                statistics.fmean(each) for each in zip(*middle, strict=True)
            )
