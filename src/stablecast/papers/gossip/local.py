"""Section 5: gossip in local groups, and among their stability controllers (G10, Figure 13)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from stablecast.papers.gossip import group_sizes
from stablecast.papers.gossip.grid import (
    LOSSES,
    NODES,
    SEEDS,
    SENDERS,
    seeds,
    tpr_s,
    wide_area,
)
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table

LOCAL_SIZE, CONTROLLERS, LOCAL_STEP_S = 50, 5, 0.7
CONTROLLER_STEPS_S = {100: 0.2, 200: 0.3, 300: 0.5, 400: 0.6, 500: 0.7}
"""The paper's steps among the controllers; a group of 50 has no second phase."""
SIZES = group_sizes.SIZES
STRETCHES = (2, 4, 6, 8, 10)
"""Factors by which the local step may be longer than the paper's."""
HEADER_BYTES, ENTRY_BYTES = 32, 4
TOGETHER, NEARBY, LOADED, DEEPER, STRETCHED, ALONE, SLOWEST = (
    "all groups at once, drawn",
    "groups by location",
    "controllers by load",
    "three levels",
    "longer steps",
    "one group alone, then the controllers",
    "the slowest of all groups, each alone, then the controllers",
)
OPTIONS: dict[str, dict[str, Any]] = {
    TOGETHER: {},
    NEARBY: {"nearby": True},
    LOADED: {"chosen_by": "load"},
    DEEPER: {"levels": 3},
}
"""Ways to run the whole scheme, all local groups on the same network at once."""
SET_UPS = (*OPTIONS, STRETCHED, ALONE, SLOWEST)
FAR_BELOW = 1 / 3
"""Share of the global scheme's time at n = 500 below which the local one is called far below it."""
SLOW_GROWTH = 1 / 2
"""Share of the global scheme's growth from n = 100 to 500 below which growth is called slow."""


@cache
def together(members: int, seed: int, *, stretch: int = 1, set_up: str = TOGETHER) -> Point:
    """Return a round of the whole scheme, all local groups on the same network at once."""
    return wide_area(
        protocol="gsgc-local",
        nodes=NODES["sparse"],
        members=members,
        subgroup=1,
        step_s=round(LOCAL_STEP_S * stretch, 3),
        local_size=LOCAL_SIZE,
        controllers=CONTROLLERS,
        controller_step_s=CONTROLLER_STEPS_S.get(members, LOCAL_STEP_S),
        seed=seed,
        **OPTIONS[set_up],
        **LOSSES["II"],
    )


@cache
def alone(members: int, step_s: float, seed: int) -> Point:
    """Return a round of one group with the network to itself.

    There are arrays of 50 entries also where there are fewer members: what is missing is put in the header.
    """
    senders = min(SENDERS, members)
    return wide_area(
        nodes=NODES["sparse"],
        members=members,
        subgroup=1,
        step_s=step_s,
        senders=senders,
        header_bytes=HEADER_BYTES + ENTRY_BYTES * (SENDERS - senders),
        seed=seed,
        **LOSSES["II"],
    )


def points(full: bool) -> list[Point]:
    """Return the scheme in every set-up."""
    asked = []
    for seed in seeds(full):
        asked += [alone(LOCAL_SIZE, LOCAL_STEP_S, each) for each in _seeds_of_groups(SIZES[-1], seed)]
        asked += [alone(n // 10, step, seed) for n, step in CONTROLLER_STEPS_S.items()]
        for n in SIZES:
            asked += [together(n, seed, set_up=set_up) for set_up in OPTIONS]
            asked += [together(n, seed, stretch=stretch) for stretch in STRETCHES]
    return asked


def _seeds_of_groups(members: int, seed: int) -> range:
    """Return the seeds of a sample's local groups, each with the network to itself."""
    most = SIZES[-1] // LOCAL_SIZE
    return range(most * seed, most * seed + members // LOCAL_SIZE)


def _times(runs: Runs, asked: list[Point]) -> list[float]:
    """Return the times of the runs that were made and finished."""
    results = [runs[point].result for point in asked if point in runs]
    times = [tpr_s(result) for result in results if result.completed]
    if not times:
        raise MissingRun(f"no run that finished: {asked[0].replay}")
    return times


def times(runs: Runs, set_up: str, members: int) -> list[float]:
    """Return the times per round of a group size in a set-up."""
    if set_up in (ALONE, SLOWEST):
        return _times_apart(runs, members, groups=1 if set_up == ALONE else members // LOCAL_SIZE)
    if set_up == STRETCHED:
        stretched = [
            _times(runs, [together(members, seed, stretch=stretch) for seed in range(SEEDS)])
            for stretch in (1, *STRETCHES)
        ]
        return min(stretched, key=lambda each: float(np.mean(each)))
    return _times(runs, [together(members, seed, set_up=set_up) for seed in range(SEEDS)])


def _times_apart(runs: Runs, members: int, *, groups: int) -> list[float]:
    """Return the time of the slowest of some local groups and that of the controllers after it."""
    firsts = [_seeds_of_groups(LOCAL_SIZE * groups, seed) for seed in range(SEEDS)]
    asked = [[alone(LOCAL_SIZE, LOCAL_STEP_S, each) for each in seeds_of] for seeds_of in firsts]
    first = [max(_times(runs, each)) for each in asked if each[-1] in runs]
    if not first:
        raise MissingRun(f"this run was not made: {asked[0][-1].replay}")
    if members not in CONTROLLER_STEPS_S:
        return first
    step_s = CONTROLLER_STEPS_S[members]
    second = _times(runs, [alone(members // 10, step_s, seed) for seed in range(SEEDS)])
    return [one + other for one, other in zip(first, second, strict=False)]


def mean_s(runs: Runs, set_up: str, members: int) -> float:
    """Return the mean time per round."""
    return float(np.mean(times(runs, set_up, members)))


def local_gossip(runs: Runs) -> Table:
    """The scheme in every set-up, beside the global one."""
    rows = [
        (n, round(group_sizes.mean_s(runs, n), 2), *(round(mean_s(runs, each, n), 2) for each in SET_UPS))
        for n in SIZES
    ]
    return Table(
        key="local_gossip",
        title="Time per round [s] of local gossip, simulation II (Figure 13)",
        columns=("n", "global", *SET_UPS),
        rows=tuple(rows),
        note=f"Groups of {LOCAL_SIZE}, {CONTROLLERS} controllers each, the paper's steps; the longer steps"
        f" are the best of 1 to {STRETCHES[-1]} times its {LOCAL_STEP_S} s.",
    )


TABLES = (local_gossip,)


def judge_local(runs: Runs) -> Judgement:
    """G10."""
    share, growth = _share_and_growth(runs, TOGETHER)
    others = (NEARBY, LOADED, DEEPER, STRETCHED, ALONE, SLOWEST)
    met = [set_up for set_up in others if _is_met(*_share_and_growth(runs, set_up))]
    return Judgement(
        paper="far below global, grows slowly",
        measured=f"{mean_s(runs, TOGETHER, 500):.1f} s at n = 500, {share:.2f} of global",
        holds=_is_met(share, growth),
        why=f"with the paper's steps and all groups on the network at once, {share:.2f} of the global time"
        f" (accepted: {FAR_BELOW:.2f}) and {growth:.2f} of its growth from n = 100 to 500 (accepted:"
        f" {SLOW_GROWTH:g}); in other set-ups met by: {'; '.join(met) or 'none'}",
    )


def _share_and_growth(runs: Runs, set_up: str) -> tuple[float, float]:
    """Return time at n = 500 and growth from 100 to 500, both over the global scheme's."""
    first, last = (mean_s(runs, set_up, n) for n in (100, 500))
    global_first, global_last = (group_sizes.mean_s(runs, n) for n in (100, 500))
    return last / global_last, (last / first) / (global_last / global_first)


def _is_met(share: float, growth: float) -> bool:
    return share <= FAR_BELOW and growth <= SLOW_GROWTH


CLAIMS = (
    Claim(
        id="G10",
        kind="trend",
        text="Gossip in local groups of 50 with 5 stability controllers each takes far less time than global"
        " gossip, and the time grows slowly with n.",
        judge=judge_local,
    ),
)


def _line(runs: Runs, set_up: str) -> Series:
    return Series(
        name=set_up,
        x=tuple(map(float, SIZES)),
        y=tuple(mean_s(runs, set_up, n) for n in SIZES),
    )


def _dots(runs: Runs, set_up: str) -> Series:
    dots = [(float(n), time) for n in SIZES for time in times(runs, set_up, n)]
    return Series(
        name=f"{set_up}, one run",
        x=tuple(n for n, _ in dots),
        y=tuple(time for _, time in dots),
        style="points",
        like=set_up,
    )


def figure_13(runs: Runs) -> Figure:
    """Figure 13: local gossip beside the global scheme."""
    whole = Series(
        name="global",
        x=tuple(map(float, SIZES)),
        y=tuple(group_sizes.mean_s(runs, n) for n in SIZES),
    )
    panels = (
        ("(A) each phase alone", (whole, _line(runs, SLOWEST), _dots(runs, SLOWEST), _line(runs, ALONE))),
        ("(B) the whole scheme", (whole, *(_line(runs, each) for each in (*OPTIONS, STRETCHED)))),
    )
    return Figure(
        key="figure13",
        title="Figure 13: local gossip, sparse groups, simulation II",
        caption="The paper's steps are the best ones of a group of 50 with the network to itself, as in (A)."
        " When all local groups gossip at once, as in (B), they share the links, and these steps are too"
        " short.",
        panels=tuple(
            Panel(title=title, x=Axis("members n"), y=Axis("time per round [s]"), series=series)
            for title, series in panels
        ),
    )


FIGURES = (figure_13,)
