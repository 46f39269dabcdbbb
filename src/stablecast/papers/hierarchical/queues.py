"""Figure 8: the longest queue of a link, for each protocol."""

from __future__ import annotations

import numpy as np

from stablecast.papers.curves import curve, panel
from stablecast.papers.hierarchical.theory import PROTOCOLS
from stablecast.papers.hierarchical.trees import made_shapes, run_on, shapes, sizes_told
from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.statistics import exactly
from stablecast.pipeline.runs import Runs
from stablecast.report.figure import Figure
from stablecast.report.table import Table
from stablecast.theory import group_size

FLAT = ("train", "s_coordp", "s_train")
GROWING = ("coordp", "fulldist")


def _longest(runs: Runs) -> dict[str, list[int]]:
    """Return each protocol's longest queue on the trees that were made, by size."""
    made = made_shapes(runs)
    return {name: [run_on(runs, name, shape).result.queue_max for shape in made] for name in PROTOCOLS}


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


TABLES = (queues,)


def judge_queues(runs: Runs) -> Judgement:
    """H5."""
    longest = _longest(runs)
    flat = [name for name in FLAT if set(longest[name]) == {1}]
    grows = [name for name in GROWING if _grows(longest[name])]
    largest = all(np.greater_equal(longest["fulldist"], longest["coordp"]))
    spans = [f"{name} {min(longest[name])} to {max(longest[name])}" for name in PROTOCOLS]
    return Judgement(
        paper="1; CoordP, FullDist grow",
        measured=", ".join(spans),
        holds=len(flat) == len(FLAT) and len(grows) == len(GROWING) and largest,
        why=f"at 1 {_are(flat)}; growing with n {_are(grows)}; fulldist is {'' if largest else 'not '}at"
        f" least coordp; at {sizes_told(made_shapes(runs))}",
    )


def _grows(lengths: list[int]) -> bool:
    """Tell whether a queue never gets shorter from one size to the next, and is longer at the end."""
    return lengths == sorted(lengths) and lengths[-1] > lengths[0]


def _are(names: list[str]) -> str:
    if not names:
        return "is none"
    return f"{'are' if len(names) > 1 else 'is'} {', '.join(names)}"


CLAIMS = (
    Claim(
        id="H5",
        kind="trend",
        text="The maximum queue stays at 1 for Train, S_CoordP and S_Train and grows with n for CoordP and"
        " FullDist, FullDist's being the largest.",
        judge=judge_queues,
    ),
)


def figure_8(runs: Runs) -> Figure:
    """Figure 8: queues."""
    sizes = [group_size(*shape) for shape in shapes()]
    lines = [
        curve(name, [(n, exactly(length)) for n, length in zip(sizes, lengths, strict=True)])
        for name, lengths in _longest(runs).items()
    ]
    return Figure(
        key="figure8",
        title="Figure 8: maximum queue size",
        caption="The most messages that any link holds during one execution, the one in transmission"
        " included. Train, S_CoordP and S_Train lie on one another at 1.",
        panels=(panel("the five protocols", "maximum queue [messages]", lines, log=True),),
    )


FIGURES = (figure_8,)
