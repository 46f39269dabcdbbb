"""coord against the others, on many graphs (C5c, C5e, C5i).

How many links the coordinator has is a matter of chance, and coord's times hang on it: at 1900 members the
slowest of the paper's six graphs takes four times as long as the fastest.  Means of six graphs then say one
thing or the other, so that what is claimed of coord is judged on more graphs than the paper had.  The other
protocols differ little from graph to graph, and six are enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stablecast.pipeline.experiments.hypercube.grid import (
    FIRST,
    GRAPHS,
    LARGE_SIZES,
    LAST,
    MESSAGES,
    PRINTED,
    QUEUE,
    SCALABLE,
    SMALLEST_JUDGED,
    Index,
    Sample,
    explained_by_line,
    mean,
    of,
    results_of,
    sizes_made,
)
from stablecast.pipeline.experiments.hypercube.grid import SIZES as ALL_SIZES
from stablecast.pipeline.experiments.paper import Claim, Judgement
from stablecast.pipeline.experiments.table import Table
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs

COORD_GRAPHS, QUICK_COORD_GRAPHS = 48, 24
SIZES = tuple(n for n in ALL_SIZES if n >= SMALLEST_JUDGED)
QUICK_SIZES = (100, 200, 400, 1000, 1900)
LINEAR_SHARE = 0.95
"""Share of the variance that a straight line must explain for growth to be called linear."""
MUCH = 1.25
"""How many times as long a protocol must take to be called much slower."""
FAST_FROM = 1000
"""Members from which on cubefulldist must be faster than coord."""


def points(full: bool) -> list[Point]:
    """Return coord on many graphs."""
    return [
        of("coord", members, graph)
        for members in (SIZES if full else QUICK_SIZES)
        for graph in range(COORD_GRAPHS if full else QUICK_COORD_GRAPHS)
    ]


def many(runs: Runs, members: int) -> Sample:
    """Return coord's runs on all graphs."""
    asked = [of("coord", members, graph) for graph in range(COORD_GRAPHS)]
    finished = tuple(result for result in results_of(runs, asked) if result.completed)
    if not finished:
        raise MissingRun(f"no run that finished: {asked[0].replay}")
    return Sample("coord", members, finished)


def samples(runs: Runs) -> list[Sample]:
    """Return the sizes that were run on many graphs."""
    made = [n for n in SIZES if of("coord", n, QUICK_COORD_GRAPHS - 1) in runs]
    if not made:
        raise MissingRun(f"this run was not made: {of('coord', SIZES[0], QUICK_COORD_GRAPHS - 1).replay}")
    return [many(runs, n) for n in made]


def standard_error(each: Sample, index: Index) -> float:
    """Return how far the mean is likely to be from that of all graphs."""
    values = each.values(index)
    return float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0


def coord_graphs(runs: Runs) -> Table:
    """Times of coord on many graphs, beside the other protocols' means."""
    rows: list[tuple[Any, ...]] = []
    for each in samples(runs):
        values = each.values(LAST)
        spread = (standard_error(each, LAST), float(np.median(values)), min(values), max(values))
        others = [mean(runs, protocol, each.members, LAST) for protocol in SCALABLE]
        cells = (each.mean(FIRST), each.mean(LAST), *spread, *others, each.mean(QUEUE))
        rows.append((each.members, len(values), *(round(value, 1) for value in cells)))
    return Table(
        key="coord_graphs",
        title="coord on many graphs: round-trip times [ms]",
        columns=(
            "n",
            "graphs",
            "first",
            "last",
            "standard error",
            "median",
            "least",
            "most",
            *(f"{protocol}, last" for protocol in SCALABLE),
            QUEUE.label,
        ),
        rows=tuple(rows),
        note="Error, median, least and most are of the last member's time; s_coord and cubefulldist:"
        f" {GRAPHS} graphs.",
    )


TABLES = (coord_graphs,)


def judge_linear(runs: Runs) -> Judgement:
    """C5c."""
    found = samples(runs)
    n = [float(each.members) for each in found]
    fits = {index.name: explained_by_line(n, [s.mean(index) for s in found]) for index in (LAST, QUEUE)}
    least, most = found[0], found[-1]
    printed = [mean(runs, "coord", each.members, LAST, reading=PRINTED) for each in (least, most)]
    return Judgement(
        paper="RTT and queue linear in n",
        measured=", ".join(f"{name}: a line explains {share:.1%}" for name, (_, share) in fits.items()),
        holds=all(slope > 0 and share >= LINEAR_SHARE for slope, share in fits.values()),
        why=f"n from {least.members} to {most.members}, {len(least.results)} graphs each (accepted:"
        f" {LINEAR_SHARE:.0%}); last member {least.mean(LAST):.1f} to {most.mean(LAST):.1f} ms, queue"
        f" {least.mean(QUEUE):.0f} to {most.mean(QUEUE):.0f}; with the printed probabilities at every size"
        f" the time goes from {printed[0]:.1f} to {printed[1]:.1f} ms, since a larger group gives the"
        " coordinator more links",
    )


def _gains(runs: Runs, fast: str, index: Index) -> dict[int, float]:
    """Return by size how many times as long coord takes as another protocol."""
    return {each.members: each.mean(index) / mean(runs, fast, each.members, index) for each in samples(runs)}


def _listed(sizes: list[int]) -> str:
    return ", ".join(map(str, sizes)) or "none"


def judge_faster(runs: Runs) -> Judgement:
    """C5e."""
    last, first = (_gains(runs, "cubefulldist", index) for index in (LAST, FIRST))
    large = [each for each in samples(runs) if each.members >= FAST_FROM]
    more = {
        each.members: mean(runs, "cubefulldist", each.members, MESSAGES) / each.mean(MESSAGES)
        for each in large
    }
    errors = {each.members: standard_error(each, LAST) / each.mean(LAST) for each in large}
    told = [f"{last[n]:.2f} at {n}" for n in more]
    return Judgement(
        paper="cubefulldist faster than coord, with more messages",
        measured=f"coord's last member takes {', '.join(told)} times as long; cubefulldist sends"
        f" {max(more.values()):.0f} times the messages",
        holds=all(last[n] > 1 and more[n] > 1 for n in more),
        why=f"last member, n from {FAST_FROM} on, coord on {len(large[0].results)} graphs (standard error"
        f" {max(errors.values()):.0%} or less); coord is faster at n ="
        f" {_listed([n for n in last if last[n] <= 1])}; to the first member at n ="
        f" {_listed([n for n in first if first[n] <= 1])}, since its first is the coordinator, which knows"
        " before it tells",
    )


def judge_slow_ones(runs: Runs) -> Judgement:
    """C5i."""
    most, largest = samples(runs)[-1].members, sizes_made(runs, "fulldist")[-1]
    times = {
        f"fulldist / {fast} at {largest}": mean(runs, "fulldist", largest, LAST)
        / mean(runs, fast, largest, LAST)
        for fast in SCALABLE
    }
    times |= {f"coord / {fast} at {most}": _gains(runs, fast, LAST)[most] for fast in SCALABLE}
    larger = LARGE_SIZES[0]
    beyond = mean(runs, "coord", larger, LAST) / mean(runs, "s_coord", larger, LAST)
    near = [name for name, ratio in times.items() if ratio < MUCH]
    return Judgement(
        paper="fulldist and coord much slower",
        measured=", ".join(f"{name}: {ratio:.2f}" for name, ratio in times.items()),
        holds=not near,
        why=f"last member, largest group of each (accepted: {MUCH:g} or more); below:"
        f" {', '.join(near) or 'none'}; s_coord's"
        " messages climb and descend a tree whose links are whole paths of the network, which takes long from"
        f" the start but grows little; at n = {larger:,} coord takes {beyond:.2f} times as long as s_coord",
    )


CLAIMS = (
    Claim(
        id="C5c",
        kind="trend",
        text="The round-trip time and the longest queue of coord grow linearly with n.",
        judge=judge_linear,
    ),
    Claim(
        id="C5e",
        kind="trend",
        text="cubefulldist is faster than coord although it sends more messages.",
        judge=judge_faster,
    ),
    Claim(
        id="C5i",
        kind="trend",
        text="Long queues make fulldist and coord much slower than s_coord and cubefulldist (section 3.4).",
        judge=judge_slow_ones,
    ),
)
