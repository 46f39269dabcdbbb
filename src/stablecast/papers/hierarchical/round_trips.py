"""Figures 9 and 10: round-trip times on the trees of Table 3, with those on random trees beside them."""

from __future__ import annotations

import numpy as np

from stablecast.papers.curves import apart, curve, panel
from stablecast.papers.hierarchical.theory import PROTOCOLS
from stablecast.papers.hierarchical.trees import (
    BASIC,
    PAIRS,
    STRUCTURED,
    made_shapes,
    random_runs,
    rtt_ms,
    run_on,
    shapes,
    sizes_told,
)
from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.statistics import exactly
from stablecast.pipeline.runs import Runs
from stablecast.report.figure import Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.theory import group_size

NEARLY_THE_SAME = 1.5
"""The factor within which CoordP's and FullDist's times are called nearly the same."""
FLAT_SHARE = 0.1
"""S_CoordP is called almost flat if it grows at most by this share of the factor by which CoordP grows."""


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


TABLES = (round_trips,)


def judge_round_trips(runs: Runs) -> Judgement:
    """H6."""
    made = made_shapes(runs)
    time = {name: np.array([rtt_ms(run_on(runs, name, shape)) for shape in made]) for name in PROTOCOLS}
    longest = all(time["train"] >= np.maximum(time["coordp"], time["fulldist"]))
    between = max(apart(*both) for both in zip(time["coordp"], time["fulldist"], strict=True))
    growth = {name: float(time[name][-1] / time[name][0]) for name in PROTOCOLS}
    above = all(time["s_train"] > time["s_coordp"])
    flat = growth["s_coordp"] < growth["coordp"] * FLAT_SHARE
    return Judgement(
        paper="Train > CoordP = FullDist; S_CoordP flat",
        measured=f"coordp × {growth['coordp']:.0f}, s_coordp × {growth['s_coordp']:.1f} over n",
        holds=longest and between <= NEARLY_THE_SAME and flat and above,
        why=f"train {'longest' if longest else 'not longest'} at every n; coordp and fulldist within"
        f" {between:.2f} of each other; from the smallest to the largest n s_coordp ×"
        f" {growth['s_coordp']:.1f} (accepted: a tenth of coordp's × {growth['coordp']:.0f}), s_train ×"
        f" {growth['s_train']:.1f}; s_train {'above' if above else 'not above'} s_coordp; at"
        f" {sizes_told(made)}",
    )


CLAIMS = (
    Claim(
        id="H6",
        kind="trend",
        text="Train has the longest round trip, CoordP and FullDist nearly the same, S_CoordP stays almost"
        " flat at fixed height and S_Train lies above it.",
        judge=judge_round_trips,
    ),
)


def _line(runs: Runs, protocol: str) -> Series:
    places = [(group_size(*shape), exactly(rtt_ms(run_on(runs, protocol, shape)))) for shape in shapes()]
    return curve(protocol, places, hover=[f"tree {'/'.join(map(str, shape))}" for shape in shapes()])


def _dots(runs: Runs, protocol: str) -> Series:
    done = [(seed, run) for shape in shapes() for seed, run in enumerate(random_runs(runs, protocol, shape))]
    return curve(
        f"{protocol}, random trees",
        [(run.result.members, exactly(rtt_ms(run))) for _, run in done],
        hover=[f"random tree, seed {seed}" for seed, _ in done],
        style="points",
        like=protocol,
    )


def _panel(runs: Runs, title: str, protocols: tuple[str, ...], *, log: bool) -> Panel:
    lines = [_line(runs, protocol) for protocol in protocols]
    dots = [_dots(runs, protocol) for protocol in protocols]
    return panel(title, "round-trip time at the first member [ms]", lines + dots, log=log)


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


FIGURES = (figure_9, figure_10)
