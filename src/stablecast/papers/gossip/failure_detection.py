"""Section 3.2: failure detection by gossip, and how the threshold K is to be chosen (G2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from stablecast.papers.gossip.grid import SEEDS, TRACKED, seeds
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import Runs
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.simulate.result import Result

SIZES = (25, 50, 100, 200)
THRESHOLDS = (4, 6, 8, 10, 12, 16, 20, 24)
LOSSES = (0.0, 0.01, 0.05)
"""Share of the messages that each link loses; a message crosses several."""
STEP_S, SUBGROUP, SENDERS = 0.5, 2, 10
ROUNDS = 10
CRASH = "crash 3 at 5250"
FIRST_CRASH = "crash 3 at 1"
"""Before the member's first step: nobody has heard of it in that round."""
DELAY_THRESHOLDS = (12, 16, 24)
LIMIT_MS = 300_000.0


def gossip(members: int, threshold: int, seed: int, **options: Any) -> Point:
    """Return gossip on a fast network, where nothing queues and steps are all that takes time."""
    return simulation(
        protocol="gsgc",
        topology="balanced",
        nodes=members,
        members=members,
        senders=SENDERS,
        tracked=TRACKED,
        costs="lan1997",
        subgroup=SUBGROUP,
        step_s=STEP_S,
        threshold_steps=threshold,
        until_ms=LIMIT_MS,
        seed=seed,
        **options,
    )


def detection(members: int, threshold: int, loss: float, seed: int) -> Point:
    """Return some rounds during which one member crashes."""
    options = {"link_loss": loss} if loss else {}
    return gossip(members, threshold, seed, executions=ROUNDS, faults=CRASH, **options)


def delay(members: int, threshold: int, seed: int, *, crash: bool) -> Point:
    """Return one round, with a member that crashes before it has told anyone anything or without."""
    return gossip(members, threshold, seed, stop_at_first=True, faults=FIRST_CRASH if crash else "")


def points(full: bool) -> list[Point]:
    """Return both for every size and threshold."""
    asked = []
    for n in SIZES:
        for seed in seeds(full):
            asked += [detection(n, k, loss, seed) for k in THRESHOLDS for loss in LOSSES]
            asked += [delay(n, k, seed, crash=crash) for k in DELAY_THRESHOLDS for crash in (False, True)]
            asked.append(delay(n, 0, seed, crash=True))
    return asked


def _results(runs: Runs, asked: list[Point]) -> list[Result]:
    runs[asked[0]]  # a case without runs is a missing run, not an empty sample
    return [runs[point].result for point in asked if point in runs]


def detected(runs: Runs, members: int, threshold: int, loss: float) -> list[Result]:
    """Return the runs of one case."""
    return _results(runs, [detection(members, threshold, loss, seed) for seed in range(SEEDS)])


def false_rate(results: list[Result]) -> float:
    """Return false suspicions for each member and step."""
    steps = sum(result.simulated_us / 1e6 / STEP_S * result.members for result in results)
    return sum(result.false_suspicions for result in results) / steps if steps else 0.0


def detection_steps(results: list[Result]) -> float | None:
    """Return the mean time, in steps, from the crash to the last member that noticed it by itself."""
    known = [result.detection_last_us for result in results if result.detection_last_us is not None]
    return float(np.mean(known)) / 1e6 / STEP_S if known else None


def clean_threshold(runs: Runs, members: int, loss: float) -> int | None:
    """Return the smallest threshold from which on nobody is suspected falsely, None if there is none."""
    false = [k for k in THRESHOLDS if false_rate(detected(runs, members, k, loss)) > 0]
    clean = [k for k in THRESHOLDS if not false or k > false[-1]]
    return clean[0] if clean else None


def undisturbed_steps(runs: Runs, members: int) -> float:
    """Return the steps that news from all members take to meet in one: the diffusion time."""
    return float(np.mean([result.steps for result in _delays(runs, members, DELAY_THRESHOLDS[-1], False)]))


def _delays(runs: Runs, members: int, threshold: int, crash: bool) -> list[Result]:
    return _results(runs, [delay(members, threshold, seed, crash=crash) for seed in range(SEEDS)])


def failure_detection(runs: Runs) -> Table:
    """Detection time and false suspicions against K, n and loss."""
    rows = []
    for loss in LOSSES:
        for n in SIZES:
            for k in THRESHOLDS:
                results = detected(runs, n, k, loss)
                steps = detection_steps(results)
                shown = round(steps, 1) if steps is not None else "-"
                rows.append((f"{loss:.0%}", n, k, shown, float(f"{false_rate(results):.3g}")))
    return Table(
        key="failure_detection",
        title="Failure detection: time from a crash to its notice, and live members suspected",
        columns=("loss / link", "n", "K", "noticed after [steps]", "false suspicions / member / step"),
        rows=tuple(rows),
        note=f"Sub-group {SUBGROUP}, fast network; {len(detected(runs, SIZES[0], THRESHOLDS[0], 0.0))} runs"
        f" of {ROUNDS} rounds each.",
    )


def thresholds(runs: Runs) -> Table:
    """The smallest K without false suspicions, beside the diffusion time."""
    rows = []
    for n in SIZES:
        clean = [clean_threshold(runs, n, loss) for loss in LOSSES]
        rows.append((n, round(undisturbed_steps(runs, n), 2), *("-" if k is None else k for k in clean)))
    return Table(
        key="thresholds",
        title="Smallest K from which on nobody is suspected falsely",
        columns=("n", "steps of an undisturbed round", *(f"K at {loss:.0%} loss" for loss in LOSSES)),
        rows=tuple(rows),
        note=f"K out of {', '.join(map(str, THRESHOLDS))}. Both grow with log n.",
    )


def crash_delays(runs: Runs) -> Table:
    """How long a crashed member holds a round up."""
    rows = []
    for n in SIZES:
        for k in DELAY_THRESHOLDS:
            plain, crashed = (
                float(np.mean([result.steps for result in _delays(runs, n, k, crash)]))
                for crash in (False, True)
            )
            rows.append((n, k, round(plain, 2), round(crashed, 2), round(crashed - plain, 2)))
    never = sum(not one.completed for n in SIZES for one in _delays(runs, n, 0, True))
    return Table(
        key="crash_delays",
        title="A member crashes before its first step: steps of the round",
        columns=("n", "K", "without crash", "with crash", "delay"),
        rows=tuple(rows),
        note=f"Without failure detection {never} of these rounds did not end within {LIMIT_MS / 1000:g} s.",
    )


TABLES = (failure_detection, thresholds, crash_delays)


def judge_detection(runs: Runs) -> Judgement:
    """G2."""
    most = THRESHOLDS[-1]
    safe = [one for n in SIZES for loss in LOSSES for one in detected(runs, n, most, loss)]
    false = sum(one.false_suspicions for one in safe)
    unnoticed = sum(one.detection_last_us is None or not one.completed for one in safe)
    latest = max(one.detection_last_us or 0.0 for one in safe) / 1e6 / STEP_S
    late = _delayed_too_long(runs)
    needed = [clean_threshold(runs, n, 0.0) for n in SIZES]
    return Judgement(
        paper="found after K steps; K depends on diffusion",
        measured=f"at K = {most}: {len(safe) - unnoticed} of {len(safe)} found, {false} false, within"
        f" {latest:.1f} steps",
        holds=not false and not unnoticed and latest <= most + 1 and not late,
        why=f"rounds held up by more than K + 1 steps: {', '.join(late) or 'none'}; smallest K without false"
        f" suspicions, no loss: {', '.join(f'{k} at n = {n}' for n, k in zip(SIZES, needed, strict=True))}",
    )


def _delayed_too_long(runs: Runs) -> list[str]:
    late = []
    for n in SIZES:
        for k in DELAY_THRESHOLDS:
            plain, crashed = (_delays(runs, n, k, crash) for crash in (False, True))
            longest = max(one.steps or 0.0 for one in plain) + k + 1
            if any(one.steps is None or one.steps > longest for one in crashed):
                late.append(f"n = {n}, K = {k}")
    return late


CLAIMS = (
    Claim(
        id="G2",
        kind="exact",
        text="Failure detection by gossip: with K well above the diffusion time every crash is found within K"
        " steps and nobody is suspected falsely, and W is checked against who is left, so that a crashed"
        " member holds a round up by no more than that.",
        judge=judge_detection,
    ),
)


def _detection_line(runs: Runs, members: int) -> Series:
    steps = [(k, detection_steps(detected(runs, members, k, 0.0))) for k in THRESHOLDS]
    known = [(float(k), value) for k, value in steps if value is not None]
    return Series(name=f"n = {members}", x=tuple(k for k, _ in known), y=tuple(value for _, value in known))


def _false_line(runs: Runs, members: int, loss: float) -> Series:
    rates = [false_rate(detected(runs, members, k, loss)) for k in THRESHOLDS]
    # A logarithmic axis has no zero: thresholds without false suspicions are left out.
    known = [(float(k), rate) for k, rate in zip(THRESHOLDS, rates, strict=True) if rate > 0]
    return Series(name=f"n = {members}", x=tuple(k for k, _ in known), y=tuple(rate for _, rate in known))


def figure_detection(runs: Runs) -> Figure:
    """Detection time and false suspicions against K."""
    k, rate = Axis("threshold K [steps]"), Axis("false suspicions / member / step", log=True)
    return Figure(
        key="failure_detection",
        title="Failure detection: the choice of K",
        caption="(A) A crash is noticed after about K steps. Below the diffusion time of about log n steps,"
        " live members are struck off, and times mean little. (B, C) False suspicions vanish where the lines"
        " end; loss asks for a larger K.",
        panels=(
            Panel(
                title="(A) notice of a crash, no loss",
                x=k,
                y=Axis("noticed after [steps]"),
                series=tuple(_detection_line(runs, n) for n in SIZES),
            ),
            *(
                Panel(
                    title=f"({letter}) false suspicions, {words}",
                    x=k,
                    y=rate,
                    series=tuple(_false_line(runs, n, loss) for n in SIZES),
                )
                for letter, loss, words in (("B", LOSSES[0], "no loss"), ("C", LOSSES[-1], "5% loss / link"))
            ),
        ),
    )


FIGURES = (figure_detection,)
