"""Section 4.2.5: neighbours of member 0 have failed (C7, Figures 13 and 14)."""

from __future__ import annotations

from typing import Any

from stablecast.papers.curves import INTERVALS, columns_with_interval, panel, with_interval
from stablecast.papers.curves import curve as drawn
from stablecast.papers.hypercube.grid import (
    ABOUT,
    FIRST,
    FOUR_TIMES,
    GRAPHS,
    HOPS,
    LAST,
    MESSAGES,
    MOST_GRAPHS,
    QUEUE,
    Index,
    Sample,
    of,
    results_of,
    sample,
)
from stablecast.papers.hypercube.grid import SIZES as ALL_SIZES
from stablecast.papers.paper import Claim, Judgement, Seeds, judged
from stablecast.papers.statistics import Comparison, Estimate, exactly
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Figure, Panel, Series
from stablecast.report.table import Table

CUBE = "cubefulldist"
FAILURES = (0, 1, 2, 3, 4, 5)
GUARANTEED_FROM = 64
"""From here on five failures, wherever they are, leave all others joined: fewer than floor(log2 n)."""
SIZES = tuple(n for n in ALL_SIZES if n >= GUARANTEED_FROM)
QUICK_SIZES = (64, 100, 256)
OTHERS_QUICK_SIZES, OTHERS_SIZES = (64, 100), (64, 100, 256, 1000)
"""Sizes under the other readings."""
SMALL_SIZES = (64, 80, 100, 128, 256)
"""Where more graphs are worth while: small queues differ much from graph to graph."""
JUDGED: tuple[Index, ...] = (FIRST, LAST, QUEUE, HOPS)
LITTLE = 0.25
"""Change of a mean by failures that is still called hardly affected."""


def with_failures(members: int, failures: int, graph: int) -> Point:
    """Return a round in which some neighbours of member 0 have failed, and everyone knows."""
    return of(CUBE, members, graph, fail_neighbours=failures)


def _on_graphs(sizes: tuple[int, ...], count: int) -> list[Point]:
    return [
        with_failures(members, failures, graph)
        for members in sizes
        for failures in FAILURES
        for graph in range(count)
    ]


def points(full: bool) -> list[Point]:
    """Return all numbers of failures at all sizes for which everyone left is sure to finish."""
    return _on_graphs(SIZES if full else QUICK_SIZES, GRAPHS)


def judged_points(full: bool) -> list[Point]:
    """Return what the claim needs under every other reading."""
    return _on_graphs(OTHERS_SIZES if full else OTHERS_QUICK_SIZES, GRAPHS)


def _sizes_made(runs: Runs) -> list[int]:
    made = [n for n in SIZES if with_failures(n, FAILURES[-1], 0) in runs]
    if not made:
        raise MissingRun(f"this run was not made: {with_failures(SIZES[0], FAILURES[-1], 0).replay}")
    return made


def _sample(runs: Runs, members: int, failures: int) -> Sample:
    return sample(runs, CUBE, members, fail_neighbours=failures)


def change(runs: Runs, members: int, failures: int, index: Index) -> Estimate:
    """Return how many times as large an index is with failures as without, on the same graphs."""
    return _sample(runs, members, failures).over(_sample(runs, members, 0), index)


def failed_neighbours(runs: Runs) -> Table:
    """Every index with every number of failures."""
    shown = (FIRST, LAST, QUEUE, HOPS, MESSAGES)
    rows: list[tuple[Any, ...]] = []
    for members in _sizes_made(runs):
        for failures in FAILURES:
            each = _sample(runs, members, failures)
            cells = [with_interval(each.estimate(index)) for index in shown]
            rows.append((members, failures, *sum(cells, ())))
    return Table(
        key="failed_neighbours",
        title="cubefulldist with failed neighbours of member 0 (Figures 13 and 14)",
        columns=("n", "failures", *columns_with_interval(index.label for index in shown)),
        rows=tuple(rows),
        note=f"Failed before the start and known to all. From {GUARANTEED_FROM} members on five failures"
        " leave all others joined; in smaller groups they may be cut apart, and then nobody finishes.",
    )


TABLES = (failed_neighbours,)


def judge_failures(runs: Runs) -> Judgement:
    """C7."""
    made = _sizes_made(runs)
    results = results_of(runs, _on_graphs(tuple(made), MOST_GRAPHS))
    unfinished = sum(not result.completed for result in results)
    changes = {
        index.name: [
            Comparison(
                what=f"{index.name} with {f} failures at n = {n}",
                found=change(runs, n, f, index),
                least=1 - LITTLE,
                most=1 + LITTLE,
            )
            for n in made
            for f in FAILURES[1:]
        ]
        for index in JUDGED
    }
    worst = {name: max(each, key=lambda one: abs(one.found.value - 1)) for name, each in changes.items()}
    ended = Comparison(what="rounds that did not end", found=exactly(unfinished), most=0)
    return judged(
        [ended, *(one for each in changes.values() for one in each)],
        paper="hardly affected by 0 to 5 failures",
        measured="at most"
        f" {', '.join(f'{name} {each.found.value - 1:+.0%}' for name, each in worst.items())}",
        why=f"largest change of a mean against no failures on the same graphs (accepted: {LITTLE:.0%});"
        f" {', '.join(each.what for each in worst.values())}; {unfinished} of {len(results)} rounds did not"
        f" end; n from {made[0]} to {made[-1]}",
    )


CLAIMS = (
    Claim(
        id="C7",
        kind="trend",
        text="Up to five failed neighbours of one member hardly affect cubefulldist: round-trip time, queues"
        " and hops.",
        judge=judge_failures,
        seeds=Seeds(points=lambda count: _on_graphs(SMALL_SIZES, count), first=GRAPHS, most=FOUR_TIMES),
    ),
)


def _line(failures: int, places: list[tuple[float, Estimate]]) -> Series:
    return drawn("1 failure" if failures == 1 else f"{failures} failures", places)


def _panel(runs: Runs, title: str, index: Index) -> Panel:
    lines = [
        _line(failures, [(n, _sample(runs, n, failures).estimate(index)) for n in _sizes_made(runs)])
        for failures in FAILURES
    ]
    return panel(title, index.label, lines)


def _changes_panel(runs: Runs, title: str, index: Index) -> Panel:
    """Show each number of failures over none."""
    lines = [
        _line(failures, [(n, change(runs, n, failures, index)) for n in _sizes_made(runs)])
        for failures in FAILURES[1:]
    ]
    return panel(title, f"{index.name} / without failures", lines)


def figure_13(runs: Runs) -> Figure:
    """Figure 13: time and queue with failures."""
    return Figure(
        key="figure13",
        title="Figure 13: failures, round-trip time and maximum queue of cubefulldist",
        caption="Neighbours of member 0 failed before the start, and everyone knows. The lines lie close"
        f" together. {ABOUT} {INTERVALS}",
        panels=(_panel(runs, "(A) first member", FIRST), _panel(runs, "(B) maximum queue", QUEUE)),
    )


def figure_14(runs: Runs) -> Figure:
    """Figure 14: hops with failures."""
    return Figure(
        key="figure14",
        title="Figure 14: failures, hop count of cubefulldist",
        caption=f"As Figure 13. Who has failed sends nothing, so that there are fewer hops. {ABOUT}"
        f" {INTERVALS}",
        panels=(
            _panel(runs, "(A) hop count", HOPS),
            _changes_panel(runs, "(B) over no failures (not in the paper)", HOPS),
        ),
    )


FIGURES = (figure_13, figure_14)
