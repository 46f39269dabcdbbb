"""Measure live groups on loopback, one line for each load.

python -m benchmarks.live.run                        # the table of benchmarks/README.md
python -m benchmarks.live.run --members 4 --size 100 --rate 1000
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import statistics
import sys
from typing import Any

from benchmarks.live import member
from benchmarks.live.member import Load

PATIENCE_S = 120


def measure(load: Load) -> dict[str, Any]:
    """Run a group, and put together what its members counted."""
    return _together(load, of_each(load))


def of_each(load: Load) -> list[dict[str, Any]]:
    """Start the processes of a group, and wait for what they counted."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.live.member", "stablecast.live.joining"])
    key = os.urandom(32) if load.encrypted else None
    pipes, processes, seed = [], [], None
    try:
        for number in range(load.members):
            ours, theirs = context.Pipe()
            process = context.Process(target=member.run, args=(load, number, seed, key, theirs), daemon=True)
            process.start()
            theirs.close()
            pipes.append(ours)
            processes.append(process)
            if seed is None:
                seed = _next(ours)
            elif number == load.members - 1:
                for pipe in pipes[1:]:
                    _next(pipe)
        found = [_next(pipe) for pipe in pipes]
        for pipe in pipes:
            pipe.send("end")
        for process in processes:
            process.join(10)
    finally:
        for process in processes:
            if process.is_alive():
                process.kill()
    return found


def _next(pipe: Any) -> Any:
    if not pipe.poll(PATIENCE_S):
        raise SystemExit("a member does not answer")
    return pipe.recv()


def _together(load: Load, found: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "members": load.members,
        "size": load.size,
        "rate": load.rate,
        "protocol": load.protocol,
        "delivered_per_s": round(min(f["delivered_per_s"] for f in found)),
        "sent_per_s": round(sum(f["sent_per_s"] for f in found)),
        "p50_ms": round(max(f["p50_ms"] for f in found), 2),
        "p99_ms": round(max(f["p99_ms"] for f in found), 2),
        "p50_of_all_ms": round(1e3 * statistics.median(_times(found)), 2),
        "control_per_data": round(sum(f["control_per_data"] for f in found) / len(found), 3),
        "repairs": sum(f["repairs"] for f in found),
        "repairs_sent": sum(f["repairs_sent"] for f in found),
        "peak_bytes": max(f["peak_bytes"] for f in found),
        "cpu": round(sum(f["cpu"] for f in found), 2),
        "switches_per_s": round(sum(f["switches_per_s"] for f in found)),
        "datagrams_per_s": round(sum(f["datagrams_per_s"] for f in found)),
        "step_ms": round(max(f["step_ms"] for f in found), 2),
        "views_whole": all(f["members"] == load.members for f in found),
    }


def _times(found: list[dict[str, Any]]) -> list[float]:
    """Return the times to stable of all members' messages; the most recent ones, if these are many."""
    return [seconds for f in found for seconds in f["times_s"]]


def main() -> None:
    """Measure the loads that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, nargs="+", default=[4])
    parser.add_argument("--size", type=int, nargs="+", default=[100])
    parser.add_argument("--rate", type=float, nargs="+", default=[0.0, 1000.0])
    parser.add_argument("--protocol", nargs="+", default=["s_coord"])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--largest", type=int)
    parser.add_argument("--plain", action="store_true", help="no key")
    parser.add_argument("--uvloop", action="store_true", help="uvloop in place of asyncio's own loop")
    parser.add_argument("--round-trip-ms", type=float, default=0.0)
    parser.add_argument("--loss", type=float, default=0.0, help="share of datagrams that do not come")
    parser.add_argument("--step-ms", type=float, help="step of the protocol, in place of the group's own")
    parser.add_argument("--profile", default="")
    given = parser.parse_args()
    loads = itertools.product(given.members, given.size, given.rate, given.protocol)
    for members, size, rate, protocol in loads:
        load = Load(
            members=members,
            size=size,
            rate=rate,
            protocol=protocol,
            encrypted=not given.plain,
            largest=given.largest,
            warm_s=2.0,
            measure_s=given.seconds,
            uvloop=given.uvloop,
            profile=given.profile,
            round_trip_ms=given.round_trip_ms,
            loss=given.loss,
            step_s=None if given.step_ms is None else given.step_ms / 1e3,
        )
        print(json.dumps(measure(load)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
