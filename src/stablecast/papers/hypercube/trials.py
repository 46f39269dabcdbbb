"""The same experiment on several graphs: means, and ratios of pairs that share a graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stablecast.papers.hypercube.grid import Index
from stablecast.papers.statistics import Estimate, mean_of, ratio_of
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.simulate.result import Result

MOST_GRAPHS = 48
"""The limit of what ``--full`` adds."""


def made_of(runs: Runs, asked: Iterable[Point]) -> list[Result]:
    """Return the results of those points that were run, finished or not."""
    points = list(asked)
    found = [runs[point].result for point in points if point in runs]
    if not found:
        raise MissingRun(f"this run was not made: {points[0].replay}")
    return found


def by_graph(runs: Runs, asked: Iterable[Point], index: Index) -> dict[int, float]:
    """Return an index of the runs that finished, by the number of their graph."""
    points = list(asked)
    read = {each.seed: index.read(each) for each in made_of(runs, points) if each.completed}
    known = {graph: value for graph, value in read.items() if value is not None}
    if not known:
        raise MissingRun(f"no run that finished: {points[0].replay}")
    return known


def estimate(runs: Runs, asked: Iterable[Point], index: Index) -> Estimate:
    """Return the mean over the graphs."""
    return mean_of(list(by_graph(runs, asked, index).values()))


def over(runs: Runs, asked: Sequence[Point], base: Sequence[Point], index: Index) -> Estimate:
    """Return the ratio of two means over the graphs that both were run on."""
    above, below = by_graph(runs, asked, index), by_graph(runs, base, index)
    both = sorted(above.keys() & below.keys())
    if not both:
        raise MissingRun(f"no graph in common: {asked[0].replay}")
    return ratio_of([above[graph] for graph in both], [below[graph] for graph in both], paired=True)


def is_made(runs: Runs, *asked: Point) -> bool:
    """Tell whether all of these were run."""
    return all(point in runs for point in asked)
