"""T5: time to stable against skew, drift and the kind of clock, drawn."""

from __future__ import annotations

from functools import partial

from stablecast.papers.timestamp.clocks import (
    ABOUT,
    DRIFTS_PPM,
    HYBRID,
    LINKS_US,
    LOGICAL,
    NEAR,
    PHYSICAL,
    SKEWS_MS,
    SYNC_S,
    drifting,
    growths,
    skew_of_drift_ms,
    times,
    vector_run,
    with_clock,
)
from stablecast.pipeline.runs import Runs
from stablecast.report.figure import Axis, Figure, Panel, Series

MEAN = Axis("mean time to stable [ms]")


def _skew_panel(runs: Runs, letter: str, links: str) -> Panel:
    vector = times(runs, partial(vector_run, links)).mean
    clocks = [
        Series(
            name=f"{clock} clocks",
            x=SKEWS_MS,
            y=tuple(with_clock(runs, links, clock, skew).mean for skew in SKEWS_MS),
        )
        for clock in (PHYSICAL, LOGICAL, HYBRID)
    ]
    flat = Series(name="vector", x=SKEWS_MS, y=(vector,) * len(SKEWS_MS))
    return Panel(title=f"({letter}) {links}", x=Axis("skew [ms]"), y=MEAN, series=(*clocks, flat))


def _growth_panel(runs: Runs) -> Panel:
    found = {links: growths(runs, links) for links in LINKS_US}
    most = max(each.senders for grown in found.values() for each in grown)
    grown = [
        Series(
            name=links,
            x=tuple(each.senders for each in points),
            y=tuple(each.more for each in points),
            style="points",
        )
        for links, points in found.items()
    ]
    return Panel(
        title="(C) physical clocks, every run",
        x=Axis("skew between two senders [ms]"),
        y=Axis("growth of the longest time [ms]"),
        series=(*grown, Series(name="as much as the skew", x=(0.0, most), y=(0.0, most))),
    )


def figure_skew(runs: Runs) -> Figure:
    """Time against skew, for every kind of clock."""
    return Figure(
        key="skew",
        title="Time to stable against clock skew",
        caption=f"{ABOUT} Means over seeds. Physical clocks pay for the skew; hybrid ones for no more than a"
        " trip, after which a clock that is behind has heard of the stamp; logical ones have no skew (in (A)"
        " hybrid ones lie on them); vectors need no clocks. (C) The longest time of a run grows with how far"
        " its senders' clocks are apart; the line is a growth by as much.",
        panels=(
            *(_skew_panel(runs, letter, links) for letter, links in zip("AB", LINKS_US, strict=True)),
            _growth_panel(runs),
        ),
    )


def figure_drift(runs: Runs) -> Figure:
    """Time against drift."""
    found = [times(runs, partial(drifting, drift)) for drift in DRIFTS_PPM]
    limit = tuple(found[0].most + skew_of_drift_ms(drift) for drift in DRIFTS_PPM)
    return Figure(
        key="drift",
        title="Time to stable against clock drift",
        caption=f"{ABOUT} Here: {NEAR}. Clocks are set right every {SYNC_S:g} s and drift apart between."
        " Means over seeds; bars reach from the least to the most of the runs. The longest time stays below"
        " that without drift plus the skew that the drift makes.",
        panels=(
            Panel(
                title="physical clocks",
                x=Axis("drift [ppm]"),
                y=Axis("time to stable [ms]"),
                series=(
                    Series(
                        name="longest of a run",
                        x=DRIFTS_PPM,
                        y=tuple(each.most for each in found),
                        low=tuple(min(each.longest) for each in found),
                        high=tuple(max(each.longest) for each in found),
                    ),
                    Series(name="mean", x=DRIFTS_PPM, y=tuple(each.mean for each in found)),
                    Series(
                        name="longest without drift + skew", x=DRIFTS_PPM, y=limit, like="longest of a run"
                    ),
                ),
            ),
        ),
    )


FIGURES = (figure_skew, figure_drift)
