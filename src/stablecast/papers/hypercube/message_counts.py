"""Sections 4.2.2 and 4.2.3: counts of messages, and how loads compare (C5f to C5h).

The paper says "hardly any", "slight" and "significant" of the difference between first and last member, and
prints two cases of fulldist: 16 and 19 ms, a difference that it explains by the protocol alone, and 46 and 82
ms, which it calls significant.  These are the limits here: below the first ratio is hardly any, below the
second is slight.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from stablecast.overlays.hypercube import disseminate, hypercube
from stablecast.papers.curves import columns_with_interval, rounded, with_interval
from stablecast.papers.hypercube.grid import (
    ABOUT,
    FIRST,
    GRAPHS,
    HOPS,
    LAST,
    LOAD,
    MESSAGES,
    OWN,
    PROTOCOLS,
    QUEUE,
    SIZES,
    TWICE,
    Index,
    curve,
    curves,
    graphs_of,
    holds_from,
    ratios,
    sample,
    sizes_made,
)
from stablecast.papers.hypercube.orders import COUNTS, ORDERS, best_order, rather
from stablecast.papers.hypercube.sizes import PAPER_FULLDIST_MS
from stablecast.papers.paper import Claim, Judgement, Seeds, judged
from stablecast.papers.statistics import Comparison, Estimate, mean_of
from stablecast.pipeline.runs import Runs
from stablecast.report.table import Table

PAPER_ORDERS = {"fulldist": "n²", "coord": "n", "s_coord": "n", "cubefulldist": "n log² n"}
SAME_QUEUE_FACTOR = 3.0
"""How far the longest queues of s_coord and cubefulldist may be apart and still be called almost the same."""
HARDLY, SIGNIFICANT = (last / first for first, last in PAPER_FULLDIST_MS.values())
"""Last over first round-trip time: what the paper prints for fulldist at 150 and at 400 members."""
LIMITS = {"coord": HARDLY, "s_coord": HARDLY, "cubefulldist": SIGNIFICANT}


@cache
def lockstep_messages(members: int) -> int:
    """Return cubefulldist's messages if all members take their steps together.

    A member that has heard from all after e iterations tells its neighbours e + 1 times.
    """
    cube = hypercube(members)
    return int((cube.degree * (disseminate(cube) + 1)).sum())


def messages(runs: Runs) -> Table:
    """Messages of cubefulldist beside those of a run in lockstep, and of the others."""
    rows: list[tuple[Any, ...]] = []
    for each in curve(runs, "cubefulldist"):
        n, found, expected = each.members, each.estimate(MESSAGES), lockstep_messages(each.members)
        others = [rounded(sample(runs, protocol, n).mean(MESSAGES)) for protocol in ("coord", "s_coord")]
        small = n in sizes_made(runs, "fulldist")
        full = rounded(sample(runs, "fulldist", n).mean(MESSAGES)) if small else None
        per = (round(found.value / expected, 3), round(found.value / ORDERS["n log² n"](n), 2))
        rows.append((n, full, *others, *with_interval(found), expected, *per))
    return Table(
        key="messages",
        title="Messages in a round",
        columns=(
            *("n", "fulldist", "coord", "s_coord"),
            *columns_with_interval(["cubefulldist"]),
            *("in lockstep", "over lockstep", "over n log² n"),
        ),
        rows=tuple(rows),
        note="In lockstep a member of degree d whose farthest is e links away sends d (e + 1) messages. The"
        " first three send the same number on every graph.",
    )


def first_and_last(runs: Runs) -> Table:
    """How much later than the first the last member knows, counted in two ways."""
    found = {(p, index.name): _late(runs, p, index) for index in (LAST, OWN) for p in PROTOCOLS}
    rows: list[tuple[Any, ...]] = []
    for n in sizes_made(runs, "coord"):
        cells = [with_interval(each[n]) if n in each else (None, None) for each in found.values()]
        rows.append((n, *sum(cells, ())))
    own = [f"{protocol}, own start" for protocol in PROTOCOLS]
    return Table(
        key="first_and_last",
        title="Round-trip time of the last member over that of the first",
        columns=("n", *columns_with_interval([*PROTOCOLS, *own])),
        rows=tuple(rows),
        note="Own start: the last member's time is counted from the first message that it gets in the round,"
        f" not from the round's beginning at member 0. {ABOUT}",
    )


TABLES = (messages, first_and_last)


def _late(runs: Runs, protocol: str, index: Index = LAST) -> dict[int, Estimate]:
    """Return by size how many times as late as the first member the last one knows."""
    return {each.members: each.over(each, index, FIRST) for each in curve(runs, protocol)}


def judge_messages(runs: Runs) -> Judgement:
    """C5f."""
    found = {protocol: best_order(samples, MESSAGES) for protocol, samples in curves(runs)}
    comparisons = [
        rather(
            f"{protocol}: misfit of {PAPER_ORDERS[protocol]} minus that of another order",
            samples,
            MESSAGES,
            (PAPER_ORDERS[protocol],),
            [order for order in COUNTS if order != PAPER_ORDERS[protocol]],
        )
        for protocol, samples in curves(runs)
    ]
    cube = curve(runs, "cubefulldist")
    steps = [each.mean(MESSAGES) / lockstep_messages(each.members) for each in cube]
    return judged(
        comparisons,
        paper=", ".join(f"{protocol} {order}" for protocol, order in PAPER_ORDERS.items()),
        measured=", ".join(f"{protocol} {order}" for protocol, order in found.items()),
        why=f"the order that counts follow from n = {cube[0].members} on; cubefulldist sends {min(steps):.2f}"
        f" to {max(steps):.2f} times what it would in lockstep, since a member that knows all waits for no"
        " further iteration",
    )


def _span(found: dict[int, Estimate]) -> str:
    values = [each.value for each in found.values()]
    return f"{min(values):.2f} to {max(values):.2f}"


def judge_loads(runs: Runs) -> Judgement:
    """C5g."""
    queue, load = "s_coord's queue / cubefulldist's", "coord's load / cubefulldist's"
    hops = "s_coord's hops / coord's"
    orders = {f"{p}'s queue / fulldist's": ratios(runs, p, "fulldist", QUEUE) for p in PROTOCOLS[1:]}
    orders[queue] = ratios(runs, "s_coord", "cubefulldist", QUEUE)
    orders[load] = ratios(runs, "coord", "cubefulldist", LOAD)
    orders[hops] = ratios(runs, "s_coord", "coord", HOPS)
    comparisons = [
        Comparison(
            what=f"{name}, n = {n}", found=each, least=1 / SAME_QUEUE_FACTOR if name == queue else 0.0, most=1
        )
        for name, found in orders.items()
        for n, each in found.items()
    ]
    missed = [
        f"{name} {holds_from({n: each.value <= 1 for n, each in found.items()})}"
        for name, found in orders.items()
        if any(each.value > 1 for each in found.values())
    ]
    return judged(
        comparisons,
        paper="fulldist's queue longest; coord's load below cubefulldist's; s_coord's queue and hops lowest",
        measured=f"{len(orders) - len(missed)} of {len(orders)} orders at every size; "
        + ", ".join(f"{name} {_span(orders[name])}" for name in (queue, load, hops)),
        why=f"every size of the figures; not at every size: {'; '.join(missed) or 'none'}; {hops} on average"
        f" over sizes {mean_of([each.value for each in orders[hops].values()])}: a parent placed at random"
        " should be about as far away as the coordinator; s_coord's and cubefulldist's queues are to be"
        f" almost the same (accepted: a factor {SAME_QUEUE_FACTOR:g})",
    )


def judge_last_member(runs: Runs) -> Judgement:
    """C5h."""
    late = {protocol: _late(runs, protocol) for protocol in PROTOCOLS}
    largest = max(late["fulldist"])
    comparisons = [
        Comparison(what=f"{p}'s last over first, n = {n}", found=each, most=limit)
        for p, limit in LIMITS.items()
        for n, each in late[p].items()
    ]
    comparisons.append(
        Comparison(
            what=f"fulldist's last over first, n = {largest}", found=late["fulldist"][largest], least=HARDLY
        )
    )
    told = {p: max(late[p].values(), key=lambda each: each.value) for p in LIMITS}
    own = {p: max(each.value for each in _late(runs, p, OWN).values()) for p in PROTOCOLS}
    where = [
        f"{p} {holds_from({n: each.value <= limit for n, each in late[p].items()})}"
        for p, limit in LIMITS.items()
    ]
    return judged(
        comparisons,
        paper="coord, s_coord: hardly later; cubefulldist: slightly; fulldist: much",
        measured=f"at most {', '.join(f'{p} × {each.value:.2f}' for p, each in told.items())}; fulldist ×"
        f" {late['fulldist'][largest].value:.2f} at {largest}; within the limits: {', '.join(where)}",
        why=f"last over first at every size; the paper prints {HARDLY:.2f} for fulldist under little load and"
        f" {SIGNIFICANT:.2f} under much, so that hardly is at most the one and slightly at most the other;"
        " counted from each member's own first message at most"
        f" {', '.join(f'{p} × {ratio:.2f}' for p, ratio in own.items())}",
    )


_MORE_GRAPHS = Seeds(
    points=lambda count: graphs_of(dict.fromkeys(("coord", "s_coord"), SIZES), count),
    first=GRAPHS,
    most=TWICE,
)
"""For the two whose numbers differ most; their hops are so nearly equal that few graphs do not settle it."""
CLAIMS = (
    Claim(
        id="C5f",
        kind="trend",
        text="cubefulldist sends O(n log² n) messages, coord and s_coord O(n), fulldist O(n²).",
        judge=judge_messages,
        seeds=Seeds(points=lambda count: graphs_of({"cubefulldist": SIZES}, count), first=GRAPHS, most=TWICE),
    ),
    Claim(
        id="C5g",
        kind="trend",
        text="fulldist has the longest queues; coord's average load is below cubefulldist's; s_coord's"
        " longest queue is below cubefulldist's and almost the same, and its hops are fewer than coord's.",
        judge=judge_loads,
        seeds=_MORE_GRAPHS,
    ),
    Claim(
        id="C5h",
        kind="trend",
        text="First and last member hardly differ in coord and s_coord, slightly in cubefulldist, and much in"
        " fulldist under load.",
        judge=judge_last_member,
        seeds=_MORE_GRAPHS,
    ),
)
