"""Runs on the hypercube paper's random graphs, and what the runs of one size come to.

Points are those of the main reading (:mod:`readings`): a mean degree of 4, hosts that take no time, a
multicast that is a message to each.  Each size has the paper's six graphs; where a verdict could turn,
``--full`` adds graphs up to :data:`MOST_GRAPHS`.  Graph k of a size is the same graph for all protocols, so
that a ratio of two protocols' means is one of pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from statistics import fmean
from typing import Any

from stablecast.papers.statistics import Estimate, mean_of, ratio_of
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.simulate.result import Result

PROTOCOLS = ("fulldist", "coord", "s_coord", "cubefulldist")
SCALABLE = ("s_coord", "cubefulldist")
SENDERS = 50
"""Smaller groups have all members send."""
GRAPHS = 6
"""The paper's number of graphs."""
TWICE, FOUR_TIMES, MOST_GRAPHS = 2 * GRAPHS, 4 * GRAPHS, 48
"""Limits of what ``--full`` adds: the dearer the runs of a claim, the lower."""
_SMALL = (10, 20, 30, 50, 64, 80, 100, 128, 150, 200, 256, 300, 400)
SIZES = (*_SMALL, 500, 512, 700, 1000, 1024, 1300, 1600, 1900)
QUICK_SIZES = (10, 50, 64, 100, 128, 150, 200, 256, 300, 400, 500, 512, 1000, 1024, 1900)
FULLDIST_MOST = 400
"""The paper did not run fulldist with more members."""
_AROUND_POWERS_OF_TWO = (10, 100, 128, 150, 200, 256, 300, 400, 500, 512, 1900)
OTHERS_QUICK_SIZES = {
    "fulldist": (10, 100, 150, 400),
    "coord": (10, 100, 150, 200, 400, 500, 1900),
    "s_coord": _AROUND_POWERS_OF_TWO,
    "cubefulldist": _AROUND_POWERS_OF_TWO,
}
"""Under the other readings: what claims are judged at, without one of the paper's sets, 1000 and 1024."""
LARGE_SIZES = (4096, 16_384)
"""Beyond the paper."""
LARGE_GRAPHS = (0, 1)
MEAN_DEGREE = 4.0
ABOUT = (
    "Random graphs of mean degree 4 (the printed probabilities of 0.01 to 0.04 at 400 to 100 nodes);"
    f" means of {GRAPHS} graphs or more."
)
"""What every caption says of the network."""


def sizes(full: bool, protocol: str, *, main: bool = True) -> tuple[int, ...]:
    """Return the sizes at which a protocol is run under the main reading, or under the others."""
    if not full and not main:
        return OTHERS_QUICK_SIZES[protocol]
    most = FULLDIST_MOST if protocol == "fulldist" else SIZES[-1]
    return tuple(n for n in (SIZES if full else QUICK_SIZES) if n <= most)


def edge_probability(mean_degree: float, members: int) -> float:
    """Return the probability that two nodes are linked."""
    return round(min(1.0, mean_degree / members), 6)


def of(protocol: str, members: int, graph: int, **options: Any) -> Point:
    """Return one round on one graph; as in the paper, cubefulldist's set of members takes no bytes."""
    if protocol == "cubefulldist":
        options = {"free_bitmap": True, **options}
    fields = {
        "protocol": protocol,
        "topology": "random-graph",
        "members": members,
        "edge_probability": edge_probability(MEAN_DEGREE, members),
        "senders": min(members, SENDERS),
        "seed": graph,
        **options,
    }
    return _point(tuple(fields.items()))


@cache
def _point(fields: tuple[tuple[str, Any], ...]) -> Point:
    """Return a run by its options; tables and figures ask for the same ones often, so each is made once."""
    return simulation(**dict(fields))


def points(full: bool, *, main: bool = True) -> list[Point]:
    """Return the paper's runs: every protocol, size and graph, or fewer sizes."""
    return graphs_of({protocol: sizes(full, protocol, main=main) for protocol in PROTOCOLS}, GRAPHS)


def graphs_of(wanted: Mapping[str, Iterable[int]], count: int) -> list[Point]:
    """Return rounds of protocols at their sizes, on so many graphs each."""
    return [
        of(protocol, members, graph)
        for protocol, at in wanted.items()
        for members in at
        for graph in range(count)
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
QUEUE = Index("maximum queue", "messages", lambda result: float(max(result.queue_max, result.host_queue_max)))
"""At a link or at a processor: where hosts take time, messages wait there (4.2.1: at the coordinator, at all
nodes).  At hosts that take none nothing waits, and this is the queue of a link."""
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

    def estimate(self, index: Index) -> Estimate:
        """Return the mean over the graphs, with its interval."""
        return mean_of(self.values(index))

    def mean(self, index: Index) -> float:
        """Return the mean over the graphs."""
        return fmean(self.values(index))

    def over(self, other: Sample, index: Index, below: Index | None = None) -> Estimate:
        """Return the ratio of two means: of pairs where both have the same graphs."""
        above, under = self.values(index), other.values(below or index)
        paired = self.members == other.members and self._graphs == other._graphs
        return ratio_of(above, under, paired=paired and len(above) == len(under))

    @property
    def _graphs(self) -> list[int]:
        return [result.seed for result in self.results]


def results_of(runs: Runs, asked: Sequence[Point]) -> list[Result]:
    """Return the results of those points that were run; not one of them is a missing run."""
    made = [point for point in asked if point in runs]
    if not made:
        raise MissingRun(f"this run was not made: {asked[0].replay}")
    return [runs[point].result for point in made]


def sample(runs: Runs, protocol: str, members: int, **options: Any) -> Sample:
    """Return the finished runs of all graphs, which are numbered from 0; ``options`` as for :func:`of`."""
    wanted = (of(protocol, members, graph, **options) for graph in range(MOST_GRAPHS))
    made = list(takewhile(runs.__contains__, wanted)) or [of(protocol, members, 0, **options)]
    finished = tuple(result for result in results_of(runs, made) if result.completed)
    if not finished:
        raise MissingRun(f"no run that finished: {made[0].replay}")
    return Sample(protocol, members, finished)


def sizes_made(runs: Runs, protocol: str) -> tuple[int, ...]:
    """Return the sizes that were run, the smallest first."""
    asked = sizes(True, protocol)
    found = tuple(n for n in asked if of(protocol, n, 0) in runs)
    if not found:
        raise MissingRun(f"this run was not made: {of(protocol, max(asked), 0).replay}")
    return found


def curve(runs: Runs, protocol: str) -> list[Sample]:
    """Return the samples of all sizes that were run, the smallest first."""
    return [sample(runs, protocol, members) for members in sizes_made(runs, protocol)]


def curves(runs: Runs) -> Iterator[tuple[str, list[Sample]]]:
    """Go through the protocols."""
    for protocol in PROTOCOLS:
        yield protocol, curve(runs, protocol)


def ratios(runs: Runs, one: str, other: str, index: Index) -> dict[int, Estimate]:
    """Return one protocol's index over another's, at the sizes of both."""
    both = [n for n in sizes_made(runs, one) if n in sizes_made(runs, other)]
    return {n: sample(runs, one, n).over(sample(runs, other, n), index) for n in both}


def holds_from(found: Mapping[int, bool]) -> str:
    """Say from which size on something is true up to the largest."""
    largest_first = sorted(found, reverse=True)
    kept = 0
    while kept < len(largest_first) and found[largest_first[kept]]:
        kept += 1
    if not kept:
        return "not at the largest size"
    return "at every size" if kept == len(largest_first) else f"from n = {largest_first[kept - 1]} on"
