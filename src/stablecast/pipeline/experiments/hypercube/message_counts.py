"""Sections 4.2.2 and 4.2.3: counts of messages, and how loads compare (C5f to C5h)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from statistics import fmean
from typing import Any

from stablecast.overlays.hypercube import disseminate, hypercube
from stablecast.pipeline.experiments.hypercube.grid import (
    ABOUT,
    FIRST,
    HOPS,
    LAST,
    LOAD,
    MESSAGES,
    OWN,
    PROTOCOLS,
    QUEUE,
    SMALLEST_JUDGED,
    Index,
    curve,
    curves,
    mean,
    sizes_made,
)
from stablecast.pipeline.experiments.paper import Claim, Judgement
from stablecast.pipeline.experiments.table import Table
from stablecast.pipeline.runs import Runs

SHAPES: dict[str, Callable[[float], float]] = {
    "n": lambda n: n,
    "n log n": lambda n: n * math.log2(n),
    "n log² n": lambda n: n * math.log2(n) ** 2,
    "n²": lambda n: n * n,
}
PAPER_SHAPES = {"fulldist": "n²", "coord": "n", "s_coord": "n", "cubefulldist": "n log² n"}
LEAST_OF_LOCKSTEP = 0.5
"""A run sends at most as many messages as one in lockstep, and at least this part of them."""
SAME_QUEUE_FACTOR = 3.0
"""How far the longest queues of s_coord and cubefulldist may be apart and still be called almost the same."""
HARDLY, SLIGHT = 1.25, 1.5
"""Last over first round-trip time that is hardly, or slightly, above 1."""


@cache
def lockstep_messages(members: int) -> int:
    """Return cubefulldist's messages if all members take their steps together.

    A member that has heard from all after e iterations tells its neighbours e + 1 times.
    """
    cube = hypercube(members)
    return int((cube.degree * (disseminate(cube) + 1)).sum())


def shape_of(sizes: list[int], counts: list[float]) -> tuple[str, float]:
    """Return the shape that counts follow most closely, and by how much they stray from it."""
    stray = {}
    for name, shape in SHAPES.items():
        ratios = [count / shape(n) for n, count in zip(sizes, counts, strict=True)]
        stray[name] = max(ratios) / min(ratios)
    best = min(stray, key=lambda name: stray[name])
    return best, stray[best]


def _shapes(runs: Runs) -> dict[str, tuple[str, float]]:
    found = {}
    for protocol, samples in curves(runs, least=SMALLEST_JUDGED):
        counts = [each.mean(MESSAGES) for each in samples]
        found[protocol] = shape_of([each.members for each in samples], counts)
    return found


def messages(runs: Runs) -> Table:
    """Messages of cubefulldist beside those of a run in lockstep, and of the others."""
    rows: list[tuple[Any, ...]] = []
    for each in curve(runs, "cubefulldist"):
        n, found, expected = each.members, each.mean(MESSAGES), lockstep_messages(each.members)
        others = (round(mean(runs, protocol, n, MESSAGES)) for protocol in ("coord", "s_coord"))
        full = round(mean(runs, "fulldist", n, MESSAGES)) if n in sizes_made(runs, "fulldist") else None
        per = found / SHAPES["n log² n"](n)
        rows.append((n, full, *others, round(found), expected, round(found / expected, 3), round(per, 2)))
    return Table(
        key="messages",
        title="Messages in a round",
        columns=(
            "n",
            "fulldist",
            "coord",
            "s_coord",
            "cubefulldist",
            "in lockstep",
            "over lockstep",
            "over n log² n",
        ),
        rows=tuple(rows),
        note="In lockstep a member of degree d whose farthest is e links away sends d (e + 1) messages.",
    )


def first_and_last(runs: Runs) -> Table:
    """How much later than the first the last member knows, counted in two ways."""
    rows = []
    for n in sizes_made(runs, "coord", least=SMALLEST_JUDGED):
        ratios = [
            round(_late(runs, protocol, n, index), 2) if n in sizes_made(runs, protocol) else None
            for index in (LAST, OWN)
            for protocol in PROTOCOLS
        ]
        rows.append((n, *ratios))
    return Table(
        key="first_and_last",
        title="Round-trip time of the last member over that of the first",
        columns=("n", *PROTOCOLS, *(f"{protocol}, own start" for protocol in PROTOCOLS)),
        rows=tuple(rows),
        note="Own start: the last member's time is counted from the first message that it gets in the round,"
        f" not from the round's beginning at member 0. {ABOUT}",
    )


TABLES = (messages, first_and_last)


def _late(runs: Runs, protocol: str, members: int, index: Index = LAST) -> float:
    return mean(runs, protocol, members, index) / mean(runs, protocol, members, FIRST)


def judge_messages(runs: Runs) -> Judgement:
    """C5f."""
    found = _shapes(runs)
    wrong = [protocol for protocol in PROTOCOLS if found[protocol][0] != PAPER_SHAPES[protocol]]
    samples = curve(runs, "cubefulldist", least=SMALLEST_JUDGED)
    ratios = [each.mean(MESSAGES) / lockstep_messages(each.members) for each in samples]
    near = all(LEAST_OF_LOCKSTEP <= ratio <= 1 for ratio in ratios)
    return Judgement(
        paper=", ".join(f"{protocol} {shape}" for protocol, shape in PAPER_SHAPES.items()),
        measured=", ".join(f"{protocol} {shape}" for protocol, (shape, _) in found.items()),
        holds=not wrong and near,
        why="the shape that the counts from n = 100 on stray least from ("
        + ", ".join(f"{protocol} by {stray - 1:.0%}" for protocol, (_, stray) in found.items())
        + f"); cubefulldist sends {min(ratios):.2f} to {max(ratios):.2f} times what it would in lockstep"
        f" (accepted: {LEAST_OF_LOCKSTEP:g} to 1), since a member that knows all waits for no further"
        " iteration",
    )


def _ratios(runs: Runs, one: str, other: str, index: Index) -> dict[int, float]:
    """Return one protocol's index over another's, at the sizes of both."""
    made = [n for n in sizes_made(runs, one, least=SMALLEST_JUDGED) if n in sizes_made(runs, other)]
    return {n: mean(runs, one, n, index) / mean(runs, other, n, index) for n in made}


def _span(ratios: dict[int, float]) -> str:
    return f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f}"


def judge_loads(runs: Runs) -> Judgement:
    """C5g."""
    queue, load = "s_coord's queue / cubefulldist's", "coord's load / cubefulldist's"
    hops = "s_coord's hops / coord's"
    orders = {f"{p}'s queue / fulldist's": _ratios(runs, p, "fulldist", QUEUE) for p in PROTOCOLS[1:]}
    orders[queue] = _ratios(runs, "s_coord", "cubefulldist", QUEUE)
    orders[load] = _ratios(runs, "coord", "cubefulldist", LOAD)
    orders[hops] = _ratios(runs, "s_coord", "coord", HOPS)
    above = {name: [n for n, ratio in each.items() if ratio > 1] for name, each in orders.items()}
    missed = [f"{name} at n = {', '.join(map(str, where))}" for name, where in above.items() if where]
    return Judgement(
        paper="fulldist's queue longest; coord's load below cubefulldist's; s_coord's queue and hops lowest",
        measured=f"{len(orders) - len(missed)} of {len(orders)} orders at every size; "
        + ", ".join(f"{name} {_span(orders[name])}" for name in (queue, load, hops)),
        holds=not missed and min(orders[queue].values()) >= 1 / SAME_QUEUE_FACTOR,
        why=f"n from {SMALLEST_JUDGED} on; above 1: {'; '.join(missed) or 'none'}; hops are a matter of"
        f" chance ({fmean(orders[hops].values()):.2f} on average), since a parent placed at random is as far"
        " away as the coordinator; the paper calls s_coord's and"
        f" cubefulldist's queues almost the same (accepted: a factor {SAME_QUEUE_FACTOR:g})",
    )


def judge_last_member(runs: Runs) -> Judgement:
    """C5h."""
    late = {protocol: _latest(runs, protocol, LAST) for protocol in PROTOCOLS}
    own = {protocol: _latest(runs, protocol, OWN) for protocol in PROTOCOLS}
    limits = {"coord": HARDLY, "s_coord": HARDLY, "cubefulldist": SLIGHT}
    missed, missed_own = (
        [protocol for protocol, limit in limits.items() if found[protocol] > limit] for found in (late, own)
    )
    return Judgement(
        paper="coord, s_coord: hardly later; cubefulldist: slightly; fulldist: much",
        measured=", ".join(f"{protocol} × {ratio:.2f}" for protocol, ratio in late.items()),
        holds=not missed and late["fulldist"] > HARDLY,
        why=f"last over first where it is largest, n from {SMALLEST_JUDGED} on (accepted: coord and s_coord"
        f" {HARDLY:g}, cubefulldist {SLIGHT:g}); missed by {', '.join(missed) or 'none'}: the result travels"
        " once more through the group; counted from each member's own first message"
        f" {', '.join(f'{protocol} × {ratio:.2f}' for protocol, ratio in own.items())}, missed by"
        f" {', '.join(missed_own) or 'none'}",
    )


def _latest(runs: Runs, protocol: str, index: Index) -> float:
    made = sizes_made(runs, protocol, least=SMALLEST_JUDGED)
    return max(_late(runs, protocol, n, index) for n in made)


CLAIMS = (
    Claim(
        id="C5f",
        kind="trend",
        text="cubefulldist sends O(n log² n) messages, coord and s_coord O(n), fulldist O(n²).",
        judge=judge_messages,
    ),
    Claim(
        id="C5g",
        kind="trend",
        text="fulldist has the longest queues; coord's average load is below cubefulldist's; s_coord's"
        " longest queue is below cubefulldist's and almost the same, and its hops are fewer than coord's.",
        judge=judge_loads,
    ),
    Claim(
        id="C5h",
        kind="trend",
        text="First and last member hardly differ in coord and s_coord, slightly in cubefulldist, and much in"
        " fulldist under load.",
        judge=judge_last_member,
    ),
)
