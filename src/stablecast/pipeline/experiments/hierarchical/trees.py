"""Runs that several tables and figures share: one execution on each tree of Table 3, and on random ones."""

from __future__ import annotations

from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import Run, Runs
from stablecast.simulate.options import Options
from stablecast.theory import PAPER_TABLE_3, PROTOCOLS, group_size

Shape = tuple[int, int, int]
"""Degree b, height p, children z of the nodes above the last level."""

HEIGHT = 5
TRACKED = 16
BASIC = ("coordp", "fulldist", "train")
STRUCTURED = ("s_coordp", "s_train")
PAIRS = (("coordp", "s_coordp"), ("fulldist", "s_coordp"), ("train", "s_train"))
PAPER_RANDOM_TREES = 10
QUICK_RANDOM_TREES = 3


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


def random_runs(runs: Runs, protocol: str, shape: Shape) -> list[Run]:
    """Return the runs on random trees that were made, ten or fewer."""
    asked = [on_random_tree(protocol, shape, seed) for seed in range(PAPER_RANDOM_TREES)]
    return [runs[point] for point in asked if point in runs]


def points(full: bool) -> list[Point]:
    """Return all of them."""
    trees = PAPER_RANDOM_TREES if full else QUICK_RANDOM_TREES
    near_complete = [on_tree(protocol, shape) for protocol in PROTOCOLS for shape in shapes()]
    random = [
        on_random_tree(protocol, shape, seed)
        for protocol in PROTOCOLS
        for shape in shapes()
        for seed in range(trees)
    ]
    return near_complete + random
