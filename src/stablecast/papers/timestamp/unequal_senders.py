"""T5d: physical against logical clocks where one sender has much more to send than the others.

A logical clock runs as fast as its member sends and hears.  The clock of a sender that sends much is ahead of
all others, which have to hear of each of its stamps before they can pass it: one more way for each message.
Where all send alike, all clocks run alike, and the next message of every sender passes a stamp anyway.  In
section 5's example one sender sends five messages and the other one.
"""

from __future__ import annotations

from functools import cache, partial
from statistics import fmean
from typing import Any

import numpy as np

from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.timestamp.clocks import (
    GROUP,
    HYBRID,
    LINKS_US,
    LOGICAL,
    MEMBERS,
    NO_SLOWER,
    PERIOD_MS,
    PHYSICAL,
    SENDERS,
    Times,
    times,
)
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import Runs
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.simulate.topologies.registry import topology

RATE_PER_S = float(GROUP["rate_per_s"])
FAST_PER_S = 1000.0
FASTS_PER_S = (RATE_PER_S, 30.0, 100.0, 300.0, FAST_PER_S)
MESSAGES = 10
CLOCKS = (PHYSICAL, LOGICAL, HYBRID)
QUICK_SEEDS, FULL_SEEDS = 4, 16
NEXT_FAST = 3
"""How far the fast sender of the next seed is from that of this one, so that each is it by turns."""
ABOUT = (
    f"{SENDERS} senders of {MEMBERS} members, {RATE_PER_S:g} messages a second each but for one, which is"
    f" another one with each seed; t_send = t_ack = {PERIOD_MS:g} ms."
)


def fast_sender(seed: int) -> int:
    """Return which of the senders is the fast one in the runs of a seed."""
    return seed * NEXT_FAST % SENDERS


@cache
def run_of(links: str, clock: str, fast_per_s: float, seed: int) -> Point:
    """Return a run in which one sender has a rate of its own."""
    slower = [f"{RATE_PER_S:g}"] * fast_sender(seed)
    rates: dict[str, Any] = {}
    if fast_per_s != RATE_PER_S:
        rates["first_rates_per_s"] = ",".join((*slower, f"{fast_per_s:g}"))
    return simulation(
        protocol="timestamp",
        propagation_us=LINKS_US[links],
        send_every_ms=PERIOD_MS,
        clock=clock,
        seed=seed,
        **{**GROUP, "messages": MESSAGES},
        **rates,
    )


def _asked(fasts: tuple[float, ...], seeds: int) -> list[Point]:
    return [
        run_of(links, clock, fast, seed)
        for links in LINKS_US
        for clock in CLOCKS
        for fast in fasts
        for seed in range(seeds)
    ]


def points(full: bool) -> list[Point]:
    """Return runs with every kind of clock and every rate of the fast sender."""
    return _asked(FASTS_PER_S, FULL_SEEDS if full else QUICK_SEEDS)


def judged_points(full: bool) -> list[Point]:
    """Return what other readings need: the fastest sender."""
    return _asked((FAST_PER_S,), FULL_SEEDS if full else QUICK_SEEDS)


def with_fast(runs: Runs, links: str, clock: str, fast_per_s: float) -> Times:
    """Return the times with a kind of clock and a rate of the fast sender."""
    return times(runs, partial(run_of, links, clock, fast_per_s))


def over_physical(runs: Runs, links: str, clock: str, fast_per_s: float) -> tuple[float, float]:
    """Return the ratios of mean and longest times to those of physical clocks."""
    one, other = (with_fast(runs, links, each, fast_per_s) for each in (clock, PHYSICAL))
    return one.mean / other.mean, one.most / other.most


def unequal(runs: Runs) -> Table:
    """Times against the rate of the fast sender."""
    rows = []
    for links in LINKS_US:
        for fast in FASTS_PER_S:
            found = [with_fast(runs, links, clock, fast) for clock in CLOCKS]
            ratios = [over_physical(runs, links, clock, fast)[0] for clock in (LOGICAL, HYBRID)]
            cells = [round(value, 1) for each in found for value in (each.mean, each.most)]
            rows.append((links, fast, *cells, *(round(ratio, 3) for ratio in ratios)))
    return Table(
        key="unequal_senders",
        title="Time to stable against the rate of one sender [ms]",
        columns=(
            "links",
            "its messages a second",
            *(f"{clock}, {what}" for clock in CLOCKS for what in ("mean", "longest")),
            "logical over physical, means",
            "hybrid over physical, means",
        ),
        rows=tuple(rows),
        note=f"{ABOUT} Means over messages, most of which are the fast sender's, and over seeds; longest: of"
        " a run.",
    )


def places(runs: Runs) -> Table:
    """What it counts where in the tree the fast sender is."""
    levels = topology(GROUP["topology"], nodes=MEMBERS, members=MEMBERS).tree.level_starts
    means = {
        (links, clock): with_fast(runs, links, clock, FAST_PER_S).means
        for links in LINKS_US
        for clock in (LOGICAL, PHYSICAL)
    }
    seeds = range(min(map(len, means.values())))
    rows = []
    for sender in sorted({fast_sender(seed) for seed in seeds}):
        member = sender * MEMBERS // SENDERS
        own = [seed for seed in seeds if fast_sender(seed) == sender]
        ratios = [
            fmean(means[links, LOGICAL][seed] / means[links, PHYSICAL][seed] for seed in own)
            for links in LINKS_US
        ]
        level = int(np.searchsorted(levels, member, "right")) - 1
        rows.append((member, level, *(round(ratio, 3) for ratio in ratios)))
    return Table(
        key="fast_places",
        title=f"Logical over physical clocks by the place of the sender of {FAST_PER_S:g} messages a second",
        columns=("member", "links from the root", *LINKS_US),
        rows=tuple(rows),
        note=f"{ABOUT} Ratios of mean times to stable, means over the seeds of that sender. From a leaf it is"
        " farther to the other senders.",
    )


TABLES = (unequal, places)


def judge_logical(runs: Runs) -> Judgement:
    """T5d."""
    ratios = {links: over_physical(runs, links, LOGICAL, FAST_PER_S) for links in LINKS_US}
    return Judgement(
        paper="logical clocks take one more exchange of messages",
        measured=", ".join(f"× {mean:.2f}, longest × {most:.2f} ({k})" for k, (mean, most) in ratios.items()),
        holds=all(mean > NO_SLOWER for mean, _ in ratios.values()),
        why=f"mean and longest time to stable over that of physical clocks, one sender at {FAST_PER_S:g}"
        f" messages a second and the others at {RATE_PER_S:g} (accepted: a mean above {NO_SLOWER:g}): the"
        " others have to hear of a stamp before they can pass it, one more way, which counts for more where"
        " links are long beside t_send and t_ack; where all send alike, clocks keep step and it does not show"
        " (reading 'equal senders')",
    )


CLAIMS = (
    Claim(
        id="T5d",
        kind="trend",
        text="Synchronized physical clocks yield lower latency than logical clocks.",
        judge=judge_logical,
    ),
)


def figure_unequal(runs: Runs) -> Figure:
    """Time over that of physical clocks, against the rate of the fast sender."""
    series = [
        Series(
            name=f"{clock} clocks, {links}",
            x=FASTS_PER_S,
            y=tuple(over_physical(runs, links, clock, fast)[0] for fast in FASTS_PER_S),
        )
        for clock in (LOGICAL, HYBRID)
        for links in LINKS_US
    ]
    return Figure(
        key="unequal_senders",
        title="Clocks where one sender sends more than the others",
        caption=f"{ABOUT} Mean time to stable over that with physical clocks. On the left all send alike, and"
        " logical clocks keep step. The more one sender sends, the more of its messages wait until the others"
        " have heard of their stamps; where links are long beside t_send and t_ack, that counts. Hybrid"
        " clocks lie on physical ones.",
        panels=(
            Panel(
                title="one fast sender",
                x=Axis("messages a second of one sender", log=True),
                y=Axis("time over that of physical clocks"),
                series=tuple(series),
            ),
        ),
    )


FIGURES = (figure_unequal,)
