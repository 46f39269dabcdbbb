"""Section 4.4: sparse groups of 50 to 500 members in simulation II, at two bandwidths (G8, Figure 12)."""

from __future__ import annotations

from functools import cache

import numpy as np

from stablecast.papers.gossip.grid import LOSSES, NODES, SEEDS, seeds, tpr_s, wide_area
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table

SIZES = (50, 100, 200, 300, 400, 500)
STEPS_MS_EACH = (8, 10, 12, 14, 15, 16, 17, 18, 20, 22, 24)
"""Candidate steps in milliseconds for each member: what the links carry grows with 1/n."""
BANDWIDTHS = (30_000, 300_000)
PAPER_LARGEST_S = 71.0
FACTOR = 1.25
PAPER_GAIN = 10.0
LINEAR_SHARE = 0.97
"""Share of the variance that a straight line must explain for the growth to be called linear."""


@cache
def of_size(members: int, each_ms: int, bandwidth: int, seed: int) -> Point:
    """Return one round of a group drawn from 1,000 nodes; the faster the network, the shorter the step."""
    options = {} if bandwidth == BANDWIDTHS[0] else {"bandwidth_bps": float(bandwidth)}
    return wide_area(
        nodes=NODES["sparse"],
        members=members,
        subgroup=1,
        step_s=step_s(members, each_ms, bandwidth),
        seed=seed,
        **LOSSES["II"],
        **options,
    )


def step_s(members: int, each_ms: int, bandwidth: int) -> float:
    """Return a candidate step."""
    return round(members * each_ms / 1000 * BANDWIDTHS[0] / bandwidth, 4)


def points(full: bool) -> list[Point]:
    """Return all candidates of all sizes."""
    return [
        of_size(members, each_ms, bandwidth, seed)
        for bandwidth in BANDWIDTHS
        for members in SIZES
        for each_ms in STEPS_MS_EACH
        for seed in seeds(full)
    ]


def sample(runs: Runs, members: int, each_ms: int, bandwidth: int) -> list[float]:
    """Return the times per round of the runs that finished."""
    asked = (of_size(members, each_ms, bandwidth, seed) for seed in range(SEEDS))
    results = [runs[point].result for point in asked if point in runs]
    times = [tpr_s(result) for result in results if result.completed]
    if not times:
        raise MissingRun(f"no run that finished: {of_size(members, each_ms, bandwidth, 0).replay}")
    return times


def best(runs: Runs, members: int, bandwidth: int = BANDWIDTHS[0]) -> tuple[float, list[float]]:
    """Return the candidate step with the shortest mean time, and its times."""
    samples = {each_ms: sample(runs, members, each_ms, bandwidth) for each_ms in STEPS_MS_EACH}
    each_ms = min(samples, key=lambda one: float(np.mean(samples[one])))
    return step_s(members, each_ms, bandwidth), samples[each_ms]


def mean_s(runs: Runs, members: int, bandwidth: int = BANDWIDTHS[0]) -> float:
    """Return the near-minimum time per round of a group size."""
    return float(np.mean(best(runs, members, bandwidth)[1]))


def sizes(runs: Runs) -> Table:
    """Near-minimum times per round, and what ten times the bandwidth gains."""
    rows = []
    for members in SIZES:
        step, times = best(runs, members)
        fast_step, fast = best(runs, members, BANDWIDTHS[1])
        slow_mean, fast_mean = float(np.mean(times)), float(np.mean(fast))
        cells = (round(slow_mean, 2), f"{min(times):.1f}-{max(times):.1f}", fast_step, round(fast_mean, 3))
        rows.append((members, step, *cells, round(slow_mean / fast_mean, 2)))
    return Table(
        key="sizes",
        title="Near-minimum time per round of sparse groups, simulation II, sub-group 1 (Figure 12)",
        columns=(
            "n",
            "best step [s]",
            "time [s]",
            "least-most",
            "best step, 300 kbps [s]",
            "time, 300 kbps [s]",
            "gain",
        ),
        rows=tuple(rows),
        note=f"The best of {len(STEPS_MS_EACH)} steps in proportion to n; {len(best(runs, 50)[1])} runs of"
        " each.",
    )


TABLES = (sizes,)


def _fit(runs: Runs) -> tuple[float, float, float]:
    """Return slope and intercept of the line through the means, and the share of variance it explains."""
    n = np.array(SIZES, float)
    times = np.array([mean_s(runs, members) for members in SIZES])
    slope, intercept = np.polyfit(n, times, 1)
    left = times - (slope * n + intercept)
    return float(slope), float(intercept), float(1 - left.var() / times.var())


def judge_sizes(runs: Runs) -> Judgement:
    """G8."""
    largest = mean_s(runs, SIZES[-1])
    slope, _, explained = _fit(runs)
    gains = {members: mean_s(runs, members) / mean_s(runs, members, BANDWIDTHS[1]) for members in SIZES}
    apart = max(largest / PAPER_LARGEST_S, PAPER_LARGEST_S / largest)
    gain = float(np.mean(list(gains.values())))  # the paper gives one figure for all sizes
    low, high = min(gains, key=lambda n: gains[n]), max(gains, key=lambda n: gains[n])
    close = max(gain / PAPER_GAIN, PAPER_GAIN / gain) <= FACTOR
    return Judgement(
        paper=f"linear, {PAPER_LARGEST_S:.0f} s at n = 500; 10 × faster with 10 × the bandwidth",
        measured=f"{largest:.1f} s at n = 500; {gain:.1f} × faster on average",
        holds=apart <= FACTOR and explained >= LINEAR_SHARE and slope > 0 and close,
        why=f"a factor {apart:.2f} from the paper's time (accepted: {FACTOR}, as for the gain);"
        f" {gains[low]:.1f} × at n = {low}, where propagation counts, to {gains[high]:.1f} × at n = {high};"
        f" a line explains {explained:.1%} (accepted: {LINEAR_SHARE:.0%})",
    )


CLAIMS = (
    Claim(
        id="G8",
        kind="factor",
        text="The near-minimum time per round of sparse groups in II is linear in n and 71 s at n = 500; ten"
        " times the bandwidth makes it ten times shorter.",
        judge=judge_sizes,
    ),
)


def figure_12(runs: Runs) -> Figure:
    """Figure 12: a dot a run, a line through the means."""
    panels = []
    for letter, bandwidth in zip("AB", BANDWIDTHS, strict=True):
        found = {members: best(runs, members, bandwidth) for members in SIZES}
        mean = Series(
            name="mean",
            x=tuple(map(float, SIZES)),
            y=tuple(float(np.mean(times)) for _, times in found.values()),
            hover=tuple(f"step {step} s" for step, _ in found.values()),
        )
        dots = [(float(members), time) for members, (_, times) in found.items() for time in times]
        each = Series(
            name="one run",
            x=tuple(x for x, _ in dots),
            y=tuple(y for _, y in dots),
            style="points",
            like="mean",
        )
        panels.append(
            Panel(
                title=f"({letter}) {bandwidth // 1000} kbps",
                x=Axis("members n"),
                y=Axis("time per round [s]"),
                series=(mean, each),
            )
        )
    return Figure(
        key="figure12",
        title="Figure 12: near-minimum time per round, sparse groups, simulation II",
        caption="Each run draws its group from 1,000 nodes; sub-group 1 and the best step of each size. The"
        " paper shows (A).",
        panels=tuple(panels),
    )


FIGURES = (figure_12,)
