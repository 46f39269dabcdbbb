"""A real group on this machine's loopback: processes that join, send at a rate, and tell what they saw.

Every member is a process of its own, as users run them, and measures its own messages: from ``send`` until it
knows that all have the message.  Losses are injected on the way out, for each destination by itself.  The
members warm up before they measure, and send by turns, evenly apart.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

from stablecast.engine.options import Options
from stablecast.engine.pace import PaceOptions
from stablecast.engine.stats import TimeHistogram
from stablecast.errors import StablecastError
from stablecast.live.group import Group
from stablecast.live.injection import InjectedTransport, Injection
from stablecast.live.joining import join
from stablecast.live.udp import UdpTransport

PATIENCE_S = 60.0
LARGEST = 1400
"""As on a network, and as it is simulated; loopback itself would take more."""
PRELOADED = ["stablecast.advisor.calibration.real_group"]


@dataclass(frozen=True, kw_only=True)
class RealGroup:
    """What to run."""

    members: int
    rate_per_s: float
    """Messages a second of all senders together."""
    message_bytes: int
    senders: int | None = None
    loss: float = 0.0
    protocol: str = str(Options.protocol)
    protocol_options: Mapping[str, Any] = field(default_factory=dict)
    step_s: float | None = None
    fan_out: str = str(Options.fan_out)
    buffer_bytes: int = Options.buffer_bytes
    warm_s: float = 1.0
    seconds: float = 2.0

    @property
    def senders_there(self) -> int:
        """Members that send."""
        return self.members if self.senders is None else self.senders


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What one member saw while it was measured."""

    times_s: list[float]
    """Times to stable of its own messages."""
    processor_s: float
    """Seconds of processor time in a second."""
    received_per_s: float
    sent_per_s: float
    members: int


def times_ms(found: list[Seen]) -> list[float]:
    """Return the times to stable of all members' messages."""
    return sorted(1e3 * seconds for each in found for seconds in each.times_s)


def p50_ms(found: list[Seen]) -> float:
    """Return the median over all messages."""
    return median(times_ms(found))


def run_group(group: RealGroup) -> list[Seen]:
    """Run a group and return what each member saw."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    key, pipes, processes, seed = os.urandom(32), [], [], None
    try:
        for number in range(group.members):
            ours, theirs = context.Pipe()
            process = context.Process(target=_run, args=(group, number, seed, key, theirs), daemon=True)
            process.start()
            theirs.close()
            pipes.append(ours)
            processes.append(process)
            if seed is None:
                seed = _next(ours)
            else:
                _next(ours)
        for pipe in pipes:
            pipe.send("all are there")
        found: list[Seen] = [_next(pipe) for pipe in pipes]
        for pipe in pipes:
            pipe.send("end")
        for process in processes:
            process.join(5)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        raise StablecastError("a member of the measured group has died") from None
    finally:
        for process in processes:
            if process.is_alive():
                process.kill()
    return found


def _next(pipe: Connection) -> Any:
    if not pipe.poll(PATIENCE_S):
        raise StablecastError(f"a member of the measured group does not answer within {PATIENCE_S:g} s")
    return pipe.recv()


def _run(group: RealGroup, number: int, seed: str | None, key: bytes, pipe: Connection) -> None:
    asyncio.run(_member(group, number, seed, key, pipe))


async def _member(group: RealGroup, number: int, seed: str | None, key: bytes, pipe: Connection) -> None:
    udp = await UdpTransport.open(("127.0.0.1", 0), largest=LARGEST)
    transport = InjectedTransport(udp, Injection(seed=number, loss=group.loss)) if group.loss else udp
    here = await join(
        "calibrate",
        seeds=[seed] if seed else [],
        key=key,
        member=f"m{number}",
        transport=transport,
        protocol=group.protocol,
        protocol_options=dict(group.protocol_options),
        pace=PaceOptions(step_s=group.step_s),
        fan_out=group.fan_out,
        buffer_bytes=group.buffer_bytes,
    )
    pipe.send(here.address)
    reader = asyncio.create_task(_read(here))
    while not pipe.poll() or len(here.members) < group.members:
        await asyncio.sleep(0.02)
    pipe.recv()
    sender = asyncio.create_task(_send(here, group, number)) if number < group.senders_there else None
    await asyncio.sleep(group.warm_s)
    pipe.send(await _measured(here, udp, group.seconds))
    while not pipe.poll():
        await asyncio.sleep(0.05)
    if sender is not None:
        sender.cancel()
    await here.close()
    await reader


async def _measured(here: Group, udp: UdpTransport, seconds: float) -> Seen:
    """Return what is seen within so many seconds."""
    own, loop = here._engine.own, asyncio.get_running_loop()
    own.times = TimeHistogram()
    before, began = resource.getrusage(resource.RUSAGE_SELF), loop.time()
    received, sent = udp.stats.datagrams_received, udp.stats.datagrams_sent
    await asyncio.sleep(seconds)
    took = loop.time() - began
    after = resource.getrusage(resource.RUSAGE_SELF)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Seen(
        times_s=own.times.recent(),
        processor_s=used / took,
        received_per_s=(udp.stats.datagrams_received - received) / took,
        sent_per_s=(udp.stats.datagrams_sent - sent) / took,
        members=len(here.members),
    )


async def _read(group: Group) -> None:
    async for _ in group.batches():
        pass


async def _send(here: Group, group: RealGroup, number: int) -> None:
    """Send without end, by turns with the other senders."""
    payload, loop = bytes(group.message_bytes), asyncio.get_running_loop()
    gap = group.senders_there / group.rate_per_s
    at = (loop.time() // gap + number / group.senders_there) * gap
    while True:
        at += gap
        await asyncio.sleep(max(0.0, at - loop.time()))
        await here.send(payload)
