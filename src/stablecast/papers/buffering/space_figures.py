"""Figures 2, 3 and 4: buffer space by group size, message rate and link loss."""

from __future__ import annotations

from collections.abc import Callable

from stablecast.papers.buffering.measured import deliveries
from stablecast.papers.buffering.networks import (
    ABOUT,
    HUNDRED,
    LOW_LOSS,
    NAMES,
    TITLES,
    TOPOLOGIES,
)
from stablecast.papers.buffering.space import (
    ALL_RATES,
    LOSSES,
    POLICIES,
    of_loss,
    of_rate,
    of_size,
    sizes_made,
    space,
)
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import Runs
from stablecast.report.figure import Axis, Figure, Panel, Series

SPACE = Axis("space of a member [messages]", log=True)


def _line(runs: Runs, policy: str, x: tuple[float, ...], asked: Callable[[float], list[Point]]) -> Series:
    """Draw the space at each place, with bars from the run with the least to that with the most."""
    found = [[each.buffer_peak_mean for each in deliveries(runs, asked(at))] for at in x]
    return Series(
        name=NAMES[policy],
        x=x,
        y=tuple(space(runs, asked(at)) for at in x),
        low=tuple(min(values) for values in found),
        high=tuple(max(values) for values in found),
    )


def _sizes_figure(runs: Runs, number: int, rate: float) -> Figure:
    panels = []
    for letter, kind in zip("abcdef", TOPOLOGIES, strict=False):
        sizes = tuple(map(float, sizes_made(runs, kind)))
        series = tuple(
            _line(
                runs,
                policy,
                sizes,
                lambda n, kind=kind, policy=policy: of_size(kind, int(n), policy, rate),  # type: ignore[misc]
            )
            for policy in POLICIES
        )
        panels.append(
            Panel(title=f"({letter}) {TITLES[kind]}", x=Axis("members", log=True), y=SPACE, series=series)
        )
    return Figure(
        key=f"figure{number}",
        title=f"Figure {number}: space by group size, {rate:g} messages/s",
        caption="The most messages in a member's buffer, on average over members; bars from the run with the"
        f" least to that with the most. {100 * LOW_LOSS:g} % lost on each link, C by equation (3) for P_fail"
        " of 0.1 %. The original grows with the rounds that a message is kept, which are set by the group's"
        " size; the optimised one shrinks."
        f" {ABOUT}",
        panels=tuple(panels),
    )


def figure_2(runs: Runs) -> Figure:
    """Space by group size at 25 messages/s."""
    return _sizes_figure(runs, 2, 25.0)


def figure_3(runs: Runs) -> Figure:
    """Space by group size at 100 messages/s."""
    return _sizes_figure(runs, 3, 100.0)


def figure_4(runs: Runs) -> Figure:
    """Space by rate and by loss."""
    percents = tuple(100 * loss for loss in LOSSES)
    by_rate = tuple(
        _line(runs, policy, ALL_RATES, lambda rate, policy=policy: of_rate(policy, rate))  # type: ignore[misc]
        for policy in POLICIES
    )
    by_loss = tuple(
        _line(
            runs,
            policy,
            percents,
            lambda percent, policy=policy: of_loss(policy, LOSSES[percents.index(percent)]),  # type: ignore[misc]
        )
        for policy in POLICIES
    )
    return Figure(
        key="figure4",
        title="Figure 4: space by message rate and by link loss",
        caption=f"A binary tree with {HUNDRED} members. (a) {100 * LOW_LOSS:g} % lost on each link; (b) 100"
        " messages/s, C by equation (3) for each loss. Both grow with the rate; with the loss only the"
        f" optimised one, as C does. {ABOUT}",
        panels=(
            Panel(title="(a) message rate", x=Axis("messages/s"), y=SPACE, series=by_rate),
            Panel(title="(b) link loss", x=Axis("lost on a link [%]"), y=SPACE, series=by_loss),
        ),
    )


FIGURES = (figure_2, figure_3, figure_4)
