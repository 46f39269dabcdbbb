"""Section 4.2: every index against the number of members (C4), and how times grow (C5a, C5b, C5d)."""

from __future__ import annotations

from typing import Any

from stablecast.pipeline.experiments.hypercube.grid import (
    ABOUT,
    FIRST,
    INDICES,
    LAST,
    PRINTED,
    PROTOCOLS,
    SCALABLE,
    SMALLEST_JUDGED,
    apart,
    curves,
    mean,
    points,
    sizes_made,
)
from stablecast.pipeline.experiments.paper import Claim, Judgement
from stablecast.pipeline.experiments.table import Table
from stablecast.pipeline.runs import Runs

__all__ = ["CLAIMS", "TABLES", "points"]

FLAT_FACTOR = 3.0
"""Growth that is still called almost flat while the group grows nineteenfold."""
SETS = ((100, 128), (200, 256, 300), (500, 512), (1000, 1024))
"""Sizes that the paper finds similar, with powers of two in each."""
SIMILAR_FACTOR = 1.25
PAPER_FULLDIST_MS = {150: (16.0, 19.0), 400: (46.0, 82.0)}
FACTOR = 2.5


def indices(runs: Runs) -> Table:
    """Every index of every protocol and size."""
    rows: list[tuple[Any, ...]] = []
    for protocol, samples in curves(runs):
        for each in samples:
            rows.append((protocol, each.members, *(_rounded(each.mean(index)) for index in INDICES)))
    return Table(
        key="indices",
        title="All indices, all sizes (Figures 8 to 11)",
        columns=("protocol", "n", *(index.label for index in INDICES)),
        rows=tuple(rows),
        note=ABOUT,
    )


def _rounded(value: float) -> float | int:
    return round(value) if value >= 1000 else float(f"{value:.4g}")


def fulldist_times(runs: Runs) -> Table:
    """The four times that the paper prints."""
    rows = []
    for members, printed in PAPER_FULLDIST_MS.items():
        for index, paper in zip((FIRST, LAST), printed, strict=True):
            found = mean(runs, "fulldist", members, index)
            rows.append((members, index.name, paper, round(found, 1), round(apart(found, paper), 2)))
    return Table(
        key="fulldist_times",
        title="fulldist: the times that the paper prints [ms]",
        columns=("n", "index", "paper", "simulated", "factor apart"),
        rows=tuple(rows),
        note=ABOUT,
    )


TABLES = (indices, fulldist_times)


def judge_indices(runs: Runs) -> Judgement:
    """C4."""
    asked = [point for point in points(True) if point in runs]
    results = [runs[point].result for point in asked]
    unfinished = sum(not result.completed for result in results)
    lacking = [index.name for index in INDICES if any(index.read(result) is None for result in results)]
    covered = {(result.protocol, result.members) for result in results}
    expected = {(protocol, n) for protocol in PROTOCOLS for n in sizes_made(runs, protocol)}
    return Judgement(
        paper=f"{len(INDICES)} indices and their spread over graphs",
        measured=f"{len(INDICES) - len(lacking)} indices in {len(results)} runs, {unfinished} unfinished",
        holds=not unfinished and not lacking and covered == expected,
        why=f"{len(covered)} pairs of protocol and size; indices that some run lacks:"
        f" {', '.join(lacking) or 'none'}; the load is counted every 1 ms; the spread is C6",
    )


def _growth(runs: Runs, protocol: str, **options: Any) -> dict[str, float]:
    """Return by how much the times grow from a hundred members to the most."""
    least, most = SMALLEST_JUDGED, sizes_made(runs, protocol)[-1]
    return {
        name: mean(runs, protocol, most, index, **options) / mean(runs, protocol, least, index, **options)
        for name, index in (("first", FIRST), ("last", LAST))
    }


def _told(growth: dict[str, float]) -> str:
    return f"× {growth['first']:.2f} / × {growth['last']:.2f}"


def judge_flatness(runs: Runs) -> Judgement:
    """C5a."""
    found = {protocol: _growth(runs, protocol) for protocol in (*SCALABLE, "coord")}
    printed = {protocol: _growth(runs, protocol, reading=PRINTED) for protocol in SCALABLE}
    most = sizes_made(runs, "coord")[-1]
    steep = [name for name in SCALABLE if max(found[name].values()) >= FLAT_FACTOR]
    return Judgement(
        paper="almost flat",
        measured=", ".join(f"{name} {_told(found[name])}" for name in SCALABLE),
        holds=not steep,
        why=f"RTT of the first / last member from n = {SMALLEST_JUDGED} to {most}, {most // SMALLEST_JUDGED}"
        f" times as many; accepted: less than × {FLAT_FACTOR:g}; coord {_told(found['coord'])}; with the"
        f" printed probabilities at every size, {', '.join(f'{p} {_told(g)}' for p, g in printed.items())}",
    )


def judge_powers_of_two(runs: Runs) -> Judgement:
    """C5b."""
    worst: dict[str, tuple[float, str]] = {}
    for protocol in SCALABLE:
        for group in SETS:
            for index in (FIRST, LAST):
                times = [mean(runs, protocol, n, index) for n in group]
                ratio = max(times) / min(times)
                case = f"{', '.join(map(str, group))} ({index.name})"
                worst[protocol] = max(worst.get(protocol, (0.0, "")), (ratio, case))
    return Judgement(
        paper="no jump: sets of sizes have similar RTT",
        measured=", ".join(f"{name} within {ratio - 1:.0%}" for name, (ratio, _) in worst.items()),
        holds=all(ratio <= SIMILAR_FACTOR for ratio, _ in worst.values()),
        why=f"{len(SETS)} sets of sizes around powers of two (accepted: {SIMILAR_FACTOR - 1:.0%}); widest: "
        + "; ".join(f"{name} at {case}" for name, (_, case) in worst.items()),
    )


def judge_fulldist(runs: Runs) -> Judgement:
    """C5d."""
    rows = fulldist_times(runs).rows
    worst = max(row[4] for row in rows)
    small, large = PAPER_FULLDIST_MS
    growth = mean(runs, "fulldist", large, LAST) / mean(runs, "fulldist", small, LAST)
    others = {p: mean(runs, p, large, LAST) / mean(runs, p, small, LAST) for p in PROTOCOLS[1:]}
    printed = [mean(runs, "fulldist", n, LAST, reading=PRINTED) for n in (small, large)]
    return Judgement(
        paper=", ".join(f"{first:g}/{last:g} ms at {n}" for n, (first, last) in PAPER_FULLDIST_MS.items()),
        measured=", ".join(
            f"{rows[2 * k][3]:g}/{rows[2 * k + 1][3]:g} ms at {n}" for k, n in enumerate(PAPER_FULLDIST_MS)
        ),
        holds=worst <= FACTOR and growth > max(others.values()),
        why=f"at most a factor {worst:.2f} apart (accepted: {FACTOR:g}); last member × {growth:.2f} from"
        f" {small} to {large} members, {', '.join(f'{p} × {g:.2f}' for p, g in others.items())}; with the"
        f" printed probabilities at every size it goes from {printed[0]:.1f} to {printed[1]:.1f} ms",
    )


CLAIMS = (
    Claim(
        id="C4",
        kind="exact",
        text="Round-trip time of the first and of the last member, average network load, maximum queue, hop"
        " count and message count are measured for every protocol and size.",
        judge=judge_indices,
    ),
    Claim(
        id="C5a",
        kind="trend",
        text="The round-trip time of s_coord and cubefulldist remains almost flat as the group grows.",
        judge=judge_flatness,
    ),
    Claim(
        id="C5b",
        kind="trend",
        text="There is no jump at powers of two: 100 and 128, 200, 256 and 300, 500 and 512, 1000 and 1024"
        " members have similar times.",
        judge=judge_powers_of_two,
    ),
    Claim(
        id="C5d",
        kind="factor",
        text="The round-trip time of fulldist grows steeply: first and last member 16 and 19 ms at 150, 46"
        " and 82 ms at 400.",
        judge=judge_fulldist,
    ),
)
