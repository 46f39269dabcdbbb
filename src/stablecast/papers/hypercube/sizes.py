"""Section 4.2: every index against the number of members (C4), and how times grow (C5a, C5b, C5d).

"Almost flat" has no number in the paper.  It is judged by the order of growth over all sizes: times that
follow log n or log² n rather than n, which is what the paper sets it against.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from stablecast.papers.curves import apart, beside_paper, columns_with_interval, with_interval
from stablecast.papers.hypercube.grid import (
    ABOUT,
    FIRST,
    FOUR_TIMES,
    GRAPHS,
    INDICES,
    LAST,
    PROTOCOLS,
    SCALABLE,
    SIZES,
    TWICE,
    Index,
    curve,
    curves,
    graphs_of,
    points,
    sample,
    sizes_made,
)
from stablecast.papers.hypercube.orders import best_order, rather
from stablecast.papers.paper import Claim, Judgement, Seeds, judged
from stablecast.papers.statistics import Comparison, Estimate
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.table import Table

FLAT, STEEP = ("1", "log n", "log² n"), ("n", "n²")
SETS = ((100, 128), (200, 256, 300), (500, 512), (1000, 1024))
"""Sizes that the paper finds similar, with powers of two in each."""
IN_SETS = tuple(n for group in SETS for n in group)
SIMILAR_FACTOR = 1.25
PAPER_FULLDIST_MS = {150: (16.0, 19.0), 400: (46.0, 82.0)}
FACTOR = 2.5


def judged_points(full: bool) -> list[Point]:
    """Return what claims need under every other reading."""
    return points(full, main=False)


def indices(runs: Runs) -> Table:
    """Every index of every protocol and size."""
    rows: list[tuple[Any, ...]] = []
    for protocol, samples in curves(runs):
        for each in samples:
            cells = [with_interval(each.estimate(index)) for index in INDICES]
            rows.append((protocol, each.members, len(each.results), *sum(cells, ())))
    return Table(
        key="indices",
        title="All indices, all sizes (Figures 8 to 11)",
        columns=("protocol", "n", "graphs", *columns_with_interval(index.label for index in INDICES)),
        rows=tuple(rows),
        note=ABOUT,
    )


def fulldist_times(runs: Runs) -> Table:
    """The four times that the paper prints."""
    rows = [
        (members, index.name, paper, sample(runs, "fulldist", members).estimate(index))
        for members, printed in PAPER_FULLDIST_MS.items()
        for index, paper in zip((FIRST, LAST), printed, strict=True)
    ]
    return beside_paper(
        "fulldist_times",
        "fulldist: the times that the paper prints [ms]",
        rows,
        what=("n", "index"),
        note=ABOUT,
    )


TABLES = (indices, fulldist_times)


def judge_indices(runs: Runs) -> Judgement:
    """C4."""
    asked = [point for point in points(True) if point in runs]
    results = [runs[point].result for point in asked]
    unfinished = sum(not result.completed for result in results)
    lacking = [index.name for index in INDICES if any(index.read(result) is None for result in results)]
    covered = {(result.protocol, result.members) for result in results}
    expected = {(protocol, n) for protocol in PROTOCOLS for n in sizes_made(runs, protocol)}
    return Judgement(
        paper=f"{len(INDICES)} indices and their spread over graphs",
        measured=f"{len(INDICES) - len(lacking)} indices in {len(results)} runs, {unfinished} unfinished",
        holds=not unfinished and not lacking and covered == expected,
        why=f"{len(covered)} pairs of protocol and size; indices that some run lacks:"
        f" {', '.join(lacking) or 'none'}; the load is counted every 1 ms; the spread is C6",
    )


def growth(runs: Runs, protocol: str, index: Index, least: int, most: int) -> Estimate:
    """Return how many times as large an index is at one size as at another."""
    return sample(runs, protocol, most).over(sample(runs, protocol, least), index)


def _growths(runs: Runs, protocol: str) -> str:
    """Tell the growth of the last member's time over all sizes, and over those from a hundred on."""
    made = sizes_made(runs, protocol)
    return " and ".join(
        f"× {growth(runs, protocol, LAST, least, made[-1]).value:.2f} from n = {least}"
        for least in (made[0], 100)
        if least in made
    )


def judge_flatness(runs: Runs) -> Judgement:
    """C5a."""
    found = {protocol: curve(runs, protocol) for protocol in SCALABLE}
    comparisons = [
        rather(
            f"{protocol}, {index.name}: misfit of at most log² n minus that of n or more",
            samples,
            index,
            FLAT,
            STEEP,
            constant=True,
        )
        for protocol, samples in found.items()
        for index in (FIRST, LAST)
    ]
    told = [f"{name} {best_order(each, LAST, constant=True)}" for name, each in found.items()]
    linear = best_order(curve(runs, "coord"), LAST, constant=True)
    return judged(
        comparisons,
        paper="almost flat",
        measured=f"last member: {', '.join(told)}; "
        + "; ".join(f"{name} {_growths(runs, name)}" for name in SCALABLE),
        why="the order of growth that the times of the first and of the last member follow over all sizes,"
        f" with a constant, must be log² n or less; coord's last member: {linear}, {_growths(runs, 'coord')};"
        f" the growth is to n = {found['s_coord'][-1].members}",
    )


def _sets_made(runs: Runs) -> list[tuple[int, ...]]:
    made = set.intersection(*(set(sizes_made(runs, protocol)) for protocol in SCALABLE))
    found: list[tuple[int, ...]] = [group for group in SETS if made.issuperset(group)]
    if not found:
        raise MissingRun("no set of sizes around a power of two was run")
    return found


def judge_powers_of_two(runs: Runs) -> Judgement:
    """C5b."""
    comparisons = [
        Comparison(
            what=f"{protocol}, {index.name}, {large} over {small} members",
            found=growth(runs, protocol, index, small, large),
            least=1 / SIMILAR_FACTOR,
            most=SIMILAR_FACTOR,
        )
        for protocol in SCALABLE
        for group in _sets_made(runs)
        for index in (FIRST, LAST)
        for small, large in combinations(group, 2)
    ]
    widest = max(comparisons, key=lambda each: apart(each.found.value, 1))
    return judged(
        comparisons,
        paper="no jump: sets of sizes have similar RTT",
        measured=f"at most a factor {apart(widest.found.value, 1):.2f} apart",
        why=f"{len(_sets_made(runs))} sets of sizes around powers of two (accepted: × {SIMILAR_FACTOR:g});"
        f" widest: {widest.what}, {widest.found}",
    )


def _quotient(one: Estimate, other: Estimate) -> Estimate:
    """Return the ratio of two estimates that do not depend on each other."""
    value = one.value / other.value
    relative = [each.half_width / abs(each.value) for each in (one, other)]
    reach = value * (relative[0] ** 2 + relative[1] ** 2) ** 0.5
    return Estimate(value, value - reach, value + reach, min(one.seeds, other.seeds))


def judge_fulldist(runs: Runs) -> Judgement:
    """C5d."""
    small, large = PAPER_FULLDIST_MS
    found = {
        (n, index.name): (paper, sample(runs, "fulldist", n).estimate(index))
        for n, printed in PAPER_FULLDIST_MS.items()
        for index, paper in zip((FIRST, LAST), printed, strict=True)
    }
    comparisons = [
        Comparison(what=f"{name} at {n} [ms]", found=each, least=paper / FACTOR, most=paper * FACTOR)
        for (n, name), (paper, each) in found.items()
    ]
    grown = {protocol: growth(runs, protocol, LAST, small, large) for protocol in PROTOCOLS}
    comparisons += [
        Comparison(
            what=f"growth of fulldist over {p}'s", found=_quotient(grown["fulldist"], grown[p]), least=1
        )
        for p in PROTOCOLS[1:]
    ]
    worst = max(apart(each.value, paper) for paper, each in found.values())
    times = {
        n: [f"{each.value:.1f}" for (at, _), (_, each) in found.items() if at == n] for n in (small, large)
    }
    return judged(
        comparisons,
        paper=", ".join(f"{first:g}/{last:g} ms at {n}" for n, (first, last) in PAPER_FULLDIST_MS.items()),
        measured=", ".join(f"{'/'.join(cells)} ms at {n}" for n, cells in times.items())
        + f"; at most a factor {worst:.2f} apart",
        why=f"accepted: a factor {FACTOR:g}, and the steepest growth of the last member's time from {small}"
        f" to {large} members: {', '.join(f'{p} × {each.value:.2f}' for p, each in grown.items())}",
    )


def _set_points(count: int) -> list[Point]:
    return graphs_of(dict.fromkeys(SCALABLE, IN_SETS), count)


CLAIMS = (
    Claim(
        id="C4",
        kind="exact",
        text="Round-trip time of the first and of the last member, average network load, maximum queue, hop"
        " count and message count are measured for every protocol and size.",
        judge=judge_indices,
    ),
    Claim(
        id="C5a",
        kind="trend",
        text="The round-trip time of s_coord and cubefulldist remains almost flat as the group grows.",
        judge=judge_flatness,
        seeds=Seeds(
            points=lambda count: graphs_of(dict.fromkeys(SCALABLE, SIZES), count),
            first=GRAPHS,
            most=TWICE,
        ),
    ),
    Claim(
        id="C5b",
        kind="trend",
        text="There is no jump at powers of two: 100 and 128, 200, 256 and 300, 500 and 512, 1000 and 1024"
        " members have similar times.",
        judge=judge_powers_of_two,
        seeds=Seeds(points=_set_points, first=GRAPHS, most=FOUR_TIMES),
    ),
    Claim(
        id="C5d",
        kind="factor",
        text="The round-trip time of fulldist grows steeply: first and last member 16 and 19 ms at 150, 46"
        " and 82 ms at 400.",
        judge=judge_fulldist,
        seeds=Seeds(
            points=lambda count: graphs_of(dict.fromkeys(PROTOCOLS, PAPER_FULLDIST_MS), count),
            first=GRAPHS,
            most=FOUR_TIMES,
        ),
    ),
)
