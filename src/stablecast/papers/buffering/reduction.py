"""B8: buffers shrink by n/C, and all-or-none is violated no more often than P_fail says; to 12,000 members.

A hash names the same bufferers in every run, so runs with other seeds are no further sample of it: one long
run is counted for each network. The reduction is that of means over time; maxima shrink by less.
"""

from __future__ import annotations

from itertools import pairwise

from stablecast.papers.buffering.confidence import RUNS, interval
from stablecast.papers.buffering.measured import deliveries, delivery, mean
from stablecast.papers.buffering.networks import (
    HASHED,
    HIGH_LOSS,
    HUNDRED,
    LARGE_SIZES,
    LOW_LOSS,
    ORIGINAL,
    TITLES,
    TOPOLOGIES,
    TREE,
    copies_of,
    of,
    p_fail_of,
    sending_tree,
)
from stablecast.papers.buffering.space import of_size, sizes_made
from stablecast.papers.buffering.tree_odds import depths, path_loss
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.theory.buffering import expected_reduction
from stablecast.theory.epidemic import legs_served, spread_rounds

LONG, QUICK_LONG = 10_000, 3000
LARGE_MESSAGES = {1000: 1000, 4000: 800, 12_000: 600}
FACTOR = 2.0
RATE = 100.0
LEGS = 4
"""Messages of a repair that may be lost."""
BY_SIZE, BY_LOSS = "by group size", "by group size and loss"
CASES = (
    *((kind, loss, BY_SIZE) for kind in TOPOLOGIES for loss in (LOW_LOSS, HIGH_LOSS)),
    (TREE, HIGH_LOSS, BY_LOSS),
)
"""Network, link loss, and how the rounds that a message is kept were chosen."""


def lossy_rounds(kind: str, link_loss: float) -> int:
    """Return the rounds to keep a message if each message of a repair may be lost on its way.

    A way between two members is taken to be twice as long as one from the root.
    """
    parents, places = sending_tree(kind, HUNDRED, 0)
    far = depths(parents)
    links = 2 * sum(far[v] for v in places) / (len(places) - 1)
    return spread_rounds(HUNDRED, 0.001, served=legs_served(path_loss(link_loss, links), LEGS))


def _long(case: tuple[str, float, str], messages: int) -> Point:
    kind, loss, rounds = case
    options = {} if rounds == BY_SIZE else {"keep_rounds": lossy_rounds(kind, loss)}
    return of(kind, HUNDRED, HASHED, rate_per_s=RATE, link_loss=loss, messages=messages, **options)


def _large(members: int, policy: str) -> Point:
    return of(TREE, members, policy, rate_per_s=RATE, messages=LARGE_MESSAGES[members])


def points(full: bool) -> list[Point]:
    """Return long runs that count violations, and large groups; other sizes are those of space."""
    large = [_large(members, policy) for members in LARGE_SIZES for policy in (ORIGINAL, HASHED)]
    lengths = (LONG, QUICK_LONG) if full else (QUICK_LONG,)
    return [*(large if full else large[:2]), *(_long(case, length) for case in CASES for length in lengths)]


def judged_points(full: bool) -> list[Point]:
    """Return the long runs, which other readings need too; large groups are ours."""
    return [_long(case, LONG if full else QUICK_LONG) for case in CASES]


def reduction(runs: Runs, members: int, kind: str = TREE) -> tuple[float, float, float]:
    """Return by what the mean and the maximum shrink, and n/C."""
    if members in LARGE_SIZES:
        asked = [[_large(members, policy)] for policy in (ORIGINAL, HASHED)]
    else:
        asked = [of_size(kind, members, policy, RATE) for policy in (ORIGINAL, HASHED)]
    original, hashed = (deliveries(runs, each) for each in asked)
    means = mean(original, lambda each: each.buffer_mean) / mean(hashed, lambda each: each.buffer_mean)
    peaks = mean(original, lambda each: each.buffer_peak_mean) / mean(
        hashed, lambda each: each.buffer_peak_mean
    )
    made = next(point for point in asked[1] if point in runs)
    return means, peaks, expected_reduction(members, copies_of(runs[made].options))


def _sizes(runs: Runs) -> list[int]:
    return [*sizes_made(runs, TREE), *(n for n in LARGE_SIZES if _large(n, HASHED) in runs)]


def _length(runs: Runs, case: tuple[str, float, str]) -> int:
    if _long(case, LONG) in runs:
        return LONG
    if _long(case, QUICK_LONG) in runs:
        return QUICK_LONG
    raise MissingRun(f"this run was not made: {_long(case, LONG).replay}")


def violations(runs: Runs, case: tuple[str, float, str]) -> tuple[int, int, int, float]:
    """Return violations, the most that P_fail explains, messages, and P_fail."""
    length = _length(runs, case)
    odds = p_fail_of(runs[_long(case, length)].options)
    seen = delivery(runs, _long(case, length)).violations
    return seen, interval(length, odds, RUNS)[1], length, odds


def large_violations(runs: Runs, members: int) -> tuple[int, int]:
    """Return violations in a large group, and the most that P_fail explains."""
    odds = p_fail_of(runs[_large(members, HASHED)].options)
    seen = delivery(runs, _large(members, HASHED)).violations
    return seen, interval(LARGE_MESSAGES[members], odds, RUNS)[1]


def _reduction(runs: Runs) -> Judgement:
    found = {
        f"{n} {TITLES[kind]}": reduction(runs, n, kind) for kind in TOPOLOGIES for n in sizes_made(runs, kind)
    }
    apart = max(max(means / wanted, wanted / means) for means, _, wanted in found.values())
    means, peaks, wanted = reduction(runs, HUNDRED)
    return Judgement(
        paper="n/C",
        measured=f"{means:.1f} of {wanted:.1f} at {HUNDRED} members; at most {apart:.2f} apart",
        holds=apart <= FACTOR,
        why=f"means over time at {RATE:g}/s, all sizes and networks, a factor {FACTOR:g} allowed; by the"
        f" maxima that the paper shows it is {peaks:.1f} at {HUNDRED} members, since a maximum shrinks less",
    )


def _large_reduction(runs: Runs) -> Judgement:
    sizes = _sizes(runs)
    found = [reduction(runs, n) for n in sizes]
    means, _, wanted = found[-1]
    apart = max(max(means / wanted, wanted / means) for means, _, wanted in found)
    rises = all(a[0] < b[0] for a, b in pairwise(found))
    return Judgement(
        paper="the larger the group, the less at each member",
        measured=f"by {means:.0f} (n/C {wanted:.0f}) at {sizes[-1]:,} members",
        holds=rises and apart <= FACTOR,
        why=f"means over time on binary trees of {sizes[0]} to {sizes[-1]:,} members, the reduction growing"
        f" with every size; at most {apart:.2f} from n/C",
    )


def _large_violations(runs: Runs) -> Judgement:
    parts, holds = [], True
    for members in _sizes(runs):
        if members not in LARGE_SIZES:
            continue
        seen, most = large_violations(runs, members)
        holds &= seen <= most
        parts.append(f"{seen} of at most {most} at {members:,}")
    if not parts:
        raise MissingRun(f"this run was not made: {_large(LARGE_SIZES[0], HASHED).replay}")
    return Judgement(
        paper="P_fail",
        measured=", ".join(parts),
        holds=holds,
        why=f"violations against the upper end of the {100 * RUNS:g} % interval of the tree's P_fail; a"
        " message lost near the root is asked for by half of the members at once, all from the same few"
        " bufferers, and has to come to all in rounds that grow only with the logarithm of the group",
    )


def _violated(runs: Runs, cases: tuple[tuple[str, float, str], ...], why: str) -> Judgement:
    parts, holds = [], True
    for case in cases:
        seen, most, _, _ = violations(runs, case)
        holds &= seen <= most
        parts.append(f"{seen} of at most {most} ({case[0]}, {100 * case[1]:g} %)")
    return Judgement(
        paper="P_fail",
        measured=", ".join(parts),
        holds=holds,
        why=f"violations in {_length(runs, cases[0]):,} messages, {HUNDRED} members, C by equation (3),"
        f" against the upper end of the {100 * RUNS:g} % interval of the network's own P_fail; {why}",
    )


def _low(runs: Runs) -> Judgement:
    cases = tuple(case for case in CASES if case[1] == LOW_LOSS)
    return _violated(runs, cases, "a message is kept for rounds that follow from the group's size alone")


def _high(runs: Runs) -> Judgement:
    cases = tuple(case for case in CASES if case[1] == HIGH_LOSS and case[2] == BY_SIZE)
    return _violated(
        runs,
        cases,
        "rounds by the group's size alone leave no room for lost requests and repairs, so some messages that"
        " have bufferers may not be everywhere in time",
    )


def _long_enough(runs: Runs) -> Judgement:
    cases = tuple(case for case in CASES if case[2] == BY_LOSS)
    return _violated(
        runs, cases, f"kept for {lossy_rounds(TREE, HIGH_LOSS)} rounds, which allow for lost repairs"
    )


CLAIMS = (
    Claim(id="B8a", kind="factor", text="Buffers are reduced by n/C", judge=_reduction),
    Claim(
        id="B8b",
        kind="trend",
        text="At 0.1 % link loss all-or-none is violated no more often than P_fail says",
        judge=_low,
    ),
    Claim(
        id="B8c",
        kind="trend",
        text="At 1.5 % link loss too, with rounds by the group's size",
        judge=_high,
    ),
    Claim(
        id="B8d",
        ours=True,
        kind="trend",
        text="At 1.5 % link loss too, with rounds that allow for lost repairs",
        judge=_long_enough,
    ),
    Claim(
        id="B8e",
        ours=True,
        main_reading_only=True,
        kind="trend",
        text="Beyond the paper: the reduction goes on with group size",
        judge=_large_reduction,
    ),
    Claim(
        id="B8f",
        ours=True,
        main_reading_only=True,
        kind="trend",
        text="Beyond the paper: in large groups too all-or-none is violated no more often than P_fail says",
        judge=_large_violations,
    ),
)


def violations_table(runs: Runs) -> Table:
    """Show how often all-or-none was violated."""
    rows = []
    for case in CASES:
        seen, most, length, odds = violations(runs, case)
        found = delivery(runs, _long(case, length))
        wanted = round(copies_of(runs[_long(case, length)].options), 2)
        expected = round(length * odds, 1)
        cells = (f"{100 * case[1]:g} %", case[2], wanted, length, f"{100 * odds:.3f} %", expected, most)
        rows.append((TITLES[case[0]], *cells, seen, found.unbuffered))
    return Table(
        key="violations",
        title="Violations of all-or-none",
        columns=(
            "network",
            "link loss",
            "rounds kept",
            "C",
            "messages",
            "P_fail",
            "expected",
            "at most, 99 %",
            "violations",
            "kept nowhere",
        ),
        rows=tuple(rows),
        note=f"{HUNDRED} members. P_fail is exact for the network's multicast tree. Violations beyond those"
        " of messages kept nowhere were not repaired in time.",
    )


def reduction_table(runs: Runs) -> Table:
    """Show by what buffers shrink at every size."""
    rows = []
    for members in _sizes(runs):
        means, peaks, wanted = reduction(runs, members)
        large = large_violations(runs, members) if members in LARGE_SIZES else ("-", "-")
        rows.append((members, round(wanted, 1), round(means, 1), round(peaks, 1), *large))
    return Table(
        key="reduction",
        title="Buffers of the original over those of the optimised protocol, binary trees",
        columns=("members", "n/C", "means over time", "maxima", "violations", "at most, 99 %"),
        rows=tuple(rows),
        note=f"{RATE:g} messages/s, {100 * LOW_LOSS:g} % lost on each link. Violations are counted in large"
        f" groups, of {', '.join(f'{LARGE_MESSAGES[n]:,}' for n in LARGE_SIZES)} messages.",
    )


TABLES = (violations_table, reduction_table)


def figure_reduction(runs: Runs) -> Figure:
    """Show by what the buffers shrink."""
    sizes = _sizes(runs)
    found = [reduction(runs, n) for n in sizes]
    x = tuple(map(float, sizes))
    names = ("mean over time", "maximum", "n/C")
    series = tuple(Series(name=name, x=x, y=tuple(each[k] for each in found)) for k, name in enumerate(names))
    return Figure(
        key="reduction",
        title="Buffers of the original over those of the optimised protocol",
        caption=f"Binary trees at {RATE:g} messages/s and {100 * LOW_LOSS:g} % link loss. The mean over time"
        " shrinks by n/C, the maximum by less.",
        panels=(
            Panel(
                title="reduction by group size",
                x=Axis("members", log=True),
                y=Axis("original / optimised", log=True),
                series=series,
            ),
        ),
    )


FIGURES = (figure_reduction,)
