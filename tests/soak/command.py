"""Run fault schedules on the in-memory network, and check every promise from outside.

    python -m tests.soak --schedules 1000 --first-seed 1 --processes 2
    python -m tests.soak --schedules 100 --only flap
    python -m tests.soak --schedules 20 --members 256
    python -m tests.soak --seed 17 --verbose
    python -m tests.soak --seed 17 --shrink

With ``--members`` groups have so many, of which one in a hundred is replaced each second.
A schedule that fails prints its plan and the line that runs it again; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial

from tests.soak.coverage import Coverage
from tests.soak.faults import KINDS
from tests.soak.run import Outcome, run_schedule, run_seed, schedule_of
from tests.soak.schedules import SIZES, make_schedule
from tests.soak.shrink import keep, shrink

SEEDS_LOOKED_AT = 1_000_000
"""How far seeds are looked through for schedules of the kind that is asked for."""


def run_many(seeds: Sequence[int], processes: int, members: int = 0) -> Iterator[Outcome]:
    """Run the schedules of many seeds, in as many processes."""
    run_one = partial(run_seed, members=members)
    if processes == 1:
        yield from map(run_one, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap_unordered(run_one, seeds, chunksize=2)


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument(
        "--only",
        metavar="KIND",
        help=f"those that have it: {', '.join((*KINDS, *SIZES))}, a protocol, or another row of the table",
    )
    parser.add_argument("--members", type=int, default=0, help="large groups of so many, with churn")
    parser.add_argument("--seed", type=int, help="run this one alone")
    parser.add_argument("--keep", help="with --seed: only these of its faults, such as 0,2")
    parser.add_argument("--verbose", action="store_true", help="with --seed: tell what happens")
    parser.add_argument(
        "--shrink", action="store_true", help="with --seed: find the faults that it takes to fail"
    )
    asked = parser.parse_args(arguments)
    if asked.seed is not None:
        return _run_one(asked)
    seeds = list(itertools.islice(_seeds_with(asked.only, asked.first_seed), asked.schedules))
    return _run_all(seeds, asked.processes, asked.members)


def _seeds_with(kind: str | None, first: int) -> Iterator[int]:
    """Yield seeds whose schedules have something."""
    for seed in range(first, first + SEEDS_LOOKED_AT):
        if kind is None:
            yield seed
            continue
        schedule = make_schedule(seed)
        if kind in schedule.traits or kind in (schedule.protocol, schedule.size):
            yield seed


def _run_one(asked: argparse.Namespace) -> int:
    schedule = schedule_of(asked.seed, asked.members)
    if asked.keep is not None:
        schedule = keep(schedule, [int(place) for place in asked.keep.split(",") if place])
    if asked.shrink:
        schedule, kept = shrink(schedule)
        again = f" --members {asked.members}" if asked.members else ""
        print(f"python -m tests.soak --seed {asked.seed}{again} --keep {','.join(map(str, kept))}")
    print(schedule if asked.verbose else schedule.plan)
    outcome = run_schedule(schedule, say=print if asked.verbose else lambda _: None)
    print(outcome)
    return 1 if outcome.problem else 0


def _run_all(seeds: Sequence[int], processes: int, members: int) -> int:
    began, coverage = time.monotonic(), Coverage()
    for outcome in run_many(seeds, processes, members):
        schedule = outcome.schedule
        coverage.add(schedule, outcome)
        if outcome.problem:
            print(f"FAILED: {outcome.problem}\n  {schedule.plan}\n  {outcome.replay}", flush=True)
        if coverage.schedules % 100 == 0:
            told = f"{coverage.schedules:,} of {len(seeds):,} schedules, {coverage.failed} failed"
            print(f"# {told}, {time.monotonic() - began:.0f} s", flush=True)
    print(coverage)
    return 1 if coverage.failed else 0


if __name__ == "__main__":
    sys.exit(main())
