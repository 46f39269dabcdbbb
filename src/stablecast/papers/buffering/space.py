"""B6: buffer space of a member against group size, message rate and link loss.

Space is the most that a member's buffer held, on average over members, as in Figures 2 and 3.
"""

from __future__ import annotations

from itertools import pairwise

from stablecast.papers.buffering.measured import deliveries, made, mean
from stablecast.papers.buffering.networks import (
    HASHED,
    HIGH_LOSS,
    LOW_LOSS,
    NAMES,
    NEAR_100,
    ORIGINAL,
    QUICK_SIZES,
    SIZES,
    TITLES,
    TOPOLOGIES,
    TREE,
    copies,
    of,
)
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.table import Table

RATES = (25.0, 100.0)
ALL_RATES = (25.0, 50.0, 75.0, 100.0)
LOSSES = (LOW_LOSS, 0.005, 0.01, HIGH_LOSS)
SEEDS = 5
POLICIES = (ORIGINAL, HASHED)
SLACK = 0.03
"""By how much a growing curve may fall from one size to the next: rounds are whole numbers."""


def of_size(kind: str, members: int, policy: str, rate: float, *, seeds: int = SEEDS) -> list[Point]:
    """Return the runs of one point of Figures 2 and 3."""
    return [of(kind, members, policy, rate_per_s=rate, seed=seed) for seed in range(seeds)]


def of_rate(policy: str, rate: float, *, seeds: int = SEEDS) -> list[Point]:
    """Return the runs of one point of Figure 4 (a)."""
    return of_size(TREE, NEAR_100, policy, rate, seeds=seeds)


def of_loss(policy: str, loss: float, *, seeds: int = SEEDS) -> list[Point]:
    """Return the runs of one point of Figure 4 (b)."""
    return [of(TREE, NEAR_100, policy, rate_per_s=100.0, link_loss=loss, seed=seed) for seed in range(seeds)]


def points(full: bool) -> list[Point]:
    """Return the runs of Figures 2, 3 and 4."""
    seeds, sizes = (SEEDS, SIZES) if full else (1, QUICK_SIZES)
    asked = [
        *(
            point
            for kind in TOPOLOGIES
            for members in sizes
            for policy in POLICIES
            for rate in RATES
            for point in of_size(kind, members, policy, rate, seeds=seeds)
        ),
        *(p for policy in POLICIES for rate in ALL_RATES for p in of_rate(policy, rate, seeds=seeds)),
        *(p for policy in POLICIES for loss in LOSSES for p in of_loss(policy, loss, seeds=seeds)),
    ]
    return list({point.key: point for point in asked}.values())


def sizes_made(runs: Runs, kind: str) -> list[int]:
    """Return the sizes that were run."""
    found = [n for n in SIZES if made(runs, of_size(kind, n, HASHED, RATES[0]))]
    if not found:
        raise MissingRun(f"this run was not made: {of_size(kind, SIZES[0], HASHED, RATES[0])[0].replay}")
    return found


def space(runs: Runs, asked: list[Point]) -> float:
    """Return the space of a member: the mean of the maxima, over members and runs."""
    return mean(deliveries(runs, asked), lambda each: each.buffer_peak_mean)


def curve(runs: Runs, kind: str, policy: str, rate: float) -> list[float]:
    """Return the space by size."""
    return [space(runs, of_size(kind, n, policy, rate)) for n in sizes_made(runs, kind)]


def _by_size(runs: Runs, kind: str) -> Judgement:
    parts, holds = [], True
    for rate in RATES:
        original, hashed = (curve(runs, kind, policy, rate) for policy in POLICIES)
        holds &= all(b >= (1 - SLACK) * a for a, b in pairwise(original)) and original[-1] > 1.1 * original[0]
        holds &= all(b < a for a, b in pairwise(hashed)) and hashed[-1] < hashed[0] / 1.5
        parts.append(
            f"{original[0]:.0f} to {original[-1]:.0f} and {hashed[0]:.1f} to {hashed[-1]:.1f} at {rate:g}/s"
        )
    sizes = sizes_made(runs, kind)
    return Judgement(
        paper="original grows, optimised shrinks",
        measured="; ".join(parts),
        holds=holds,
        why=f"messages held at most, original and optimised, from {sizes[0]} to {sizes[-1]} members on a"
        f" {TITLES[kind]}, {100 * LOW_LOSS:g} % lost on each link; the original never falls by more than"
        f" {100 * SLACK:g} % from one size to the next, the optimised one always falls",
    )


def _elsewhere(runs: Runs) -> Judgement:
    """Judge all networks but the tree; the words are those of the first that misses, or of the first."""
    found = [_by_size(runs, kind) for kind in TOPOLOGIES[1:]]
    return next((each for each in found if not each.holds), found[0])


def _by_rate(runs: Runs) -> Judgement:
    found = {policy: [space(runs, of_rate(policy, rate)) for rate in ALL_RATES] for policy in POLICIES}
    rises = all(a < b for values in found.values() for a, b in pairwise(values))
    below = all(b < a / 3 for a, b in zip(*found.values(), strict=True))
    return Judgement(
        paper="grows with the rate, the optimised one far below",
        measured="; ".join(f"{NAMES[policy]} {v[0]:.1f} to {v[-1]:.1f}" for policy, v in found.items()),
        holds=rises and below,
        why=f"{NEAR_100} members, {ALL_RATES[0]:g} to {ALL_RATES[-1]:g} messages/s; below a third everywhere",
    )


def _by_loss(runs: Runs) -> Judgement:
    found = {policy: [space(runs, of_loss(policy, loss)) for loss in LOSSES] for policy in POLICIES}
    original, hashed = found[ORIGINAL], found[HASHED]
    return Judgement(
        paper="grows with C, far below the original",
        measured="; ".join(f"{NAMES[policy]} {v[0]:.1f} to {v[-1]:.1f}" for policy, v in found.items()),
        holds=hashed[-1] > hashed[0] and all(b < a / 3 for a, b in zip(original, hashed, strict=True)),
        why=f"{NEAR_100} members at 100/s; C by equation (3) is {copies(TREE, NEAR_100, LOSSES[0]):.2f} at"
        f" {100 * LOSSES[0]:g} % and {copies(TREE, NEAR_100, LOSSES[-1]):.2f} at {100 * LOSSES[-1]:g} %",
    )


CLAIMS = (
    Claim(
        id="B6a",
        kind="trend",
        text="On a tree the original needs more space in larger groups, the optimised one less",
        judge=lambda runs: _by_size(runs, TREE),
    ),
    Claim(
        id="B6b",
        kind="trend",
        text="So they do on a network that is no tree",
        judge=_elsewhere,
    ),
    Claim(id="B6c", kind="trend", text="Space against message rate, 100 members", judge=_by_rate),
    Claim(id="B6d", kind="trend", text="Space against link loss, 100 members", judge=_by_loss),
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
                wanted = round(copies(kind, members, LOW_LOSS), 2)
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
            "optimised, most",
            "optimised, mean",
        ),
        rows=tuple(rows),
        note="Messages in a member's buffer: the most, averaged over members, and the mean over time. C is by"
        f" equation (3), for P_fail of 0.1 % at {100 * LOW_LOSS:g} % link loss.",
    )


TABLES = (space_table,)
