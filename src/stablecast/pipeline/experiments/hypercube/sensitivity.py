"""Section 4.2.4: how much the graph matters, best against worst (C6, Figure 12)."""

from __future__ import annotations

from typing import Any

import numpy as np

from stablecast.pipeline.experiments.figure import Axis, Figure, Panel, Series
from stablecast.pipeline.experiments.hypercube.grid import (
    FIRST,
    FULLDIST_MOST,
    GRAPHS,
    INDICES,
    LAST,
    PRINTED,
    PROTOCOLS,
    QUEUE,
    SMALLEST_JUDGED,
    Index,
    Sample,
    curve,
    curves,
    sample,
)
from stablecast.pipeline.experiments.hypercube.readings import QUICK_SIZES as READING_SIZES
from stablecast.pipeline.experiments.paper import Claim, Judgement
from stablecast.pipeline.experiments.table import Table
from stablecast.pipeline.runs import Runs

JUDGED: tuple[Index, ...] = (FIRST, QUEUE)
"""The two that the paper shows."""
PRINTED_SIZES = tuple(n for n in READING_SIZES if n <= FULLDIST_MOST)


def relative(each: Sample, index: Index) -> float:
    """Return the difference between the worst and the best graph over the mean."""
    return each.spread(index) / each.mean(index)


def average_relative(runs: Runs, protocol: str, index: Index) -> float:
    """Return the same on average over the sizes from a hundred members on."""
    samples = curve(runs, protocol, least=SMALLEST_JUDGED)
    return float(np.mean([relative(each, index) for each in samples]))


def spreads(runs: Runs) -> Table:
    """Differences between best and worst graph, for the indices that the paper shows."""
    rows: list[tuple[Any, ...]] = []
    for protocol, samples in curves(runs):
        for each in samples:
            cells: list[Any] = []
            for index in JUDGED:
                values = each.values(index)
                cells += [round(min(values), 2), round(max(values), 2), round(each.spread(index), 2)]
            rows.append((protocol, each.members, *cells))
    names = [f"{index.label}: {word}" for index in JUDGED for word in ("best", "worst", "difference")]
    return Table(
        key="spreads",
        title="Best and worst graph (Figure 12)",
        columns=("protocol", "n", *names),
        rows=tuple(rows),
        note=f"{GRAPHS} graphs of mean degree 4 for each size.",
    )


def sensitivity(runs: Runs) -> Table:
    """Every index's difference over its mean, on average over sizes."""
    rows = [
        (protocol, *(round(average_relative(runs, protocol, index), 3) for index in INDICES))
        for protocol in PROTOCOLS
    ]
    return Table(
        key="sensitivity",
        title="Sensitivity: difference between worst and best graph over the mean",
        columns=("protocol", *(index.name for index in INDICES)),
        rows=tuple(rows),
        note=f"On average over the sizes from {SMALLEST_JUDGED} members on (fulldist to {FULLDIST_MOST}).",
    )


TABLES = (sensitivity, spreads)


def _printed(runs: Runs, protocol: str, index: Index) -> float:
    """Return the relative difference over the six printed probabilities, one graph each."""
    samples = [sample(runs, protocol, n, reading=PRINTED) for n in PRINTED_SIZES]
    return float(np.mean([relative(each, index) for each in samples]))


def judge_sensitivity(runs: Runs) -> Judgement:
    """C6."""
    found = {p: {index.name: average_relative(runs, p, index) for index in JUDGED} for p in PROTOCOLS}
    others = [protocol for protocol in PROTOCOLS if protocol != "coord"]
    beaten = [
        f"{protocol} ({index.name})"
        for protocol in others
        for index in JUDGED
        if found[protocol][index.name] >= found["coord"][index.name]
    ]
    told = [f"{p} {each[FIRST.name]:.0%} / {each[QUEUE.name]:.0%}" for p, each in found.items()]
    printed = [f"{p} {_printed(runs, p, FIRST):.0%} / {_printed(runs, p, QUEUE):.0%}" for p in PROTOCOLS]
    return Judgement(
        paper="coord very sensitive, the others not",
        measured=", ".join(told),
        holds=not beaten,
        why=f"worst minus best of {GRAPHS} graphs over the mean, first member's RTT / maximum"
        f" queue, averaged over sizes from {SMALLEST_JUDGED} members on; as sensitive as coord:"
        f" {', '.join(beaten) or 'none'}; over the printed probabilities, up to {FULLDIST_MOST} members:"
        f" {', '.join(printed)}",
    )


CLAIMS = (
    Claim(
        id="C6",
        kind="trend",
        text="coord depends on the network: it is bad where the coordinator has few links. The others are not"
        " very sensitive.",
        judge=judge_sensitivity,
    ),
)


def _line(runs: Runs, protocol: str, index: Index) -> Series:
    samples = curve(runs, protocol)
    return Series(
        name=protocol,
        x=tuple(float(each.members) for each in samples),
        y=tuple(each.spread(index) for each in samples),
        hover=tuple(f"{min(each.values(index)):.4g} to {max(each.values(index)):.4g}" for each in samples),
    )


def _panel(runs: Runs, title: str, index: Index) -> Panel:
    return Panel(
        title=title,
        x=Axis("members n"),
        y=Axis(f"worst − best {'[' + index.unit + ']'}"),
        series=tuple(_line(runs, protocol, index) for protocol in PROTOCOLS),
    )


def figure_12(runs: Runs) -> Figure:
    """Figure 12: best against worst."""
    return Figure(
        key="figure12",
        title="Figure 12: difference between the worst and the best graph",
        caption=f"{GRAPHS} graphs of mean degree 4 for each size.",
        panels=(
            _panel(runs, f"(A) {FIRST.name}", FIRST),
            _panel(runs, f"(B) {LAST.name} (not in the paper)", LAST),
            _panel(runs, f"(C) {QUEUE.name}", QUEUE),
        ),
    )


FIGURES = (figure_12,)
