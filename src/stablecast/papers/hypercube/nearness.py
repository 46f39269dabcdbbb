"""Sections 4.2.3 and 5: overlays that are placed by distance instead of at random (C10a to C10c).

The paper numbers members without regard to the network.  It expects that a tree could be embedded with fewer
hops (4.2.3), that a tree is easier to embed than a hypercube (3.4), and that a hypercube which follows the
network would do better (5), and measures none of it.  Here the same groups on the same networks are placed
at random and by ``--placement near``, which shortens the sum of all delays along the overlay's links.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from stablecast.papers.curves import INTERVALS, columns_with_interval, curve, panel, with_interval
from stablecast.papers.hypercube.grid import ABOUT, FIRST, GRAPHS, HOPS, LAST, QUEUE, SENDERS, Index, of
from stablecast.papers.hypercube.trials import MOST_GRAPHS, estimate, over
from stablecast.papers.paper import Claim, Judgement, Seeds, judged
from stablecast.papers.statistics import Comparison, Estimate
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Figure, Series
from stablecast.report.table import Table

PROTOCOLS = ("coord", "s_coord", "cubefulldist")
JUDGED = TREE, CUBE = ("s_coord", "cubefulldist")
RANDOM, NEAR = "random", "near"
GRAPH, INTERNET = "random graph", "transit-stub"
SIZES = (100, 200, 400, 1000, 1900)
QUICK_SIZES = (100, 400)
OTHERS_SIZES = (100, 400)
"""Sizes under the other readings, and with further graphs."""
OVERTAKEN_FROM = 400
"""At 100 members intervals are wider than what the two protocols differ by, placed by distance."""
MOST_LARGE_GRAPHS = 12
INTERNET_SIZES, INTERNET_QUICK_SIZES = (100, 400), (100,)


class Group(NamedTuple):
    """A protocol's members on a kind of network."""

    network: str
    protocol: str
    members: int


def placed(group: Group, placement: str, graph: int) -> Point:
    """Return a round of a group that is placed in some way."""
    options = {} if placement == RANDOM else {"placement": placement}
    if group.network == GRAPH:
        return of(group.protocol, group.members, graph, **options)
    free = {"free_bitmap": True} if group.protocol == CUBE else {}
    return simulation(
        protocol=group.protocol,
        topology=INTERNET,
        members=group.members,
        costs="links-only",
        senders=SENDERS,
        seed=graph,
        **free,
        **options,
    )


def _groups(network: str, sizes: tuple[int, ...], protocols: tuple[str, ...] = PROTOCOLS) -> list[Group]:
    return [Group(network, protocol, n) for protocol in protocols for n in sizes]


def _all(groups: list[Group], count: int) -> list[Point]:
    return [
        placed(group, placement, graph)
        for group in groups
        for placement in (RANDOM, NEAR)
        for graph in range(count)
    ]


def points(full: bool) -> list[Point]:
    """Return both placements of every group."""
    on_graphs = _groups(GRAPH, SIZES if full else QUICK_SIZES)
    return _all(on_graphs + _groups(INTERNET, INTERNET_SIZES if full else INTERNET_QUICK_SIZES), GRAPHS)


def judged_points(full: bool) -> list[Point]:
    """Return what the claims, which are ours, need under every other reading: nothing in quick runs."""
    return [] if not full else _all(_groups(GRAPH, OTHERS_SIZES, JUDGED), GRAPHS)


def _asked(group: Group, placement: str) -> list[Point]:
    return [placed(group, placement, graph) for graph in range(MOST_GRAPHS)]


def _made(runs: Runs, network: str, protocols: tuple[str, ...] = JUDGED) -> list[int]:
    """Return the sizes at which these protocols were placed by distance."""
    sizes = SIZES if network == GRAPH else INTERNET_SIZES
    made = [n for n in sizes if all(placed(Group(network, each, n), NEAR, 0) in runs for each in protocols)]
    if not made and network == GRAPH:
        raise MissingRun(f"this run was not made: {placed(Group(GRAPH, TREE, SIZES[0]), NEAR, 0).replay}")
    return made


def gain(runs: Runs, group: Group, index: Index) -> Estimate:
    """Return an index placed by distance over that at random, on the same networks."""
    return over(runs, _asked(group, NEAR), _asked(group, RANDOM), index)


def placements_by_distance(runs: Runs) -> Table:
    """Times at random and by distance, and what becomes of every index."""
    rows: list[tuple[Any, ...]] = []
    for network in (GRAPH, INTERNET):
        for protocol in PROTOCOLS:
            for n in _made(runs, network, PROTOCOLS):
                group = Group(network, protocol, n)
                found = [estimate(runs, _asked(group, placement), LAST) for placement in (RANDOM, NEAR)]
                found += [gain(runs, group, index) for index in (FIRST, LAST, QUEUE, HOPS)]
                rows.append((network, protocol, n, *(cell for each in found for cell in with_interval(each))))
    times = [f"{LAST.name}, {placement} [ms]" for placement in (RANDOM, NEAR)]
    ratios = [f"{index.name}, near / random" for index in (FIRST, LAST, QUEUE, HOPS)]
    return Table(
        key="placements_by_distance",
        title="Members placed by distance against members placed at random",
        columns=("network", "protocol", "n", *columns_with_interval((*times, *ratios))),
        rows=tuple(rows),
        note=f"Ratios are of pairs on the same network, {GRAPHS} networks or more of each kind. {ABOUT}"
        " Transit-stub networks have the delays of their generator.",
    )


TABLES = (placements_by_distance,)


def judge_gain(runs: Runs) -> Judgement:
    """C10a."""
    made = _made(runs, GRAPH)
    found = {
        (protocol, n, index.name): gain(runs, Group(GRAPH, protocol, n), index)
        for protocol in (TREE, CUBE)
        for n in made
        for index in (LAST, HOPS)
    }
    return judged(
        [
            Comparison(what=f"{name} of {protocol}, n = {n}", found=each, most=1.0)
            for (protocol, n, name), each in found.items()
        ],
        paper="expected to improve (4.2.3, 5), not measured",
        measured="; ".join(
            f"{protocol}: {_span([found[protocol, n, LAST.name] for n in made])} of the time,"
            f" {_span([found[protocol, n, HOPS.name] for n in made])} of the hops"
            for protocol in (TREE, CUBE)
        ),
        why=f"means over the same graphs, n from {made[0]} to {made[-1]} (accepted: below 1)",
    )


def _span(found: list[Estimate]) -> str:
    least, most = (f"{end(each.value for each in found):.2f}" for end in (min, max))
    return least if least == most else f"{least} to {most}"


def _tree_over_cube(runs: Runs, n: int, index: Index, placement: str = NEAR) -> Estimate:
    asked = [_asked(Group(GRAPH, protocol, n), placement) for protocol in (TREE, CUBE)]
    return over(runs, asked[0], asked[1], index)


def judge_embedding(runs: Runs) -> Judgement:
    """C10b."""
    made = _made(runs, GRAPH)
    gains = {n: [gain(runs, Group(GRAPH, protocol, n), HOPS) for protocol in (TREE, CUBE)] for n in made}
    # Both gains are of the same graphs: the tree's share of hops over the cube's is one ratio of four means.
    apart = {
        n: Estimate(
            tree.value / cube.value,
            tree.low / cube.high,
            tree.high / cube.low,
            min(tree.seeds, cube.seeds),
        )
        for n, (tree, cube) in gains.items()
    }
    told = ", ".join(f"{tree.value:.2f} and {cube.value:.2f} at {n}" for n, (tree, cube) in gains.items())
    return judged(
        [
            Comparison(what=f"share of hops left, s_coord over cubefulldist, n = {n}", found=each, most=1.0)
            for n, each in apart.items()
        ],
        paper="a tree might be easier to embed (3.4), not measured",
        measured=f"share of hops left: {told}",
        why="hops by distance over hops at random, s_coord and cubefulldist (accepted: s_coord's share is"
        " smaller at every size; intervals are those of the two shares, taken at their worst)",
    )


def judge_overtaking(runs: Runs) -> Judgement:
    """C10c."""
    made = [n for n in _made(runs, GRAPH) if n >= OVERTAKEN_FROM]
    if not made:
        raise MissingRun(f"no run of {OVERTAKEN_FROM} members or more")
    near, anyhow = (
        {n: _tree_over_cube(runs, n, LAST, placement) for n in made} for placement in (NEAR, RANDOM)
    )
    told = [
        f"{each[made[0]].value:.2f} at {made[0]} to {each[made[-1]].value:.2f} at {made[-1]}"
        for each in (near, anyhow)
    ]
    return judged(
        [Comparison(what=f"s_coord over cubefulldist, near, n = {n}", found=near[n], most=1.0) for n in near]
        + [
            Comparison(what=f"s_coord over cubefulldist, at random, n = {n}", found=anyhow[n], least=1.0)
            for n in anyhow
        ],
        paper="-",
        measured=f"last member's time, s_coord over cubefulldist: by distance {told[0]}, at random {told[1]}",
        why=f"same graphs, n from {OVERTAKEN_FROM} on (accepted: below 1 by distance and above 1 at random)",
    )


def _with_graphs(count: int) -> list[Point]:
    """Return the judged sizes on so many graphs, the largest, whose placing takes seconds, on fewer."""
    few = _all(_groups(GRAPH, SIZES[-1:], JUDGED), min(count, MOST_LARGE_GRAPHS))
    return _all(_groups(GRAPH, OTHERS_SIZES, JUDGED), count) + few


_SEEDS = Seeds(points=_with_graphs, first=GRAPHS, most=MOST_GRAPHS)
CLAIMS = (
    Claim(
        id="C10a",
        kind="trend",
        text="Placed by distance, s_coord and cubefulldist take less time and fewer hops than placed at"
        " random, at every size.",
        judge=judge_gain,
        ours=True,
        seeds=_SEEDS,
    ),
    Claim(
        id="C10b",
        kind="trend",
        text="A tree is easier to embed than a hypercube: placed by distance, s_coord is left with a smaller"
        " share of its hops than cubefulldist.",
        judge=judge_embedding,
        ours=True,
        seeds=_SEEDS,
    ),
    Claim(
        id="C10c",
        kind="trend",
        text=f"From {OVERTAKEN_FROM} members on s_coord is slower than cubefulldist if both are placed at"
        " random, and faster if both are placed by distance.",
        judge=judge_overtaking,
        ours=True,
        seeds=_SEEDS,
    ),
)


def _times(runs: Runs, protocol: str, placement: str) -> Series:
    sizes = _made(runs, GRAPH, PROTOCOLS)
    found = [(n, estimate(runs, _asked(Group(GRAPH, protocol, n), placement), LAST)) for n in sizes]
    return curve(protocol, found)


def figure_nearness(runs: Runs) -> Figure:
    """Time and hops over n, at random and by distance."""
    made = _made(runs, GRAPH, PROTOCOLS)
    shares = [
        curve(protocol, [(n, gain(runs, Group(GRAPH, protocol, n), HOPS)) for n in made])
        for protocol in PROTOCOLS
    ]
    panels = [
        panel(f"({letter}) {title}", LAST.label, [_times(runs, p, placement) for p in PROTOCOLS], log_x=True)
        for letter, title, placement in (("A", "placed at random", RANDOM), ("B", "placed by distance", NEAR))
    ]
    return Figure(
        key="nearness",
        title="Overlays placed by distance",
        caption="The same groups on the same graphs, numbered at random and so that members that are linked"
        " are near each other: (B) has another scale than (A); (C) what is left of the hops."
        f" {ABOUT} {INTERVALS}",
        panels=(*panels, panel("(C) hops, by distance over at random", "share of hops", shares, log_x=True)),
    )


FIGURES = (figure_nearness,)
