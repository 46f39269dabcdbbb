"""Section 4.2.5: neighbours of member 0 have failed (C7, Figures 13 and 14)."""

from __future__ import annotations

from typing import Any

from stablecast.pipeline.experiments.figure import Axis, Figure, Panel, Series
from stablecast.pipeline.experiments.hypercube.grid import (
    ABOUT,
    FIRST,
    GRAPHS,
    HOPS,
    LAST,
    MESSAGES,
    QUEUE,
    Index,
    Sample,
    of,
    results_of,
    sample,
)
from stablecast.pipeline.experiments.hypercube.grid import SIZES as ALL_SIZES
from stablecast.pipeline.experiments.paper import Claim, Judgement
from stablecast.pipeline.experiments.table import Table
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs

CUBE = "cubefulldist"
FAILURES = (0, 1, 2, 3, 4, 5)
GUARANTEED_FROM = 64
"""From here on five failures, wherever they are, leave all others joined: fewer than floor(log2 n)."""
SIZES = tuple(n for n in ALL_SIZES if n >= GUARANTEED_FROM)
QUICK_SIZES = (64, 100, 256)
JUDGED: tuple[Index, ...] = (FIRST, LAST, QUEUE, HOPS)
LITTLE = 0.25
"""Change of a mean by failures that is still called hardly affected."""


def with_failures(members: int, failures: int, graph: int) -> Point:
    """Return a round in which some neighbours of member 0 have failed, and everyone knows."""
    return of(CUBE, members, graph, fail_neighbours=failures)


def points(full: bool) -> list[Point]:
    """Return all numbers of failures at all sizes for which everyone left is sure to finish."""
    return [
        with_failures(members, failures, graph)
        for members in (SIZES if full else QUICK_SIZES)
        for failures in FAILURES
        for graph in range(GRAPHS)
    ]


def _sizes_made(runs: Runs) -> list[int]:
    made = [n for n in SIZES if with_failures(n, FAILURES[-1], 0) in runs]
    if not made:
        raise MissingRun(f"this run was not made: {with_failures(SIZES[0], FAILURES[-1], 0).replay}")
    return made


def _sample(runs: Runs, members: int, failures: int) -> Sample:
    return sample(runs, CUBE, members, fail_neighbours=failures)


def change(runs: Runs, members: int, failures: int, index: Index) -> float:
    """Return by which part failures change an index."""
    return _sample(runs, members, failures).mean(index) / _sample(runs, members, 0).mean(index) - 1


def failed_neighbours(runs: Runs) -> Table:
    """Every index with every number of failures."""
    shown = (FIRST, LAST, QUEUE, HOPS, MESSAGES)
    rows: list[tuple[Any, ...]] = []
    for members in _sizes_made(runs):
        for failures in FAILURES:
            each = _sample(runs, members, failures)
            cells = (float(f"{each.mean(index):.4g}") for index in (FIRST, LAST, QUEUE))
            counts = (round(each.mean(index)) for index in (HOPS, MESSAGES))
            rows.append((members, failures, *cells, *counts))
    return Table(
        key="failed_neighbours",
        title="cubefulldist with failed neighbours of member 0 (Figures 13 and 14)",
        columns=("n", "failures", *(index.label for index in shown)),
        rows=tuple(rows),
        note=f"Failed before the start and known to all. From {GUARANTEED_FROM} members on five failures"
        " leave all others joined; in smaller groups they may be cut apart, and then nobody finishes.",
    )


TABLES = (failed_neighbours,)


def judge_failures(runs: Runs) -> Judgement:
    """C7."""
    made = _sizes_made(runs)
    asked = [with_failures(n, f, graph) for n in made for f in FAILURES for graph in range(GRAPHS)]
    results = results_of(runs, asked)
    unfinished = sum(not result.completed for result in results)
    worst = {
        index.name: max(
            ((change(runs, n, f, index), n, f) for n in made for f in FAILURES[1:]),
            key=lambda each: abs(each[0]),
        )
        for index in JUDGED
    }
    told = [f"{name} {most:+.0%}" for name, (most, _, _) in worst.items()]
    where = [f"{name} with {f} at n = {n}" for name, (_, n, f) in worst.items()]
    return Judgement(
        paper="hardly affected by 0 to 5 failures",
        measured=f"at most {', '.join(told)}",
        holds=not unfinished and all(abs(most) <= LITTLE for most, _, _ in worst.values()),
        why=f"largest change of a mean against no failures (accepted: {LITTLE:.0%}); {', '.join(where)};"
        f" {unfinished} of {len(results)} rounds did not end; n from {made[0]} to {made[-1]}",
    )


CLAIMS = (
    Claim(
        id="C7",
        kind="trend",
        text="Up to five failed neighbours of one member hardly affect cubefulldist: round-trip time, queues"
        " and hops.",
        judge=judge_failures,
    ),
)


def _panel(runs: Runs, title: str, index: Index) -> Panel:
    made = _sizes_made(runs)
    lines = []
    for failures in FAILURES:
        samples = [_sample(runs, members, failures) for members in made]
        lines.append(_line(failures, made, [each.mean(index) for each in samples]))
    return Panel(title=title, x=Axis("members n"), y=Axis(index.label), series=tuple(lines))


def _line(failures: int, sizes: list[int], values: list[float]) -> Series:
    name = "1 failure" if failures == 1 else f"{failures} failures"
    return Series(name=name, x=tuple(map(float, sizes)), y=tuple(values))


def _changes_panel(runs: Runs, title: str, index: Index) -> Panel:
    """Show each number of failures against none."""
    made = _sizes_made(runs)
    lines = [_line(f, made, [100 * change(runs, n, f, index) for n in made]) for f in FAILURES]
    return Panel(title=title, x=Axis("members n"), y=Axis(f"change of {index.name} [%]"), series=tuple(lines))


def figure_13(runs: Runs) -> Figure:
    """Figure 13: time and queue with failures."""
    return Figure(
        key="figure13",
        title="Figure 13: failures, round-trip time and maximum queue of cubefulldist",
        caption="Neighbours of member 0 failed before the start, and everyone knows. The lines lie close"
        f" together. {ABOUT}",
        panels=(_panel(runs, "(A) first member", FIRST), _panel(runs, "(B) maximum queue", QUEUE)),
    )


def figure_14(runs: Runs) -> Figure:
    """Figure 14: hops with failures."""
    return Figure(
        key="figure14",
        title="Figure 14: failures, hop count of cubefulldist",
        caption=f"As Figure 13. Who has failed sends nothing, so that there are fewer hops. {ABOUT}",
        panels=(
            _panel(runs, "(A) hop count", HOPS),
            _changes_panel(runs, "(B) change (not in the paper)", HOPS),
        ),
    )


FIGURES = (figure_13, figure_14)
