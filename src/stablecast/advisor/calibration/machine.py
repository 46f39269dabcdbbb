"""What a datagram costs a member on this machine, and the way between two of its processes.

How
    The processor time of a member is taken from a real group of two, at the one that only receives: waking up
    for a datagram, the event loop and timers are in it, which an engine alone does not show.  By how much
    sending takes more or less than receiving is measured with two engines and a socket.  The way is that of a
    datagram that goes to and fro between two processes.
At which pace
    One datagram in a millisecond, as a member of a group of a thousand messages a second has them: what a
    processor has not done for so long it has to fetch again, and takes some times as long as in a tight loop.
What can go wrong
    A machine that does other work, too, is slower, and so are the groups that will run on it, but not
    necessarily by as much.  Nothing is fitted to groups; ``checks`` tells how far off that leaves them.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import socket
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from statistics import median

from stablecast.advisor.calibration.network import Seen, see_all, serve
from stablecast.advisor.calibration.real_group import RealGroup, run_group
from stablecast.engine.engine import Engine
from stablecast.engine.keys import Keyring
from stablecast.engine.options import Options
from stablecast.errors import StablecastError
from stablecast.membership.next_view import view_together
from stablecast.membership.view import Address

PACE_S = 0.001
ROUNDS = 1_000
SIZE = 100
RECEIVE_BYTES = 65_535
SHORT_SLEEP_S, WHOLE_MS_S = 0.0003, 0.0009
TIMER_US = 1000.0
ANSWER_S = 20.0


@dataclass(frozen=True)
class Machine:
    """What was measured of this machine."""

    send_us: float
    receive_factor: float
    way_us: float
    """From one process to another."""
    timer_us: float
    """What timers wait in whole ones of; 0 if they are exact."""
    cores: int


def measure_machine(seconds: float) -> Machine:
    """Measure this machine."""
    factor = receiving_beside_sending()
    group = RealGroup(members=2, rate_per_s=1 / PACE_S, message_bytes=SIZE, senders=1, seconds=seconds)
    receiver = run_group(group)[1]
    handled = factor * receiver.received_per_s + receiver.sent_per_s
    if handled <= 0:
        raise StablecastError("no datagram came through on loopback")
    return Machine(
        send_us=1e6 * receiver.processor_s / handled,
        receive_factor=factor,
        way_us=1e3 * local_peer().rtt_ms / 2,
        timer_us=timer_us(),
        cores=len(os.sched_getaffinity(0)),
    )


def receiving_beside_sending() -> float:
    """Return by which factor receiving a datagram takes longer than sending one: engine, seal and socket."""
    ours, theirs = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    with ours, theirs:
        for each in (ours, theirs):
            each.bind(("127.0.0.1", 0))
            each.settimeout(1.0)
        sender, receiver = _engines(ours.getsockname(), theirs.getsockname())
        sending, receiving, now = [], [], 0.0
        for _ in range(ROUNDS):
            now += PACE_S
            time.sleep(PACE_S)
            took_us = _send(sender, ours, now)
            sending += took_us
            for _ in took_us:
                began = time.perf_counter()
                _take(receiver, theirs, now)
                receiving.append(time.perf_counter() - began)
            for one, other, address in (
                (receiver, sender, theirs.getsockname()),
                (sender, receiver, ours.getsockname()),
            ):
                one.handle_timer(now)
                other.receive([(datagram, address) for datagram, _, _ in one.output().datagrams], now)
                other.output()
    return median(receiving) / median(sending)


def _engines(*addresses: Address) -> list[Engine]:
    engines = [
        Engine(
            Options(group="calibrate", member=f"m{number}"),
            address=address,
            largest=1400,
            rng=random.Random(number),
            now=0.0,
            keyring=Keyring.of(bytes(32)),
        )
        for number, address in enumerate(addresses)
    ]
    view = view_together(1, 1, [engine.agreement.me for engine in engines], group="calibrate")
    for engine in engines:
        engine.begin_in(view, [], 0.0)
        engine.output()
    return engines


def _send(sender: Engine, by: socket.socket, now: float) -> list[float]:
    """Send a message; return the seconds of each datagram that it became."""
    began = time.perf_counter()
    sender.own.send(bytes(SIZE), now)
    sender.flush(now)
    sent = 0
    for datagram, to, _ in sender.output().datagrams:
        for address in to:
            by.sendto(datagram, address)
            sent += 1
    return [(time.perf_counter() - began) / max(1, sent)] * sent


def _take(receiver: Engine, by: socket.socket, now: float) -> None:
    datagram, address = by.recvfrom(RECEIVE_BYTES)
    receiver.receive([(datagram, address)], now)
    receiver.consumed(len(receiver.output().deliveries), now)
    receiver.next_timer()


def timer_us() -> float:
    """Return what timers wait in whole ones of: short sleeps may take as long as a millisecond."""
    return TIMER_US if asyncio.run(_short_sleep_s()) > WHOLE_MS_S else 0.0


async def _short_sleep_s() -> float:
    times = []
    for _ in range(50):
        began = time.perf_counter()
        await asyncio.sleep(SHORT_SLEEP_S)
        times.append(time.perf_counter() - began)
    return median(times)


def local_peer() -> Seen:
    """Measure the way to another process of this machine."""
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(ANSWER_S):
            raise StablecastError("the process that answers on loopback did not start")
        return asyncio.run(see_all([ours.recv()], None))[0]
    finally:
        process.kill()
        process.join()


def _serve(pipe: Connection) -> None:
    async def answer() -> None:
        told: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
        told.add_done_callback(lambda done: pipe.send(done.result()))
        await serve("127.0.0.1:0", None, told)

    asyncio.run(answer())
