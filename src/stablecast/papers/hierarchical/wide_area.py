"""The wide-area network: section 7 says that the protocols were being studied there, and gives no numbers.

Two things are different in a wide-area network, and they work in opposite ways.  Links are *slow*, so that
the arrays of 4n bytes that meet at the root take longer than anything else: the cost preset ``wan1997`` has
30 kbit/s and 5 ms a link.  And links are *long*: with the bandwidth of the LAN and 5 ms a link every hop
takes its time whatever is sent, and the p levels of a tree count more than the n messages at its root.
"""

from __future__ import annotations

from typing import Any

from stablecast.papers.curves import curve, panel, rounded
from stablecast.papers.hierarchical.theory import PROTOCOLS
from stablecast.papers.hierarchical.trees import Shape, on_tree, rtt_ms, shapes, sizes_told
from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.statistics import exactly
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Figure
from stablecast.report.table import Table
from stablecast.theory import group_size

LAN, SLOW, LONG = "LAN", "slow links", "long links"
NETWORKS: dict[str, dict[str, str | float]] = {
    LAN: {},
    SLOW: {"costs": "wan1997"},
    LONG: {"propagation_us": 5_000.0},
}
WIDE = (SLOW, LONG)
PAIRS = (("coordp", "s_coordp"), ("train", "s_train"))


def on_network(protocol: str, shape: Shape, network: str) -> Point:
    """Return one execution on a tree of one of the networks."""
    return on_tree(protocol, shape, **NETWORKS[network])


def points_on(chosen: list[Shape]) -> list[Point]:
    """Return the runs on the wide-area networks; those on the LAN are the paper's."""
    return [on_network(name, shape, network) for network in WIDE for name in PROTOCOLS for shape in chosen]


def points(full: bool) -> list[Point]:
    """Return them for every tree of Table 3."""
    return points_on(shapes())


def _made(runs: Runs) -> list[Shape]:
    asked = {
        shape: [on_network(name, shape, each) for name in PROTOCOLS for each in NETWORKS]
        for shape in shapes()
    }
    made = [shape for shape, wanted in asked.items() if all(point in runs for point in wanted)]
    if not made:
        raise MissingRun(f"this run was not made: {on_network(PROTOCOLS[0], shapes()[0], SLOW).replay}")
    return made


def _ms(runs: Runs, protocol: str, shape: Shape, network: str) -> float:
    return rtt_ms(runs[on_network(protocol, shape, network)])


def _gain(runs: Runs, pair: tuple[str, str], shape: Shape, network: str) -> float:
    return _ms(runs, pair[0], shape, network) / _ms(runs, pair[1], shape, network)


def wide_area(runs: Runs) -> Table:
    """Round trips and gains in the wide-area networks, the LAN's gains beside them."""
    rows: list[tuple[Any, ...]] = [
        (
            network,
            group_size(*shape),
            *(rounded(_ms(runs, name, shape, network)) for name in PROTOCOLS),
            *(rounded(_gain(runs, pair, shape, each)) for pair in PAIRS for each in (network, LAN)),
        )
        for network in WIDE
        for shape in _made(runs)
    ]
    gains = (f"{'/'.join(pair)}{where}" for pair in PAIRS for where in ("", " in the LAN"))
    return Table(
        key="wide_area",
        title="Round-trip time at the first member [ms] and gains in wide-area networks",
        columns=("network", "n", *PROTOCOLS, *gains),
        rows=tuple(rows),
        note="Slow links: 30 kbit/s and 5 ms; long links: 100 Mbit/s and 5 ms.",
    )


TABLES = (wide_area,)


def judge_wide_area(runs: Runs) -> Judgement:
    """H15."""
    made = _made(runs)
    slow = [
        _gain(runs, pair, shape, SLOW) / _gain(runs, pair, shape, LAN) for pair in PAIRS for shape in made
    ]
    long = [_gain(runs, PAIRS[0], shape, LONG) / _gain(runs, PAIRS[0], shape, LAN) for shape in made]
    return Judgement(
        paper="-",
        measured=f"slow × {min(slow):.2f} to {max(slow):.2f}, long × {min(long):.2f} to {max(long):.2f}",
        holds=min(slow) > 1 and max(long) < 1,
        why=f"against the LAN the gains are × {min(slow):.2f} to {max(slow):.2f} over slow links, s_coordp's"
        f" × {min(long):.2f} to {max(long):.2f} over long ones; at {sizes_told(made)}",
    )


CLAIMS = (
    Claim(
        id="H15",
        kind="trend",
        text="Over slow wide-area links S_CoordP and S_Train gain more than in the LAN; over fast links that"
        " are as long S_CoordP gains less.",
        judge=judge_wide_area,
        ours=True,
    ),
)


def figure_wide_area(runs: Runs) -> Figure:
    """Round trips in both wide-area networks, and gains in all three."""
    made = _made(runs)
    sizes = [group_size(*shape) for shape in made]

    def line(name: str, values: list[float]) -> Any:
        return curve(name, [(n, exactly(value)) for n, value in zip(sizes, values, strict=True)])

    times = [
        panel(
            f"({letter}) {network}",
            "round-trip time at the first member [ms]",
            [line(name, [_ms(runs, name, shape, network) for shape in made]) for name in PROTOCOLS],
            log=True,
        )
        for letter, network in zip("AB", WIDE, strict=True)
    ]
    gains = [
        line(f"{'/'.join(pair)}, {network}", [_gain(runs, pair, shape, network) for shape in made])
        for pair in PAIRS
        for network in NETWORKS
    ]
    return Figure(
        key="wide_area",
        title="Wide-area networks",
        caption="One execution on the trees of Table 3. (A) Links of 30 kbit/s and 5 ms; (B) of 100 Mbit/s"
        " and 5 ms; (C) how many times shorter the structured protocol's round trip is, the LAN's beside it.",
        panels=(*times, panel("(C) gains", "gain in round-trip time", gains, log=True)),
    )


FIGURES = (figure_wide_area,)
