"""Figures 8 to 10: queues, round-trip times, the gain of the structured protocols, and random trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.pipeline.experiments.figure import Axis, Figure, Panel, Series
from stablecast.pipeline.experiments.hierarchical.trees import (
    BASIC,
    PAIRS,
    STRUCTURED,
    Shape,
    on_tree,
    random_runs,
    run_on,
    shapes,
)
from stablecast.pipeline.experiments.paper import Claim, Judgement
from stablecast.pipeline.experiments.table import Table
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import Run, Runs
from stablecast.theory import PROTOCOLS, group_size

LARGE: Shape = (4, 7, 4)
THOUSAND: Shape = (4, 5, 3)
PAPER_GAINS = {
    ("coordp", "s_coordp"): {THOUSAND: 70, LARGE: 2100},
    ("train", "s_train"): {THOUSAND: 35, LARGE: 500},
}
GAIN_FACTOR = 4
DEFAULT_READING = "router as delay (default)"
READINGS: dict[str, dict[str, str | float]] = {
    DEFAULT_READING: {},
    "router serial, own processor": {"router": "serial"},
    "router serial, host's processor": {"router": "serial", "processor": "shared"},
    "router 10 ms": {"router_us": 10_000.0},
    "hosts free": {"send_us": 0.0, "send_us_per_byte": 0.0},
    "hosts and routers free": {"send_us": 0.0, "send_us_per_byte": 0.0, "router_us": 0.0},
}
CLOSE_FACTOR = 2.0
"""How far a random tree's mean round trip may be from the near-complete tree's and still be called close."""


def points(full: bool) -> list[Point]:
    """Return the runs of the gains, under every reading of the model."""
    return [
        on_tree(protocol, shape, **reading)
        for pair, printed in PAPER_GAINS.items()
        for protocol in pair
        for shape in printed
        for reading in READINGS.values()
    ]


def rtt_ms(run: Run) -> float:
    """Return the round-trip time at the first member."""
    us = run.result.rtt_root_us
    assert us is not None
    return us / 1000


def queues(runs: Runs) -> Table:
    """Figure 8: the longest link queue."""
    rows = [
        (group_size(*shape), *(run_on(runs, protocol, shape).result.queue_max for protocol in PROTOCOLS))
        for shape in shapes()
    ]
    return Table(
        key="queues",
        title="Maximum queue of a link (Figure 8)",
        columns=("n", *PROTOCOLS),
        rows=tuple(rows),
    )


def round_trips(runs: Runs) -> Table:
    """Figure 9: round-trip time at the first member."""
    rows = [
        (
            group_size(*shape),
            *(round(rtt_ms(run_on(runs, protocol, shape)), 3) for protocol in PROTOCOLS),
        )
        for shape in shapes()
    ]
    return Table(
        key="round_trips",
        title="Round-trip time at the first member [ms] (Figures 9 and 10)",
        columns=("n", *PROTOCOLS),
        rows=tuple(rows),
    )


def gain(runs: Runs, basic: str, structured: str, shape: Shape, reading: str = DEFAULT_READING) -> float:
    """Return how many times shorter the structured protocol's round trip is."""
    slow, fast = (runs[on_tree(protocol, shape, **READINGS[reading])] for protocol in (basic, structured))
    return rtt_ms(slow) / rtt_ms(fast)


def gains(runs: Runs) -> Table:
    """Figure 10's gains at about a thousand and about twenty thousand members."""
    rows = []
    for (basic, structured), printed in PAPER_GAINS.items():
        for shape, paper in printed.items():
            measured = gain(runs, basic, structured, shape)
            apart = max(measured / paper, paper / measured)
            rows.append(
                (f"{basic}/{structured}", group_size(*shape), paper, round(measured, 1), round(apart, 2))
            )
    return Table(
        key="gains",
        title="Gain in round-trip time of the structured protocols",
        columns=("gain", "n", "paper", "simulated", "factor apart"),
        rows=tuple(rows),
    )


def gain_sensitivity(runs: Runs) -> Table:
    """How the gains move with the reading of the model."""
    asked = [(pair, shape) for pair, printed in PAPER_GAINS.items() for shape in printed]
    rows: list[tuple[Any, ...]] = [
        (reading, *(round(gain(runs, *pair, shape, reading), 1) for pair, shape in asked))
        for reading in READINGS
    ]
    rows.append(("paper", *(PAPER_GAINS[pair][shape] for pair, shape in asked)))
    return Table(
        key="gain_sensitivity",
        title="The gains under other readings of the model",
        columns=("reading", *(f"{'/'.join(pair)} n={group_size(*shape)}" for pair, shape in asked)),
        rows=tuple(rows),
    )


def _ratios(runs: Runs, protocol: str, shape: Shape) -> NDArray[np.float64]:
    base = rtt_ms(run_on(runs, protocol, shape))
    return np.array([rtt_ms(run) / base for run in random_runs(runs, protocol, shape)])


def random_trees(runs: Runs) -> Table:
    """Figures 9 and 10, the points: round trips on random trees against the near-complete tree's."""
    rows: list[tuple[Any, ...]] = []
    for shape in shapes():
        ratios = [_ratios(runs, protocol, shape) for protocol in PROTOCOLS]
        cells = (f"{each.mean():.2f} ({each.min():.2f}-{each.max():.2f})" for each in ratios)
        rows.append((group_size(*shape), *cells))
    trees = len(random_runs(runs, PROTOCOLS[0], shapes()[0]))
    return Table(
        key="random_trees",
        title="Random trees: round-trip time over the near-complete tree's, mean (least-most)",
        columns=("n", *PROTOCOLS),
        rows=tuple(rows),
        note=f"{trees} random trees of each size.",
    )


TABLES = (queues, round_trips, gains, gain_sensitivity, random_trees)


def judge_queues(runs: Runs) -> Judgement:
    """H5."""
    by_protocol = dict(zip(PROTOCOLS, np.array([row[1:] for row in queues(runs).rows]).T, strict=True))
    flat = all(set(by_protocol[name]) == {1} for name in ("train", "s_coordp", "s_train"))
    grows = all(by_protocol[name][-1] > 2 * by_protocol[name][0] for name in ("coordp", "fulldist"))
    largest = bool((by_protocol["fulldist"] >= by_protocol["coordp"]).all())
    ends = [f"{name} {by_protocol[name][0]} to {by_protocol[name][-1]}" for name in PROTOCOLS]
    return Judgement(
        paper="1; CoordP, FullDist grow",
        measured=", ".join(ends),
        holds=flat and grows and largest,
        why=f"train, s_coordp, s_train {'stay at 1' if flat else 'leave 1'}; coordp and fulldist"
        f" {'grow' if grows else 'do not grow'} with n, fulldist {'largest' if largest else 'not largest'}",
    )


def judge_round_trips(runs: Runs) -> Judgement:
    """H6."""
    time = dict(zip(PROTOCOLS, np.array([row[1:] for row in round_trips(runs).rows]).T, strict=True))
    longest = bool((time["train"] >= np.maximum(time["coordp"], time["fulldist"])).all())
    apart = float(np.exp(np.abs(np.log(time["coordp"] / time["fulldist"])).max()))
    flatness = float(time["s_coordp"].max() / time["s_coordp"].min())
    growth = float(time["coordp"].max() / time["coordp"].min())
    above = bool((time["s_train"] > time["s_coordp"]).all())
    return Judgement(
        paper="Train > CoordP = FullDist; S_CoordP flat",
        measured=f"coordp × {growth:.0f}, s_coordp × {flatness:.1f} over n",
        holds=longest and apart < 1.5 and flatness < growth / 10 and above,
        why=f"train {'longest' if longest else 'not longest'} at every n; coordp and fulldist within"
        f" {apart:.2f} of each other; from the smallest to the largest n s_coordp × {flatness:.1f}"
        f" (arrays of 4n bytes), coordp × {growth:.0f}; s_train {'above' if above else 'not above'} s_coordp",
    )


def judge_gains(runs: Runs) -> Judgement:
    """H7."""
    rows = gains(runs).rows
    worst = max(row[4] for row in rows)
    return Judgement(
        paper=", ".join(str(row[2]) for row in rows),
        measured=", ".join(f"{row[3]:g}" for row in rows),
        holds=worst <= GAIN_FACTOR,
        why=f"at most a factor {worst} apart (accepted: {GAIN_FACTOR})",
    )


def judge_random_trees(runs: Runs) -> Judgement:
    """H8."""
    means = [float(_ratios(runs, protocol, shape).mean()) for protocol in PROTOCOLS for shape in shapes()]
    low, high = min(means), max(means)
    trees = len(random_runs(runs, PROTOCOLS[0], shapes()[0]))
    return Judgement(
        paper="close to near-complete",
        measured=f"{low:.2f} to {high:.2f} of it",
        holds=low >= 1 / CLOSE_FACTOR and high <= CLOSE_FACTOR,
        why=f"mean over {trees} trees between {low:.2f} and {high:.2f} of the near-complete tree's"
        f" (called close within a factor {CLOSE_FACTOR:g})",
    )


CLAIMS = (
    Claim(
        id="H5",
        kind="trend",
        text="The maximum queue stays at 1 for Train, S_CoordP and S_Train and grows with n for CoordP and"
        " FullDist, FullDist's being the largest.",
        judge=judge_queues,
    ),
    Claim(
        id="H6",
        kind="trend",
        text="Train has the longest round trip, CoordP and FullDist nearly the same, S_CoordP stays almost"
        " flat at fixed height and S_Train lies above it.",
        judge=judge_round_trips,
    ),
    Claim(
        id="H7",
        kind="factor",
        text="Round-trip time gains of CoordP/S_CoordP (70 and 2100 times) and Train/S_Train (35 and 500"
        " times) at about 1,000 and 20,000 members.",
        judge=judge_gains,
    ),
    Claim(
        id="H8",
        kind="trend",
        text="On random trees of the same size the round trip is close to the near-complete tree's.",
        judge=judge_random_trees,
    ),
)


def _line(runs: Runs, protocol: str) -> Series:
    done = [run_on(runs, protocol, shape) for shape in shapes()]
    return Series(
        name=protocol,
        x=tuple(float(run.result.members) for run in done),
        y=tuple(rtt_ms(run) for run in done),
        hover=tuple(f"tree {shape[0]}/{shape[1]}/{shape[2]}" for shape in shapes()),
    )


def _dots(runs: Runs, protocol: str) -> Series:
    done = [(seed, run) for shape in shapes() for seed, run in enumerate(random_runs(runs, protocol, shape))]
    return Series(
        name=f"{protocol}, random trees",
        x=tuple(float(run.result.members) for _, run in done),
        y=tuple(rtt_ms(run) for _, run in done),
        style="points",
        like=protocol,
        hover=tuple(f"random tree, seed {seed}" for seed, _ in done),
    )


def _panel(runs: Runs, title: str, protocols: tuple[str, ...], *, log: bool) -> Panel:
    lines = tuple(_line(runs, protocol) for protocol in protocols)
    dots = tuple(_dots(runs, protocol) for protocol in protocols)
    return Panel(
        title=title,
        x=Axis("members n"),
        y=Axis("round-trip time at the first member [ms]", log=log),
        series=lines + dots,
    )


def figure_8(runs: Runs) -> Figure:
    """Figure 8: queues."""
    rows = np.array(queues(runs).rows, float).T
    lines = tuple(
        Series(name=protocol, x=tuple(rows[0]), y=tuple(values))
        for protocol, values in zip(PROTOCOLS, rows[1:], strict=True)
    )
    return Figure(
        key="figure8",
        title="Figure 8: maximum queue size",
        caption="The most messages that any link holds during one execution, the one in transmission"
        " included. Train, S_CoordP and S_Train lie on one another at 1.",
        panels=(
            Panel(
                title="the five protocols",
                x=Axis("members n"),
                y=Axis("maximum queue [messages]", log=True),
                series=lines,
            ),
        ),
    )


def _about_dots(runs: Runs) -> str:
    trees = len(random_runs(runs, PROTOCOLS[0], shapes()[0]))
    return f"Lines: the trees of Table 3; dots: {trees} random trees of each size."


def figure_9(runs: Runs) -> Figure:
    """Figure 9: round-trip times."""
    return Figure(
        key="figure9",
        title="Figure 9: round-trip time",
        caption="At the first member, from its first message of an execution to its knowing the result."
        f" CoordP and FullDist lie on one another. {_about_dots(runs)}",
        panels=(
            _panel(runs, "(A) the three basic protocols", BASIC, log=False),
            _panel(runs, "(B) the two structured protocols", STRUCTURED, log=False),
        ),
    )


def figure_10(runs: Runs) -> Figure:
    """Figure 10: each basic protocol beside its structured one."""
    return Figure(
        key="figure10",
        title="Figure 10: round-trip time, each basic protocol and its structured one",
        caption=f"What following the tree gains. {_about_dots(runs)}",
        panels=tuple(
            _panel(runs, f"({letter}) {' and '.join(pair)}", pair, log=True)
            for letter, pair in zip("ABC", PAIRS, strict=True)
        ),
    )


FIGURES = (figure_8, figure_9, figure_10)
