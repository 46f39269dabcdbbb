"""The adaptive step in a group that runs: rounds follow each other, with data beside them (G9b).

The paper measures each step on an idle network, one round of it.  What a round then leaves in the queues
meets no other.  In a running group it does: with the step that is best for one round (G5) more is sent than
the links carry, and every round takes longer than the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stablecast.papers.gossip.grid import LOSSES, MEMBERS, NODES, SENDERS, TRACKED, seeds
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, task_point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.pipeline.tasks import Outcome
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.simulate import simulate
from stablecast.simulate.options import Options
from stablecast.simulate.run import Changed, Steer
from stablecast.theory.step_search import StepController

CONTROLLER_TASK, FIXED_TASK = f"{__name__}:run_controller", f"{__name__}:run_fixed"
SUBGROUP = 3
LOW_S, HIGH_S, GAP_S = 0.01, 20.0, 2.0
"""The lower end is a thousand times shorter than any good step."""
BANDWIDTHS = (30_000, 20_000)
ROUNDS, CHANGE_AT = 320, 150
FIXED_SEEDS = 3
STEPS_S = (8, 9, 10, 11, 12, 14, 16, 18, 20)
FIXED_ROUNDS, COUNTED = 24, 8
"""Rounds with a fixed step, and how many of the last are counted."""
RATE_PER_S = 1 / 60
DATA: dict[str, Any] = {"data_bytes": 100, "rate_per_s": RATE_PER_S, "buffer": 10_000}
"""A message of each sender in a minute, which takes a thirtieth of each link."""
DATA_S_MOST = 100.0
"""Data lasts for as many rounds of this length as are asked for."""
LIMIT_MS = 1e8
FACTOR = 1.15
"""What the controller's step may take, over the best fixed one, to be called good."""


def at_work(losses: str, seed: int) -> Point:
    """Return a controller at work while all links get slower."""
    return task_point(CONTROLLER_TASK, losses=losses, rounds=ROUNDS, change_at=CHANGE_AT, seed=seed)


def fixed(losses: str, bandwidth: int, step_s: int, seed: int) -> Point:
    """Return rounds that follow each other with a step that stays."""
    return task_point(FIXED_TASK, losses=losses, bandwidth=bandwidth, step_s=step_s, seed=seed)


def points(full: bool) -> list[Point]:
    """Return controllers and fixed steps, with endless and with limited queues."""
    asked = [at_work(losses, seed) for losses in CASES for seed in seeds(full)]
    asked += [
        fixed(losses, bandwidth, step_s, seed)
        for losses in CASES
        for bandwidth in BANDWIDTHS
        for step_s in STEPS_S
        for seed in range(FIXED_SEEDS)
    ]
    return asked


CASES = ("I", "II")
"""Data is beside the rounds of I alone: the model of II drops it for good."""


def _run(losses: str, rounds: int, seed: int, step_s: float, bandwidth: int, steer: Steer) -> None:
    """Run a group with data beside its rounds, until enough of these are over."""
    told: list[float] = []

    class Enough(Exception):
        pass

    def count(number: int, step: float, took: float) -> float | Changed | None:
        told.append(took)
        if len(told) >= rounds:
            raise Enough
        return steer(number, step, took)

    beside: dict[str, Any] = {"executions": rounds, "tracked": TRACKED}
    if losses == "I":
        beside = DATA | {"messages": round(rounds * DATA_S_MOST * RATE_PER_S)}
    options = Options(
        protocol="gsgc",
        topology="balanced",
        nodes=NODES["dense"],
        members=MEMBERS,
        senders=SENDERS,
        costs="wan1997",
        bandwidth_bps=float(bandwidth),
        subgroup=SUBGROUP,
        step_s=step_s,
        until_ms=LIMIT_MS,
        seed=seed,
        **beside,
        **LOSSES[losses],
    )
    try:
        simulate(options.setup(), steer=count)
    except Enough:
        return


def run_controller(losses: str, rounds: int, change_at: int, seed: int) -> Outcome:
    """Let a controller choose the step of each round; after some rounds every link gets slower."""
    controller = StepController(LOW_S, HIGH_S, GAP_S, skip=1)
    extra: dict[str, float] = {}

    def steer(number: int, step_s: float, took_s: float) -> Changed:
        k = len(extra) // 3
        extra[f"step {k:04}"], extra[f"time {k:04}"] = step_s, took_s
        extra[f"settled {k:04}"] = float(controller.window is not None)
        step = controller.round_finished(took_s, step_s)
        return Changed(step, float(BANDWIDTHS[1]) if k + 1 == change_at else None)

    _run(losses, rounds, seed, controller.step, BANDWIDTHS[0], steer)
    return Outcome(extra=extra | {"searches": float(controller.searches)})


def run_fixed(losses: str, bandwidth: int, step_s: int, seed: int) -> Outcome:
    """Keep a step; tell what the first round took, and the last ones on average."""
    told: list[float] = []
    _run(losses, FIXED_ROUNDS, seed, float(step_s), bandwidth, lambda number, step, took: told.append(took))
    return Outcome(extra={"first": told[0], "last": float(np.mean(told[-COUNTED:]))})


def _listed(extra: dict[str, float], prefix: str) -> tuple[float, ...]:
    return tuple(extra[key] for key in sorted(extra) if key.startswith(f"{prefix} "))


def _controllers(runs: Runs, losses: str) -> list[dict[str, float]]:
    asked = [at_work(losses, seed) for seed in seeds(True)]
    made = [runs[point].extra for point in asked if point in runs]
    if not made:
        raise MissingRun(f"no controller was run: {asked[0].replay}")
    return made


def lasting(runs: Runs, losses: str, bandwidth: int, name: str = "last") -> dict[int, float]:
    """Return what rounds take with each fixed step, in the long run or (``first``) on an idle network."""
    return {
        step_s: float(
            np.mean([runs[fixed(losses, bandwidth, step_s, k)].extra[name] for k in range(FIXED_SEEDS)])
        )
        for step_s in STEPS_S
    }


def settled(extra: dict[str, float], first: int, last: int) -> tuple[int, float, float] | None:
    """Return rounds until a step was settled on between two rounds, that step, and the mean time from then.

    None if it is not settled at the end.  Rounds that are settled on the step of before do not count.
    """
    steps, times, calm = (_listed(extra, name) for name in ("step", "time", "settled"))
    last = min(last, len(calm))
    searching = [k for k in range(first, last) if not calm[k]]
    end = searching[-1] + 1 if searching else first
    return (end - first, steps[last - 1], float(np.mean(times[end:last]))) if end < last else None


def _spans() -> tuple[tuple[int, int, int], ...]:
    return (BANDWIDTHS[0], 0, CHANGE_AT), (BANDWIDTHS[1], CHANGE_AT, ROUNDS)


def controller(runs: Runs) -> Table:
    """How the controller does before and after the change."""
    rows: list[tuple[Any, ...]] = []
    for losses in CASES:
        made = _controllers(runs, losses)
        for bandwidth, first, last in _spans():
            found = [each for each in (settled(extra, first, last) for extra in made) if each is not None]
            means = [float(np.mean([each[k] for each in found])) if found else float("nan") for k in range(3)]
            longest = max(time for extra in made for time in _listed(extra, "time")[first:last])
            fixed_s = lasting(runs, losses, bandwidth)
            best = min(fixed_s, key=lambda step_s: fixed_s[step_s])
            cells = (*(round(mean, 1) for mean in means), round(longest, 1), best, round(fixed_s[best], 1))
            rows.append((losses, bandwidth // 1000, f"{len(found)} of {len(made)}", *cells))
    return Table(
        key="controller",
        title=f"The controller in a running group, sub-group {SUBGROUP}: slower links at round {CHANGE_AT}",
        columns=(
            "setting",
            "kbps",
            "settled",
            "rounds until then",
            "step [s]",
            "time per round then [s]",
            "longest round [s]",
            "best fixed step [s]",
            "time per round with it [s]",
        ),
        rows=tuple(rows),
        note=f"Dense; steps from {LOW_S:g} to {HIGH_S:g} s are allowed. Rounds follow each other; in I every"
        " sender also sends a message of 100 bytes a minute.",
    )


def long_run(runs: Runs) -> Table:
    """What a step takes on an idle network, and in the long run."""
    rows = []
    for bandwidth in BANDWIDTHS:
        idle = lasting(runs, "I", bandwidth, "first")
        each = [lasting(runs, losses, bandwidth) for losses in CASES]
        rows += [
            (bandwidth // 1000, step_s, round(idle[step_s], 1), *(round(one[step_s], 1) for one in each))
            for step_s in STEPS_S
        ]
    return Table(
        key="long_run",
        title=f"Time per round [s] of a first round and of later ones, sub-group {SUBGROUP}, dense",
        columns=("kbps", "step [s]", "first round, I", "later rounds, I", "later rounds, II"),
        rows=tuple(rows),
        note=f"Later ones: rounds {FIXED_ROUNDS - COUNTED + 1} to {FIXED_ROUNDS}; {FIXED_SEEDS} runs each.",
    )


TABLES = (controller, long_run)


def judge_controller(runs: Runs) -> Judgement:
    """G9b."""
    told, bad, count = [], [], 0
    for losses in CASES:
        for bandwidth, first, last in _spans():
            best = min(lasting(runs, losses, bandwidth).values())
            found = [settled(extra, first, last) for extra in _controllers(runs, losses)]
            far = [each[2] / best for each in found if each is not None]
            count += len(found)
            bad += [f"{losses}, {bandwidth // 1000} kbps"] * sum(each is None for each in found)
            bad += [f"{losses}, {bandwidth // 1000} kbps: × {each:.2f}" for each in far if each > FACTOR]
            told.append(f"× {max(far, default=float('nan')):.2f}")
    return Judgement(
        paper="-",
        measured=f"{count - len(bad)} of {count} searches; at most {', '.join(told)} of the best fixed step",
        holds=not bad,
        why=f"settled, and within a factor {FACTOR} of the best fixed step of {STEPS_S[0]} to {STEPS_S[-1]} s"
        f" (I and II, at 30 and then at 20 kbps); not so: {'; '.join(bad) or 'none'}",
    )


CLAIMS = (
    Claim(
        id="G9b",
        kind="trend",
        text="In a running group with data beside its rounds the controller finds a good step from a lower"
        " end of 0.01 s, and again when all links get slower.",
        judge=judge_controller,
        ours=True,
        main_reading_only=True,
    ),
)


def _fixed_line(name: str, times: dict[int, float]) -> Series:
    return Series(name=name, x=tuple(map(float, times)), y=tuple(times.values()))


def figure_long_run(runs: Runs) -> Figure:
    """First rounds and later ones."""
    panels = []
    for letter, bandwidth in zip("AB", BANDWIDTHS, strict=True):
        lines: Sequence[tuple[str, dict[int, float]]] = (
            ("first round", lasting(runs, "I", bandwidth, "first")),
            ("later rounds, I", lasting(runs, "I", bandwidth)),
            ("later rounds, II", lasting(runs, "II", bandwidth)),
        )
        panels.append(
            Panel(
                title=f"({letter}) {bandwidth // 1000} kbps",
                x=Axis("step interval [s]"),
                y=Axis("time per round [s]", log=True),
                series=tuple(_fixed_line(*line) for line in lines),
            )
        )
    return Figure(
        key="long_run",
        title=f"A first round and later ones, sub-group {SUBGROUP}, dense",
        caption="A first round finds empty queues. With a step that sends more than the links carry, later"
        f" rounds take longer and longer: here rounds {FIXED_ROUNDS - COUNTED + 1} to {FIXED_ROUNDS}."
        " Queues of 64 messages (II) bound that.",
        panels=tuple(panels),
    )


def figure_controller(runs: Runs) -> Figure:
    """The controller, round by round."""
    extra = _controllers(runs, "I")[0]
    steps, times = _listed(extra, "step"), _listed(extra, "time")
    rounds = tuple(float(k) for k in range(len(steps)))
    x = Axis("round")
    return Figure(
        key="controller",
        title=f"The controller in a running group, sub-group {SUBGROUP}, endless queues",
        caption=f"After {CHANGE_AT} rounds every link drops from 30 to 20 kbps. The controller notices by the"
        " times alone and searches again. After a candidate that was too short it waits until queues have"
        " drained.",
        panels=(
            Panel(
                title="(A) step in force",
                x=x,
                y=Axis("step interval [s]"),
                series=(Series(name="step", x=rounds, y=steps, style="steps"),),
            ),
            Panel(
                title="(B) time of each round",
                x=x,
                y=Axis("time per round [s]", log=True),
                series=(Series(name="time", x=rounds, y=times, style="points"),),
            ),
        ),
    )


FIGURES = (figure_long_run, figure_controller)
