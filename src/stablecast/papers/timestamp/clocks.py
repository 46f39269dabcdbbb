"""T5, measured: time to stable against skew and drift, with physical, logical and hybrid clocks.

The figures are in ``clock_figures``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from statistics import fmean
from typing import Any

import numpy as np

from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.protocols.contract.clocks import draw_clocks
from stablecast.report.table import Table
from stablecast.simulate.result import TrafficResult

MEMBERS, SENDERS = 16, 8
PERIOD_MS = 20.0
"""Both t_send and t_ack; the time between two data messages of a sender is no multiple of it."""
GROUP: dict[str, Any] = {
    "topology": "balanced",
    "costs": "links-only",
    "nodes": MEMBERS,
    "members": MEMBERS,
    "senders": SENDERS,
    "messages": 40,
    "rate_per_s": 9.0,
    "buffer": 10_000,
    "ack_every_ms": PERIOD_MS,
}
NEAR, FAR = "1 ms a link", "20 ms a link"
LINKS_US = {NEAR: 1000.0, FAR: 20_000.0}
SKEWS_MS = (0.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
"""Up to sixteen times t_send."""
DRIFTS_PPM = (0.0, 1000.0, 2000.0, 5000.0, 10_000.0)
SYNC_S = 4.0
QUICK_SEEDS, FULL_SEEDS = 4, 16
PHYSICAL, LOGICAL, HYBRID = "physical", "logical", "hybrid"

NO_SLOWER = 1.02
"""Ratio of mean times that still counts as no slower."""
ABOUT = (
    f"{SENDERS} senders of {MEMBERS} members, t_send = t_ack = {PERIOD_MS:g} ms, on a tree with"
    f" {' or '.join(LINKS_US)}."
)


@cache
def run_of(links: str, clock: str, skew_ms: float, seed: int, *, drift_ppm: float = 0.0) -> Point:
    """Return a run with clocks that differ by up to a skew, drift included."""
    drift: dict[str, Any] = {"drift_ppm": drift_ppm, "sync_s": SYNC_S} if drift_ppm else {}
    return simulation(
        protocol="timestamp",
        propagation_us=LINKS_US[links],
        send_every_ms=PERIOD_MS,
        clock=clock,
        skew_us=skew_ms * 1000,
        seed=seed,
        **drift,
        **GROUP,
    )


@cache
def vector_run(links: str, seed: int) -> Point:
    """Return a run of vector acknowledgements, which need no clocks."""
    return simulation(protocol="vector", propagation_us=LINKS_US[links], seed=seed, **GROUP)


def skew_of_drift_ms(drift_ppm: float) -> float:
    """Return how far two clocks drift apart until they are set right again."""
    return 2 * drift_ppm * SYNC_S / 1000


def points(full: bool) -> list[Point]:
    """Return runs with every kind of clock, skew and drift."""
    asked = []
    for seed in range(FULL_SEEDS if full else QUICK_SEEDS):
        for links in LINKS_US:
            asked += [run_of(links, clock, skew, seed) for clock in (PHYSICAL, HYBRID) for skew in SKEWS_MS]
            asked += [run_of(links, LOGICAL, 0.0, seed), vector_run(links, seed)]
        asked += [drifting(drift, seed) for drift in DRIFTS_PPM]
    return list({point.key: point for point in asked}.values())


def judged_points(full: bool) -> list[Point]:
    """Return what other readings need: skew with physical clocks, and drift."""
    asked = []
    for seed in range(FULL_SEEDS if full else QUICK_SEEDS):
        asked += [run_of(links, PHYSICAL, skew, seed) for links in LINKS_US for skew in SKEWS_MS]
        asked += [drifting(drift, seed) for drift in DRIFTS_PPM]
    return list({point.key: point for point in asked}.values())


def drifting(drift_ppm: float, seed: int) -> Point:
    """Return a run with clocks that are set alike every few seconds and drift apart between."""
    return run_of(NEAR, PHYSICAL, skew_of_drift_ms(drift_ppm), seed, drift_ppm=drift_ppm)


@dataclass(frozen=True)
class Times:
    """Times to stable of the same run with several seeds, in ms."""

    means: tuple[float, ...]
    longest: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over messages and seeds."""
        return fmean(self.means)

    @property
    def most(self) -> float:
        """The longest of a run, on average over the seeds."""
        return fmean(self.longest)


def times(runs: Runs, of: Callable[[int], Point]) -> Times:
    """Return the times of the seeds that were run."""
    asked = [of(seed) for seed in range(FULL_SEEDS)]
    found = [_traffic(runs, point) for point in asked if point in runs]
    if not found:
        raise MissingRun(f"this run was not made: {asked[0].replay}")
    return Times(
        tuple((each.tts_mean_us or 0) / 1000 for each in found),
        tuple((each.tts_max_us or 0) / 1000 for each in found),
    )


def _traffic(runs: Runs, point: Point) -> TrafficResult:
    result = runs[point].result
    if not result.completed or result.traffic is None:
        raise MissingRun(f"this run did not finish: {point.replay}")
    return result.traffic


def with_clock(runs: Runs, links: str, clock: str, skew_ms: float = 0.0) -> Times:
    """Return the times with a kind of clock and a skew, which logical clocks do not have."""
    return times(runs, partial(run_of, links, clock, 0.0 if clock == LOGICAL else skew_ms))


@cache
def drawn_skews_ms(seed: int, skew_ms: float) -> tuple[float, float]:
    """Return how far the senders' clocks are apart in a run, and all members'; the skew is the most."""
    clocks = draw_clocks(seed, MEMBERS, skew_ps=round(skew_ms * 1e9))
    senders = np.arange(SENDERS) * MEMBERS // SENDERS
    return float(np.ptp(clocks.offset_ps[senders])) / 1e9, float(np.ptp(clocks.offset_ps)) / 1e9


def skews(runs: Runs) -> Table:
    """Times against skew."""
    rows = []
    for links in LINKS_US:
        logical = with_clock(runs, links, LOGICAL)
        vector = times(runs, partial(vector_run, links))
        for skew in SKEWS_MS:
            found = [with_clock(runs, links, clock, skew) for clock in (PHYSICAL, HYBRID)]
            cells = [value for each in (*found, logical, vector) for value in (each.mean, each.most)]
            rows.append((links, skew, *(round(value, 1) for value in cells)))
    kinds = (PHYSICAL, HYBRID, LOGICAL, "vectors")
    return Table(
        key="skew",
        title="Time to stable against skew [ms]",
        columns=(
            "links",
            "skew [ms]",
            *(f"{kind}, {what}" for kind in kinds for what in ("mean", "longest")),
        ),
        rows=tuple(rows),
        note=f"{ABOUT} Means over seeds; longest: of a run. Logical clocks and vectors know no skew and are"
        " repeated for comparison.",
    )


def drifts(runs: Runs) -> Table:
    """Times against drift."""
    still = times(runs, partial(drifting, 0.0))
    rows = []
    for drift in DRIFTS_PPM:
        found = times(runs, partial(drifting, drift))
        more = _most_growth(found.longest, still.longest)
        cells = (found.mean, found.most, more, skew_of_drift_ms(drift))
        rows.append((drift, *(round(value, 1) for value in cells)))
    return Table(
        key="drift",
        title=f"Time to stable against drift, clocks set right every {SYNC_S:g} s [ms]",
        columns=("drift [ppm]", "mean", "longest", "most that the longest grows", "skew that drift makes"),
        rows=tuple(rows),
        note=f"{ABOUT} {NEAR}.",
    )


TABLES = (skews, drifts)


def _most_growth(values: Sequence[float], before: Sequence[float]) -> float:
    return max(after - start for after, start in zip(values, before, strict=True))


@dataclass(frozen=True)
class Growth:
    """What a skew did to a run, in ms."""

    skew: float
    """The most that two clocks may differ."""
    senders: float
    """How far the senders' clocks are apart."""
    group: float
    """How far the clocks of all members are."""
    more: float
    """By how much the longest time to stable is above that without skew."""


def growths(runs: Runs, links: str) -> list[Growth]:
    """Return what every skew did with every seed."""
    before = with_clock(runs, links, PHYSICAL).longest
    return [
        Growth(skew, *drawn_skews_ms(seed, skew), after - before[seed])
        for skew in SKEWS_MS[1:]
        for seed, after in enumerate(with_clock(runs, links, PHYSICAL, skew).longest)
    ]


def explained(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Return the slope of the line through some points, and the share of the variance that it explains."""
    slope, intercept = np.polyfit(x, y, 1)
    left = np.asarray(y) - (slope * np.asarray(x) + intercept)
    return float(slope), float(1 - left.var() / np.var(y)) if np.var(y) else 1.0


def judge_skew(runs: Runs) -> Judgement:
    """T5c."""
    slopes, beyond, shares, holds = [], [], [], True
    for links in LINKS_US:
        grown = growths(runs, links)
        large = [each for each in grown if each.senders > 2 * PERIOD_MS]
        more = [each.more for each in large]
        slope, share = explained([each.senders for each in large], more)
        means = [with_clock(runs, links, PHYSICAL, skew).mean for skew in SKEWS_MS]
        holds &= 0.8 <= slope <= 1.2 and means[0] < means[-1] == max(means)
        holds &= all(each.more <= each.skew for each in grown)
        slopes.append(f"slope {slope:.2f} ({links})")
        beyond.append(f"{max(each.more - each.senders for each in grown):+.1f} ms")
        shares.append(f"{share:.1%} and {explained([each.group for each in large], more)[1]:.1%}")
    return Judgement(
        paper="the larger the skew between two senders, the longer",
        measured=", ".join(slopes),
        holds=holds,
        why="the longest time of a run against how far its senders' clocks are apart, beyond two t_send"
        " (accepted: 0.8 to 1.2); no run may grow by more than the most that clocks differ; with timers that"
        f" happen to lie differently, runs grow by up to {' and '.join(beyond)} more than their senders'"
        " clocks are apart; of the variance the senders' skew explains, and that of all members,"
        f" {'; '.join(shares)}",
    )


def _over(runs: Runs, links: str, clock: str, other: str, skew_ms: float = 0.0) -> tuple[float, float]:
    """Return the mean and the longest times with one kind of clock over those with another."""
    one, two = with_clock(runs, links, clock, skew_ms), with_clock(runs, links, other, skew_ms)
    return one.mean / two.mean, one.most / two.most


def _worst(runs: Runs, links: str, other: str) -> float:
    """Return the mean time with hybrid clocks over that with others, at the worst skew."""
    return max(_over(runs, links, HYBRID, other, skew)[0] for skew in SKEWS_MS)


def judge_hybrid(runs: Runs) -> Judgement:
    """T5e."""
    worst = {links: _worst(runs, links, PHYSICAL) for links in LINKS_US}
    gain = {links: _over(runs, links, PHYSICAL, HYBRID, SKEWS_MS[-1])[0] for links in LINKS_US}
    return Judgement(
        paper="not considered",
        measured=", ".join(f"× {ratio:.2f} at worst ({links})" for links, ratio in worst.items()),
        holds=max(worst.values()) <= NO_SLOWER and min(gain.values()) > 1,
        why=f"mean time over that of physical clocks with the same skew (accepted: {NO_SLOWER:g}); with"
        f" {SKEWS_MS[-1]:g} ms of skew physical clocks take "
        + ", ".join(f"× {ratio:.2f} ({links})" for links, ratio in gain.items())
        + " as long: a hybrid clock that is behind catches up when it hears of a stamp",
    )


def judge_hybrid_and_logical(runs: Runs) -> Judgement:
    """T5f."""
    worst = {links: _worst(runs, links, LOGICAL) for links in LINKS_US}
    return Judgement(
        paper="not considered; by the bounds of section 3 hybrid clocks are no slower",
        measured=", ".join(f"× {ratio:.2f} at worst ({links})" for links, ratio in worst.items()),
        holds=max(worst.values()) <= NO_SLOWER,
        why=f"mean time over that of logical clocks (accepted: {NO_SLOWER:g}); with skew the same senders are"
        " ahead all the time, and what they send waits for a trip each time; logical clocks are ahead by"
        " turns",
    )


def judge_drift(runs: Runs) -> Judgement:
    """T5g."""
    still = times(runs, partial(drifting, 0.0))
    grown = {}
    for drift in DRIFTS_PPM[1:]:
        found = times(runs, partial(drifting, drift))
        grown[drift] = _most_growth(found.longest, still.longest)
    last = DRIFTS_PPM[-1]
    return Judgement(
        paper="less synchrony, more latency",
        measured=", ".join(f"+{more:.1f} ms at {drift:g} ppm" for drift, more in grown.items()),
        holds=all(more <= skew_of_drift_ms(drift) for drift, more in grown.items())
        and grown[last] == max(grown.values()) > 0,
        why=f"most that the longest time of a run grows, clocks set right every {SYNC_S:g} s; accepted: twice"
        f" the drift in that time, {skew_of_drift_ms(last):g} ms at {last:g} ppm",
    )


CLAIMS = (
    Claim(
        id="T5c",
        kind="trend",
        text="The larger the largest skew between two senders' clocks, the longer it takes until messages are"
        " stable; by no more than the skew.",
        judge=judge_skew,
    ),
    Claim(
        id="T5e",
        ours=True,
        main_reading_only=True,
        kind="trend",
        text="Beyond the paper: hybrid clocks are no slower than physical ones, whatever the skew.",
        judge=judge_hybrid,
    ),
    Claim(
        id="T5f",
        ours=True,
        main_reading_only=True,
        kind="trend",
        text="Beyond the paper: hybrid clocks are no slower than logical ones.",
        judge=judge_hybrid_and_logical,
    ),
    Claim(
        id="T5g",
        kind="trend",
        text="Clocks that drift apart prolong the time to stable by no more than they are apart.",
        judge=judge_drift,
    ),
)
