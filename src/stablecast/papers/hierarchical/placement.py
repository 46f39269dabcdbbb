"""Trees that do not follow the network: what is left of the structured protocols' gain.

The paper lets the logical tree be the network's tree (section 5.1).  A group seldom knows the network, so
here members are numbered at random: a parent and a child in the logical tree then are as far apart as any
two members, and what a node forwards passes links that other parts of the tree use too.  The basic protocols
are placed in the same way for comparison, where it hardly touches CoordP and makes Train's ring longer.
"""

from __future__ import annotations

from typing import Any

from stablecast.papers.curves import (
    INTERVALS,
    columns_with_interval,
    curve,
    panel,
    with_interval,
)
from stablecast.papers.hierarchical.gains import AROUND
from stablecast.papers.hierarchical.trees import Shape, on_tree, rtt_ms, run_on, shapes
from stablecast.papers.paper import Claim, Judgement, Seeds, judged
from stablecast.papers.statistics import Comparison, Estimate, exactly, mean_of, ratio_of
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Figure, Panel
from stablecast.report.table import Table
from stablecast.theory import group_size

PAIRS = (("coordp", "s_coordp"), ("train", "s_train"))
SIZES: tuple[Shape, ...] = (*shapes(), *AROUND[20_000])
QUICK_SIZES: tuple[Shape, ...] = ((2, 5, 1), (3, 5, 1), (4, 5, 1), (4, 5, 3), (4, 7, 4))
JUDGED_SIZES: tuple[Shape, ...] = ((2, 5, 1), (3, 5, 1), (4, 5, 3))
"""Sizes that are run under every reading, and with further seeds where a verdict could turn."""
SEEDS, QUICK_SEEDS, MOST_SEEDS = 10, 4, 40
HALF = 2.0
"""A protocol that takes so many times as long has lost half of its gain."""


def placed(protocol: str, shape: Shape, seed: int) -> Point:
    """Return one execution with members numbered at random."""
    return on_tree(protocol, shape, placement="random", seed=seed)


def points_on(chosen: tuple[Shape, ...], seeds: int) -> list[Point]:
    """Return the runs on some trees, placed at random and on the network."""
    protocols = [protocol for pair in PAIRS for protocol in pair]
    at_random = [placed(name, shape, seed) for name in protocols for shape in chosen for seed in range(seeds)]
    return [on_tree(name, shape) for name in protocols for shape in chosen] + at_random


def points(full: bool) -> list[Point]:
    """Return all of them."""
    return points_on(SIZES, SEEDS) if full else points_on(QUICK_SIZES, QUICK_SEEDS)


def _made(runs: Runs) -> list[Shape]:
    """Return the trees on which both structured protocols were placed at random."""
    made = [shape for shape in SIZES if all(placed(pair[1], shape, 0) in runs for pair in PAIRS)]
    if not made:
        raise MissingRun(f"this run was not made: {placed('s_coordp', SIZES[0], 0).replay}")
    return made


def _times(runs: Runs, protocol: str, shape: Shape) -> list[float]:
    """Return the round trips of all random placements that were made."""
    asked = [placed(protocol, shape, seed) for seed in range(MOST_SEEDS)]
    return [rtt_ms(runs[point]) for point in asked if point in runs]


def slowdown(runs: Runs, protocol: str, shape: Shape) -> Estimate:
    """Return how many times longer the round trip is than on the network's tree."""
    base = rtt_ms(run_on(runs, protocol, shape))
    return mean_of([time / base for time in _times(runs, protocol, shape)])


def gain_at_random(runs: Runs, basic: str, structured: str, shape: Shape) -> Estimate:
    """Return the gain if nobody knows the network: both are placed at random."""
    return ratio_of(_times(runs, basic, shape), _times(runs, structured, shape), paired=True)


def gain_against_network(runs: Runs, basic: str, structured: str, shape: Shape) -> Estimate:
    """Return the gain of a structured protocol placed at random over a basic one that follows the network."""
    fast = _times(runs, structured, shape)
    return ratio_of([rtt_ms(run_on(runs, basic, shape))] * len(fast), fast, paired=True)


def gain_on_network(runs: Runs, basic: str, structured: str, shape: Shape) -> Estimate:
    """Return the gain if both follow the network."""
    return exactly(rtt_ms(run_on(runs, basic, shape)) / rtt_ms(run_on(runs, structured, shape)))


WAYS = {
    "both follow the network": gain_on_network,
    "both at random": gain_at_random,
    "structured at random, basic follows": gain_against_network,
}


def placements(runs: Runs) -> Table:
    """The gains with the logical tree on the network and at random."""
    rows: list[tuple[Any, ...]] = []
    for pair in PAIRS:
        for shape in _made(runs):
            found = [way(runs, *pair, shape) for way in WAYS.values()]
            cells = [
                cell for each in (*found[1:], slowdown(runs, pair[1], shape)) for cell in with_interval(each)
            ]
            rows.append(("/".join(pair), group_size(*shape), round(found[0].value, 1), *cells))
    on_network, *others = WAYS
    return Table(
        key="placements",
        title="Gain in round-trip time if the logical tree does not follow the network",
        columns=(
            "gain",
            "n",
            on_network,
            *columns_with_interval((*others, "structured: time over the network's")),
        ),
        rows=tuple(rows),
        note=f"{len(_times(runs, 's_coordp', _made(runs)[0]))} random placements of each size.",
    )


TABLES = (placements,)


def judge_placement(runs: Runs) -> Judgement:
    """H14."""
    made = _made(runs)
    comparisons = [
        Comparison(
            what=f"{structured}, n = {group_size(*shape)}",
            found=slowdown(runs, structured, shape),
            least=HALF,
        )
        for _, structured in PAIRS
        for shape in made
    ]
    least = min(comparisons, key=lambda each: each.found.value)
    first = gain_at_random(runs, *PAIRS[0], made[0])
    return judged(
        comparisons,
        paper="-",
        measured=f"takes at least {least.found.value:.1f} times as long",
        why=f"least for {least.what}: {least.found} times as long as on the network's tree; s_coordp's gain"
        f" over coordp at n = {group_size(*made[0])} is {first}, at {group_size(*made[-1]):,}"
        f" {gain_at_random(runs, *PAIRS[0], made[-1])}",
    )


CLAIMS = (
    Claim(
        id="H14",
        kind="trend",
        text="A logical tree that does not follow the network loses more than half of what S_CoordP and"
        " S_Train gain, at every size.",
        judge=judge_placement,
        ours=True,
        seeds=Seeds(points=lambda count: points_on(JUDGED_SIZES, count), first=SEEDS, most=MOST_SEEDS),
    ),
)


def _panel(runs: Runs, letter: str, pair: tuple[str, str]) -> Panel:
    lines = [
        curve(name, [(group_size(*shape), way(runs, *pair, shape)) for shape in _made(runs)])
        for name, way in WAYS.items()
    ]
    return panel(f"({letter}) {' over '.join(pair)}", "gain in round-trip time", lines, log=True, log_x=True)


def figure_placement(runs: Runs) -> Figure:
    """The gains over n, on the network and at random."""
    return Figure(
        key="placement",
        title="Trees that do not follow the network",
        caption="How many times shorter the structured protocol's round trip is, with the logical tree on the"
        " network's and with members numbered at random. Below 1 the basic protocol is faster."
        f" {INTERVALS}",
        panels=tuple(_panel(runs, letter, pair) for letter, pair in zip("AB", PAIRS, strict=True)),
    )


FIGURES = (figure_placement,)
