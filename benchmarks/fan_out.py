"""What it costs to have a message come to all, and how long that takes: by the sender alone, or by relays.

    python -m benchmarks.fan_out                              # in virtual time: 8 to 1,024 members
    python -m benchmarks.fan_out --members 64 --fan-out direct 8 16
    python -m benchmarks.fan_out --udp --members 8 16 32 64   # by sockets, on the loopback interface

One member sends 50 messages of 100 bytes a second.  In virtual time links take 0.5 ms each, so that it is
1 ms from member to member, datagrams are sealed by the cipher, and the sender's processor time is that of its
engine alone, without sockets.  By UDP the sender is a process of its own, whose whole processor time
counts, all other members are another one, and the time to delivery is theirs together, who share a core.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import stablecast
from benchmarks.scale import EngineTime
from stablecast.membership.actions import Timing
from stablecast.simulate.live.driver import PS_PER_S, LiveDriver
from stablecast.simulate.live.options import live_setup

SIZES = (8, 16, 32, 64, 256, 1024)
RATE_PER_S = 50.0
SECONDS = 4.0
SETTLES_S = 1.0
LINK_US = 500.0
FIRST_PORT = 41_000


def in_virtual_time(members: int, fan_out: str) -> dict[str, float]:
    """Run one group; return what its sender's engine takes, and how long messages take."""
    told = {
        "topology": "star",
        "members": members,
        "costs": "lan",
        "propagation_us": LINK_US,
        "senders": 1,
        "data_bytes": 100,
        "encrypted": True,
        "fan_out": fan_out,
        "seconds": SETTLES_S + SECONDS,
        "seed": 1,
    }
    idle, loaded = (_sender_s(told | {"rate_per_s": rate}) for rate in (1e-6, RATE_PER_S))
    messages = RATE_PER_S * SECONDS
    delivery = loaded[1].meter.time_to_delivery_us()
    assert delivery is not None
    return {
        "sender_us": (loaded[0] - idle[0]) / messages * 1e6,
        "p50_ms": delivery[1] / 1e3,
        "p99_ms": delivery[2] / 1e3,
    }


def _sender_s(told: dict[str, Any]) -> tuple[float, LiveDriver]:
    """Return the processor time of the first member's engine while it sends."""
    driver = LiveDriver(live_setup(told))
    driver.begin()
    _run_until(driver, SETTLES_S)
    engine = driver.seats[0].engine
    assert engine is not None
    spent = EngineTime(engine)
    _run_until(driver, SETTLES_S + SECONDS)
    return spent.seconds, driver


def _run_until(driver: LiveDriver, seconds: float) -> None:
    while driver.calendar.run(round(seconds * PS_PER_S), 1 << 20):
        pass


async def send_by_udp(members: int, fan_out: str) -> dict[str, float]:
    """Be the sender: let the others in, send, and return what that took of the processor."""
    bind = f"127.0.0.1:{FIRST_PORT}"
    joining = stablecast.join("fan-out", bind=bind, member="m0", fan_out=fan_out, deliver="nothing")
    async with joining as group:
        while len(group.members) < members:
            await asyncio.sleep(0.1)
        await asyncio.sleep(2 * SETTLES_S)
        idle_s = await _spent_s(group, 0)
        busy_s = await _spent_s(group, round(RATE_PER_S * SECONDS))
        await group.send(b"")  # the last one: the others end
        await asyncio.sleep(SETTLES_S)
    return {"sender_us": (busy_s - idle_s) / (RATE_PER_S * SECONDS) * 1e6}


async def _spent_s(group: stablecast.Group, messages: int) -> float:
    began = time.process_time()
    for _ in range(messages):
        await group.send(json.dumps(time.monotonic()).encode().ljust(100))
        await asyncio.sleep(1 / RATE_PER_S)
    if not messages:
        await asyncio.sleep(SECONDS)
    return time.process_time() - began


async def receive_by_udp(members: int, fan_out: str) -> dict[str, float]:
    """Be all others; return how long messages took to come to them."""
    times: list[float] = []
    await asyncio.gather(*(_receive(k, fan_out, times) for k in range(1, members)))
    times.sort()
    return {
        "p50_ms": statistics.median(times) * 1e3,
        "p99_ms": times[int(0.99 * len(times))] * 1e3,
    }


async def _receive(number: int, fan_out: str, times: list[float]) -> None:
    await asyncio.sleep(number * 0.02)
    joining = stablecast.join(
        "fan-out",
        bind=f"127.0.0.1:{FIRST_PORT + number}",
        seeds=[f"127.0.0.1:{FIRST_PORT}"],
        member=f"m{number}",
        fan_out=fan_out,
        timing=Timing(join_timeout=60.0),
    )
    async with joining as group:
        async for message in group.deliveries():
            if not message.payload:
                return
            times.append(time.monotonic() - json.loads(message.payload))


def by_udp(members: int, fan_out: str) -> dict[str, float]:
    """Run the sender and the others, each in a process of its own."""
    own = [sys.executable, "-m", "benchmarks.fan_out", "--members", str(members), "--fan-out", fan_out]
    both = [
        subprocess.Popen([*own, "--alone", what], stdout=subprocess.PIPE, text=True)
        for what in ("send", "receive")
    ]
    found: dict[str, float] = {}
    for each in reversed(both):
        told, _ = each.communicate()
        if each.returncode:
            both[0].kill()
            sys.exit(each.returncode)
        found |= json.loads(told)
    return found


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return what was measured as lines of Markdown."""
    lines = ["| members | fan-out | sender, µs of processor a message | delivery p50, ms | p99, ms |"]
    lines.append("|---:|---|---:|---:|---:|")
    for row in rows:
        values = " | ".join(f"{row[name]:,.3g}" for name in ("sender_us", "p50_ms", "p99_ms"))
        lines.append(f"| {row['members']:,} | {row['fan_out']} | {values} |")
    return lines


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fan_out",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--members", type=int, nargs="+", default=SIZES)
    parser.add_argument("--fan-out", nargs="+", default=("direct", "8", "16", "32"))
    parser.add_argument("--udp", action="store_true", help="by sockets rather than in virtual time")
    parser.add_argument("--alone", choices=("send", "receive"), help="one of the two processes, as JSON")
    asked = parser.parse_args()
    if asked.alone:
        role = send_by_udp if asked.alone == "send" else receive_by_udp
        print(json.dumps(asyncio.run(role(asked.members[0], asked.fan_out[0]))))
        return
    measure, rows = by_udp if asked.udp else in_virtual_time, []
    for members in asked.members:
        for fan_out in asked.fan_out:
            if fan_out == "direct" or int(fan_out) < members - 1:
                rows.append({"members": members, "fan_out": fan_out} | measure(members, fan_out))
                print(f"# {rows[-1]}", file=sys.stderr, flush=True)
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
