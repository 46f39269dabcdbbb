"""Section 4.2: what the runs with 200 members say about steps, times and queues (G4 to G7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stablecast.papers.gossip import grid
from stablecast.papers.gossip.grid import (
    DENSE_I,
    DENSE_II,
    SETTINGS,
    SPARSE_I,
    SPARSE_II,
    Cell,
    Setting,
    best,
    cell,
    curve,
    curves,
)
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.runs import Runs
from stablecast.report.table import Table

PAPER_RUNS = 12_000
PAPER_MINIMUM_S, PAPER_STEP_S = 28.6, 9
PAPER_RANGE_S = (28.0, 40.0)
RANGE_STEPS_S, RANGE_SUBGROUPS = (4, 15), (2, 3, 4, 5)
PAPER_SINGLE_STEPS_S = (2, 4)
TIME_FACTOR = 1.2
PAPER_QUEUE_SPREAD, PAPER_TIME_SPREAD = 0.07, 0.05
SPREAD_FACTOR = 2
PAPER_UNFINISHED = 0.0015
FLOOR_SLACK = 1.15
"""A number of steps within this factor of the one at the longest step counts as the floor."""
ALIKE_FACTOR = 1.5
"""How far dense and sparse times may be apart and still be called alike."""
UNLIKELY = 0.05


def times(runs: Runs) -> Table:
    """Time per round for every step and sub-group size of every setting."""
    rows: list[tuple[Any, ...]] = []
    for setting in SETTINGS:
        by_subgroup = dict(curves(runs, setting))
        for k, each in enumerate(by_subgroup[1]):
            cells = [by_subgroup[subgroup][k] for subgroup in grid.SUBGROUPS]
            rows.append((str(setting), each.step_s, *(round(one.tpr_s, 1) for one in cells)))
    return Table(
        key="times",
        title="Time per round [s] against step and sub-group size (Figures 6, 8 and 9; 200 members)",
        columns=("setting", "step [s]", *(f"b = {subgroup}" for subgroup in grid.SUBGROUPS)),
        rows=tuple(rows),
        note=f"Mean of {grid.sample_size(runs)} runs; I: nothing is lost, II: queues of 64 and two messages a"
        " step dropped.",
    )


def indices(runs: Runs) -> Table:
    """The paper's indices at the best step of each setting and sub-group size."""
    rows = [_index_row(best(cells)) for setting in SETTINGS for _, cells in curves(runs, setting)]
    return Table(
        key="indices",
        title="Indices at the best step (200 members)",
        columns=(
            "setting",
            "b",
            "best step [s]",
            "time per round [s]",
            "deviation",
            "steps",
            "queue mean",
            "queue most",
            "messages / member / s",
            "b / step",
        ),
        rows=tuple(rows),
    )


def _index_row(one: Cell) -> tuple[Any, ...]:
    measured = (one.tpr_s, one.tpr_deviation_s, one.steps, one.queue, one.queue_max)
    rates = (round(one.messages_per_s, 3), round(one.subgroup / one.step_s, 3))
    return (str(one.setting), one.subgroup, one.step_s, *(round(each, 2) for each in measured), *rates)


def critical_points(runs: Runs) -> Table:
    """Where the number of steps reaches its floor."""
    rows = []
    for setting in SETTINGS:
        for subgroup, cells in curves(runs, setting):
            ends = (round(cells[0].steps, 1), round(cells[-1].steps, 1))
            rows.append((str(setting), subgroup, *ends, critical_step(cells)))
    return Table(
        key="critical_points",
        title="Number of steps in a round, and the step from which it no longer falls",
        columns=("setting", "b", "steps at the shortest", "at the longest step", "critical step [s]"),
        rows=tuple(rows),
    )


def critical_step(cells: Sequence[Cell]) -> int:
    """Return the shortest step from which on the number of steps stays at its floor."""
    floor = cells[-1].steps
    above = [k for k, each in enumerate(cells) if each.steps > FLOOR_SLACK * floor]
    return cells[above[-1] + 1 if above else 0].step_s


TABLES = (times, indices, critical_points)


def judge_runs(runs: Runs) -> Judgement:
    """G4."""
    done = grid.made(runs)
    asked = len(grid.points(full=True))
    whole, quick = len(done) == asked, len(done) == len(grid.points(full=False))
    failed = sum(not run.ok for run in done)
    measured = sum(run.ok and (not run.result.completed or run.result.steps is not None) for run in done)
    why = "every run asked for was made and measured" if whole else "the quick grid: fewer steps and seeds"
    return Judgement(
        paper=f"{PAPER_RUNS:,} runs",
        measured=f"{measured:,} of {asked:,} runs",
        holds=(whole or quick) and measured == len(done) and asked == PAPER_RUNS,
        why=f"{why}; {failed} failed" if whole or quick else f"{len(done)} runs made, neither all nor quick",
    )


def judge_times(runs: Runs) -> Judgement:
    """G5."""
    lowest, single = best(curve(runs, DENSE_I, 3)), best(curve(runs, DENSE_I, 1))
    flat = [one for one in _narrow_range(runs) if not _within_range(one.tpr_s)]
    apart = max(lowest.tpr_s / PAPER_MINIMUM_S, PAPER_MINIMUM_S / lowest.tpr_s)
    near = PAPER_STEP_S / TIME_FACTOR <= lowest.step_s <= PAPER_STEP_S * TIME_FACTOR
    low, high = PAPER_SINGLE_STEPS_S
    outside = ", ".join(f"b = {one.subgroup}, {one.step_s} s: {one.tpr_s:.1f} s" for one in flat)
    return Judgement(
        paper=f"{PAPER_MINIMUM_S} s at {PAPER_STEP_S} s; 28 to 40 s; b = 1: 2 to 4 s",
        measured=f"{lowest.tpr_s:.1f} s at {lowest.step_s} s; {_ends(_narrow_range(runs))};"
        f" b = 1: {single.step_s} s",
        holds=apart <= TIME_FACTOR and near and not flat and low <= single.step_s <= high,
        why=f"minimum a factor {apart:.2f} from the paper's (accepted: {TIME_FACTOR}); outside its range"
        f" by more than that: {outside or 'nothing'}",
    )


def _narrow_range(runs: Runs) -> list[Cell]:
    """Return the samples that the paper sees between 28 and 40 s."""
    low, high = RANGE_STEPS_S
    all_cells = [one for subgroup in RANGE_SUBGROUPS for one in curve(runs, DENSE_I, subgroup)]
    return [one for one in all_cells if low <= one.step_s <= high]


def _within_range(tpr_s: float) -> bool:
    return PAPER_RANGE_S[0] / TIME_FACTOR <= tpr_s <= PAPER_RANGE_S[1] * TIME_FACTOR


def _ends(cells: Sequence[Cell]) -> str:
    all_times = [one.tpr_s for one in cells]
    return f"{min(all_times):.1f} to {max(all_times):.1f} s"


def judge_shapes(runs: Runs) -> Judgement:
    """G6."""
    floors = _without_floor(runs)
    losing = _where_ii_loses(runs)
    apart = _dense_sparse_factor(runs)
    queue, time = spreads(runs)
    spread = queue <= SPREAD_FACTOR * PAPER_QUEUE_SPREAD and time <= SPREAD_FACTOR * PAPER_TIME_SPREAD
    critical = [critical_step(cells) for _, cells in curves(runs, DENSE_I)]
    return Judgement(
        paper="floor of steps; II < I below it; dense ≈ sparse; 7 %, 5 %",
        measured=f"critical steps {critical[0]} to {critical[-1]} s; sparse within {apart:.2f};"
        f" {queue:.0%}, {time:.0%}",
        holds=not floors and not losing and apart <= ALIKE_FACTOR and spread,
        why=f"no floor: {_listed(floors)}; II slower than I below the critical step: {_listed(losing)}; dense"
        f" and sparse at most a factor {apart:.2f} apart (accepted: {ALIKE_FACTOR}); largest deviation over"
        f" mean {queue:.1%} (queue) and {time:.1%} (time), accepted {SPREAD_FACTOR * PAPER_QUEUE_SPREAD:.0%}"
        f" and {SPREAD_FACTOR * PAPER_TIME_SPREAD:.0%}",
    )


def _listed(places: Sequence[str]) -> str:
    return ", ".join(places) if places else "nowhere"


def _without_floor(runs: Runs) -> list[str]:
    """Return curves whose number of steps does not fall to a level that is then kept."""
    missing = []
    for setting in SETTINGS:
        for subgroup, cells in curves(runs, setting):
            falls = cells[0].steps > 2 * cells[-1].steps
            if not falls or critical_step(cells) >= cells[-1].step_s:
                missing.append(f"{setting}, b = {subgroup}")
    return missing


def _where_ii_loses(runs: Runs) -> list[str]:
    """Compare I and II well below the critical step, where queues overflow; a twentieth is left to chance."""
    losing = []
    for endless, limited in ((DENSE_I, DENSE_II), (SPARSE_I, SPARSE_II)):
        for subgroup, cells in curves(runs, endless):
            critical = critical_step(cells)
            for one in cells:
                other = cell(runs, limited, subgroup, one.step_s)
                if one.step_s < critical and other.tpr_s > 1.05 * one.tpr_s:
                    losing.append(str(other))
    return losing


def _dense_sparse_factor(runs: Runs) -> float:
    """Return how far the times of a dense and a sparse group are apart at most."""
    logs = [
        abs(math.log(one.tpr_s / cell(runs, Setting("sparse", one.setting.losses), b, one.step_s).tpr_s))
        for setting in SETTINGS
        if setting.density == "dense"
        for b, cells in curves(runs, setting)
        for one in cells
    ]
    return math.exp(max(logs))


def spreads(runs: Runs) -> tuple[float, float]:
    """Return the largest deviation over mean of queue and time (dense, I, sub-group 3)."""
    cells = curve(runs, DENSE_I, 3)
    queue = max(one.queue_deviation / one.queue for one in cells)
    return queue, max(one.tpr_deviation_s / one.tpr_s for one in cells)


def judge_unfinished(runs: Runs) -> Judgement:
    """G7."""
    results = [run.result for run in grid.made(runs)]
    unfinished = sum(not result.completed for result in results)
    chance = _at_least(unfinished, len(results), PAPER_UNFINISHED)
    return Judgement(
        paper="17 of 12,000 (0.15 %)",
        measured=f"{unfinished} of {len(results):,} ({unfinished / max(len(results), 1):.2%})",
        holds=bool(results) and chance >= UNLIKELY,
        why=f"at the paper's share, {unfinished} or more of {len(results):,} have probability {chance:.3g}"
        f" (accepted: {UNLIKELY} or more)",
    )


def _at_least(count: int, trials: int, share: float) -> float:
    """Return the probability of ``count`` or more successes (binomial)."""
    fewer = 0.0
    for k in range(count):
        ways = math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        fewer += math.exp(ways + k * math.log(share) + (trials - k) * math.log1p(-share))
    return max(0.0, 1 - fewer)


CLAIMS = (
    Claim(
        id="G4",
        kind="exact",
        text="12,000 runs: dense and sparse, I, drops only and II, sub-groups 1 to 5, steps of 1 to 20 s, 20"
        " seeds each, with steps, time per round, queues and messages per unit of time.",
        judge=judge_runs,
    ),
    Claim(
        id="G5",
        kind="factor",
        text="Dense, I: sub-group 3 has its minimum of 28.6 s at 9 s; steps of 4 to 15 s and sub-groups 2 to"
        " 5 give 28 to 40 s; sub-group 1 does best at 2 to 4 s.",
        judge=judge_times,
    ),
    Claim(
        id="G6",
        kind="trend",
        text="The number of steps falls to a floor at a critical step; below it II does better than I; dense"
        " and sparse groups do alike; deviations are small against the means.",
        judge=judge_shapes,
    ),
    Claim(
        id="G7",
        kind="trend",
        text="Hardly any run needs more than ten minutes.",
        judge=judge_unfinished,
    ),
)
