"""Section 6's trade-off: a smaller threshold X makes messages stable earlier and takes more tests.

The protocol starts when the first member's output buffer holds X messages.  The section counts T(X) = K / X
tests where every round finds all X stable, and says that whoever needs a shorter time to stable has to reduce
X and to pay with tests.  By its own account this is so in a range only.  Rounds with X at or below Q = rf
follow each other without a pause, so that X decides nothing; and with X above g - Q the buffer fills up and
senders wait.  The claim is judged between the two, with the f that was measured at each X.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from stablecast.papers.curves import curve, panel, rounded
from stablecast.papers.hierarchical.load import UNTIL_MS
from stablecast.papers.hierarchical.triggers import BUFFER, MESSAGES, RATE_PER_S, pressed
from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.statistics import exactly
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Figure, Series
from stablecast.report.table import Table
from stablecast.simulate import Result
from stablecast.simulate.result import TrafficResult
from stablecast.theory import stability_tests

PROTOCOLS = ("coordp", "fulldist", "s_coordp", "s_train")
"""All but Train, whose Q is larger than the buffer."""
THRESHOLDS = (1, 2, 4, 6, 8, 10, 12, 14, 15, 16, 18, 20, 22, 23, 24)
JUDGED = (2, 12, 15, 20)


def at(protocol: str, threshold: int) -> Point:
    """Return data traffic with the protocol started at a threshold."""
    return simulation(pressed(protocol, threshold, until_ms=UNTIL_MS))


def points_at(thresholds: tuple[int, ...]) -> list[Point]:
    """Return the runs at some thresholds."""
    return [at(protocol, threshold) for protocol in PROTOCOLS for threshold in thresholds]


def points(full: bool) -> list[Point]:
    """Return all of them."""
    return points_at(THRESHOLDS)


def _made(runs: Runs, protocol: str) -> list[int]:
    made = [threshold for threshold in THRESHOLDS if at(protocol, threshold) in runs]
    if not made:
        raise MissingRun(f"this run was not made: {at(protocol, THRESHOLDS[0]).replay}")
    return made


def _result(runs: Runs, protocol: str, threshold: int) -> tuple[Result, TrafficResult]:
    result = runs[at(protocol, threshold)].result
    assert result.traffic is not None
    return result, result.traffic


def in_force(runs: Runs, protocol: str) -> list[int]:
    """Return the thresholds that decide when rounds start, and at which nobody waits for room or for ever."""
    chosen = []
    for threshold in _made(runs, protocol):
        result, data = _result(runs, protocol, threshold)
        above = threshold > RATE_PER_S * result.round_trip_max_us / 1e6
        if above and data.blocked == 0 and result.completed:
            chosen.append(threshold)
    return chosen


def trade_off(runs: Runs) -> Table:
    """Time to stable and tests over X."""
    rows: list[tuple[Any, ...]] = []
    for protocol in PROTOCOLS:
        decides = in_force(runs, protocol)
        for threshold in _made(runs, protocol):
            result, data = _result(runs, protocol, threshold)
            times = (result.round_trip_max_us, data.tts_p50_us or 0.0, data.tts_max_us or 0.0)
            rows.append(
                (
                    protocol,
                    threshold,
                    *(rounded(us / 1000) for us in times),
                    result.executions,
                    rounded(stability_tests(MESSAGES, 1, threshold)),
                    data.blocked,
                    "yes" if threshold in decides else "no",
                )
            )
    return Table(
        key="trade_off",
        title=f"X against time to stable and tests (g = {BUFFER}, r = {RATE_PER_S}/s, K = {MESSAGES})",
        columns=(
            "protocol",
            "X",
            "f [ms]",
            "TTS p50 [ms]",
            "TTS most [ms]",
            "tests",
            "T(X)",
            "full",
            "X in force",
        ),
        rows=tuple(rows),
        note="X is in force if it is above Q = rf, so that rounds do not just follow each other, and if no"
        " sender finds its buffer full. Chance has no part in these runs.",
    )


TABLES = (trade_off,)


def _trades(runs: Runs, protocol: str) -> bool:
    """Tell whether every smaller X in force has more tests, and a shorter time to stable."""
    found = [_result(runs, protocol, threshold) for threshold in in_force(runs, protocol)]
    tests = [result.executions for result, _ in found]
    middle, most = ([getattr(data, name) for _, data in found] for name in ("tts_p50_us", "tts_max_us"))
    falls = all(one > other for one, other in pairwise(tests))
    rises = all(values == sorted(values) and len(set(values)) == len(values) for values in (middle, most))
    return falls and rises


def judge_trade_off(runs: Runs) -> Judgement:
    """H13."""
    ranges = {protocol: in_force(runs, protocol) for protocol in PROTOCOLS}
    usable = {protocol: found for protocol, found in ranges.items() if len(found) > 1}
    trading = [protocol for protocol in usable if _trades(runs, protocol)]
    told = ", ".join(f"{protocol} X = {found[0]} to {found[-1]}" for protocol, found in usable.items())
    return Judgement(
        paper="smaller X: shorter TTS, more tests",
        measured=f"{len(trading)} of {len(usable)} protocols",
        holds=bool(usable) and len(trading) == len(usable),
        measurable=bool(usable),
        why=f"where X is in force ({told or 'nowhere'}) every smaller X has more tests and a shorter time to"
        f" stable for {', '.join(trading) or 'none'}",
    )


CLAIMS = (
    Claim(
        id="H13",
        kind="trend",
        text="A shorter time to stable needs a smaller threshold X, and a smaller X takes more tests T(X).",
        judge=judge_trade_off,
    ),
)


def _over_x(runs: Runs, protocol: str, name: str, *, like: str | None = None) -> Series:
    places = []
    for threshold in _made(runs, protocol):
        result, data = _result(runs, protocol, threshold)
        value = result.executions if name == "tests" else getattr(data, name) / 1000
        places.append((threshold, exactly(value)))
    label = protocol if like is None else f"{protocol}, longest"
    return curve(label, places, style="line" if like is None else "points", like=like)


def figure_trade_off(runs: Runs) -> Figure:
    """Time to stable and tests over X."""
    times = [_over_x(runs, protocol, "tts_p50_us") for protocol in PROTOCOLS]
    longest = [_over_x(runs, protocol, "tts_max_us", like=protocol) for protocol in PROTOCOLS]
    tests = [_over_x(runs, protocol, "tests") for protocol in PROTOCOLS]
    counted = [(threshold, exactly(stability_tests(MESSAGES, 1, threshold))) for threshold in THRESHOLDS]
    x = "threshold X [messages]"
    return Figure(
        key="trade_off",
        title="Threshold X: time to stable against the number of tests",
        caption=f"121 members, 8 senders at {RATE_PER_S} messages/s, buffers of {BUFFER}. (A) Lines: median;"
        " dots: the longest. (B) A smaller X takes more tests, as T(X) says, until X reaches Q = rf; from"
        " there on rounds follow each other without a pause.",
        panels=(
            panel("(A) time to stable", "time to stable [ms]", times + longest, x=x, log=True),
            panel("(B) tests", "tests", [*tests, curve("T(X) = K/X", counted)], x=x, log=True),
        ),
    )


FIGURES = (figure_trade_off,)
