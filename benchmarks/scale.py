"""What a member of a large group costs: bytes, processor time, memory, and how soon messages are stable.

    python -m benchmarks.scale                                  # 16, 64, 256 and 1,024 members
    python -m benchmarks.scale --members 4096 --seconds 1       # one size
    python -m benchmarks.scale --protocol gsgc --loss 0.01

Groups run in virtual time, on a star of links that take 0.5 ms, so that it is 1 ms from member to member.
Datagrams are sealed and opened with the cipher, as members do it.  Each size runs in a process of its own:
idle, and with 100 messages of 100 bytes a second in the whole group.

The processor time is that of the engines alone, taken around every call of one; the simulated network is not
in it, and neither are sockets, nor the search for garbage among the objects of all members, which is off, as
in ``simulate live``.  The memory is what the process grows by for a member: what all members of one process
share, such as the code, is not in it.  Exponents are fitted to all sizes from 64 to 1,024.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stablecast.engine.engine import Engine
from stablecast.engine.warm import warm
from stablecast.simulate.live.driver import DATAGRAM, PS_PER_S, LiveDriver
from stablecast.simulate.live.options import live_setup

SIZES = (16, 64, 256, 1024)
FITTED = (64, 1024)
"""Sizes that exponents are fitted to, the least and the largest."""
RATE_PER_S = 100.0
"""Messages in the whole group."""
LINK_US = 500.0
SETTLES_S = 1.0
"""Seconds at the beginning of a run that are not measured: every member asks how long its ways are."""
CALLS = ("receive", "handle_timer", "flush", "output", "consumed", "next_timer")
KILO = 1024


class EngineTime:
    """Processor time inside of engines: of all of them, or of one."""

    def __init__(self, of: Engine | type[Engine] = Engine) -> None:
        self.seconds = 0.0
        for name in CALLS:
            setattr(of, name, self._timed(getattr(of, name)))

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            began = time.thread_time()
            try:
                return call(*arguments)
            finally:
                self.seconds += time.thread_time() - began

        return timed


def run(members: int, asked: argparse.Namespace, *, idle: bool) -> dict[str, float]:
    """Run one group; return what a member of it takes in a second, and how long messages took."""
    spent = EngineTime()
    senders = min(members, round(RATE_PER_S))
    told: dict[str, Any] = {"protocol": asked.protocol} if asked.protocol else {}
    told |= {
        "topology": "star",
        "members": members,
        "costs": "lan",
        "propagation_us": LINK_US,
        "link_loss": asked.loss / 2,
        "senders": senders,
        "rate_per_s": 1e-6 if idle else RATE_PER_S / senders,
        "data_bytes": 100,
        "seconds": SETTLES_S + asked.seconds,
        "encrypted": True,
        "seed": asked.seed,
    }
    setup = live_setup(told)
    if setup.options.choice is not None:
        warm(setup.options.choice)
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    driver = LiveDriver(setup)
    gc.disable()
    driver.begin()
    _run_until(driver, SETTLES_S)
    at_first = _numbers(driver, spent)
    _run_until(driver, SETTLES_S + asked.seconds)
    datagrams, size, engines_s = (
        after - before for after, before in zip(_numbers(driver, spent), at_first, strict=True)
    )
    _run_until(driver, setup.seconds + setup.settle_s)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib
    each = members * asked.seconds
    stable = driver.meter.time_to_stable_us()
    return {
        "datagrams_per_s": datagrams / each,
        "kB_per_s": size / each / 1e3,
        "cpu_ms_per_s": engines_s / each * 1e3,
        "memory_MiB": grown_kib / KILO / members,
        "stable_p50_ms": math.nan if stable is None else stable[1] / 1e3,
        "stable_p99_ms": math.nan if stable is None else stable[2] / 1e3,
        "unstable": float(driver.unsettled),
    }


def _numbers(driver: LiveDriver, spent: EngineTime) -> tuple[float, ...]:
    network = driver.network
    return network.sent[DATAGRAM], network.sent_bytes[DATAGRAM], spent.seconds


def _run_until(driver: LiveDriver, seconds: float) -> None:
    while driver.calendar.run(round(seconds * PS_PER_S), 1 << 20):
        pass


def measured(members: int, asked: argparse.Namespace) -> dict[str, Any]:
    """Run one size, idle and loaded, each in a process of its own."""
    began, found = time.perf_counter(), {}
    for what in ("idle", "loaded"):
        own = [sys.executable, "-m", "benchmarks.scale", "--members", str(members), "--alone", what]
        for name in ("seconds", "loss", "seed", "protocol"):
            own += [f"--{name}", str(getattr(asked, name))] if getattr(asked, name) is not None else []
        done = subprocess.run(own, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(done.returncode)
        found[what] = json.loads(done.stdout)
    return {"members": members, "wall_s": time.perf_counter() - began, **found}


COLUMNS = (
    ("idle, datagrams/s", "idle", "datagrams_per_s"),
    ("idle, kB/s", "idle", "kB_per_s"),
    ("idle, processor ms/s", "idle", "cpu_ms_per_s"),
    ("loaded, kB/s", "loaded", "kB_per_s"),
    ("loaded, processor ms/s", "loaded", "cpu_ms_per_s"),
    ("stable p50, ms", "loaded", "stable_p50_ms"),
    ("stable p99, ms", "loaded", "stable_p99_ms"),
    ("memory, MiB", "loaded", "memory_MiB"),
)


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return what was measured as lines of Markdown, with exponents below it."""
    lines = ["| members | " + " | ".join(title for title, _, _ in COLUMNS) + " | wall, s |"]
    lines.append("|---" * (len(COLUMNS) + 2) + "|")
    for row in rows:
        values = [f"{row[what][name]:.3g}" for _, what, name in COLUMNS]
        lines.append(f"| {row['members']:,} | {' | '.join(values)} | {row['wall_s']:.0f} |")
    fitted = [row for row in rows if FITTED[0] <= row["members"] <= FITTED[1]]
    if len(fitted) > 1:
        found = [
            f"{exponent([(r['members'], r[what][name]) for r in fitted]):.2f}" for _, what, name in COLUMNS
        ]
        lines.append(f"| exponent | {' | '.join(found)} | |")
    return lines


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return the exponent of the power of the size that fits best."""
    size, value = np.log(np.array(points)).T
    return float(np.polyfit(size, value, 1)[0])


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--members", type=int, nargs="+", default=SIZES)
    parser.add_argument("--seconds", type=float, default=4.0, help="virtual seconds that are measured")
    parser.add_argument("--loss", type=float, default=0.0, help="share of datagrams that are lost")
    parser.add_argument("--protocol", help="default: that of live groups")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alone", choices=("idle", "loaded"), help="this alone, of one size, as JSON")
    asked = parser.parse_args()
    if asked.alone:
        print(json.dumps(run(asked.members[0], asked, idle=asked.alone == "idle")))
        return
    rows = []
    for members in asked.members:
        rows.append(measured(members, asked))
        print(f"# {members} members: {rows[-1]['wall_s']:.0f} s", file=sys.stderr, flush=True)
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
