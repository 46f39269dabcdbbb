"""B6: buffer space of a member against group size, message rate and link loss.

Space is the most that a member's buffer held, on average over members, as in Figures 2 and 3.

What shrinks and what grows
    With few members that keep a message, what each of them holds is measured.  What the original holds is the
    rate times the rounds for which every message is kept, and these rounds we set, from a formula that grows
    with the group: that it grows says nothing.  So the growth is judged by what the formula is for: the
    rounds that a message takes from its first delivery to its last, the longest of a run's messages.  A
    member that keeps messages for less would let go of one that somebody still lacks.
Sizes
    Growth is judged up to the paper's 100 members; what lies beyond is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from stablecast.multicast.bimodal_result import Delivery
from stablecast.papers.buffering.measured import deliveries, made, mean
from stablecast.papers.buffering.networks import (
    HASHED,
    HIGH_LOSS,
    HUNDRED,
    LOW_LOSS,
    NAMES,
    ORIGINAL,
    QUICK_SIZES,
    SIZES,
    TITLES,
    TOPOLOGIES,
    TRANSIT,
    TREE,
    copies_of,
    of,
)
from stablecast.papers.paper import Claim, Judgement, Seeds, judged
from stablecast.papers.statistics import Comparison, mean_of, ratio_of
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.table import Table

RATES = (25.0, 100.0)
ALL_RATES = (25.0, 50.0, 75.0, 100.0)
LOSSES = (LOW_LOSS, 0.005, 0.01, HIGH_LOSS)
SEEDS, QUICK_SEEDS, MOST_SEEDS = 5, 2, 20
POLICIES = (ORIGINAL, HASHED)
JUDGED_SIZES = tuple(n for n in SIZES if n <= HUNDRED)
"""Those at which growth is judged, if they were run."""
GROWTH_LEAST = 0.1
"""Rounds for each doubling of the group that count as growth; the formula has 1.7."""
FAR_BELOW = 1 / 3


def of_size(kind: str, members: int, policy: str, rate: float, *, seeds: int = MOST_SEEDS) -> list[Point]:
    """Return the runs of one point of Figures 2 and 3; those that were made are looked for among the most."""
    return [of(kind, members, policy, rate_per_s=rate, seed=seed) for seed in range(seeds)]


def of_rate(policy: str, rate: float, *, seeds: int = MOST_SEEDS) -> list[Point]:
    """Return the runs of one point of Figure 4 (a)."""
    return of_size(TREE, HUNDRED, policy, rate, seeds=seeds)


def of_loss(policy: str, loss: float, *, seeds: int = MOST_SEEDS) -> list[Point]:
    """Return the runs of one point of Figure 4 (b)."""
    return [of(TREE, HUNDRED, policy, rate_per_s=100.0, link_loss=loss, seed=seed) for seed in range(seeds)]


def _of_sizes(kinds: tuple[str, ...], sizes: tuple[int, ...], seeds: int) -> list[Point]:
    cases = [(kind, n, policy) for kind in kinds for n in sizes for policy in POLICIES]
    return [point for case in cases for rate in RATES for point in of_size(*case, rate, seeds=seeds)]


def _of_rates(seeds: int) -> list[Point]:
    return [p for policy in POLICIES for rate in ALL_RATES for p in of_rate(policy, rate, seeds=seeds)]


def _of_losses(seeds: int) -> list[Point]:
    return [p for policy in POLICIES for loss in LOSSES for p in of_loss(policy, loss, seeds=seeds)]


def _once(asked: list[Point]) -> list[Point]:
    return list({point.key: point for point in asked}.values())


def points(full: bool) -> list[Point]:
    """Return the runs of Figures 2, 3 and 4."""
    seeds, sizes = (SEEDS, SIZES) if full else (QUICK_SEEDS, QUICK_SIZES)
    return _once([*_of_sizes(TOPOLOGIES, sizes, seeds), *_of_rates(seeds), *_of_losses(seeds)])


def judged_points(full: bool) -> list[Point]:
    """Return those that other readings need."""
    seeds, sizes = (SEEDS, JUDGED_SIZES) if full else (QUICK_SEEDS, (QUICK_SIZES[0], HUNDRED))
    return _once([*_of_sizes(TOPOLOGIES, sizes, seeds), *_of_rates(seeds), *_of_losses(seeds)])


def sizes_made(runs: Runs, kind: str) -> list[int]:
    """Return the sizes that were run."""
    found = [n for n in SIZES if made(runs, of_size(kind, n, HASHED, RATES[0]))]
    if not found:
        raise MissingRun(f"this run was not made: {of_size(kind, SIZES[0], HASHED, RATES[0])[0].replay}")
    return found


def peaks(runs: Runs, asked: list[Point]) -> list[float]:
    """Return the space of a member in each run: the mean of the maxima over members."""
    return [each.buffer_peak_mean for each in deliveries(runs, asked)]


def space(runs: Runs, asked: list[Point]) -> float:
    """Return the space of a member, on average over runs."""
    return mean(deliveries(runs, asked), lambda each: each.buffer_peak_mean)


def growth(sizes: list[int], found: list[list[Delivery]]) -> list[float]:
    """Return, for each seed, by how many rounds the longest repair grows when the group doubles."""
    seeds = min(map(len, found))
    doublings = np.log2(sizes)
    return [
        float(np.polyfit(doublings, [each[seed].repair_rounds_max for each in found], 1)[0])
        for seed in range(seeds)
    ]


def _by_size(runs: Runs, kind: str) -> Judgement:
    sizes = [n for n in sizes_made(runs, kind) if n in JUDGED_SIZES]
    comparisons, parts = [], []
    for rate in RATES:
        original = [deliveries(runs, of_size(kind, n, ORIGINAL, rate)) for n in sizes]
        slope = mean_of(growth(sizes, original))
        comparisons.append(
            Comparison(what=f"rounds of repair a doubling at {rate:g}/s", found=slope, least=GROWTH_LEAST)
        )
        hashed = [peaks(runs, of_size(kind, n, HASHED, rate)) for n in sizes]
        comparisons += [
            Comparison(what=f"space at {n} over that before at {rate:g}/s", found=ratio_of(b, a), most=1.0)
            for n, (a, b) in zip(sizes[1:], pairwise(hashed), strict=True)
        ]
        rounds = [np.mean([each.repair_rounds_max for each in found]) for found in original]
        held = [np.mean(values) for values in hashed]
        parts.append(
            f"{rounds[0]:.1f} to {rounds[-1]:.1f} rounds of repair (+{slope} a doubling) and"
            f" {held[0]:.1f} to {held[-1]:.1f} messages at {rate:g}/s"
        )
    return judged(
        comparisons,
        paper="original grows, optimised shrinks",
        measured="; ".join(parts),
        why=f"from {sizes[0]} to {sizes[-1]} members on a {TITLES[kind]}, {100 * LOW_LOSS:g} % lost on each"
        " link: of the original, rounds from a message's first delivery to its last, the longest of a run,"
        " since how long it keeps messages is set by us; of the optimised one, the most that a member held",
    )


def _by_rate(runs: Runs) -> Judgement:
    found = {policy: [peaks(runs, of_rate(policy, rate)) for rate in ALL_RATES] for policy in POLICIES}
    comparisons = [
        Comparison(what=f"{policy} at {rate:g}/s over the rate before", found=ratio_of(b, a), least=1.0)
        for policy, values in found.items()
        for rate, (a, b) in zip(ALL_RATES[1:], pairwise(values), strict=True)
    ]
    comparisons += [
        Comparison(what=f"optimised over original at {rate:g}/s", found=ratio_of(b, a), most=FAR_BELOW)
        for rate, a, b in zip(ALL_RATES, *found.values(), strict=True)
    ]
    return judged(
        comparisons,
        paper="grows with the rate, the optimised one far below",
        measured=_ends(found),
        why=f"{HUNDRED} members, {ALL_RATES[0]:g} to {ALL_RATES[-1]:g} messages/s; below a third everywhere",
    )


def _ends(found: dict[str, list[list[float]]]) -> str:
    return "; ".join(
        f"{NAMES[policy]} {np.mean(v[0]):.1f} to {np.mean(v[-1]):.1f}" for policy, v in found.items()
    )


def _by_loss(runs: Runs) -> Judgement:
    found = {policy: [peaks(runs, of_loss(policy, loss)) for loss in LOSSES] for policy in POLICIES}
    original, hashed = found[ORIGINAL], found[HASHED]
    comparisons = [
        Comparison(what="optimised at most loss over least", found=ratio_of(hashed[-1], hashed[0]), least=1.0)
    ]
    comparisons += [
        Comparison(what=f"optimised over original at {100 * loss:g} %", found=ratio_of(b, a), most=FAR_BELOW)
        for loss, a, b in zip(LOSSES, original, hashed, strict=True)
    ]
    first, last = (copies_of(runs[of_loss(HASHED, loss)[0]].options) for loss in (LOSSES[0], LOSSES[-1]))
    return judged(
        comparisons,
        paper="grows with C, far below the original",
        measured=_ends(found),
        why=f"{HUNDRED} members at 100/s; C is {first:.2f} at {100 * LOSSES[0]:g} % and {last:.2f} at"
        f" {100 * LOSSES[-1]:g} %; below a third everywhere",
    )


def _seeds(asked: Callable[[int], list[Point]]) -> Seeds:
    return Seeds(points=asked, first=SEEDS, most=MOST_SEEDS)


CLAIMS = (
    Claim(
        id="B6a",
        kind="trend",
        text="On a tree the original needs more space in larger groups, the optimised one less",
        judge=lambda runs: _by_size(runs, TREE),
        seeds=_seeds(lambda count: _of_sizes((TREE,), JUDGED_SIZES, count)),
    ),
    Claim(
        id="B6b",
        kind="trend",
        text="So they do on a network that is no tree",
        judge=lambda runs: _by_size(runs, TRANSIT),
        seeds=_seeds(lambda count: _of_sizes((TRANSIT,), JUDGED_SIZES, count)),
    ),
    Claim(
        id="B6c",
        kind="trend",
        text="Space against message rate, 100 members",
        judge=_by_rate,
        seeds=_seeds(_of_rates),
    ),
    Claim(
        id="B6d",
        kind="trend",
        text="Space against link loss, 100 members",
        judge=_by_loss,
        seeds=_seeds(_of_losses),
    ),
)


def space_table(runs: Runs) -> Table:
    """Show space and mean by size."""
    rows = []
    for kind in TOPOLOGIES:
        for members in sizes_made(runs, kind):
            for rate in RATES:
                cells: list[float] = []
                for policy in POLICIES:
                    found = deliveries(runs, of_size(kind, members, policy, rate))
                    cells += [
                        round(mean(found, lambda each: each.buffer_peak_mean), 1),
                        round(mean(found, lambda each: each.buffer_mean), 1),
                    ]
                    cells.append(round(mean(found, lambda each: each.repair_rounds_max), 1))
                wanted = round(copies_of(runs[of_size(kind, members, HASHED, rate)[0]].options), 2)
                rows.append((TITLES[kind], members, rate, wanted, *cells))
    return Table(
        key="space",
        title="Buffer space of a member by group size",
        columns=(
            "network",
            "members",
            "messages/s",
            "C",
            "original, most",
            "original, mean",
            "original, rounds of repair",
            "optimised, most",
            "optimised, mean",
            "optimised, rounds of repair",
        ),
        rows=tuple(rows),
        note="Messages in a member's buffer: the most, averaged over members, and the mean over time."
        " Rounds of repair: from a message's first delivery to its last, the longest of a run. C is by"
        f" equation (3), for P_fail of 0.1 % at {100 * LOW_LOSS:g} % link loss.",
    )


TABLES = (space_table,)
