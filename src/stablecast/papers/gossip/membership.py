"""Section 3.3: rounds go on while members join, leave, crash and are cut off (G3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from stablecast.papers.gossip.grid import SEEDS, seeds
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import Runs
from stablecast.report.table import Table
from stablecast.simulate.result import Result

MEMBERS, SENDERS = 60, 10
"""Every sixth member sends; who leaves or crashes below does not."""
STEP_S, SUBGROUP, THRESHOLD = 0.2, 2, 16
ROUNDS, MESSAGES, RATE_PER_S = 30, 20, 2.0
JOINS, JOIN_GAP_MS = 20, 100
ADMITTED = (0, 4, 1)
LIMIT_MS = 120_000.0
STREAM = "; ".join(f"join 1 at {JOIN_GAP_MS * (k + 1)}" for k in range(JOINS))
CHANGES = {
    "none": "",
    "5 join": "join 5 at 2000",
    "20 join one by one": STREAM,
    "5 leave": "leave 19-23 at 2000",
    "5 crash": "crash 31-35 at 2000",
    "20 cut off and back": "partition 1-20 from 3000 to 9000",
    "16 cut off until after the data": "partition 10-25 from 6000 to 12000",
    "all of it": "join 4 at 1000; leave 19-21 at 2000; crash 31-33 at 3000;"
    " partition 1-18 from 8000 to 14000",
}


def _changing(seed: int, **options: Any) -> Point:
    return simulation(
        protocol="gsgc",
        topology="balanced",
        nodes=MEMBERS,
        members=MEMBERS,
        senders=SENDERS,
        costs="lan1997",
        subgroup=SUBGROUP,
        step_s=STEP_S,
        threshold_steps=THRESHOLD,
        until_ms=LIMIT_MS,
        seed=seed,
        **options,
    )


def rounds(change: str, seed: int) -> Point:
    """Return rounds of the protocol alone while the group changes."""
    return _changing(seed, executions=ROUNDS, faults=CHANGES[change])


def with_data(change: str, seed: int) -> Point:
    """Return data traffic beside it, all of which is to become stable."""
    return _changing(seed, messages=MESSAGES, rate_per_s=RATE_PER_S, faults=CHANGES[change])


def stream(admitted: int, seed: int) -> Point:
    """Return the round, or rounds, during which members join one by one, all or a few in each round."""
    return _changing(seed, executions=1, faults=STREAM, admit_per_round=admitted)


def points(full: bool) -> list[Point]:
    """Return all of them."""
    asked = []
    for seed in seeds(full):
        asked += [make(change, seed) for change in CHANGES for make in (rounds, with_data)]
        asked += [stream(admitted, seed) for admitted in ADMITTED]
    return asked


def _results(runs: Runs, asked: list[Point]) -> list[Result]:
    runs[asked[0]]  # a case without runs is a missing run, not an empty sample
    return [runs[point].result for point in asked if point in runs]


def _round_results(runs: Runs, change: str) -> list[Result]:
    return _results(runs, [rounds(change, seed) for seed in range(SEEDS)])


def _data_results(runs: Runs, change: str) -> list[Result]:
    return _results(runs, [with_data(change, seed) for seed in range(SEEDS)])


def _is_settled(result: Result) -> bool:
    """Tell whether the run ended by itself with all of its data stable."""
    data = result.traffic
    return result.completed and data is not None and data.messages_stable == data.messages


def changes(runs: Runs) -> Table:
    """What each change of the group does to rounds and to data."""
    rows = []
    for change in CHANGES:
        plain, data = _round_results(runs, change), _data_results(runs, change)
        steps = float(np.mean([one.steps or np.nan for one in plain]))
        latest = max((one.traffic.tts_max_us or 0.0 for one in data if one.traffic), default=0.0)
        done = (sum(one.completed for one in plain), sum(map(_is_settled, data)))
        counts = tuple(f"{count} of {len(sample)}" for count, sample in zip(done, (plain, data), strict=True))
        rows.append((change, counts[0], round(steps, 2), counts[1], round(latest / 1e6, 2)))
    return Table(
        key="changes",
        title=f"Rounds and data while the group changes ({MEMBERS} members, K = {THRESHOLD}, steps of"
        f" {STEP_S:g} s)",
        columns=("change", "runs complete", "steps / round", "runs with all data stable", "longest TTS [s]"),
        rows=tuple(rows),
        note=f"{ROUNDS} rounds; {MESSAGES} messages of each of {SENDERS} senders, {RATE_PER_S:g}/s.",
    )


def joins(runs: Runs) -> Table:
    """A stream of joins, with and without admission control."""
    rows: list[tuple[Any, ...]] = []
    calm = _round_results(runs, "none")
    rows.append(("no joins", round(float(np.mean([one.steps for one in calm])), 2), "-"))
    for admitted in ADMITTED:
        results = _results(runs, [stream(admitted, seed) for seed in range(SEEDS)])
        steps = float(np.mean([one.steps or np.nan for one in results]))
        until = float(np.mean([one.simulated_us for one in results])) / 1e6
        rows.append((f"{admitted} a round" if admitted else "any number", round(steps, 2), round(until, 2)))
    return Table(
        key="joins",
        title=f"{JOINS} members join, one every {JOIN_GAP_MS} ms: steps of a round until all are in",
        columns=("admitted", "steps / round", "all in after [s]"),
        rows=tuple(rows),
        note="Who joins must be heard from before a round can end; admission control lets a few in at once.",
    )


TABLES = (changes, joins)


def judge_membership(runs: Runs) -> Judgement:
    """G3."""
    stuck = [name for name in CHANGES if not all(one.completed for one in _round_results(runs, name))]
    unstable = [name for name in CHANGES if not all(map(_is_settled, _data_results(runs, name)))]
    table = {row[0]: row[1] for row in joins(runs).rows}
    slower = table["any number"] > table["1 a round"]
    return Judgement(
        paper="changes do not stop rounds",
        measured=f"{len(CHANGES) - len(stuck)} and {len(CHANGES) - len(unstable)} of {len(CHANGES)} changes",
        holds=not stuck and not unstable and slower,
        why=f"rounds not complete: {', '.join(stuck) or 'none'}; data not all stable:"
        f" {', '.join(unstable) or 'none'}; a stream of joins takes {table['any number']} steps a round,"
        f" {table['1 a round']} with one admitted in each, {table['no joins']} without joins",
    )


CLAIMS = (
    Claim(
        id="G3",
        kind="exact",
        text="Rounds end and all data becomes stable while members join, leave, crash, are cut off and come"
        " back; a stream of joins prolongs rounds, and admission control prevents it.",
        judge=judge_membership,
    ),
)
