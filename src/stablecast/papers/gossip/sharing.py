"""Section 3.1: rounds end, and everyone learns the result, however it is shared (G1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from stablecast.papers.gossip.grid import LOSSES, MEMBERS, NODES, SEEDS, SENDERS, TRACKED, seeds
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import Runs
from stablecast.report.table import Table
from stablecast.simulate.result import Result

SHARES = ("piggyback", "multicast", "both")
STEPS_S = (9.0, 18.0)
"""The best step without S on the messages, and one that also carries messages nearly twice as long."""
ROUNDS = 3
LIMIT_MS = 7_200_000.0


def sharing(share: str, step_s: float, losses: str, seed: int) -> Point:
    """Return some rounds of a dense group, until all members know the last result."""
    return simulation(
        protocol="gsgc",
        topology="balanced",
        nodes=NODES["dense"],
        members=MEMBERS,
        senders=SENDERS,
        tracked=TRACKED,
        costs="wan1997",
        subgroup=3,
        step_s=step_s,
        share=share,
        executions=ROUNDS,
        until_ms=LIMIT_MS,
        seed=seed,
        **LOSSES[losses],
    )


def _cases() -> list[tuple[str, float, str]]:
    return [(share, step_s, losses) for share in SHARES for step_s in STEPS_S for losses in ("I", "II")]


def points(full: bool) -> list[Point]:
    """Return every way of sharing, with and without losses."""
    return [sharing(*case, seed) for case in _cases() for seed in seeds(full)]


def _results(runs: Runs, case: tuple[str, float, str]) -> list[Result]:
    asked = [sharing(*case, seed) for seed in range(SEEDS)]
    runs[asked[0]]  # a case without runs is a missing run, not an empty sample
    return [runs[point].result for point in asked if point in runs]


def _is_done(result: Result) -> bool:
    return result.completed and result.executions >= ROUNDS


def ways_of_sharing(runs: Runs) -> Table:
    """Times until the first and until the last member has the result, and what it costs."""
    rows: list[tuple[Any, ...]] = []
    for case in _cases():
        results = _results(runs, case)
        first, last = (
            round(float(np.mean([getattr(one, name) or np.nan for one in results])) / 1e6, 1)
            for name in ("tpr_us", "rtt_last_us")
        )
        size = np.mean([one.hop_bytes / max(sum(one.hops_by_kind.values()), 1) for one in results])
        done = f"{sum(map(_is_done, results))} of {len(results)}"
        rows.append((*case, done, first, last, round(float(size))))
    return Table(
        key="sharing",
        title=f"Ways of sharing the result S (dense, sub-group 3, {ROUNDS} rounds)",
        columns=(
            "share",
            "step [s]",
            "losses",
            "complete",
            "first knows [s]",
            "last knows [s]",
            "bytes / message",
        ),
        rows=tuple(rows),
        note="With S on it a message is nearly twice as long, so that the links carry half as many.",
    )


TABLES = (ways_of_sharing,)


def judge_sharing(runs: Runs) -> Judgement:
    """G1."""
    done = {case: [_is_done(one) for one in _results(runs, case)] for case in _cases()}
    count, total = sum(sum(each) for each in done.values()), sum(map(len, done.values()))
    stuck = [
        f"{share}, {step:g} s, {losses}" for (share, step, losses), each in done.items() if not all(each)
    ]
    return Judgement(
        paper="rounds end with any way",
        measured=f"{count} of {total} runs complete",
        holds=count == total,
        why=f"{ROUNDS} rounds known to all {MEMBERS} members in {count} of {total} runs; not in:"
        f" {'; '.join(stuck) or 'none'}",
    )


CLAIMS = (
    Claim(
        id="G1",
        kind="exact",
        text="Stability detection with M, W, S and rounds: rounds end and all members know the result, with S"
        " piggybacked, multicast, or both.",
        judge=judge_sharing,
    ),
)
