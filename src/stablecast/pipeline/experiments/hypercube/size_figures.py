"""Figures 8 to 11: times, load, queues, hops and messages against the number of members."""

from __future__ import annotations

from collections.abc import Sequence

from stablecast.pipeline.experiments.figure import Axis, Figure, Panel, Series
from stablecast.pipeline.experiments.hypercube.grid import (
    ABOUT,
    FIRST,
    HOPS,
    LAST,
    LOAD,
    MESSAGES,
    PROTOCOLS,
    QUEUE,
    SCALABLE,
    Index,
    curve,
)
from stablecast.pipeline.experiments.hypercube.message_counts import SHAPES
from stablecast.pipeline.runs import Runs

MEMBERS = Axis("members n")
WITHOUT_FULLDIST = PROTOCOLS[1:]


def line(runs: Runs, protocol: str, index: Index) -> Series:
    """Return the means of a protocol, with the best and the worst graph as error bars."""
    samples = curve(runs, protocol)
    return Series(
        name=protocol,
        x=tuple(float(each.members) for each in samples),
        y=tuple(each.mean(index) for each in samples),
        low=tuple(min(each.values(index)) for each in samples),
        high=tuple(max(each.values(index)) for each in samples),
        hover=tuple(f"n = {each.members}, {len(each.results)} graphs" for each in samples),
    )


def _panel(
    runs: Runs, title: str, index: Index, *, protocols: Sequence[str] = PROTOCOLS, log: bool = False
) -> Panel:
    lines = tuple(line(runs, protocol, index) for protocol in protocols)
    return Panel(title=title, x=MEMBERS, y=Axis(index.label, log=log), series=lines)


def figure_8(runs: Runs) -> Figure:
    """Figure 8: round-trip times."""
    return Figure(
        key="figure8",
        title="Figure 8: round-trip time",
        caption="From the beginning of a round until the first, and until the last member knows its result."
        f" {ABOUT} Bars reach from the best to the worst graph.",
        panels=(_panel(runs, "(A) first member", FIRST), _panel(runs, "(B) last member", LAST)),
    )


def figure_9(runs: Runs) -> Figure:
    """Figure 9: average network load."""
    return Figure(
        key="figure9",
        title="Figure 9: average network load",
        caption="Messages on all links, counted every millisecond of the round, with fulldist (logarithmic)"
        f" and without. {ABOUT}",
        panels=(
            _panel(runs, "(A) all protocols", LOAD, log=True),
            _panel(runs, "(B) without fulldist", LOAD, protocols=WITHOUT_FULLDIST),
        ),
    )


def figure_10(runs: Runs) -> Figure:
    """Figure 10: maximum queue."""
    return Figure(
        key="figure10",
        title="Figure 10: maximum queue of a link",
        caption="Messages on one link, the one in transmission included, at the worst moment: all protocols"
        f" (logarithmic), and the two that stay small. {ABOUT}",
        panels=(
            _panel(runs, "(A) all protocols", QUEUE, log=True),
            _panel(runs, "(B) s_coord and cubefulldist", QUEUE, protocols=SCALABLE),
        ),
    )


def _shape(runs: Runs, name: str, protocol: str) -> Series:
    """Return a shape as a line that meets a protocol's largest group."""
    samples = curve(runs, protocol)
    shape = SHAPES[name]
    scale = samples[-1].mean(MESSAGES) / shape(float(samples[-1].members))
    x = tuple(float(each.members) for each in samples)
    return Series(name=f"{scale:.3g} {name}", x=x, y=tuple(scale * shape(n) for n in x), like=protocol)


def figure_11(runs: Runs) -> Figure:
    """Figure 11: hops and messages."""
    counts = _panel(runs, "(B) message count", MESSAGES, log=True)
    shapes = (_shape(runs, "n", "coord"), _shape(runs, "n log² n", "cubefulldist"))
    return Figure(
        key="figure11",
        title="Figure 11: hop count and number of messages",
        caption="A message counts once in (B) and once a link in (A). The pale lines are O(n) and"
        f" O(n log² n), drawn through the largest group; coord and s_coord lie on each other. {ABOUT}",
        panels=(
            _panel(runs, "(A) hop count", HOPS, log=True),
            Panel(title=counts.title, x=counts.x, y=counts.y, series=(*counts.series, *shapes)),
        ),
    )


FIGURES = (figure_8, figure_9, figure_10, figure_11)
