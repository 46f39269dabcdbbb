"""B5: two buffers and multicasts that are repeated, against send omissions and losses near the root.

Requests for another multicast are counted with the sender in the middle of a star, where each takes one link.
"""

from __future__ import annotations

from typing import Any

from stablecast.papers.buffering.measured import delivery
from stablecast.papers.buffering.networks import HASHED, HIGH_LOSS, HUNDRED, TREE, of, star
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table

BOTH = "two-buffers"
OMISSION = 0.02
MESSAGES, COPIES, SHORT_ROUNDS = 1000, 6.0, 5
SIZES = (25, 50, 100, 200, 400)
QUICK_SIZES = (25, 100, 400)
MEMBERS = 100
FEW = 0.25
"""Requests for one omission, as a share of the members that see it, that are called few."""
CASES: dict[str, dict[str, Any]] = {
    "two buffers, multicast again": {"policy": BOTH, "short_rounds": SHORT_ROUNDS},
    "two buffers only": {"policy": BOTH, "short_rounds": SHORT_ROUNDS, "no_recast": True},
    "bufferers only": {"policy": HASHED, "no_recast": True},
}
BEST, NO_RECAST, BASIC = CASES


def _omitting(members: int, case: str) -> Point:
    options = {"copies": COPIES, "send_omission": OMISSION, **CASES[case]}
    return star(members, options.pop("policy"), messages=MESSAGES, **options)


def _cut_off(case: str) -> Point:
    options = dict(CASES[case])
    policy = options.pop("policy")
    return of(TREE, HUNDRED, policy, rate_per_s=100.0, link_loss=HIGH_LOSS, messages=2000, **options)


def points(full: bool) -> list[Point]:
    """Return runs with send omissions by size, and runs on a tree with much loss."""
    return [
        *(_omitting(members, BEST) for members in (SIZES if full else QUICK_SIZES)),
        *(_omitting(MEMBERS, case) for case in (NO_RECAST, BASIC)),
        *(_cut_off(case) for case in CASES),
    ]


judged_points = points


def _sizes(runs: Runs) -> list[int]:
    found = [members for members in SIZES if _omitting(members, BEST) in runs]
    if not found:
        raise MissingRun(f"this run was not made: {_omitting(MEMBERS, BEST).replay}")
    return found


def requests_each(runs: Runs, members: int) -> float:
    """Return how many requests for another multicast one omission brings to the sender."""
    asked = _omitting(members, BEST)
    found = delivery(runs, asked)
    if not found.recasts:
        raise MissingRun(f"nothing is multicast again, so nothing can implode: {runs[asked].row['replay']}")
    return runs[asked].result.hops_by_kind["RECAST_REQUEST"] / max(1, found.omitted)


def _omissions(runs: Runs) -> Judgement:
    best, plain, basic = (delivery(runs, _omitting(MEMBERS, case)) for case in CASES)
    every = [delivery(runs, _omitting(members, BEST)) for members in _sizes(runs)]
    return Judgement(
        paper="catastrophic loss becomes unlikely",
        measured=f"{sum(each.violations for each in every)} of {sum(each.omitted for each in every)} omitted"
        f" messages not delivered; {basic.violations} of {basic.omitted} without the improvement",
        holds=all(each.omitted > 0 and each.recasts >= each.omitted for each in every)
        and not any(each.violations for each in every)
        and basic.violations > basic.omitted / 2,
        why=f"{100 * OMISSION:g} % of multicasts never leave their sender; with another multicast all come to"
        f" everyone ({best.recasts} for {best.omitted} at {MEMBERS} members); with two buffers and no second"
        f" multicast {plain.violations} of {plain.omitted} are lost",
    )


def _correlated(runs: Runs) -> Judgement:
    best, plain, basic = (delivery(runs, _cut_off(case)) for case in CASES)
    return Judgement(
        paper="large dependent losses are multicast again",
        measured=f"{best.recasts} multicasts again; not to all: {best.violations}, {plain.violations} and"
        f" {basic.violations}",
        holds=best.recasts > 0 and best.violations == 0 and best.forwards < basic.forwards,
        why=f"2,000 messages on a binary tree of {HUNDRED} members that loses {100 * HIGH_LOSS:g} % on each"
        " link: with both parts of the improvement, with two buffers alone, and without;"
        f" {best.forwards:,}, {plain.forwards:,} and {basic.forwards:,} requests had to be passed on",
    )


def _implosion(runs: Runs) -> Judgement:
    found = {members: requests_each(runs, members) for members in _sizes(runs)}
    again = [delivery(runs, _omitting(members, BEST)) for members in found]
    most = max(each.recasts / max(1, each.omitted) for each in again)
    return Judgement(
        paper="no implosion",
        measured=", ".join(f"{value:.1f} at {members}" for members, value in found.items()),
        holds=all(value <= FEW * (members - 1) for members, value in found.items()) and most < 1.5,
        why="requests that one omission brings to the sender before its second multicast has come to all; at"
        f" most {FEW:g} of the members, and {most:.2f} multicasts for each; the share is about what a round"
        " trip has of a round",
    )


def _constant(runs: Runs) -> Judgement:
    found = [requests_each(runs, members) for members in _sizes(runs)]
    sizes = _sizes(runs)
    return Judgement(
        paper="no implosion",
        measured=f"{found[0]:.1f} at {sizes[0]} members, {found[-1]:.1f} at {sizes[-1]}",
        holds=found[-1] <= 2 * found[0],
        why="requests for each omission, at most twice as many in the largest group as in the smallest; each"
        " member that gossips before the second multicast arrives may bring one, so they grow with the group",
    )


CLAIMS = (
    Claim(
        id="B5a",
        kind="trend",
        text="Send omissions are found by shared holes, multicast again and delivered to all",
        judge=_omissions,
    ),
    Claim(
        id="B5b",
        kind="trend",
        text="So are losses near the root, and few requests reach bufferers",
        judge=_correlated,
    ),
    Claim(
        id="B5c",
        kind="trend",
        text="Requests for another multicast are far fewer than the members that lack it, and answered once",
        judge=_implosion,
    ),
    Claim(
        id="B5d",
        ours=True,
        kind="trend",
        text="Requests for another multicast do not grow with the group",
        judge=_constant,
    ),
)


def omission_table(runs: Runs) -> Table:
    """Show each case with send omissions, and on the lossy tree."""
    rows = []
    for where, point in (("send omissions", lambda case: _omitting(MEMBERS, case)), ("tree", _cut_off)):
        for case in CASES:
            found = delivery(runs, point(case))
            cells = (found.omitted, found.recasts, found.requests, found.forwards, found.violations)
            rows.append((where, case, *cells, round(found.buffer_mean, 1)))
    return Table(
        key="omission",
        title="Two buffers, and multicasts that are repeated",
        columns=(
            "losses",
            "buffers",
            "omitted",
            "multicast again",
            "asked for",
            "passed on",
            "not to all",
            "messages held, mean",
        ),
        rows=tuple(rows),
        note=f"{MESSAGES:,} messages, {100 * OMISSION:g} % of them never sent, {MEMBERS} members on a star;"
        f" 2,000 messages, {HUNDRED} members on a binary tree, {100 * HIGH_LOSS:g} % lost on each link."
        f" The short-term buffer holds {SHORT_ROUNDS} rounds.",
    )


TABLES = (omission_table,)


def figure_requests(runs: Runs) -> Figure:
    """Requests for another multicast against the group's size."""
    sizes = _sizes(runs)
    x = tuple(map(float, sizes))
    return Figure(
        key="implosion",
        title="Requests that one send omission brings to the sender",
        caption=f"Mean over the omitted ones of {MESSAGES:,} messages at 100/s, sender in the middle of a"
        " star. They come evenly over a round and stop when the second multicast arrives; they are far fewer"
        " than members, but not independent of their number.",
        panels=(
            Panel(
                title="requests by group size",
                x=Axis("members", log=True),
                y=Axis("requests for each omission", log=True),
                series=(
                    Series(name="measured", x=x, y=tuple(requests_each(runs, members) for members in sizes)),
                    Series(name="one from every member", x=x, y=tuple(float(n - 1) for n in sizes)),
                ),
            ),
        ),
    )


FIGURES = (figure_requests,)
