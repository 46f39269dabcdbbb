"""Beyond the paper: whether times stay flat with many more members, and what the set of members costs."""

from __future__ import annotations

from typing import Any, NamedTuple

from stablecast.papers.curves import INTERVALS, columns_with_interval, panel, with_interval
from stablecast.papers.curves import curve as drawn
from stablecast.papers.hypercube.grid import (
    GRAPHS,
    INDICES,
    LARGE_GRAPHS,
    LARGE_SIZES,
    LAST,
    QUEUE,
    SENDERS,
    Index,
    curve,
    of,
    results_of,
)
from stablecast.papers.statistics import Estimate, mean_of
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Figure, Series
from stablecast.report.table import Table
from stablecast.simulate.result import Result

GRAPH = "random graph"
ON_GRAPHS = ("coord", "s_coord", "cubefulldist")
COUNTED = "cubefulldist, bitmap counted"
"""As cubefulldist, but the set of members takes its n/8 bytes."""
LINES = (*ON_GRAPHS, COUNTED)
DRAWN_FROM = 100
COUNTED_SIZES = (128, 512, 1024, 1900)
QUICK_COUNTED_SIZES = (128, 1024)
TREE: dict[str, Any] = {"topology": "tree", "degree": 316, "height": 2}
TREE_MEMBERS = 1 + 316 + 316**2
ON_TREE = ("coord", "s_coord", "cubefulldist")
PROPAGATION_US = 500.0
"""The mean of the paper's delays."""


class Case(NamedTuple):
    """One line of the table."""

    network: str
    name: str
    members: int
    asked: tuple[Point, ...]


def on_graph(name: str, members: int, graph: int) -> Point:
    """Return a round on a random graph of mean degree 4."""
    if name == COUNTED:
        return of("cubefulldist", members, graph, free_bitmap=False)
    return of(name, members, graph)


def on_tree(name: str) -> Point:
    """Return a round of a hundred thousand members on a tree of three levels."""
    free = {"free_bitmap": True} if name == "cubefulldist" else {}
    protocol = "cubefulldist" if name == COUNTED else name
    return simulation(
        protocol=protocol,
        senders=SENDERS,
        costs="links-only",
        propagation_us=PROPAGATION_US,
        **TREE,
        **free,
    )


def points(full: bool) -> list[Point]:
    """Return the paper's sizes with the bytes of the set of members, and larger groups: some, or all."""
    counted = COUNTED_SIZES if full else QUICK_COUNTED_SIZES
    asked = [on_graph(name, n, graph) for name in LINES for n in counted for graph in range(GRAPHS)]
    if not full:
        return asked + [on_graph(name, LARGE_SIZES[0], LARGE_GRAPHS[0]) for name in ON_GRAPHS]
    asked += [on_graph(name, n, graph) for name in LINES for n in LARGE_SIZES for graph in LARGE_GRAPHS]
    return asked + [on_tree(name) for name in ON_TREE]


def _cases() -> list[Case]:
    cases = []
    for name in LINES:
        for n in (*COUNTED_SIZES, *LARGE_SIZES):
            chosen = LARGE_GRAPHS if n in LARGE_SIZES else range(GRAPHS)
            asked = tuple(on_graph(name, n, graph) for graph in chosen)
            cases.append(Case(GRAPH, name, n, asked))
    return cases + [Case("tree 316/2", name, TREE_MEMBERS, (on_tree(name),)) for name in ON_TREE]


def _made(runs: Runs) -> list[tuple[Case, list[Result]]]:
    return [
        (case, results_of(runs, list(case.asked)))
        for case in _cases()
        if any(point in runs for point in case.asked)
    ]


def _mean(results: list[Result], index: Index) -> Estimate:
    values = [index.read(result) for result in results]
    return mean_of([value for value in values if value is not None])


def beyond(runs: Runs) -> Table:
    """All that was measured of large groups."""
    rows: list[tuple[Any, ...]] = []
    for case, results in _made(runs):
        done = f"{sum(one.completed for one in results)} of {len(results)}"
        cells = [with_interval(_mean(results, index)) for index in INDICES]
        rows.append((case.network, case.name, case.members, done, *sum(cells, ())))
    return Table(
        key="beyond",
        title="Beyond the paper: larger groups, and the bytes of the set of members",
        columns=(
            "network",
            "protocol",
            "n",
            "complete",
            *columns_with_interval(index.label for index in INDICES),
        ),
        rows=tuple(rows),
        note=f"Random graphs of mean degree 4; the tree has {TREE_MEMBERS:,} nodes, links of"
        f" {PROPAGATION_US / 1000:g} ms, members placed at random. {finding(runs)}",
    )


def finding(runs: Runs) -> str:
    """Say in a sentence what the largest groups on graphs show."""
    asked = {n: on_graph("coord", n, LARGE_GRAPHS[0]) for n in LARGE_SIZES}
    base, made = COUNTED_SIZES[0], [n for n, point in asked.items() if point in runs]
    if not made:
        raise MissingRun(f"this run was not made: {asked[LARGE_SIZES[0]].replay}")
    found = {(c.name, c.members): results for c, results in _made(runs) if c.network == GRAPH}
    names = [name for name in LINES if (name, made[-1]) in found]
    growth = {
        name: _mean(found[name, made[-1]], LAST).value / _mean(found[name, base], LAST).value
        for name in names
    }
    told = ", ".join(f"{name} × {ratio:.1f}" for name, ratio in growth.items())
    return (
        f"From {base} to {made[-1]:,} members, {made[-1] // base} times as many, the last member's time"
        f" grows: {told}."
    )


TABLES = (beyond,)


def _line(runs: Runs, name: str, index: Index) -> Series:
    known: dict[int, Estimate] = {}
    if name != COUNTED:
        known = {
            each.members: each.estimate(index) for each in curve(runs, name) if each.members >= DRAWN_FROM
        }
    for case, results in _made(runs):
        if case.name == name and case.network == GRAPH:
            known.setdefault(case.members, _mean(results, index))
    return drawn(name, sorted(known.items(), key=lambda each: each[0]))


def _on_trees(runs: Runs, index: Index) -> list[Series]:
    made = [name for name in ON_TREE if on_tree(name) in runs]
    return [
        drawn(
            f"{name}, tree",
            [(TREE_MEMBERS, _mean([runs[on_tree(name)].result], index))],
            style="points",
            like=name,
        )
        for name in made
    ]


def figure_beyond(runs: Runs) -> Figure:
    """Time and queue far beyond the paper's sizes."""
    panels = [
        panel(
            title,
            index.label,
            [*(_line(runs, name, index) for name in LINES), *_on_trees(runs, index)],
            log=True,
            log_x=True,
        )
        for title, index in (("(A) last member", LAST), ("(B) maximum queue", QUEUE))
    ]
    return Figure(
        key="beyond",
        title="Beyond the paper: larger groups",
        caption=f"Random graphs of mean degree 4, as in all figures; pale, if it was run: a tree of"
        f" {TREE_MEMBERS:,} nodes. {finding(runs)} {INTERVALS} Single runs have none.",
        panels=tuple(panels),
    )


FIGURES = (figure_beyond,)
