"""Critical paths of random simulated runs, held against the graph they come from.

    python -m benchmarks.critical_paths                  # 1,000 runs
    python -m benchmarks.critical_paths --runs 50 --seed 7 --protocols s_coord gsgc

Each run draws a protocol, a network of 2 to 31 members, its costs, losses and traffic, and writes a wire
trace, which is read again.  Of some of its messages, at members drawn as well:

- the graph gives exactly the trace's times;
- segments sum exactly to the time to stable, and so do phases;
- without an edge off the path, the time of detection is the same;
- shortening an edge on the path makes it earlier, unless tight edges lead to it without this edge.  A search
  backwards over tight edges decides that by itself, and such cases are counted.

A message whose path would come out otherwise ends the benchmark with exit code 1 and the run's command.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from stablecast.causes import CriticalPath, Edge, Graph, Run, critical_path, read, recompute, slowest
from stablecast.causes.graph import ORDER, TRIGGER
from stablecast.protocols import protocol as find_protocol
from stablecast.protocols.contract import Role
from stablecast.simulate.options import Options
from stablecast.simulate.tracing import simulate_with_trace

PROTOCOLS = (
    "coord",
    "coordp",
    "s_coord",
    "s_coordp",
    "s_train",
    "fulldist",
    "cubefulldist",
    "gsgc",
    "explicit",
    "transitive",
    "timestamp",
    "vector",
)
COSTS = ("lan1997", "wan1997", "links-only")
MESSAGES, EDGES_ON, EDGES_OFF = 4, 6, 4
"""Of each run, and of each message's path, how many are looked at."""
UNTIL_MS, GOSSIP_UNTIL_MS = 2_000.0, 15_000.0
"""When a run is given up that does not come to an end; gossip makes a step a second."""


class Wrong(Exception):
    """A path is not what it should be."""


def drawn_options(seed: int, protocols: tuple[str, ...] = PROTOCOLS) -> Options:
    """Return the run that a seed draws."""
    draw = random.Random(seed)
    name = draw.choice(protocols)
    told: dict[str, Any] = {"costs": draw.choice(COSTS), "seed": seed}
    told |= draw.choice(
        (
            {"topology": "tree", "degree": draw.choice((2, 3, 5)), "height": draw.choice((1, 2))},
            {"topology": "tree", "degree": 2, "height": draw.choice((3, 4))},
            {"topology": "balanced", "members": draw.randint(2, 24), "degree": 3},
            {"topology": "random-graph", "members": draw.randint(2, 16), "edge_probability": 0.4},
        )
    )
    told |= {"messages": draw.choice((2, 5, 10)), "buffer": draw.choice((2, 8, 32)), "senders": 2}
    told |= {"rate_per_s": draw.choice((5.0, 50.0)), "nak_ms": draw.choice((40.0, 400.0))}
    if draw.random() < 0.5:
        told["data_loss"] = draw.choice((0.02, 0.2))
    protocol = find_protocol(name)
    told["until_ms"] = GOSSIP_UNTIL_MS if protocol.runs.by_timers else UNTIL_MS
    for parameter in protocol.having(Role.RESEND):
        told[parameter.option_name] = draw.choice((100.0, 1000.0))
        if draw.random() < 0.5:
            told["link_loss"] = draw.choice((0.005, 0.03))
    # What fills the network with executions that never end takes minutes, and shows nothing new.
    may_be_periodic = not protocol.runs.by_timers and protocol.runs.in_rounds and "dist" not in name
    if may_be_periodic and draw.random() < 0.5:
        told |= {"trigger": "periodic", "period_ms": draw.choice((40.0, 200.0))}
    return Options(protocol=name, **told)


def check_run(run: Run, draw: random.Random) -> Counter[str]:
    """Hold some of a run's paths against its graph; return how many of what were looked at."""
    counts = Counter(runs=1, steps=len(run.graph))
    if (recompute(run.graph, {}) != run.graph.time_us).any():
        raise Wrong("the graph does not give the trace's times")
    at = draw.choice((None, "first", "last"))
    found = slowest(run, 10_000, at=at)
    for slow in draw.sample(found, min(MESSAGES, len(found))):
        path = critical_path(run, slow.source, slow.seq, at=at)
        counts.update(messages=1, segments=len(path.segments))
        _check_sums(path)
        if path.edges:
            counts.update(_check_off(run.graph, path, draw) + _check_on(run.graph, path, draw))
    return counts


def _check_sums(path: CriticalPath) -> None:
    for parts in (path.segments, path.phases):
        if sum(part.length_us for part in parts) != path.length_us:
            raise Wrong(f"{path.source}/{path.seq} at {path.member}: {parts} do not sum to {path.length_us}")


def _check_off(graph: Graph, path: CriticalPath, draw: random.Random) -> Counter[str]:
    """Take edges off the path away as far as can be, and see that nothing changes."""
    on_path, end = {*path.edges, *path.earlier}, path.edges[-1].into
    steps = draw.choices(range(len(graph)), k=EDGES_OFF) + draw.choices(
        [edge.into for edge in path.edges], k=2
    )
    edges = {edge for step in steps for edge in graph.edges_into(step)} - on_path
    for edge in edges:
        if recompute(graph, {edge: max(0, graph.length_us(edge))})[end] != path.detected_us:
            raise Wrong(f"{path.source}/{path.seq} at {path.member}: {edge}, off its path, decides its time")
    return Counter(off=len(edges))


def _check_on(graph: Graph, path: CriticalPath, draw: random.Random) -> Counter[str]:
    """Shorten edges on the path, and see that its end is earlier exactly if no other way is as long."""
    counts, end = Counter[str](), path.edges[-1].into
    for edge in draw.sample(path.edges, min(EDGES_ON, len(path.edges))):
        by_us = graph.length_us(edge)
        if by_us == 0:
            counts["on, of length 0"] += 1
            continue
        earlier = recompute(graph, {edge: by_us})[end] < path.detected_us
        avoidable = has_other_tight_way(graph, end, edge)
        if earlier == avoidable:
            raise Wrong(f"{path.source}/{path.seq} at {path.member}: shortening {edge} by {by_us} µs")
        counts["on, earlier" if earlier else "on, another way as long"] += 1
    return counts


def has_other_tight_way(graph: Graph, end: int, without: Edge) -> bool:
    """Tell whether tight edges lead from a step that nothing started to ``end``, without one of them."""
    waiting, seen = [end], {end}
    while waiting:
        step = waiting.pop()
        if graph.cause[step] < 0:
            return True  # its time is fixed
        for origin, length_us, kind in (
            (int(graph.cause[step]), int(graph.wait_us[step]), TRIGGER),
            (int(graph.before[step]), 0, ORDER),
        ):
            is_tight = origin >= 0 and graph.time_us[origin] + length_us == graph.time_us[step]
            if is_tight and Edge(origin, step, kind) != without and origin not in seen:
                seen.add(origin)
                waiting.append(origin)
    return False


def checked(options: Options, folder: Path) -> tuple[Counter[str], Run]:
    """Simulate a run, read its trace again, and check it."""
    file = folder / "run.parquet"
    simulate_with_trace(options.setup(), file, wire=True)
    run = read([file])
    return check_run(run, random.Random(f"edges of {options.given()}")), run


def main() -> int:
    """Check as many runs as are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--protocols", nargs="+", default=PROTOCOLS)
    told = parser.parse_args()
    print(f"{told.runs} runs, seeds from {told.seed}", flush=True)
    total, by_protocol, began = Counter[str](), Counter[str](), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(told.seed, told.seed + told.runs):
            options = drawn_options(seed, tuple(told.protocols))
            try:
                total += checked(options, Path(folder))[0]
            except Wrong as error:
                print(f"seed {seed}: {error}\nlook at it: {options.command()} --wire --trace run.parquet")
                return 1
            by_protocol[str(options.protocol)] += 1
            if (seed - told.seed + 1) % 50 == 0:
                print(f"  {seed - told.seed + 1} runs, {time.monotonic() - began:.0f} s", flush=True)
    print(", ".join(f"{name} {count}" for name, count in sorted(by_protocol.items())))
    for name, count in total.items():
        print(f"{name:>24} {count:>10,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
