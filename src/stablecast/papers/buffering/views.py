"""B10: views that differ, and members that come and go during a run.

Section 2 has members that know an approximation of the membership, and section 3 expects that they disagree
about bufferers, but not by much.  A message is owed to those that are up when it is sent.  Here each member's
view lacks others by chance, or members join and crash while messages are sent and the others hear of it at
times of their own.  What P_fail explains is that of equation (3) for all members; those that crash count as
losses of what they keep, as in ``crashes``.
"""

from __future__ import annotations

from typing import Any

from stablecast.papers.buffering.confidence import RUNS, interval
from stablecast.papers.buffering.measured import delivery
from stablecast.papers.buffering.networks import HASHED, star
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.table import Table
from stablecast.theory.buffering import failure

MEMBERS, COPIES, LOSS = 100, 6.0, 0.02
MESSAGES, RATE = 2000, 100.0
MISSING = (0.0, 0.02, 0.05, 0.1, 0.2)
QUICK_MISSING = (0.0, 0.1)
JOINING = (0, 10, 20, 40)
QUICK_JOINING = (0, 20)
CRASHING = 10
"""Of those that are there from the start, in the same run."""
HEARD_MS = 500.0
"""The others hear of a join or a crash so long after it, and up to as long later again."""


def _run(**options: Any) -> Point:
    given = {"copies": COPIES, "data_loss": LOSS, **options}
    return star(MEMBERS, HASHED, messages=MESSAGES, rate_per_s=RATE, **given)


def _missing(share: float) -> Point:
    return _run(view_missing=share)


def _joining(count: int) -> Point:
    """Return a run in which members join one by one, and some crash between."""
    if not count:
        return _run()
    joins = [f"join 1 at {2000 + 12_000 * k // count}" for k in range(count)]
    crashes = [f"crash {3 + 4 * k} at {3000 + 1000 * k}" for k in range(CRASHING)]
    return _run(faults="; ".join([*joins, *crashes]), detect_ms=HEARD_MS, detect_spread_ms=HEARD_MS)


def points(full: bool) -> list[Point]:
    """Return runs with views that differ, and runs in which members come and go."""
    missing, joining = (MISSING, JOINING) if full else (QUICK_MISSING, QUICK_JOINING)
    asked = [*map(_missing, missing), *map(_joining, joining)]
    return list({point.key: point for point in asked}.values())


judged_points = points


def _shares(runs: Runs) -> list[float]:
    return [share for share in MISSING if share and _missing(share) in runs]


def _counts(runs: Runs) -> list[int]:
    return [count for count in JOINING if count and _joining(count) in runs]


def most_violations(crashed: int = 0) -> int:
    """Return how many violations P_fail explains."""
    odds = failure(MEMBERS, COPIES, LOSS, crash=crashed / MEMBERS)
    return interval(MESSAGES, odds, RUNS)[1]


def _differ(runs: Runs) -> Judgement:
    shares = _shares(runs)
    if not shares:
        raise MissingRun(f"this run was not made: {_missing(MISSING[-1]).replay}")
    found = [delivery(runs, _missing(share)) for share in shares]
    most = most_violations()
    return Judgement(
        paper="disagree, but not by much",
        measured=", ".join(
            f"{each.violations} of at most {most} at {100 * share:g} %"
            for share, each in zip(shares, found, strict=True)
        ),
        holds=all(each.violations <= most and each.messages_delivered == MESSAGES for each in found),
        why=f"violations in {MESSAGES:,} messages to {MEMBERS} members, whose views lack so many of the"
        f" others; C = {COPIES:g}, {100 * LOSS:g} % lost; a message is kept in {found[0].places_mean:.2f} to"
        f" {found[-1].places_mean:.2f} places, since who counts fewer members takes itself for a bufferer"
        " more often",
    )


def _come_and_go(runs: Runs) -> Judgement:
    counts = _counts(runs)
    if not counts:
        raise MissingRun(f"this run was not made: {_joining(JOINING[-1]).replay}")
    found = [delivery(runs, _joining(count)) for count in counts]
    most = most_violations(CRASHING)
    return Judgement(
        paper="delivered to all that are up when it is sent",
        measured=", ".join(
            f"{each.violations} of at most {most} with {count}"
            for count, each in zip(counts, found, strict=True)
        )
        + " that join",
        holds=all(each.violations <= most and each.messages_delivered == MESSAGES for each in found),
        why=f"violations in {MESSAGES:,} messages, {MEMBERS} members in the end; {CRASHING} others crash"
        f" meanwhile, and each member hears of joins and crashes {HEARD_MS:g} to {2 * HEARD_MS:g} ms later; a"
        " message is owed to those that were there when it was sent and are there in the end",
    )


CLAIMS = (
    Claim(
        id="B10a",
        kind="trend",
        text="With views that differ all-or-none is violated no more often than P_fail says",
        judge=_differ,
    ),
    Claim(
        id="B10b",
        kind="trend",
        text="Members that join during a run get all that is sent from then on",
        judge=_come_and_go,
    ),
)


def views_table(runs: Runs) -> Table:
    """Show runs with views that differ, and with members that come and go."""
    cases = [("all the same", _run(), "-")] if _run() in runs else []
    cases += [("views lack others", _missing(s), f"{100 * s:g} %") for s in _shares(runs)]
    cases += [("members join", _joining(count), str(count)) for count in _counts(runs)]
    rows = []
    for what, point, count in cases:
        found = delivery(runs, point)
        cells = (found.deliveries, found.forwards, found.repairs, found.recasts, found.violations)
        rows.append((what, count, round(found.places_mean, 2), *cells))
    if not rows:
        raise MissingRun(f"this run was not made: {_run().replay}")
    return Table(
        key="views",
        title="Views that differ, and members that come and go",
        columns=(
            "case",
            "how many",
            "places",
            "deliveries",
            "requests passed on",
            "repairs",
            "multicast again",
            "violations",
        ),
        rows=tuple(rows),
        note=f"{MEMBERS} members in the end, {MESSAGES:,} messages at {RATE:g}/s, C = {COPIES:g},"
        f" {100 * LOSS:g} % lost at each receiver. With joins {CRASHING} members crash as well.",
    )


TABLES = (views_table,)
FIGURES = ()
