"""Section 1.1: HyperCast's plain cubes, without links that compensate for missing nodes (C11a, C11b).

The paper says that in an incomplete cube of HyperCast some nodes have fewer neighbours, one alone where there
are 2^k + 1 nodes, which makes it less fault tolerant, and that its own construction keeps about log n
disjoint paths between any two.  Here both cubes are compared: their structure for every size, what a round
costs, and how many rounds end when members have failed, which everyone knows from the start.  Who fails:

- members drawn from all;
- neighbours of member 0, as in section 4.2.5, which has all its links in both cubes;
- neighbours of the last member, which has the fewest links of a plain cube wherever one has too few.

With five failures and 64 members or more, compensated cubes leave everyone joined (section 3.4).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stablecast.overlays.disjoint import are_joined
from stablecast.overlays.hypercube import Hypercube, diameter, hypercube
from stablecast.papers.curves import INTERVALS, columns_with_interval, curve, panel, with_interval
from stablecast.papers.hypercube.grid import ABOUT, FIRST, GRAPHS, HOPS, LAST, MESSAGES, Index, of
from stablecast.papers.hypercube.trials import MOST_GRAPHS, made_of, over
from stablecast.papers.paper import Claim, Judgement, Seeds, judged
from stablecast.papers.statistics import Comparison, Estimate, exactly, mean_of
from stablecast.pipeline.point import Point, task_point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.pipeline.tasks import Outcome
from stablecast.report.figure import Figure, Series
from stablecast.report.table import Table

TASK = f"{__name__}:run_comparison"
CUBE = "cubefulldist"
COMPENSATED, PLAIN = "compensated", "plain"
KINDS = (COMPENSATED, PLAIN)
DIMENSIONS, QUICK_DIMENSIONS = range(2, 10), range(2, 8)
SIZES = (65, 100, 129, 200, 257, 400, 513, 1000, 1025)
QUICK_SIZES = (65, 100, 129, 257)
OTHERS_SIZES = (65, 129)
"""Sizes under the other readings, and with further graphs."""
ANYONE, OF_FIRST, OF_LAST = "anyone", "neighbours of member 0", "neighbours of the last member"
WHO = (ANYONE, OF_FIRST, OF_LAST)
FAILURES = (1, 2, 3, 4, 5)
FAILING_SIZES, QUICK_FAILING_SIZES = (65, 100, 129), (65,)
DRAWS = 24
"""How often members are drawn from all; neighbours are drawn once for each of the paper's six graphs."""
LIMIT_MS = 1_000.0
"""A round takes some tens of milliseconds."""
LITTLE = 0.10
"""What a plain cube may save of a round if compensating links are to cost little."""


def comparison(dimension: int) -> Point:
    """Return the check of all cubes whose smallest complete cube has that dimension."""
    return task_point(TASK, dimension=dimension)


def run_comparison(dimension: int) -> Outcome:
    """Measure degrees, diameters and disjoint paths of both cubes of every size of a dimension."""
    extra: dict[str, float] = {}
    sizes = range((1 << dimension - 1) + 1, (1 << dimension) + 1)
    for kind in KINDS:
        cubes = [hypercube(size, compensated=kind == COMPENSATED) for size in sizes]
        paths = [connectivity(cube) for cube in cubes]
        extra |= {
            f"{kind} least degree": float(min(cube.degree.min() for cube in cubes)),
            f"{kind} most degree": float(max(cube.degree.max() for cube in cubes)),
            f"{kind} mean degree": float(np.mean([cube.degree.mean() for cube in cubes])),
            f"{kind} diameter": float(np.mean([diameter(cube) for cube in cubes])),
            f"{kind} least paths": float(min(paths)),
            f"{kind} mean paths": float(np.mean(paths)),
        }
        extra |= {f"{kind} paths of {size}": float(count) for size, count in zip(sizes, paths, strict=True)}
    return Outcome(extra=extra)


def connectivity(cube: Hypercube) -> int:
    """Return the number of disjoint paths between the two nodes that have the fewest."""
    paths = int(cube.degree.min())
    while paths > 0 and not are_joined(cube, np.arange(cube.size), paths):
        paths -= 1
    return paths


def round_on(kind: str, members: int, graph: int, **options: Any) -> Point:
    """Return a round on one kind of cube."""
    return of(CUBE, members, graph, **({} if kind == COMPENSATED else {"links": kind}), **options)


def failing(kind: str, who: str, members: int, failures: int, graph: int) -> list[int]:
    """Return the members that have failed, drawn by the graph's number; fewer if there are not so many."""
    rng = np.random.default_rng([graph, members, failures, 0x706C6169])
    if who == ANYONE:
        among = np.arange(members)
    else:
        centre = 0 if who == OF_FIRST else members - 1
        among = hypercube(members, compensated=kind == COMPENSATED).neighbours_of(centre).astype(np.int64)
    return sorted(rng.choice(among, min(failures, among.size), replace=False).tolist())


def with_failures(kind: str, who: str, members: int, failures: int, graph: int) -> Point:
    """Return a round that begins when members have failed."""
    gone = ",".join(map(str, failing(kind, who, members, failures, graph)))
    return round_on(kind, members, graph, faults=f"crash {gone} at 0", until_ms=LIMIT_MS)


def _rounds(sizes: tuple[int, ...], count: int) -> list[Point]:
    return [round_on(kind, n, graph) for kind in KINDS for n in sizes for graph in range(count)]


def _failed_rounds(sizes: tuple[int, ...]) -> list[Point]:
    return [
        with_failures(kind, who, n, f, graph)
        for kind in KINDS
        for who in WHO
        for n in sizes
        for f in FAILURES
        for graph in range(DRAWS if who == ANYONE else GRAPHS)
    ]


def points(full: bool) -> list[Point]:
    """Return the comparison of structures, and rounds with and without failures."""
    checks = [comparison(m) for m in (DIMENSIONS if full else QUICK_DIMENSIONS)]
    failed = FAILING_SIZES if full else QUICK_FAILING_SIZES
    return checks + _rounds(SIZES if full else QUICK_SIZES, GRAPHS) + _failed_rounds(failed)


def judged_points(full: bool) -> list[Point]:
    """Return what the claim on cost needs under every other reading; who is joined is the same under all.

    The claim is ours, and quick runs judge it under the main reading alone.
    """
    return _rounds(OTHERS_SIZES, GRAPHS) if full else []


def _dimensions_made(runs: Runs) -> list[int]:
    made = [m for m in DIMENSIONS if comparison(m) in runs]
    if not made:
        raise MissingRun(f"this run was not made: {comparison(DIMENSIONS[0]).replay}")
    return made


def _sizes_made(runs: Runs) -> list[int]:
    made = [n for n in SIZES if round_on(PLAIN, n, 0) in runs]
    if not made:
        raise MissingRun(f"this run was not made: {round_on(PLAIN, SIZES[0], 0).replay}")
    return made


def _failing_sizes_made(runs: Runs) -> list[int]:
    made = [n for n in FAILING_SIZES if with_failures(PLAIN, ANYONE, n, FAILURES[-1], 0) in runs]
    if not made:
        asked = with_failures(PLAIN, ANYONE, FAILING_SIZES[0], FAILURES[-1], 0)
        raise MissingRun(f"this run was not made: {asked.replay}")
    return made


def finished(runs: Runs, kind: str, who: str, members: int, failures: int) -> Estimate:
    """Return the share of rounds that ended for all members that are left."""
    asked = [with_failures(kind, who, members, failures, graph) for graph in range(DRAWS)]
    return mean_of([float(each.completed) for each in made_of(runs, asked)])


def cost(runs: Runs, members: int, index: Index) -> Estimate:
    """Return an index of a plain cube over that of a compensated one, without failures."""
    whole, plain = ([round_on(kind, members, graph) for graph in range(MOST_GRAPHS)] for kind in KINDS)
    return over(runs, plain, whole, index)


def plain_structure(runs: Runs) -> Table:
    """Degrees, diameters and paths of both cubes."""
    rows: list[tuple[Any, ...]] = []
    for m in _dimensions_made(runs):
        extra = runs[comparison(m)].extra
        for kind in KINDS:
            cells = {name: extra[f"{kind} {name}"] for name in ("mean degree", "diameter", "mean paths")}
            degrees = f"{extra[f'{kind} least degree']:.0f}-{extra[f'{kind} most degree']:.0f}"
            rows.append(
                (
                    f"{(1 << m - 1) + 1}-{1 << m}",
                    kind,
                    degrees,
                    *(round(value, 2) for value in cells.values()),
                    int(extra[f"{kind} least paths"]),
                )
            )
    return Table(
        key="plain_structure",
        title="Cubes with and without compensating links: every size",
        columns=("n", "links", "degrees", "mean degree", "mean diameter", "mean paths", "fewest paths"),
        rows=tuple(rows),
        note="Paths: node-disjoint ones between the two nodes of a cube that have the fewest; mean and fewest"
        " over all sizes of a line.",
    )


def plain_rounds(runs: Runs) -> Table:
    """What a round costs on a plain cube, over a compensated one."""
    indices = (FIRST, LAST, MESSAGES, HOPS)
    rows = [
        (n, *(cell for index in indices for cell in with_interval(cost(runs, n, index))))
        for n in _sizes_made(runs)
    ]
    return Table(
        key="plain_rounds",
        title="A round on a plain cube over one on a compensated cube",
        columns=("n", *columns_with_interval(index.name for index in indices)),
        rows=tuple(rows),
        note=f"Ratios of pairs on the same graphs, {GRAPHS} or more. {ABOUT}",
    )


def plain_failures(runs: Runs) -> Table:
    """The share of rounds that end when members have failed."""
    rows: list[tuple[Any, ...]] = []
    for who in WHO:
        for n in _failing_sizes_made(runs):
            for f in FAILURES:
                found = [finished(runs, kind, who, n, f) for kind in KINDS]
                rows.append((who, n, f, *(cell for each in found for cell in with_interval(each))))
    return Table(
        key="plain_failures",
        title="Share of rounds that end when members have failed, with and without compensating links",
        columns=("who fails", "n", "failures", *columns_with_interval(KINDS)),
        rows=tuple(rows),
        note="Failed before the round, and everyone knows. A round ends if all that are left know its result."
        " Members drawn from all, and neighbours of member 0, are the same in both cubes; a last member with"
        " fewer neighbours than failures loses all of them.",
    )


TABLES = (plain_structure, plain_rounds, plain_failures)


def judge_robustness(runs: Runs) -> Judgement:
    """C11a."""
    sizes = _failing_sizes_made(runs)
    cases = [(who, n, f) for who in WHO for n in sizes for f in FAILURES]
    shares = {kind: {case: finished(runs, kind, *case) for case in cases} for kind in KINDS}
    whole = min(shares[COMPENSATED].values(), key=lambda each: each.value)
    cut = {case: each for case, each in shares[PLAIN].items() if each.value < 1}
    structure = {m: runs[comparison(m)].extra for m in _dimensions_made(runs)}
    fewest = {kind: [extra[f"{kind} least paths"] for extra in structure.values()] for kind in KINDS}
    worst = min(shares[PLAIN].values(), key=lambda each: each.value)
    return judged(
        [
            Comparison(what="rounds that end, compensated", found=exactly(whole.value), least=1),
            Comparison(what="cases in which plain rounds do not end", found=exactly(len(cut)), least=1),
            Comparison(what="fewest paths of plain cubes", found=exactly(max(fewest[PLAIN])), most=1),
        ],
        paper="HyperCast's cubes are less fault tolerant; a node may have one neighbour",
        measured=f"plain: rounds do not end in {len(cut)} of {len(cases)} cases, down to {worst.value:.0%} of"
        " them; compensated: all end",
        why=f"cases: who fails, n = {', '.join(map(str, sizes))}, 1 to 5 failures; with compensating links"
        f" the worst size of a dimension has {fewest[COMPENSATED][-1]:.0f} disjoint paths at m ="
        f" {_dimensions_made(runs)[-1]}, without 1 in every dimension",
    )


def judge_cost(runs: Runs) -> Judgement:
    """C11b."""
    made = _sizes_made(runs)
    found = {index.name: {n: cost(runs, n, index) for n in made} for index in (LAST, MESSAGES)}
    return judged(
        [
            Comparison(what=f"{name}, plain over compensated, n = {n}", found=each, least=1 - LITTLE)
            for name, by_size in found.items()
            for n, each in by_size.items()
        ],
        paper="-",
        measured=f"plain cubes take {_span(found[LAST.name])} of the time and {_span(found[MESSAGES.name])}"
        " of the messages",
        why=f"pairs on the same graphs, n from {made[0]} to {made[-1]} (accepted: a plain cube saves at most"
        f" {LITTLE:.0%})",
    )


def _span(found: dict[int, Estimate]) -> str:
    return " to ".join(f"{end(each.value for each in found.values()):.2f}" for end in (min, max))


CLAIMS = (
    Claim(
        id="C11a",
        kind="exact",
        text="Without compensating links, as in HyperCast, one to five failures can keep a round from ending;"
        " with them every round ends, from 64 members on.",
        judge=judge_robustness,
        ours=True,
    ),
    Claim(
        id="C11b",
        kind="trend",
        text="Compensating links cost at most a tenth of a round's time and of its messages.",
        judge=judge_cost,
        ours=True,
        seeds=Seeds(points=lambda count: _rounds(OTHERS_SIZES, count), first=GRAPHS, most=MOST_GRAPHS),
    ),
)


def _paths(runs: Runs, kind: str) -> Series:
    """Return the fewest disjoint paths of every size."""
    found: list[tuple[float, Estimate]] = []
    for m in _dimensions_made(runs):
        extra = runs[comparison(m)].extra
        sizes = range((1 << m - 1) + 1, (1 << m) + 1)
        found += [(size, exactly(extra[f"{kind} paths of {size}"])) for size in sizes]
    return curve(kind, found, style="steps")


def figure_plain_cubes(runs: Runs) -> Figure:
    """Disjoint paths, rounds that end with failures, and what a round costs without."""
    sizes, made = _failing_sizes_made(runs), _sizes_made(runs)
    smallest = sizes[0]
    shares = [
        curve(f"{kind}: {who}", [(f, finished(runs, kind, who, smallest, f)) for f in FAILURES])
        for who in (ANYONE, OF_LAST)
        for kind in KINDS
    ]
    ratios = [
        curve(f"{index.name}, plain / compensated", [(n, cost(runs, n, index)) for n in made])
        for index in (LAST, MESSAGES)
    ]
    return Figure(
        key="plain_cubes",
        title="Hypercubes without compensating links",
        caption="(A) Node-disjoint paths between the two members that have the fewest. (B) Share of rounds"
        f" that end for all members that are left, of {smallest} members, when some have failed and everyone"
        " knows: any members, or neighbours of the last one. (C) A round without failures on a plain cube"
        f" over one on a compensated cube. {ABOUT} {INTERVALS}",
        panels=(
            panel("(A) fewest disjoint paths", "paths", [_paths(runs, kind) for kind in KINDS]),
            panel(f"(B) rounds that end, n = {smallest}", "share of rounds", shares, x="failures"),
            panel("(C) time and messages", "plain over compensated", ratios, log_x=True),
        ),
    )


FIGURES = (figure_plain_cubes,)
