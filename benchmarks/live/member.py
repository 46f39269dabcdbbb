"""One member of a measured group, in a process of its own."""

from __future__ import annotations

import asyncio
import resource
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import stablecast
from stablecast.engine.pace import PaceOptions
from stablecast.engine.stats import TimeHistogram
from stablecast.live.group import Group
from stablecast.live.injection import InjectedTransport, Injection
from stablecast.live.udp import UdpTransport


@dataclass(frozen=True)
class Load:
    """What a group is measured under."""

    members: int
    size: int
    rate: float
    """Messages a second of the whole group; 0 for as many as it takes."""
    protocol: str
    encrypted: bool
    largest: int | None
    warm_s: float
    measure_s: float
    uvloop: bool
    profile: str = ""
    round_trip_ms: float = 0.0
    """What the way to another member and back takes besides."""
    loss: float = 0.0
    """Share of all datagrams that do not come."""
    step_s: float | None = None
    """The step of the protocol; None for the one of the group's size."""
    first_alone: bool = False
    """Whether the first member alone sends, rather than all by turns."""

    @property
    def senders(self) -> int:
        """How many members send."""
        return 1 if self.first_alone else self.members


def run(load: Load, number: int, seed: str | None, key: bytes | None, pipe: Connection) -> None:
    """Join, send and count; tells the parent by the pipe."""
    if load.uvloop:
        import uvloop

        runner: Any = uvloop.run
    else:
        runner = asyncio.run
    if load.profile and number == 0:
        import cProfile

        profile = cProfile.Profile()
        profile.runcall(runner, _member(load, number, seed, key, pipe))
        profile.dump_stats(load.profile)
    else:
        runner(_member(load, number, seed, key, pipe))


async def _member(load: Load, number: int, seed: str | None, key: bytes | None, pipe: Connection) -> None:
    group = await stablecast.join(
        "bench",
        seeds=[seed] if seed else [],
        key=key,
        member=f"m{number}",
        protocol=load.protocol,
        pace=PaceOptions(step_s=load.step_s),
        **await _network(load, number),
    )
    pipe.send(group.address)
    counted = [0]
    reader = asyncio.create_task(_count(group, counted))
    while len(group.members) < load.members:
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)
    sender = asyncio.create_task(_send(group, load, number)) if number < load.senders else None
    await asyncio.sleep(load.warm_s)
    group._engine.own.times = TimeHistogram()
    before, stats, started = counted[0], group.stats(), asyncio.get_running_loop().time()
    cpu = resource.getrusage(resource.RUSAGE_SELF)
    carried = group._driver.transport.stats
    received, sent = carried.datagrams_received, carried.datagrams_sent
    await asyncio.sleep(load.measure_s)
    seconds = asyncio.get_running_loop().time() - started
    after = group.stats()
    used = resource.getrusage(resource.RUSAGE_SELF)
    if sender is not None:
        sender.cancel()
    pipe.send(
        {
            "member": group.me,
            "delivered_per_s": (counted[0] - before) / seconds,
            "sent_per_s": (after.sent - stats.sent) / seconds,
            "p50_ms": 1e3 * after.time_to_stable_p50,
            "p99_ms": 1e3 * after.time_to_stable_p99,
            "times_s": group._engine.own.times.recent(),
            "control_per_data": (after.control_bytes - stats.control_bytes)
            / max(1, after.data_bytes - stats.data_bytes),
            "repairs": after.repairs_asked - stats.repairs_asked,
            "repairs_sent": after.repairs_sent - stats.repairs_sent,
            "peak_bytes": after.peak_bytes,
            "members": len(after.members),
            "step_ms": 1e3 * after.step_s,
            "cpu": (used.ru_utime + used.ru_stime - cpu.ru_utime - cpu.ru_stime) / seconds,
            "switches_per_s": (used.ru_nvcsw - cpu.ru_nvcsw + used.ru_nivcsw - cpu.ru_nivcsw) / seconds,
            "datagrams_per_s": (carried.datagrams_received - received) / seconds,
            "datagrams_sent_per_s": (carried.datagrams_sent - sent) / seconds,
        }
    )
    while not pipe.poll():
        await asyncio.sleep(0.05)
    await group.close()
    await reader


async def _network(load: Load, number: int) -> dict[str, Any]:
    """Return how to reach the others: plainly, or over a way that is long or loses."""
    if not load.round_trip_ms and not load.loss:
        return {"largest": load.largest}
    way_s = load.round_trip_ms / 2e3
    udp = await UdpTransport.open(("127.0.0.1", 0), largest=load.largest)
    return {
        "transport": InjectedTransport(udp, Injection(seed=number, loss=load.loss, delay_s=(way_s, way_s)))
    }


async def _count(group: Group, counted: list[int]) -> None:
    async for batch in group.batches():
        counted[0] += len(batch)


async def _send(group: Group, load: Load, number: int) -> None:
    """Send without end; with a rate, members take turns, so that messages are evenly apart."""
    payload = bytes(load.size)
    if not load.rate:
        while True:
            await group.send(payload)
    loop, gap = asyncio.get_running_loop(), load.senders / load.rate
    at = (loop.time() // gap + number / load.senders) * gap
    while True:
        at += gap
        await asyncio.sleep(max(0.0, at - loop.time()))
        await group.send(payload)
