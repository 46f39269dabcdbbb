"""Runs that several tables and figures share: one execution on each tree of Table 3, and on random ones.

Under the main reading all of them are made.  Under other readings fewer are, so what judges a claim asks
:func:`made_shapes` for the trees on which all five protocols ran, and says which sizes these are.
"""

from __future__ import annotations

from stablecast.papers.hierarchical.theory import PAPER_TABLE_3, PROTOCOLS
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import MissingRun, Run, Runs
from stablecast.simulate.options import Options
from stablecast.theory import group_size

Shape = tuple[int, int, int]
"""Degree b, height p, children z of the nodes above the last level."""

HEIGHT = 5
TRACKED = 16
BASIC = ("coordp", "fulldist", "train")
STRUCTURED = ("s_coordp", "s_train")
PAIRS = (("coordp", "s_coordp"), ("fulldist", "s_coordp"), ("train", "s_train"))
PAPER_RANDOM_TREES = 10
QUICK_RANDOM_TREES = 3
MOST_RANDOM_TREES = 40
"""Beyond the paper's ten, where a verdict could turn."""


def shapes() -> list[Shape]:
    """Return the trees of Table 3 in the order of their sizes."""
    listed = [(degree, HEIGHT, fill) for degree, fill in PAPER_TABLE_3]
    return sorted(listed, key=lambda shape: group_size(*shape))


def on_tree(protocol: str, shape: Shape, **costs: str | float) -> Point:
    """Return one execution on a near-complete tree."""
    degree, height, fill = shape
    tracked = min(TRACKED, group_size(*shape))
    options = Options(
        protocol=protocol,
        degree=degree,
        height=height,
        fill=fill,
        tracked=tracked,
        **costs,
    )
    return simulation(options)


def on_random_tree(protocol: str, shape: Shape, seed: int) -> Point:
    """Return one execution on a random tree of the same size, mean degree and height."""
    n = group_size(*shape)
    return simulation(
        protocol=protocol,
        topology="random-tree",
        members=n,
        degree=shape[0],
        height=shape[1],
        seed=seed,
        tracked=min(TRACKED, n),
    )


def run_on(runs: Runs, protocol: str, shape: Shape) -> Run:
    """Return the run on a near-complete tree."""
    return runs[on_tree(protocol, shape)]


def rtt_ms(run: Run) -> float:
    """Return the round-trip time at the first member."""
    us = run.result.rtt_root_us
    assert us is not None
    return us / 1000


def made_shapes(runs: Runs) -> list[Shape]:
    """Return the trees of Table 3 on which every protocol ran."""
    made = [shape for shape in shapes() if all(on_tree(protocol, shape) in runs for protocol in PROTOCOLS)]
    if not made:
        raise MissingRun(f"this run was not made: {on_tree(PROTOCOLS[0], shapes()[0]).replay}")
    return made


def sizes_told(chosen: list[Shape]) -> str:
    """Return the sizes of some trees of Table 3, for a sentence."""
    sizes = [group_size(*shape) for shape in chosen]
    if len(chosen) == len(shapes()):
        return f"all nine n of Table 3, {sizes[0]} to {sizes[-1]}"
    return f"n = {', '.join(map(str, sizes))}"


def random_runs(runs: Runs, protocol: str, shape: Shape) -> list[Run]:
    """Return the runs on random trees that were made."""
    asked = [on_random_tree(protocol, shape, seed) for seed in range(MOST_RANDOM_TREES)]
    return [runs[point] for point in asked if point in runs]


def random_points(trees: int, chosen: list[Shape]) -> list[Point]:
    """Return the runs on so many random trees of each size."""
    return [
        on_random_tree(protocol, shape, seed)
        for protocol in PROTOCOLS
        for shape in chosen
        for seed in range(trees)
    ]


def points(full: bool) -> list[Point]:
    """Return all of them."""
    near_complete = [on_tree(protocol, shape) for protocol in PROTOCOLS for shape in shapes()]
    return near_complete + random_points(PAPER_RANDOM_TREES if full else QUICK_RANDOM_TREES, shapes())
