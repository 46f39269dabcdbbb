"""What the network's density does to the times, and what a multicast by the network would do.

The paper leaves open how its edge probabilities go with its sizes; :mod:`grid` tells which reading is used
and why.  Here the others are beside it.
"""

from __future__ import annotations

from typing import Any

from stablecast.pipeline.experiments.figure import Axis, Figure, Panel, Series
from stablecast.pipeline.experiments.hypercube.grid import (
    FIRST,
    FULLDIST_MOST,
    GRAPHS,
    LAST,
    MAIN,
    PRINTED,
    PROTOCOLS,
    QUEUE,
    READINGS,
    SPARSER,
    Sample,
    apart,
    edge_probability,
    mean,
    of,
    sample,
)
from stablecast.pipeline.experiments.hypercube.sizes import PAPER_FULLDIST_MS
from stablecast.pipeline.experiments.table import Table
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs

SIZES = (100, 150, 256, 400, 700, 1000, 1900)
PRINTED_QUICK_SIZES = (100, 150, 400, 1900)
QUICK_SIZES = (100, 150, 400)
MULTICAST, BY_DELAY = "multicast by the network", "routes of least delay"
FURTHER: dict[str, dict[str, Any]] = {MULTICAST: {"cast": "multicast"}, BY_DELAY: {"routes": "delay"}}
"""Other readings on the main graphs: by name, their options."""
ALL = (*READINGS, *FURTHER)
ASKING = ("coord", "s_coord")
"""The protocols in which one member multicasts to all."""


def _options(reading: str) -> dict[str, Any]:
    if reading in FURTHER:
        return FURTHER[reading]
    return {} if reading == MAIN else {"reading": reading}


def _protocols(reading: str) -> tuple[str, ...]:
    return ASKING if reading == MULTICAST else PROTOCOLS


def _sizes(full: bool, reading: str) -> tuple[int, ...]:
    """Return the sizes of a reading; claims tell what the printed probabilities give at the largest."""
    if full:
        return SIZES
    return PRINTED_QUICK_SIZES if reading in (PRINTED, MULTICAST) else QUICK_SIZES


def points(full: bool) -> list[Point]:
    """Return the runs of every reading, or of all but the last."""
    return [
        of(protocol, members, graph, **_options(reading))
        for reading in (ALL if full else ALL[:-1])
        for protocol in _protocols(reading)
        for members in _sizes(full, reading)
        if protocol != "fulldist" or members <= FULLDIST_MOST
        for graph in range(GRAPHS)
    ]


def _samples(runs: Runs, protocol: str, reading: str) -> list[Sample]:
    options = _options(reading)
    made = [n for n in SIZES if of(protocol, n, 0, **options) in runs]
    if not made:
        raise MissingRun(f"this run was not made: {of(protocol, SIZES[0], 0, **options).replay}")
    return [sample(runs, protocol, n, **options) for n in made]


def densities(runs: Runs) -> Table:
    """Times and queues of every reading."""
    rows: list[tuple[Any, ...]] = []
    further = [reading for reading in FURTHER if of("coord", SIZES[0], 0, **_options(reading)) in runs]
    for reading in (*READINGS, *further):
        for protocol in _protocols(reading):
            for each in _samples(runs, protocol, reading):
                times = (round(each.mean(index), 1) for index in (FIRST, LAST))
                rows.append((reading, protocol, each.members, *times, round(each.mean(QUEUE), 1)))
    return Table(
        key="densities",
        title="What the network's density, and other readings of the model, do",
        columns=("reading", "protocol", "n", FIRST.label, LAST.label, QUEUE.label),
        rows=tuple(rows),
        note="With the printed probabilities at every size large graphs are dense. Farthest from fulldist's"
        f" four printed times: {', '.join(f'{name} × {_farthest(runs, name):.2f}' for name in READINGS)}. The"
        f" last readings, without a density, are on graphs of mean degree 4. Means of {GRAPHS} graphs.",
    )


def _farthest(runs: Runs, reading: str) -> float:
    """Return the largest factor between fulldist's times and those that the paper prints."""
    return max(
        apart(mean(runs, "fulldist", n, index, **_options(reading)), paper)
        for n, printed in PAPER_FULLDIST_MS.items()
        for index, paper in zip((FIRST, LAST), printed, strict=True)
    )


TABLES = (densities,)


def _line(runs: Runs, protocol: str, reading: str) -> Series:
    samples = _samples(runs, protocol, reading)
    return Series(
        name=protocol,
        x=tuple(float(each.members) for each in samples),
        y=tuple(each.mean(LAST) for each in samples),
        hover=tuple(
            f"n = {each.members}, edge probability {edge_probability(reading, each.members, 0):g}"
            for each in samples
        ),
    )


def figure_densities(runs: Runs) -> Figure:
    """The last member's time under the three readings of the network's density."""
    panels = tuple(
        Panel(
            title=f"({letter}) {reading}",
            x=Axis("members n", log=True),
            y=Axis(LAST.label),
            series=tuple(_line(runs, protocol, reading) for protocol in PROTOCOLS),
        )
        for letter, reading in zip("ABC", (SPARSER, MAIN, PRINTED), strict=True)
    )
    return Figure(
        key="densities",
        title="What the network's density does",
        caption="Round-trip time of the last member. (A, B) With a fixed mean degree times grow with n, as in"
        " the paper's figures; (B) is the reading of all other figures. (C) With the printed probabilities at"
        f" every size they fall. Means of {GRAPHS} graphs.",
        panels=panels,
    )


FIGURES = (figure_densities,)
