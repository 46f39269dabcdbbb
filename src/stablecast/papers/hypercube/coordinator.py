"""coord against the others (C5c, C5e, C5i).

How many links the coordinator has is a matter of chance, and coord's times hang on it: at 1900 members the
slowest of the paper's six graphs takes four times as long as the fastest.  ``--full`` therefore adds graphs
for coord where a verdict could turn.

coord's times grow with n and cubefulldist's hardly do, so that the two curves cross.  Which one is faster is
judged at the largest size of the paper's figures, where load decides, and the judgement says from which size
on it is so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stablecast.papers.curves import columns_with_interval, with_interval
from stablecast.papers.hypercube.grid import (
    ABOUT,
    FIRST,
    FOUR_TIMES,
    FULLDIST_MOST,
    GRAPHS,
    HOPS,
    LAST,
    MESSAGES,
    MOST_GRAPHS,
    QUEUE,
    SCALABLE,
    SIZES,
    curve,
    graphs_of,
    holds_from,
    ratios,
    sizes_made,
)
from stablecast.papers.hypercube.orders import TIMES, best_order, explained_by_line, rather
from stablecast.papers.hypercube.sizes import growth
from stablecast.papers.paper import Claim, Judgement, Seeds, judged
from stablecast.papers.statistics import Comparison, Estimate
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import Runs
from stablecast.report.table import Table

LINEAR_SHARE = 0.95
"""Share of the variance that a straight line must explain for growth to be called linear."""
MUCH = 1.25
"""How many times as long a protocol must take to be called much slower."""
_OTHER_ORDERS = tuple(order for order in TIMES if order != "n")


def coord_and_others(runs: Runs) -> Table:
    """How many times as long coord takes as s_coord and cubefulldist."""
    faster = {
        (protocol, index.name): ratios(runs, "coord", protocol, index)
        for protocol in SCALABLE
        for index in (FIRST, LAST)
    }
    rows: list[tuple[Any, ...]] = []
    for each in curve(runs, "coord"):
        values = each.values(LAST)
        cells = [with_interval(of_sizes[each.members]) for of_sizes in faster.values()]
        spread = (round(min(values), 1), round(float(np.median(values)), 1), round(max(values), 1))
        own = with_interval(each.estimate(LAST))
        rows.append((each.members, len(values), *own, *spread, *sum(cells, ())))
    names = [f"coord / {protocol}: {name}" for protocol, name in faster]
    return Table(
        key="coord_and_others",
        title="coord against s_coord and cubefulldist: round-trip times",
        columns=(
            *("n", "graphs"),
            *columns_with_interval([LAST.label]),
            *("least", "median", "most"),
            *columns_with_interval(names),
        ),
        rows=tuple(rows),
        note=f"Least, median and most are of the graphs' last members' times. {ABOUT}",
    )


TABLES = (coord_and_others,)


def judge_linear(runs: Runs) -> Judgement:
    """C5c."""
    samples = curve(runs, "coord")
    least, most = samples[0], samples[-1]
    comparisons = [
        rather(
            f"{index.name}: misfit of n minus that of another order",
            samples,
            index,
            ("n",),
            _OTHER_ORDERS,
            constant=True,
        )
        for index in (LAST, QUEUE)
    ]
    comparisons += [
        Comparison(
            what=f"{index.name}, growth",
            found=growth(runs, "coord", index, least.members, most.members),
            least=1,
        )
        for index in (LAST, QUEUE)
    ]
    lines = {index.name: explained_by_line(samples, index) for index in (LAST, QUEUE)}
    comparisons += [
        Comparison(what=f"{name}: share that a line explains", found=each, least=LINEAR_SHARE)
        for name, each in lines.items()
    ]
    told = [
        f"{index.name}: {best_order(samples, index, constant=True)}, a line explains"
        f" {lines[index.name].value:.1%}"
        for index in (LAST, QUEUE)
    ]
    return judged(
        comparisons,
        paper="RTT and queue linear in n",
        measured="; ".join(told),
        why=f"growth from n = {least.members} to {most.members} on {len(most.results)} graphs; of the orders"
        f" of growth, with a constant, n must fit best, and a line explain {LINEAR_SHARE:.0%} of the"
        f" variance; last member {least.mean(LAST):.1f} to {most.mean(LAST):.1f} ms, queue"
        f" {least.mean(QUEUE):.0f} to {most.mean(QUEUE):.0f}",
    )


def _faster_from(found: dict[int, Estimate]) -> str:
    return holds_from({n: each.value > 1 for n, each in found.items()})


def judge_faster(runs: Runs) -> Judgement:
    """C5e."""
    last, first = (ratios(runs, "coord", "cubefulldist", index) for index in (LAST, FIRST))
    most = max(last)
    comparisons = [
        Comparison(what=f"coord's {name} member over cubefulldist's, n = {most}", found=found[most], least=1)
        for name, found in (("last", last), ("first", first))
    ]
    more = {index.name: ratios(runs, "cubefulldist", "coord", index) for index in (MESSAGES, HOPS)}
    comparisons += [
        Comparison(what=f"cubefulldist's {name} over coord's, n = {n}", found=each, least=1)
        for name, found in more.items()
        for n, each in found.items()
    ]
    return judged(
        comparisons,
        paper="cubefulldist faster than coord, with more messages and hops",
        measured=f"last member {_faster_from(last)} (coord takes {last[most]} times as long at {most}), first"
        f" member {_faster_from(first)} ({first[most]})",
        why=f"first and last member at the largest size of the figure; cubefulldist sends"
        f" {more[MESSAGES.name][most].value:.0f} times the messages there, on"
        f" {more[HOPS.name][most].value:.0f} times the hops; coord's last member takes "
        + ", ".join(f"{last[n].value:.2f} at {n}" for n in last if n in (100, 400, 1000))
        + " times as long",
    )


def judge_slow_ones(runs: Runs) -> Judgement:
    """C5i."""
    slow = {"fulldist": sizes_made(runs, "fulldist")[-1], "coord": sizes_made(runs, "coord")[-1]}
    comparisons = [
        Comparison(
            what=f"{protocol} / {fast} at {n}", found=ratios(runs, protocol, fast, LAST)[n], least=MUCH
        )
        for protocol, n in slow.items()
        for fast in SCALABLE
    ]
    near = [each.what for each in comparisons if not each.holds]
    return judged(
        comparisons,
        paper="fulldist and coord much slower",
        measured=", ".join(f"{each.what}: {each.found}" for each in comparisons),
        why=f"last member, largest group of each (accepted: {MUCH:g} or more); below:"
        f" {', '.join(near) or 'none'}",
    )


def _against_cube(count: int) -> list[Point]:
    """Return coord on more graphs: the others differ little from graph to graph."""
    return graphs_of({"coord": SIZES}, count)


def _largest(count: int) -> list[Point]:
    return graphs_of(
        {"coord": SIZES[-1:], "s_coord": (FULLDIST_MOST, SIZES[-1]), "fulldist": (FULLDIST_MOST,)}, count
    )


CLAIMS = (
    Claim(
        id="C5c",
        kind="trend",
        text="The round-trip time and the longest queue of coord grow linearly with n.",
        judge=judge_linear,
        seeds=Seeds(points=_against_cube, first=GRAPHS, most=MOST_GRAPHS),
    ),
    Claim(
        id="C5e",
        kind="trend",
        text="cubefulldist is faster than coord although it sends more messages.",
        judge=judge_faster,
        seeds=Seeds(points=_against_cube, first=GRAPHS, most=MOST_GRAPHS),
    ),
    Claim(
        id="C5i",
        kind="trend",
        text="Long queues make fulldist and coord much slower than s_coord and cubefulldist (section 3.4).",
        judge=judge_slow_ones,
        seeds=Seeds(points=_largest, first=GRAPHS, most=FOUR_TIMES),
    ),
)
