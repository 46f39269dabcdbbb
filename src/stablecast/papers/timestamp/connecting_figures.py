"""Figures of receivers that connect and disconnect: the hazard without the rules, and the cost with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stablecast.papers.timestamp.connecting import (
    ABOUT,
    CALM,
    NETWORKS,
    RATES,
    RULED,
    VECTOR,
    bytes_per_s,
    early_in_a_run,
    held,
    mean,
    most,
    rates_of,
    results_of,
    stable_ms,
)
from stablecast.papers.timestamp.hold_ups import CHANGES, EARLIER_MS, JOINS, JOINS_VECTOR, LEFT, WITHIN_MS
from stablecast.pipeline.runs import Runs
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.simulate.result import Result


def figure_connections(runs: Runs) -> Figure:
    """The hazard, and what connections cost."""
    x = Axis("connects in a second", log=True)
    return Figure(
        key="connections",
        title="Receivers that connect and disconnect",
        caption=f"{ABOUT} (A) Without the rules; with them there are none. (B, C) With the rules, and with"
        " vectors, where nothing is lost; the pale lines are the same without connections.",
        panels=(
            Panel(
                title="(A) called stable too early",
                x=x,
                y=Axis("messages in a run"),
                series=tuple(
                    Series(
                        name=network,
                        x=RATES,
                        y=tuple(early_in_a_run(runs, network, rate) for rate in RATES),
                    )
                    for network in NETWORKS
                ),
            ),
            _cost_panel(runs, "(B) time", x, Axis("mean time to stable [ms]"), stable_ms),
            _cost_panel(runs, "(C) bytes", x, Axis("bytes sent in a second [B]"), bytes_per_s),
        ),
    )


def _cost_panel(
    runs: Runs, title: str, x: Axis, y: Axis, measure: Callable[[Sequence[Result]], float]
) -> Panel:
    """Draw a measure against the rate, and as a line what it is without connections."""
    series = []
    for kind in (RULED, VECTOR):
        at = {rate: measure(results_of(runs, kind, CALM, rate)) for rate in rates_of(kind)}
        series.append(Series(name=kind, x=RATES, y=tuple(at[rate] for rate in RATES)))
        series.append(
            Series(
                name=f"{kind}, no connections",
                x=(RATES[0], RATES[-1]),
                y=(at[0.0], at[0.0]),
                like=kind,
            )
        )
    return Panel(title=title, x=x, y=y, series=tuple(series))


def figure_held_up(runs: Runs) -> Figure:
    """How long one connection, and the end of one, holds up messages."""
    joins = tuple(
        Series(
            name=kind,
            x=tuple(one["let in"] for one in found),
            y=tuple(one["others, longest"] for one in found),
            style="points",
        )
        for kind, found in ((RULED, held(runs, JOINS)), (VECTOR, held(runs, JOINS_VECTOR)))
    )
    longest = max(max(series.x) for series in joins)
    left = [(CHANGES[change].told_ms, held(runs, change)) for change in LEFT]
    return Figure(
        key="held_up",
        title="What one connection, and the end of one, holds up",
        caption=f"Messages sent from {EARLIER_MS:g} ms before it to {WITHIN_MS:g} ms after it, each compared"
        " with the same run without it. (A) A point a run: the longest of messages of the newcomer's other"
        " senders; on the line it is as long as it takes to be let in. (B) Messages of the sender whose"
        " receiver leaves, with bars from the least to the most of the runs; those of other senders are not"
        " held up.",
        panels=(
            Panel(
                title="(A) a receiver connects",
                x=Axis("to be let in [ms]"),
                y=Axis("others held up, longest [ms]"),
                series=(*joins, Series(name="as long", x=(0.0, longest), y=(0.0, longest))),
            ),
            Panel(
                title="(B) a receiver disconnects",
                x=Axis("sender is told after [ms]"),
                y=Axis("held up, longest [ms]"),
                series=(
                    Series(
                        name=RULED,
                        x=tuple(told for told, _ in left),
                        y=tuple(mean(found, "own, longest") for _, found in left),
                        low=tuple(min(one["own, longest"] for one in found) for _, found in left),
                        high=tuple(most(found, "own, longest") for _, found in left),
                    ),
                ),
            ),
        ),
    )


FIGURES = (figure_connections, figure_held_up)
