"""Measure a stablecast group and a JGroups group by turns, under the same load, on loopback.

python -m benchmarks.jgroups                       # no limit, and 1,000 messages a second; three times each
python -m benchmarks.jgroups --rate 0 --times 5

Both have as many processes, and all of them send messages of the same size.  stablecast is encrypted and
JGroups is not; JGroups runs the ``udp.xml`` that comes with it.  *delivered* is what the member delivers that
delivers least, *cores* the processor time of all processes by the time that passed.  *stable* is the time
from sending until the sender knows that all members have the message, p50, of the member for which it is
longest: for stablecast by its stability protocol; for JGroups by its protocol STABLE, and, where a rate is
given, by acknowledgements that its receivers send as unicasts, since STABLE gossips rarely where little is
sent.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.jgroups import group as jgroups
from benchmarks.live import run as live
from benchmarks.live.member import Load

ROW = "{:<12} {:>9} {:>12} {:>8} {:>20} {:>12} {:>12}"
Measure = Callable[[Load], dict[str, Any]]


def main() -> int:
    """Measure by turns, print a line for each run, then the medians and their ratio."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.jgroups",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--size", type=int, default=100, help="bytes of a message")
    parser.add_argument(
        "--rate", type=float, nargs="+", default=[0.0, 1000.0], help="messages a second; 0: no limit"
    )
    parser.add_argument("--times", type=int, default=3, help="runs of each")
    parser.add_argument("--warm", type=float, default=5.0, help="seconds before what is measured")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--jar", type=Path, default=jgroups.JAR)
    given = parser.parse_args()
    why_not = jgroups.why_not(given.jar)
    if why_not:
        print(f"benchmarks.jgroups: {why_not}", file=sys.stderr)
        return 2
    with jgroups.compiled(given.jar) as classes:
        systems: dict[str, Measure] = {
            "stablecast": _ours,
            "JGroups": lambda load: jgroups.measure(load, given.jar, classes),
        }
        for rate in given.rate:
            _compare(systems, _load(given, rate), given.times)
    return 0


def _load(given: argparse.Namespace, rate: float) -> Load:
    return Load(
        members=given.members,
        size=given.size,
        rate=rate,
        protocol="s_coord",
        encrypted=True,
        largest=None,
        warm_s=given.warm,
        measure_s=given.seconds,
        uvloop=False,
    )


def _ours(load: Load) -> dict[str, Any]:
    found = live.measure(load)
    return {**found, "stable_p50_ms": found["p50_ms"], "acks_p50_ms": None}


def _compare(systems: dict[str, Measure], load: Load, times: int) -> None:
    asked = f"{load.rate:g} messages/s" if load.rate else "no limit"
    print(
        f"\n{load.members} members, {load.size} bytes, {asked}, {load.measure_s:g} s after {load.warm_s:g} s"
    )
    print(ROW.format("", "run", "delivered/s", "cores", "µs of processor", "stable", "by acks"))
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in systems}
    for number in range(times):
        for name, measure in systems.items():
            found[name].append(measure(load))
            _print(name, str(number + 1), found[name][-1])
    for name, runs in found.items():
        _print(name, "median", _medians(runs))
    ours, theirs = (statistics.median(run["delivered_per_s"] for run in runs) for runs in found.values())
    print(f"stablecast delivers {ours / theirs:.2f} times what JGroups does")


def _medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    names = ("delivered_per_s", "cpu", "stable_p50_ms", "acks_p50_ms")
    known = {name: [run[name] for run in runs if run[name] is not None] for name in names}
    return {name: statistics.median(values) if values else None for name, values in known.items()}


def _print(name: str, number: str, found: dict[str, Any]) -> None:
    each = 1e6 * found["cpu"] / max(found["delivered_per_s"], 1)
    print(
        ROW.format(
            name,
            number,
            f"{found['delivered_per_s']:,.0f}",
            f"{found['cpu']:.2f}",
            f"{each:,.2f} a message",
            _ms(found["stable_p50_ms"]),
            _ms(found["acks_p50_ms"]),
        ),
        flush=True,
    )


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f} ms"


if __name__ == "__main__":
    sys.exit(main())
