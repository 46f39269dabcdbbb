"""Section 4.2.4: how much the graph matters, best against worst (C6, Figure 12).

The paper shows the difference between the worst and the best of six graphs.  A protocol that takes longer
differs by more milliseconds, so that protocols are compared by the difference over the mean; the table and
the figure have the difference itself.  Every size, and every further set of six graphs, is one more trial of
the same kind, and the mean over them has its interval.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

from stablecast.papers.curves import columns_with_interval, panel, with_interval
from stablecast.papers.curves import curve as drawn
from stablecast.papers.hypercube.grid import (
    ABOUT,
    FIRST,
    FULLDIST_MOST,
    GRAPHS,
    INDICES,
    LAST,
    PROTOCOLS,
    QUEUE,
    TWICE,
    Index,
    Sample,
    curve,
    curves,
    graphs_of,
    sizes,
)
from stablecast.papers.paper import Claim, Judgement, Seeds, judged
from stablecast.papers.statistics import Comparison, Estimate, mean_of
from stablecast.pipeline.runs import Runs
from stablecast.report.figure import Figure, Panel, Series
from stablecast.report.table import Table

JUDGED: tuple[Index, ...] = (FIRST, QUEUE)
"""The two that the paper shows."""


def sets_of_six(each: Sample, index: Index) -> list[list[float]]:
    """Return the values in sets of six graphs, without those left over; all if they are fewer."""
    values = each.values(index)
    count = max(1, len(values) // GRAPHS)
    return [values[k * GRAPHS : (k + 1) * GRAPHS] for k in range(count)]


def difference(each: Sample, index: Index) -> Estimate:
    """Return the difference between the worst and the best of six graphs."""
    return mean_of([max(one) - min(one) for one in sets_of_six(each, index)])


def relative(each: Sample, index: Index) -> float:
    """Return the same over the mean, on average over sets of six."""
    return fmean((max(one) - min(one)) / fmean(one) for one in sets_of_six(each, index))


def by_size(runs: Runs, protocol: str, index: Index) -> dict[int, float]:
    """Return the relative difference at each size."""
    return {each.members: relative(each, index) for each in curve(runs, protocol)}


def spreads(runs: Runs) -> Table:
    """Differences between best and worst graph, for the indices that the paper shows."""
    rows: list[tuple[Any, ...]] = []
    for protocol, samples in curves(runs):
        for each in samples:
            cells: list[Any] = []
            for index in JUDGED:
                values = each.values(index)
                far = difference(each, index).value
                cells += [round(min(values), 2), round(max(values), 2), round(far, 2)]
            rows.append((protocol, each.members, len(each.results), *cells))
    names = [f"{index.label}: {word}" for index in JUDGED for word in ("best", "worst", "difference")]
    return Table(
        key="spreads",
        title="Best and worst graph (Figure 12)",
        columns=("protocol", "n", "graphs", *names),
        rows=tuple(rows),
        note=f"The difference is that of {GRAPHS} graphs, the mean over sets of {GRAPHS} where there are"
        " more.",
    )


def sensitivity(runs: Runs) -> Table:
    """Every index's difference over its mean, on average over sizes."""
    rows: list[tuple[Any, ...]] = []
    for protocol in PROTOCOLS:
        found = [mean_of([*by_size(runs, protocol, index).values()]) for index in INDICES]
        rows.append((protocol, *sum(map(with_interval, found), ())))
    return Table(
        key="sensitivity",
        title="Sensitivity: difference between worst and best graph over the mean",
        columns=("protocol", *columns_with_interval(index.name for index in INDICES)),
        rows=tuple(rows),
        note=f"On average over all sizes (fulldist to {FULLDIST_MOST}), which the interval is over.",
    )


TABLES = (sensitivity, spreads)


def _more_sensitive(runs: Runs, other: str, index: Index) -> Estimate:
    """Return by how much coord's relative difference is larger, on average over the sizes of both."""
    coord, theirs = by_size(runs, "coord", index), by_size(runs, other, index)
    return mean_of([coord[n] - theirs[n] for n in coord if n in theirs])


def judge_sensitivity(runs: Runs) -> Judgement:
    """C6."""
    comparisons = [
        Comparison(
            what=f"coord's difference minus {other}'s, {index.name}",
            found=_more_sensitive(runs, other, index),
            least=0,
        )
        for other in PROTOCOLS
        if other != "coord"
        for index in JUDGED
    ]
    found = {p: [fmean(by_size(runs, p, index).values()) for index in JUDGED] for p in PROTOCOLS}
    told = [f"{p} {' / '.join(f'{share:.0%}' for share in each)}" for p, each in found.items()]
    missed = [each.what for each in comparisons if not each.holds]
    at = {p: curve(runs, p)[-1] for p in PROTOCOLS}
    return judged(
        comparisons,
        paper="coord very sensitive, the others not",
        measured=", ".join(told),
        why=f"worst minus best of {GRAPHS} graphs over the mean, first member's RTT / maximum queue, on"
        f" average over all sizes; not above: {', '.join(missed) or 'none'}; the difference itself at the"
        " largest"
        " size: " + ", ".join(f"{p} {difference(each, FIRST).value:.1f} ms" for p, each in at.items()),
    )


CLAIMS = (
    Claim(
        id="C6",
        kind="trend",
        text="coord depends on the network: it is bad where the coordinator has few links. The others are not"
        " very sensitive.",
        judge=judge_sensitivity,
        seeds=Seeds(
            points=lambda count: graphs_of({p: sizes(True, p) for p in PROTOCOLS}, count),
            first=GRAPHS,
            most=TWICE,
        ),
    ),
)


def _line(runs: Runs, protocol: str, index: Index) -> Series:
    samples = curve(runs, protocol)
    return drawn(
        protocol,
        [(each.members, difference(each, index)) for each in samples],
        hover=[f"{min(each.values(index)):.4g} to {max(each.values(index)):.4g}" for each in samples],
    )


def _panel(runs: Runs, title: str, index: Index) -> Panel:
    return panel(
        title, f"worst − best [{index.unit}]", [_line(runs, protocol, index) for protocol in PROTOCOLS]
    )


def figure_12(runs: Runs) -> Figure:
    """Figure 12: best against worst."""
    return Figure(
        key="figure12",
        title="Figure 12: difference between the worst and the best graph",
        caption=f"Of {GRAPHS} graphs for each size; bars, where there are more, are 95 % confidence intervals"
        f" over sets of {GRAPHS}. {ABOUT}",
        panels=(
            _panel(runs, f"(A) {FIRST.name}", FIRST),
            _panel(runs, f"(B) {LAST.name} (not in the paper)", LAST),
            _panel(runs, f"(C) {QUEUE.name}", QUEUE),
        ),
    )


FIGURES = (figure_12,)
