"""Beyond the paper: bufferers that crash, and a policy that never lets go too early.

Crashes hit messages that are still kept, and those sent until the others know of the crash; for these P_fail
is that with crashes, for the rest that without.
"""

from __future__ import annotations

from typing import Any

from stablecast.papers.buffering.confidence import RUNS, interval
from stablecast.papers.buffering.measured import delivery
from stablecast.papers.buffering.networks import (
    HASHED,
    HIGH_LOSS,
    HUNDRED,
    LOW_LOSS,
    ORIGINAL,
    PERIOD_S,
    TREE,
    of,
    star,
)
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.table import Table
from stablecast.theory.buffering import failure
from stablecast.theory.epidemic import spread_rounds

MEMBERS, COPIES, LOSS = 100, 6.0, 0.02
MESSAGES, RATE = 2000, 100.0
CRASHED = (0, 10, 20, 40)
QUICK_CRASHED = (0, 20)
AT_MS, DETECT_MS = 10_000.0, 1000.0
STABLE = "until-stable"
STABLE_MESSAGES = 500


def _crash(policy: str, crashed: int) -> Point:
    options: dict[str, Any] = {"copies": COPIES} if policy == HASHED else {}
    if crashed:
        options |= {"fail_random": crashed, "fail_at_ms": AT_MS, "detect_ms": DETECT_MS}
    return star(MEMBERS, policy, messages=MESSAGES, rate_per_s=RATE, data_loss=LOSS, **options)


def _stable_points() -> list[Point]:
    return [
        *(
            of(TREE, HUNDRED, STABLE, rate_per_s=RATE, link_loss=loss, messages=STABLE_MESSAGES)
            for loss in (LOW_LOSS, HIGH_LOSS)
        ),
        star(MEMBERS, STABLE, messages=STABLE_MESSAGES, send_omission=0.05),
        star(MEMBERS, STABLE, messages=STABLE_MESSAGES, data_loss=0.1),
        star(
            MEMBERS,
            STABLE,
            messages=STABLE_MESSAGES,
            data_loss=LOSS,
            fail_random=20,
            fail_at_ms=2500.0,
            detect_ms=DETECT_MS,
        ),
    ]


def points(full: bool) -> list[Point]:
    """Return runs with crashes, and runs that keep everything until it is stable."""
    crashed = CRASHED if full else QUICK_CRASHED
    return [*(_crash(policy, k) for policy in (ORIGINAL, HASHED) for k in crashed), *_stable_points()]


def judged_points(full: bool) -> list[Point]:
    """Return the runs with crashes."""
    return [_crash(policy, k) for policy in (ORIGINAL, HASHED) for k in (CRASHED if full else QUICK_CRASHED)]


def _crashed(runs: Runs) -> list[int]:
    found = [k for k in CRASHED if _crash(HASHED, k) in runs]
    if not found:
        raise MissingRun(f"this run was not made: {_crash(HASHED, 0).replay}")
    return found


def most_violations(crashed: int) -> int:
    """Return how many violations P_fail explains, with crashes and without."""
    hit = round(RATE * (spread_rounds(MEMBERS, 0.001) * PERIOD_S + DETECT_MS / 1000)) if crashed else 0
    with_crash = failure(MEMBERS, COPIES, LOSS, crash=crashed / MEMBERS)
    mean = hit * with_crash + (MESSAGES - hit) * failure(MEMBERS, COPIES, LOSS)
    return interval(MESSAGES, mean / MESSAGES, RUNS)[1]


def _crashes(runs: Runs) -> Judgement:
    parts, originals, holds = [], [], True
    for crashed in _crashed(runs):
        seen, all_keep = (delivery(runs, _crash(policy, crashed)) for policy in (HASHED, ORIGINAL))
        most = most_violations(crashed)
        holds &= seen.violations <= most
        originals.append(str(all_keep.violations))
        parts.append(f"{seen.violations} of at most {most} with {crashed}")
    return Judgement(
        paper="-",
        measured=f"{', '.join(parts)} crashed",
        holds=holds,
        why=f"violations in {MESSAGES:,} messages to {MEMBERS} members, C = {COPIES:g}, {100 * LOSS:g} %"
        f" lost, crashes all at once and known after {DETECT_MS / 1000:g} s, against P_fail with crashes"
        f" ({100 * RUNS:g} %); {', '.join(originals)} where all keep"
        " everything: members that are gone are still drawn for gossip, so that fewer rounds count",
    )


def _stable(runs: Runs) -> Judgement:
    found = [delivery(runs, point) for point in _stable_points()]
    failed = sum(each.violations for each in found)
    return Judgement(
        paper="all or none, always",
        measured=f"{failed} violations of {len(found) * STABLE_MESSAGES:,} messages",
        holds=failed == 0,
        why="everyone keeps a message until gossip says that everyone has it: on a tree that loses"
        f" {100 * LOW_LOSS:g} and {100 * HIGH_LOSS:g} % a link, with send omissions, with receivers that lose"
        " 10 %, and with crashes",
    )


CLAIMS = (
    Claim(
        id="B9a",
        ours=True,
        kind="trend",
        text="Beyond the paper: crashes of bufferers cost what P_fail with crashes says",
        judge=_crashes,
    ),
    Claim(
        id="B9b",
        ours=True,
        kind="exact",
        text="Beyond the paper: kept until stable, no message violates all-or-none",
        judge=_stable,
    ),
)


def crash_table(runs: Runs) -> Table:
    """Show what crashes cost."""
    rows = []
    for crashed in _crashed(runs):
        found = [delivery(runs, _crash(policy, crashed)) for policy in (ORIGINAL, HASHED)]
        cells = (each.violations for each in found)
        rows.append((crashed, *cells, most_violations(crashed), found[1].forwards, found[1].repairs))
    return Table(
        key="crashes",
        title="Members that crash all at once",
        columns=(
            "crashed",
            "violations, original",
            "violations, optimised",
            "at most, 99 %",
            "requests passed on",
            "repairs",
        ),
        rows=tuple(rows),
        note=f"{MEMBERS} members, {MESSAGES:,} messages at {RATE:g}/s, C = {COPIES:g}, {100 * LOSS:g} % lost"
        f" at each receiver; the others know after {DETECT_MS / 1000:g} s.",
    )


TABLES = (crash_table,)
FIGURES = ()
