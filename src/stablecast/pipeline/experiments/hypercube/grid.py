"""Runs on the hypercube paper's random graphs, and what the runs of one size come to.

The paper prints edge probabilities from 0.01 to 0.04 and sizes from 10 to 1900.  If every size had these
probabilities, larger graphs would be denser, and everything would get faster with size; the paper's figures
say the opposite.  With a mean degree of 4 the probability is 0.04 at 100 nodes and 0.01 at 400, the printed
range, and the figures come out.  So the main reading is a mean degree of 4; the others are run beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.simulate.result import Result

PROTOCOLS = ("fulldist", "coord", "s_coord", "cubefulldist")
SCALABLE = ("s_coord", "cubefulldist")
SENDERS = 50
"""Smaller groups have all members send."""
GRAPHS = 6
_SMALL = (10, 20, 30, 50, 64, 80, 100, 128, 150, 200, 256, 300, 400)
SIZES = (*_SMALL, 500, 512, 700, 1000, 1024, 1300, 1600, 1900)
QUICK_SIZES = (10, 50, 64, 100, 128, 150, 200, 256, 300, 400, 500, 512, 1000, 1024, 1900)
FULLDIST_MOST = 400
"""The paper did not run fulldist with more members."""
SMALLEST_JUDGED = 100
"""From here on growth is judged; below, a handful of links decides."""
LARGE_SIZES = (4096, 16_384)
"""Beyond the paper."""
LARGE_GRAPHS = (0, 1)

MAIN, SPARSER, PRINTED = "mean degree 4", "mean degree 3", "probability 0.01 to 0.04"
PRINTED_PROBABILITIES = (0.01, 0.016, 0.022, 0.028, 0.034, 0.04)
"""One for each of the six graphs."""
MEAN_DEGREES = {MAIN: 4.0, SPARSER: 3.0}
READINGS = (MAIN, SPARSER, PRINTED)
ABOUT = (
    "Random graphs of mean degree 4 (the printed probabilities of 0.01 to 0.04 at 400 to 100 nodes);"
    f" means of {GRAPHS} graphs."
)
"""What every caption says of the network."""


def sizes(full: bool, protocol: str) -> tuple[int, ...]:
    """Return the sizes at which a protocol is run."""
    most = FULLDIST_MOST if protocol == "fulldist" else SIZES[-1]
    return tuple(n for n in (SIZES if full else QUICK_SIZES) if n <= most)


def edge_probability(reading: str, members: int, graph: int) -> float:
    """Return the probability that two nodes are linked."""
    if reading == PRINTED:
        return PRINTED_PROBABILITIES[graph]
    return round(min(1.0, MEAN_DEGREES[reading] / members), 6)


def of(protocol: str, members: int, graph: int, *, reading: str = MAIN, **options: Any) -> Point:
    """Return one round on one graph; as in the paper, cubefulldist's set of members takes no bytes."""
    if protocol == "cubefulldist":
        options = {"free_bitmap": True, **options}
    fields = {
        "protocol": protocol,
        "topology": "random-graph",
        "members": members,
        "edge_probability": edge_probability(reading, members, graph),
        "senders": min(members, SENDERS),
        "seed": graph,
        **options,
    }
    return _point(tuple(fields.items()))


@cache
def _point(fields: tuple[tuple[str, Any], ...]) -> Point:
    """Return a run by its options; tables and figures ask for the same ones often, so each is made once."""
    return simulation(**dict(fields))


def points(full: bool) -> list[Point]:
    """Return the paper's runs: every protocol, size and graph, or fewer sizes."""
    return [
        of(protocol, members, graph)
        for protocol in PROTOCOLS
        for members in sizes(full, protocol)
        for graph in range(GRAPHS)
    ]


@dataclass(frozen=True)
class Index:
    """One of the numbers that the paper compares protocols by."""

    name: str
    unit: str
    read: Callable[[Result], float | None]

    @property
    def label(self) -> str:
        """Its name with its unit, as for an axis."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


def _ms(us: float | None) -> float | None:
    return None if us is None else us / 1000


FIRST = Index("RTT, first member", "ms", lambda result: _ms(result.rtt_first_us))
LAST = Index("RTT, last member", "ms", lambda result: _ms(result.rtt_last_us))
OWN = Index("RTT, slowest from its own start", "ms", lambda result: _ms(result.rtt_max_us))
LOAD = Index("mean load", "messages", lambda result: result.load_mean)
QUEUE = Index("maximum queue", "messages", lambda result: float(result.queue_max))
HOPS = Index("hop count", "", lambda result: float(result.hops["total"]))
MESSAGES = Index("message count", "", lambda result: float(result.messages_sent))
INDICES = (FIRST, LAST, LOAD, QUEUE, HOPS, MESSAGES)


@dataclass(frozen=True)
class Sample:
    """The runs of one protocol and size, one for each graph; those that did not finish are left out."""

    protocol: str
    members: int
    results: tuple[Result, ...]

    def values(self, index: Index) -> list[float]:
        """Return an index of each run that measured it."""
        read = (index.read(result) for result in self.results)
        return [value for value in read if value is not None]

    def mean(self, index: Index) -> float:
        """Return the mean over the graphs."""
        values = self.values(index)
        return float(np.mean(values)) if values else float("nan")

    def spread(self, index: Index) -> float:
        """Return the difference between the worst and the best graph."""
        values = self.values(index)
        return max(values) - min(values) if values else float("nan")


def results_of(runs: Runs, asked: list[Point]) -> list[Result]:
    """Return the results of those points that were run; not one of them is a missing run."""
    made = [point for point in asked if point in runs]
    if not made:
        raise MissingRun(f"this run was not made: {asked[0].replay}")
    return [runs[point].result for point in made]


def sample(runs: Runs, protocol: str, members: int, **options: Any) -> Sample:
    """Return the finished runs of all graphs; ``options`` as for :func:`of`."""
    asked = [of(protocol, members, graph, **options) for graph in range(GRAPHS)]
    finished = tuple(result for result in results_of(runs, asked) if result.completed)
    if not finished:
        raise MissingRun(f"no run that finished: {asked[0].replay}")
    return Sample(protocol, members, finished)


def mean(runs: Runs, protocol: str, members: int, index: Index, **options: Any) -> float:
    """Return the mean of an index over the graphs."""
    return sample(runs, protocol, members, **options).mean(index)


def sizes_made(runs: Runs, protocol: str, *, least: int = 0) -> tuple[int, ...]:
    """Return the sizes that were run, from ``least`` members on."""
    asked = sizes(True, protocol)
    found = tuple(n for n in asked if n >= least and of(protocol, n, 0) in runs)
    if not found:
        raise MissingRun(f"this run was not made: {of(protocol, max(asked), 0).replay}")
    return found


def curve(runs: Runs, protocol: str, *, least: int = 0) -> list[Sample]:
    """Return the samples of all sizes that were run, the smallest first."""
    return [sample(runs, protocol, members) for members in sizes_made(runs, protocol, least=least)]


def curves(runs: Runs, *, least: int = 0) -> Iterator[tuple[str, list[Sample]]]:
    """Go through the protocols."""
    for protocol in PROTOCOLS:
        yield protocol, curve(runs, protocol, least=least)


def explained_by_line(x: list[float], y: list[float]) -> tuple[float, float]:
    """Return the slope of the line through some points, and the share of the variance that it explains."""
    at, values = np.array(x), np.array(y)
    slope, intercept = np.polyfit(at, values, 1)
    left = values - (slope * at + intercept)
    return float(slope), float(1 - left.var() / values.var()) if values.var() else 1.0


def apart(one: float, other: float) -> float:
    """Return the factor between two numbers, 1 or more."""
    return max(one / other, other / one)
