"""Sections 2 and 3: four protocols on one implementation (C1), and hypercubes of any size (C2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from stablecast.overlays.disjoint import are_joined
from stablecast.overlays.hypercube import Hypercube, diameter, hypercube
from stablecast.papers.hypercube.grid import GRAPHS, PROTOCOLS, of, results_of
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, task_point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.pipeline.tasks import Outcome
from stablecast.report.table import Table
from stablecast.simulate.result import Result

TASK = f"{__name__}:run_structure"
SMALLEST, LARGEST, QUICK_LARGEST, RANGE = 2, 512, 128, 64
MEMBERS = 100
EXAMPLE, EXAMPLE_LINK = 7, (5, 6)
"""The paper's: with seven nodes the compensating link joins 5 and 6."""
SAME: dict[str, dict[str, Any]] = {
    "coord": {"protocol": "coordp", "placement": "random", "cast": "unicast"},
    "s_coord": {"protocol": "s_coordp", "placement": "random", "cast": "relay", "tree_degree": "log"},
}
"""A protocol of this paper as another one's with parameters."""
COUNTS = ("sizes", "wrong degrees", "wrong diameters", "wrong paths", "diameter m - 1", "all degrees m")


def hypercubes(first: int, last: int) -> Point:
    """Return the check of all hypercubes in a range of sizes, both ends included."""
    return task_point(TASK, first=first, last=last)


def ranges(full: bool) -> list[tuple[int, int]]:
    """Return ranges that cover all sizes that are checked."""
    largest = LARGEST if full else QUICK_LARGEST
    return [(max(SMALLEST, k + 1), k + RANGE) for k in range(0, largest, RANGE)]


def run_structure(first: int, last: int) -> Outcome:
    """Check degree, diameter and disjoint paths of every hypercube in a range, and count what is wrong."""
    extra = dict.fromkeys(COUNTS, 0.0)
    for size in range(first, last + 1):
        cube, m = hypercube(size), (size - 1).bit_length()
        across = diameter(cube)
        extra["sizes"] += 1
        extra["wrong degrees"] += not set(cube.degree.tolist()) <= {m - 1, m}
        extra["wrong diameters"] += across > m
        extra["wrong paths"] += not is_joined_by_degree(cube)
        extra["diameter m - 1"] += across == m - 1
        extra["all degrees m"] += bool((cube.degree == m).all())
    if first <= EXAMPLE <= last:
        extra["example"] = float(compensating_links(hypercube(EXAMPLE)) == [EXAMPLE_LINK])
    return Outcome(extra=extra)


def is_joined_by_degree(cube: Hypercube) -> bool:
    """Tell whether any two nodes are joined by as many disjoint paths as the lesser of them has neighbours.

    Degrees are m and m - 1, so this asks for m - 1 or m between any two, and for m between those that have m.
    """
    most = int(cube.degree.max())
    of_most = np.flatnonzero(cube.degree == most)
    return are_joined(cube, np.arange(cube.size), int(cube.degree.min())) and are_joined(cube, of_most, most)


def compensating_links(cube: Hypercube) -> list[tuple[int, int]]:
    """Return the links that stand in for missing nodes, the lower end first."""
    ends = np.repeat(np.arange(cube.size), cube.degree)[cube.compensating].tolist()
    others = cube.neighbours[cube.compensating].tolist()
    return [(p, q) for p, q in zip(ends, others, strict=True) if p < q]


def twin(protocol: str, graph: int) -> Point:
    """Return the run of the other paper's protocol that is to be the same."""
    return of(members=MEMBERS, graph=graph, **SAME[protocol])


def points(full: bool) -> list[Point]:
    """Return the checks of hypercubes, and the protocols beside their twins."""
    plain = [of(protocol, MEMBERS, graph) for protocol in PROTOCOLS for graph in range(GRAPHS)]
    twins = [twin(protocol, graph) for protocol in SAME for graph in range(GRAPHS)]
    return [hypercubes(*each) for each in ranges(full)] + plain + twins


def _checked(runs: Runs) -> dict[tuple[int, int], dict[str, float]]:
    found = {each: runs[hypercubes(*each)].extra for each in ranges(True) if hypercubes(*each) in runs}
    if not found:
        raise MissingRun(f"this run was not made: {hypercubes(*ranges(True)[0]).replay}")
    return found


def structure(runs: Runs) -> Table:
    """What was found of all hypercubes."""
    rows = [
        (f"{first}-{last}", *(int(extra[name]) for name in COUNTS))
        for (first, last), extra in _checked(runs).items()
    ]
    return Table(
        key="structure",
        title="Hypercubes of every size: degree, diameter and node-disjoint paths",
        columns=("n", *COUNTS),
        rows=tuple(rows),
        note="m = ceil(log2 n). Wrong would be: a degree other than m and m - 1; a diameter above m; two"
        " nodes joined by fewer disjoint paths than the lesser of them has neighbours.",
    )


TABLES = (structure,)


def _measures(result: Result) -> tuple[Any, ...]:
    """Return all that two equal runs have in common."""
    times = (result.rtt_first_us, result.rtt_last_us, result.rtt_max_us, result.simulated_us)
    queues = (result.queue_max, result.queue_mean, result.load_mean, result.load_max)
    counts = (result.messages_sent, result.hop_bytes, result.processed_max, result.rounds, result.events)
    return (result.completed, *times, *queues, *counts, tuple(sorted(result.hops_by_kind.items())))


def judge_protocols(runs: Runs) -> Judgement:
    """C1."""
    results = {
        protocol: results_of(runs, [of(protocol, MEMBERS, graph) for graph in range(GRAPHS)])
        for protocol in PROTOCOLS
    }
    twins = {
        protocol: results_of(runs, [twin(protocol, graph) for graph in range(GRAPHS)]) for protocol in SAME
    }
    unfinished = [name for name, each in results.items() if not all(one.completed for one in each)]
    differing = [
        name for name, each in twins.items() if [*map(_measures, each)] != [*map(_measures, results[name])]
    ]
    count = len(results[PROTOCOLS[0]])
    return Judgement(
        paper="four protocols",
        measured=f"{len(PROTOCOLS) - len(unfinished)} of {len(PROTOCOLS)} end with everyone knowing all that"
        f" is stable; {len(SAME) - len(differing)} of {len(SAME)} are another paper's",
        holds=not unfinished and not differing,
        why=f"{count} graphs of {MEMBERS} members: every member must come to know exactly the least of what"
        f" all have, the same for each protocol (unfinished: {', '.join(unfinished) or 'none'}); coord is"
        " coordp, and s_coord is s_coordp, with other parameters, equal in every number of every run"
        f" (differing: {', '.join(differing) or 'none'})",
    )


def judge_structure(runs: Runs) -> Judgement:
    """C2."""
    checked = _checked(runs)
    total = {name: int(sum(extra[name] for extra in checked.values())) for name in COUNTS}
    wrong = {name: total[name] for name in COUNTS if name.startswith("wrong") and total[name]}
    example = any(extra.get("example") == 1.0 for extra in checked.values())
    largest = max(last for _, last in checked)
    whole = total["sizes"] == largest - SMALLEST + 1
    return Judgement(
        paper="degree and diameter m, about log n disjoint paths; I_7: link 5-6",
        measured=f"all n from {SMALLEST} to {largest}: degree m or m - 1, diameter at most m, paths as many"
        " as the lesser degree"
        if not wrong
        else ", ".join(f"{name}: {count}" for name, count in wrong.items()),
        holds=whole and not wrong and example,
        why=f"computed for {total['sizes']} sizes, the paths by Even's algorithm; the diameter is m - 1 for"
        f" {total['diameter m - 1']} of them and all degrees are m for {total['all degrees m']}; I_7's"
        f" compensating link is {'5-6' if example else 'another'}",
    )


CLAIMS = (
    Claim(
        id="C1",
        kind="exact",
        text="The four protocols run on one implementation, shared with the hierarchical paper's where they"
        " coincide, and come to the same result.",
        judge=judge_protocols,
    ),
    Claim(
        id="C2",
        kind="exact",
        text="Hypercubes for any number of members: compensating links, degree m or m - 1, diameter at most"
        " m, and m or m - 1 node-disjoint paths between any two.",
        judge=judge_structure,
    ),
)
