"""Section 4.3: the two-part search for a good step, on the measured curve (G9, Figures 10 and 11)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stablecast.papers.gossip.grid import DENSE_I, SUBGROUPS, curve, sample_size
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.runs import Runs
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.theory.step_search import NearMinimum, Window, near_minimum, window

LOW_S, HIGH_S, GAP_S, SEARCH_STEP_S = 0.0, 20.0, 2.0, 1.0
FLUCTUATION, WIDE = 0.1, 0.2
"""The paper's tenth, and twice that to see how the window depends on it."""
PAPER_STEP_S, PAPER_WINDOWS_S = 9.0, {1: (2.0, 4.0), 3: (4.0, 10.0)}
FACTOR = 1.5


@dataclass(frozen=True)
class Found:
    """What both parts find on a curve."""

    nearest: NearMinimum
    window: Window
    asked: tuple[tuple[float, float], ...]
    """Steps that were asked for, and the times there."""


def search(runs: Runs, subgroup: int, fluctuation: float = FLUCTUATION) -> Found:
    """Search the curve of a sub-group size (dense, I), as the paper does; between its steps it is a line."""
    cells = curve(runs, DENSE_I, subgroup)
    steps, times = [one.step_s for one in cells], [one.tpr_s for one in cells]
    asked: list[tuple[float, float]] = []

    def f(step_s: float) -> float:
        asked.append((step_s, float(np.interp(step_s, steps, times))))
        return asked[-1][1]

    nearest = near_minimum(f, LOW_S, HIGH_S, GAP_S)
    around = window(f, nearest.step, nearest.value, fluctuation, SEARCH_STEP_S, high=HIGH_S)
    return Found(nearest, around, tuple(asked))


def windows(runs: Runs) -> Table:
    """What the search finds for each sub-group size."""
    rows = []
    for fluctuation in (FLUCTUATION, WIDE):
        for subgroup in SUBGROUPS:
            found = search(runs, subgroup, fluctuation)
            ends = PAPER_WINDOWS_S.get(subgroup) if fluctuation == FLUCTUATION else None
            printed = f"{ends[0]:g} to {ends[1]:g}" if ends else "-"
            measured = (found.nearest.step, found.nearest.value, found.window.low, found.window.high)
            cells = (round(each, 1) for each in measured)
            rows.append((f"{fluctuation:.0%}", subgroup, *cells, printed, len(found.asked)))
    return Table(
        key="windows",
        title="Windows of good steps, found by golden section and walk (Figures 10 and 11; dense, I)",
        columns=(
            "fluctuation",
            "b",
            "step [s]",
            "time per round [s]",
            "from [s]",
            "to [s]",
            "paper",
            "measurements",
        ),
        rows=tuple(rows),
        note=f"On the curve of means of {sample_size(runs)} rounds; search from {LOW_S:g} to {HIGH_S:g} s.",
    )


TABLES = (windows,)


def judge_window(runs: Runs) -> Judgement:
    """G9."""
    found, wide = search(runs, 3), search(runs, 3, WIDE).window
    printed = PAPER_WINDOWS_S[3]
    ends = (found.window.low, found.window.high)
    apart = [max(one / other, other / one) for one, other in zip(ends, printed, strict=True)]
    missed = [f"{name} end" for name, far in zip(("lower", "upper"), apart, strict=True) if far > FACTOR]
    return Judgement(
        paper=f"step {PAPER_STEP_S:g} s, window {printed[0]:g} to {printed[1]:g} s",
        measured=f"step {found.nearest.step:.1f} s, window {ends[0]:.1f} to {ends[1]:.1f} s",
        holds=not missed,
        why=f"ends are factors {apart[0]:.2f} and {apart[1]:.2f} from the paper's (accepted: {FACTOR}), too"
        f" far: {', '.join(missed) or 'none'}; with a fluctuation of {WIDE:.0%} the window is {wide.low:.1f}"
        f" to {wide.high:.1f} s",
    )


CLAIMS = (
    Claim(
        id="G9",
        kind="factor",
        text="The adaptive search finds a step of 9 s and a window of 4 to 10 s for sub-group 3.",
        judge=judge_window,
    ),
)


def _panel(runs: Runs, title: str, subgroup: int) -> Panel:
    found, cells = search(runs, subgroup), curve(runs, DENSE_I, subgroup)
    ends = (found.window.low, found.window.high)
    first = found.nearest.evaluations
    parts = tuple(
        Series(
            name=f"asked for by part {part}",
            x=tuple(step for step, _ in asked),
            y=tuple(time for _, time in asked),
            style="points",
        )
        for part, asked in (("I", found.asked[:first]), ("II", found.asked[first:]))
    )
    return Panel(
        title=f"{title}: {ends[0]:.1f} to {ends[1]:.1f} s",
        x=Axis("step interval [s]"),
        y=Axis("time per round [s]"),
        series=(
            Series(
                name="all steps",
                x=tuple(float(one.step_s) for one in cells),
                y=tuple(one.tpr_s for one in cells),
            ),
            *parts,
            Series(name="window", x=ends, y=(found.nearest.value,) * 2),
        ),
    )


def figure_10(runs: Runs) -> Figure:
    """Figures 10 and 11: the search on the measured curve."""
    return Figure(
        key="figure10_11",
        title="Figures 10 and 11: the search for a good step, dense, simulation I",
        caption="The paper prints the algorithm; here it is at work. Part I narrows down to a step, part II"
        " walks from there to both ends of the window in which times differ by less than a tenth.",
        panels=(_panel(runs, "(A) sub-group 1", 1), _panel(runs, "(B) sub-group 3", 3)),
    )


FIGURES = (figure_10,)
