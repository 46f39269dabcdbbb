"""Section 4.3: the search for a good step on the simulated protocol, at once and round by round (G9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stablecast.papers.gossip.grid import (
    DENSE_I,
    LIMIT_MS,
    MEMBERS,
    NODES,
    SEEDS,
    SUBGROUPS,
    curve,
    tpr_s,
    wide_area,
)
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, task_point
from stablecast.pipeline.runs import Runs
from stablecast.pipeline.tasks import Outcome
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.simulate import simulate
from stablecast.simulate.options import Options
from stablecast.theory.step_search import StepController, near_minimum, window

SEARCH_TASK = f"{__name__}:run_search"
ONLINE_TASK = f"{__name__}:run_online"
LOW_S, HIGH_S, GAP_S, SEARCH_STEP_S = 0.0, 20.0, 2.0, 1.0
PART_II, WIDE = "II", "II wide"
FLUCTUATIONS = {PART_II: 0.1, WIDE: 0.2}
"""The paper's tenth, and twice that to see how the window depends on it."""
PAPER_STEP_S, PAPER_WINDOWS_S = 9.0, {1: (2.0, 4.0), 3: (4.0, 10.0)}
FACTOR = 1.5
ROUNDS, CHANGE_AT = 160, 80
BANDWIDTHS = (30_000, 20_000)


def search(subgroup: int) -> Point:
    """Return the search of both parts for a sub-group size (dense, I)."""
    return task_point(SEARCH_TASK, subgroup=subgroup, seeds=SEEDS)


def online(subgroup: int) -> Point:
    """Return the controller at work while the network gets slower."""
    return task_point(ONLINE_TASK, subgroup=subgroup, rounds=ROUNDS, change_at=CHANGE_AT)


def points(full: bool) -> list[Point]:
    """Return the searches, each with as many runs as the paper's samples, and the controller's run."""
    return [search(subgroup) for subgroup in SUBGROUPS] + [online(3)]


def _time_s(subgroup: int, step_s: float, seed: int, **options: Any) -> float:
    """Run one round; one that does not finish counts with the limit."""
    point = wide_area(
        nodes=NODES["dense"], members=MEMBERS, subgroup=subgroup, step_s=step_s, seed=seed, **options
    )
    result = simulate(Options.of(point.options).setup())
    return tpr_s(result) if result.completed else LIMIT_MS / 1000


def run_search(subgroup: int, seeds: int) -> Outcome:
    """Search with the mean of some simulated rounds as the measured value, and keep each measurement."""
    known: dict[float, float] = {}
    extra: dict[str, float] = {}

    def measured(part: str) -> Callable[[float], float]:
        def f(step_s: float) -> float:
            if step_s not in known:
                known[step_s] = float(np.mean([_time_s(subgroup, step_s, seed) for seed in range(seeds)]))
            k = sum(key.startswith(f"{part} step ") for key in extra)
            extra[f"{part} step {k:02}"], extra[f"{part} time {k:02}"] = step_s, known[step_s]
            return known[step_s]

        return f

    found = near_minimum(measured("I"), LOW_S, HIGH_S, GAP_S)
    extra |= {"step": found.step, "value": found.value, "measurements I": float(found.evaluations)}
    for name, share in FLUCTUATIONS.items():
        around = window(measured(name), found.step, found.value, share, SEARCH_STEP_S, high=HIGH_S)
        extra |= {f"{name} low": around.low, f"{name} high": around.high}
        extra[f"{name} measurements"] = float(around.evaluations)
    return Outcome(extra=extra)


def run_online(subgroup: int, rounds: int, change_at: int) -> Outcome:
    """Let a controller choose the step of each round; after some rounds every link gets slower."""
    controller = StepController(LOW_S, HIGH_S, GAP_S, search_step=SEARCH_STEP_S)
    extra: dict[str, float] = {}
    for k in range(rounds):
        step = controller.step
        bandwidth = float(BANDWIDTHS[k >= change_at])
        time = _time_s(subgroup, step, seed=k, bandwidth_bps=bandwidth)
        extra |= {f"step {k:04}": step, f"time {k:04}": time}
        extra[f"settled {k:04}"] = float(controller.window is not None)
        controller.round_finished(time, step)
    return Outcome(extra=extra | {"searches": float(controller.searches)})


def _listed(extra: dict[str, float], prefix: str) -> tuple[float, ...]:
    return tuple(extra[key] for key in sorted(extra) if key.startswith(f"{prefix} "))


def windows(runs: Runs) -> Table:
    """What the search finds for each sub-group size."""
    rows = []
    for part, share in FLUCTUATIONS.items():
        for subgroup in SUBGROUPS:
            extra = runs[search(subgroup)].extra
            ends = PAPER_WINDOWS_S.get(subgroup) if part == PART_II else None
            printed = f"{ends[0]:g} to {ends[1]:g}" if ends else "-"
            found = (round(extra[key], 1) for key in ("step", "value", f"{part} low", f"{part} high"))
            count = int(extra["measurements I"] + extra[f"{part} measurements"])
            rows.append((f"{share:.0%}", subgroup, *found, printed, count))
    return Table(
        key="windows",
        title="Windows of good steps, found by golden section and walk (Figures 10 and 11; dense, I)",
        columns=(
            "fluctuation",
            "b",
            "step [s]",
            "time per round [s]",
            "from [s]",
            "to [s]",
            "paper",
            "measurements",
        ),
        rows=tuple(rows),
        note=f"Each measurement is the mean of {SEEDS} rounds; search from {LOW_S:g} to {HIGH_S:g} s.",
    )


def controller(runs: Runs) -> Table:
    """How the controller does before and after the change."""
    extra = runs[online(3)].extra
    steps, times, settled = (_listed(extra, name) for name in ("step", "time", "settled"))
    rows = []
    for name, first, last in ((BANDWIDTHS[0], 0, CHANGE_AT), (BANDWIDTHS[1], CHANGE_AT, ROUNDS)):
        # Rounds that are settled on the old step do not count as settled on the new conditions.
        searching = [k for k in range(first, last) if not settled[k]]
        end = searching[-1] + 1 if searching else first
        mean = float(np.mean(times[end:last])) if end < last else float("nan")
        rows.append((name // 1000, end - first, round(steps[last - 1], 1), round(mean, 1)))
    return Table(
        key="controller",
        title=f"The controller at work, sub-group 3: the links get slower after {CHANGE_AT} rounds",
        columns=("kbps", "rounds until settled", "step [s]", "time per round then [s]"),
        rows=tuple(rows),
        note=f"{int(extra['searches'])} searches in {ROUNDS} rounds; each round starts with empty queues.",
    )


TABLES = (windows, controller)


def judge_window(runs: Runs) -> Judgement:
    """G9."""
    extra = runs[search(3)].extra
    printed = PAPER_WINDOWS_S[3]
    low, high = (extra[f"{PART_II} {end}"] for end in ("low", "high"))
    apart = [max(one / other, other / one) for one, other in zip((low, high), printed, strict=True)]
    missed = [f"{name} end" for name, far in zip(("lower", "upper"), apart, strict=True) if far > FACTOR]
    wide_low, wide_high = (extra[f"{WIDE} {end}"] for end in ("low", "high"))
    return Judgement(
        paper=f"step {PAPER_STEP_S:g} s, window {printed[0]:g} to {printed[1]:g} s",
        measured=f"step {extra['step']:.1f} s, window {low:.1f} to {high:.1f} s",
        holds=not missed,
        why=f"ends are factors {apart[0]:.2f} and {apart[1]:.2f} from the paper's (accepted: {FACTOR}), too"
        f" far: {', '.join(missed) or 'none'}; with a fluctuation of {FLUCTUATIONS[WIDE]:.0%} the window is"
        f" {wide_low:.1f} to {wide_high:.1f} s",
    )


CLAIMS = (
    Claim(
        id="G9",
        kind="factor",
        text="The adaptive search finds a step of 9 s and a window of 4 to 10 s for sub-group 3.",
        judge=judge_window,
    ),
)


def _panel(runs: Runs, title: str, subgroup: int) -> Panel:
    extra = runs[search(subgroup)].extra
    cells = curve(runs, DENSE_I, subgroup)
    ends = (extra[f"{PART_II} low"], extra[f"{PART_II} high"])
    parts = tuple(
        Series(
            name=f"measured by part {part}",
            x=_listed(extra, f"{part} step"),
            y=_listed(extra, f"{part} time"),
            style="points",
        )
        for part in ("I", PART_II)
    )
    level = extra["value"]
    return Panel(
        title=f"{title}: {ends[0]:.1f} to {ends[1]:.1f} s",
        x=Axis("step interval [s]"),
        y=Axis("time per round [s]"),
        series=(
            Series(
                name="all steps",
                x=tuple(float(one.step_s) for one in cells),
                y=tuple(one.tpr_s for one in cells),
            ),
            *parts,
            Series(name="window", x=ends, y=(level, level)),
        ),
    )


def figure_10(runs: Runs) -> Figure:
    """Figures 10 and 11: the search on the measured curve."""
    return Figure(
        key="figure10_11",
        title="Figures 10 and 11: the search for a good step, dense, simulation I",
        caption="The paper prints the algorithm; here it is at work. Part I narrows down to a step, part II"
        " walks from there to both ends of the window in which times differ by less than a tenth.",
        panels=(_panel(runs, "(A) sub-group 1", 1), _panel(runs, "(B) sub-group 3", 3)),
    )


def figure_online(runs: Runs) -> Figure:
    """The controller, round by round."""
    extra = runs[online(3)].extra
    rounds = tuple(float(k) for k in range(ROUNDS))
    x = Axis("round")
    return Figure(
        key="controller",
        title="The controller at work, sub-group 3",
        caption=f"After {CHANGE_AT} rounds every link drops from 30 to 20 kbps. The controller notices by the"
        " times alone and searches again.",
        panels=(
            Panel(
                title="(A) step in force",
                x=x,
                y=Axis("step interval [s]"),
                series=(Series(name="step", x=rounds, y=_listed(extra, "step"), style="steps"),),
            ),
            Panel(
                title="(B) time of each round",
                x=x,
                y=Axis("time per round [s]"),
                series=(Series(name="time", x=rounds, y=_listed(extra, "time"), style="points"),),
            ),
        ),
    )


FIGURES = (figure_10, figure_online)
