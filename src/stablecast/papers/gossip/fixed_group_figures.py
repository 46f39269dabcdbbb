"""Figures 4 to 9: queues, steps and times with 200 members."""

from __future__ import annotations

from collections.abc import Callable

from stablecast.papers.gossip.grid import (
    DENSE_I,
    DENSE_II,
    SPARSE_I,
    SPARSE_II,
    Cell,
    Setting,
    curve,
    curves,
    sample_size,
)
from stablecast.pipeline.runs import Runs
from stablecast.report.figure import Axis, Figure, Panel, Series

STEP = Axis("step interval [s]")
TIME = Axis("time per round [s]")
Index = Callable[[Cell], float]


def _line(name: str, cells: list[Cell], index: Index, like: str | None = None) -> Series:
    return Series(
        name=name,
        x=tuple(float(one.step_s) for one in cells),
        y=tuple(index(one) for one in cells),
        like=like,
        hover=tuple(f"{one}, {len(one.results)} runs" for one in cells),
    )


def _band(cells: list[Cell], index: Index, deviation: Index) -> tuple[Series, ...]:
    """Return the mean, and lines one deviation above and below it."""
    return (
        _line("mean", cells, index),
        _line("one deviation above", cells, lambda one: index(one) + deviation(one), like="mean"),
        _line("one deviation below", cells, lambda one: index(one) - deviation(one), like="mean"),
    )


def _panel(runs: Runs, title: str, setting: Setting, y: Axis, index: Index) -> Panel:
    lines = tuple(_line(f"sub-group {b}", cells, index) for b, cells in curves(runs, setting))
    return Panel(title=title, x=STEP, y=y, series=lines)


def _queue_panels(runs: Runs, setting: Setting) -> tuple[Panel, ...]:
    mean, most = (Axis(f"{word} queue [messages]", log=True) for word in ("average", "maximum"))
    return (
        _panel(runs, "(A) average queue", setting, mean, lambda one: one.queue),
        _panel(runs, "(B) maximum queue", setting, most, lambda one: one.queue_max),
    )


def _round_panels(runs: Runs, setting: Setting) -> tuple[Panel, ...]:
    steps = Axis("steps in a round", log=True)
    return (
        _panel(runs, "(A) number of steps", setting, steps, lambda one: one.steps),
        _panel(runs, "(B) time per round", setting, TIME, lambda one: one.tpr_s),
    )


def _about(runs: Runs) -> str:
    return f"Means of {sample_size(runs)} runs each."


def figure_4(runs: Runs) -> Figure:
    """Figure 4: mean and deviation."""
    cells = curve(runs, DENSE_I, 3)
    queue = Axis("average queue [messages]", log=True)
    return Figure(
        key="figure4",
        title="Figure 4: mean and deviation, dense, simulation I, sub-group 3",
        caption=f"{sample_size(runs)} runs for each step; the pale lines are one standard deviation away.",
        panels=(
            Panel(
                title="(A) average queue",
                x=STEP,
                y=queue,
                series=_band(cells, lambda one: one.queue, lambda one: one.queue_deviation),
            ),
            Panel(
                title="(B) time per round",
                x=STEP,
                y=TIME,
                series=_band(cells, lambda one: one.tpr_s, lambda one: one.tpr_deviation_s),
            ),
        ),
    )


def figure_5(runs: Runs) -> Figure:
    """Figure 5: queues without loss."""
    return Figure(
        key="figure5",
        title="Figure 5: queues, dense, simulation I",
        caption="Messages on a link, the one in transmission included. Short steps and large sub-groups send"
        f" more than the links carry. {_about(runs)}",
        panels=_queue_panels(runs, DENSE_I),
    )


def figure_6(runs: Runs) -> Figure:
    """Figure 6: steps and time without loss."""
    return Figure(
        key="figure6",
        title="Figure 6: steps and time per round, dense, simulation I",
        caption="The number of steps falls to a floor; from there on the time grows with the step."
        f" {_about(runs)}",
        panels=_round_panels(runs, DENSE_I),
    )


def figure_7(runs: Runs) -> Figure:
    """Figure 7: queues with a limit."""
    return Figure(
        key="figure7",
        title="Figure 7: queues, dense, simulation II",
        caption=f"As Figure 5, with at most 64 messages on a link. {_about(runs)}",
        panels=_queue_panels(runs, DENSE_II),
    )


def figure_8(runs: Runs) -> Figure:
    """Figure 8: steps and time with limited queues."""
    return Figure(
        key="figure8",
        title="Figure 8: steps and time per round, dense, simulation II",
        caption="What overflows would have come late: at short steps rounds take less time than in Figure 6."
        f" {_about(runs)}",
        panels=_round_panels(runs, DENSE_II),
    )


def figure_9(runs: Runs) -> Figure:
    """Figure 9: time per round of sparse groups."""
    return Figure(
        key="figure9",
        title="Figure 9: time per round, sparse groups of 200 in 1,000 nodes",
        caption=f"Each run has a group of its own. {_about(runs)}",
        panels=(
            _panel(runs, "(A) simulation I", SPARSE_I, TIME, lambda one: one.tpr_s),
            _panel(runs, "(B) simulation II", SPARSE_II, TIME, lambda one: one.tpr_s),
        ),
    )


FIGURES = (figure_4, figure_5, figure_6, figure_7, figure_8, figure_9)
