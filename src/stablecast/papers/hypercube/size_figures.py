"""Figures 8 to 11: times, load, queues, hops and messages against the number of members."""

from __future__ import annotations

from collections.abc import Sequence

from stablecast.papers.curves import INTERVALS, panel
from stablecast.papers.curves import curve as drawn
from stablecast.papers.hypercube.grid import (
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
from stablecast.papers.hypercube.orders import ORDERS
from stablecast.pipeline.runs import Runs
from stablecast.report.figure import Figure, Panel, Series

WITHOUT_FULLDIST = PROTOCOLS[1:]
_NETWORK = f"{ABOUT} {INTERVALS}"


def line(runs: Runs, protocol: str, index: Index) -> Series:
    """Return the means of a protocol with their intervals."""
    samples = curve(runs, protocol)
    return drawn(
        protocol,
        [(each.members, each.estimate(index)) for each in samples],
        hover=[f"n = {each.members}, {len(each.results)} graphs" for each in samples],
    )


def _panel(
    runs: Runs,
    title: str,
    index: Index,
    *,
    protocols: Sequence[str] = PROTOCOLS,
    log: bool = False,
    further: Sequence[Series] = (),
) -> Panel:
    lines = [line(runs, protocol, index) for protocol in protocols]
    return panel(title, index.label, [*lines, *further], log=log)


def figure_8(runs: Runs) -> Figure:
    """Figure 8: round-trip times."""
    return Figure(
        key="figure8",
        title="Figure 8: round-trip time",
        caption="From the beginning of a round until the first, and until the last member knows its result."
        f" {_NETWORK}",
        panels=(_panel(runs, "(A) first member", FIRST), _panel(runs, "(B) last member", LAST)),
    )


def figure_9(runs: Runs) -> Figure:
    """Figure 9: average network load."""
    return Figure(
        key="figure9",
        title="Figure 9: average network load",
        caption="Messages on all links, counted every millisecond of the round, with fulldist (logarithmic)"
        f" and without. {_NETWORK}",
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
        f" (logarithmic), and the two that stay small. {_NETWORK}",
        panels=(
            _panel(runs, "(A) all protocols", QUEUE, log=True),
            _panel(runs, "(B) s_coord and cubefulldist", QUEUE, protocols=SCALABLE),
        ),
    )


def _order(runs: Runs, name: str, protocol: str) -> Series:
    """Return an order of growth as a line that meets a protocol's largest group."""
    samples, order = curve(runs, protocol), ORDERS[name]
    scale = samples[-1].mean(MESSAGES) / order(float(samples[-1].members))
    x = tuple(float(each.members) for each in samples)
    return Series(name=f"{scale:.3g} {name}", x=x, y=tuple(scale * order(n) for n in x), like=protocol)


def figure_11(runs: Runs) -> Figure:
    """Figure 11: hops and messages."""
    orders = (_order(runs, "n", "coord"), _order(runs, "n log² n", "cubefulldist"))
    return Figure(
        key="figure11",
        title="Figure 11: hop count and number of messages",
        caption="A message counts once in (B) and once a link in (A). The pale lines are O(n) and"
        f" O(n log² n), drawn through the largest group; coord and s_coord lie on each other. {_NETWORK}",
        panels=(
            _panel(runs, "(A) hop count", HOPS, log=True),
            _panel(runs, "(B) message count", MESSAGES, log=True, further=orders),
        ),
    )


FIGURES = (figure_8, figure_9, figure_10, figure_11)
