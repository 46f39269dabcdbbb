"""Runs in processes of their own: large groups with their memory, and the start from the cache."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

LARGE_TREE = ("tree", "degree=4", "height=7")
MILLION = ("balanced", "nodes=1000000", "senders=50")
GRAPH = ("random-graph", "members=16384", "edge_probability=0.000977", "senders=50")
SMALL_TREE = ("tree", "degree=3", "height=5")
CLI = ("stablecast.cli.main", "simulate", "s_coordp", "--topology", "tree", "--degree", "3", "--height", "5")
START_RUNS = 5


@dataclass(frozen=True)
class Process:
    """One run in a fresh process; compiled code comes from the cache."""

    process_s: float
    """From its start to its end, as seen from outside."""
    import_s: float
    prepare_s: float
    """Reading the compiled code, building the topology, allocating."""
    run_s: float
    peak_mib: float
    members: int
    hops: int
    completed: bool


def run_process(protocol: str, *options: str) -> Process:
    """Run a simulation in a fresh process."""
    output, process_s = _timed("benchmarks.one_run", protocol, *options)
    return Process(process_s=process_s, **json.loads(output))


def warm(protocol: str) -> None:
    """See that a protocol's compiled code is in the cache."""
    _timed("benchmarks.one_run", protocol, "tree", "degree=2", "height=1")


def cached_start() -> Process:
    """Return the median, by the whole process's time, of runs with 364 members."""
    runs = [run_process("s_coordp", *SMALL_TREE) for _ in range(START_RUNS)]
    return sorted(runs, key=lambda run: run.process_s)[START_RUNS // 2]


def cached_command_s() -> float:
    """Return the median time of the same run from the command line."""
    return statistics.median(_timed(*CLI)[1] for _ in range(START_RUNS))


def _timed(module: str, *arguments: str) -> tuple[str, float]:
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout, time.perf_counter() - began
