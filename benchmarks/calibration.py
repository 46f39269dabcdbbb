"""Measure what datagrams cost here, simulate groups with these costs, and compare with real processes.

    python -m benchmarks.calibration                    # groups of 4 and of 8, 1,000 messages a second

Nothing is fitted to the groups.  What a datagram takes a member is measured in a real group of two, at the
one that only receives: waking up for it, the event loop and timers are in it, which an engine alone does not
show.  By how much sending takes longer or less is measured with two engines and a socket, and the way between
two processes by having a datagram go to and fro between two of them.  All are measured at the pace at which a
member of such a group handles datagrams, one in a millisecond: what a processor has not done for so long, it
has to fetch again, and takes some times as long as in a tight loop.  The simulated members share as many
cores as this machine has, as the real ones do.  *p50* is the median over the messages of all members.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import socket
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

from benchmarks.live.member import Load
from benchmarks.live.run import measure, of_each
from stablecast.engine.engine import Engine
from stablecast.engine.keys import Keyring
from stablecast.engine.options import Options
from stablecast.live.udp import UdpTransport
from stablecast.membership.next_view import view_together
from stablecast.membership.view import Address
from stablecast.simulate.live.options import live_setup
from stablecast.simulate.live.run import simulate_live

ROUNDS = 2_000
PACE_S = 0.001
"""Between two datagrams of which a member of the measured groups hears."""
SIZE = 100
TIMER_US = 1000.0
"""What epoll waits in whole ones of."""
RECEIVE_BYTES = 65_535


def engine_costs() -> tuple[float, float]:
    """Return the microseconds that a member takes to send a datagram and to receive one, the socket's too."""
    ours, theirs = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    for each in (ours, theirs):
        each.bind(("127.0.0.1", 0))
    key = Keyring.of(bytes(32))
    engines = [
        Engine(
            Options(group="bench", member=name),
            address=each.getsockname(),
            largest=1400,
            rng=random.Random(name),
            now=0.0,
            keyring=key,
        )
        for name, each in (("a", ours), ("b", theirs))
    ]
    view = view_together(1, 1, [engine.agreement.me for engine in engines], group="bench")
    for engine in engines:
        engine.begin_in(view, [], 0.0)
        engine.output()
    sender, receiver = engines
    sending, receiving, now = [], [], 0.0
    for _ in range(ROUNDS):
        now += PACE_S
        time.sleep(PACE_S)
        began = time.perf_counter()
        sender.own.send(bytes(SIZE), now)
        sender.flush(now)
        output = sender.output()
        for datagram, to, _ in output.datagrams:
            for address in to:
                ours.sendto(datagram, address)
        sending.append((time.perf_counter() - began) / max(1, len(output.datagrams)))
        for _ in output.datagrams:
            began = time.perf_counter()
            datagram, address = theirs.recvfrom(RECEIVE_BYTES)
            receiver.receive([(datagram, address)], now)
            delivered = receiver.output().deliveries
            receiver.consumed(len(delivered), now)
            receiver.next_timer()
            receiving.append(time.perf_counter() - began)
        for one, other, address in (
            (receiver, sender, theirs.getsockname()),
            (sender, receiver, ours.getsockname()),
        ):
            one.handle_timer(now)
            other.receive([(datagram, address) for datagram, _, _ in one.output().datagrams], now)
            other.output()
    ours.close()
    theirs.close()
    return 1e6 * median(sending), 1e6 * median(receiving)


def way_us() -> float:
    """Return the microseconds that a datagram takes to another process: the socket and the event loop."""
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    process = context.Process(target=_echo, args=(theirs,), daemon=True)
    process.start()
    address = pipe.recv()
    try:
        return 1e6 * median(asyncio.run(_round_trips(address))) / 2
    finally:
        process.kill()
        process.join()


async def _round_trips(address: Address) -> list[float]:
    transport = await UdpTransport.open(("127.0.0.1", 0))
    came, times = asyncio.Event(), []
    transport.start(lambda batch: came.set())
    for _ in range(ROUNDS):
        began = time.perf_counter()
        transport.send(bytes(SIZE), [address])
        await came.wait()
        came.clear()
        times.append(time.perf_counter() - began)
        await asyncio.sleep(PACE_S)
    transport.close()
    return times


def _echo(pipe: Connection) -> None:
    asyncio.run(_send_back(pipe))


async def _send_back(pipe: Connection) -> None:
    transport = await UdpTransport.open(("127.0.0.1", 0))

    def send_back(batch: Sequence[tuple[bytes, Address]]) -> None:
        for datagram, address in batch:
            transport.send(datagram, [address])

    transport.start(send_back)
    pipe.send(transport.address)
    await asyncio.Event().wait()


def load_of(members: int, rate: float, seconds: float, *, first_alone: bool = False) -> Load:
    """Return the load of a group."""
    return Load(
        members=members,
        size=SIZE,
        rate=rate,
        protocol="s_coord",
        encrypted=True,
        largest=None,
        warm_s=2.0,
        measure_s=seconds,
        uvloop=False,
        first_alone=first_alone,
    )


def costs_here(seconds: float) -> dict[str, Any]:
    """Return the costs of this machine, by the options of a simulation."""
    _, receiver = of_each(load_of(2, 1 / PACE_S, seconds, first_alone=True))
    send_us, receive_us = engine_costs()
    factor = receive_us / send_us
    handled = factor * receiver["datagrams_per_s"] + receiver["datagrams_sent_per_s"]
    return {
        "send_us": 1e6 * receiver["cpu"] / handled,
        "send_us_per_byte": 0.0,
        "receive_factor": factor,
        "propagation_us": way_us() / 2,
        "bandwidth_bps": 1e12,
        "cores": len(os.sched_getaffinity(0)),
    }


def simulated_p50_ms(members: int, rate: float, seconds: float, costs: dict[str, Any]) -> float | None:
    """Return the simulated time to stable of a group with these costs."""
    setup = live_setup(
        {
            "protocol": "s_coord",
            "members": members,
            "rate_per_s": rate / members,
            "seconds": seconds,
            "data_bytes": SIZE,
            "timer_us": TIMER_US,
            **costs,
        }
    )
    p50_us = simulate_live(setup).tts_p50_us
    return None if p50_us is None else p50_us / 1e3


def main() -> None:
    """Measure, simulate and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--members", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--rate", type=float, default=1000.0, help="messages a second of the whole group")
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    costs = costs_here(given.seconds)
    print(json.dumps({name: round(value, 2) for name, value in costs.items()}), flush=True)
    for members in given.members:
        real = measure(load_of(members, given.rate, given.seconds))
        real_ms, simulated_ms = (
            real["p50_of_all_ms"],
            simulated_p50_ms(members, given.rate, given.seconds, costs),
        )
        told = {"members": members, "real_p50_ms": real_ms, "simulated_p50_ms": simulated_ms}
        told["ratio"] = None if simulated_ms is None else round(simulated_ms / real_ms, 3)
        print(json.dumps(told | {"cpu": real["cpu"], "step_ms": real["step_ms"]}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
