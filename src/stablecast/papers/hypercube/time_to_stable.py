"""Section 4.1: a message is known to be stable within D + Δ + RTT (C9), measured on the paper's graphs.

Senders multicast data while the protocol runs.  D is the longest time in which a message reached everyone, Δ
the longest time between two starts of the protocol, or of a round if rounds take longer, and RTT the longest
time from a start to the last member that knew the result.  A message that reached everyone just after a round
began waits for the next one, which begins within Δ, and for its result.  So no message takes longer, whatever
the network; that the measured maximum comes close to the sum says that the sum is no idle bound.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from stablecast.papers.curves import columns_with_interval, with_interval
from stablecast.papers.hypercube.grid import GRAPHS, PROTOCOLS, of
from stablecast.papers.hypercube.trials import made_of
from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.statistics import Estimate, mean_of
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.table import Table
from stablecast.simulate.result import Result
from stablecast.theory import time_to_stable_bound

PERIODS_MS = (25.0, 100.0)
SMALL, LARGE = 100, 400
DATA: dict[str, Any] = {"messages": 20, "rate_per_s": 10.0, "data_bytes": 500, "buffer": 200}
"""Of each of the 50 senders."""


class Case(NamedTuple):
    """A line of the table."""

    protocol: str
    members: int
    period_ms: float


class Terms(NamedTuple):
    """What the bound is made of, in microseconds, and what it bounds."""

    delivery: float
    gap: float
    round_trip: float
    bound: float
    median: float
    most: float


def cases(full: bool) -> list[Case]:
    """Return the runs of 100 members, and with the paper's protocols but fulldist of 400."""
    small = [Case(protocol, SMALL, period) for protocol in PROTOCOLS for period in PERIODS_MS]
    return small + [Case(each, LARGE, PERIODS_MS[-1]) for each in PROTOCOLS[1:]] if full else small


def with_data(case: Case, graph: int) -> Point:
    """Return data traffic beside the protocol; cubefulldist pauses where others are started."""
    started: dict[str, Any] = {"trigger": "periodic", "period_ms": case.period_ms}
    paused: dict[str, Any] = {"pause_ms": case.period_ms}
    return of(
        case.protocol,
        case.members,
        graph,
        **DATA,
        **(paused if case.protocol == "cubefulldist" else started),
    )


def points(full: bool) -> list[Point]:
    """Return all cases on all graphs."""
    return [with_data(case, graph) for case in cases(full) for graph in range(GRAPHS)]


def _results(runs: Runs) -> dict[Case, list[Result]]:
    made = [case for case in cases(True) if with_data(case, 0) in runs]
    if not made:
        raise MissingRun(f"this run was not made: {with_data(cases(True)[0], 0).replay}")
    return {case: made_of(runs, [with_data(case, graph) for graph in range(GRAPHS)]) for case in made}


def terms(result: Result) -> Terms:
    """Return D, Δ and RTT of a run, their sum, and the times to stable that were measured."""
    data = result.traffic
    assert data is not None and result.rtt_last_max_us is not None
    assert data.tts_p50_us is not None and data.tts_max_us is not None
    gap = max(data.start_gap_max_us, result.round_trip_max_us)
    bound = float(time_to_stable_bound(data.delivery_max_us, gap, result.rtt_last_max_us))
    return Terms(data.delivery_max_us, gap, result.rtt_last_max_us, bound, data.tts_p50_us, data.tts_max_us)


def _means_ms(results: list[Result]) -> list[Estimate]:
    return [mean_of([us / 1000 for us in column]) for column in zip(*map(terms, results), strict=True)]


def time_to_stable(runs: Runs) -> Table:
    """Measured time to stable against D + Δ + RTT."""
    rows: list[tuple[Any, ...]] = []
    for case, results in _results(runs).items():
        cells = [cell for each in _means_ms(results) for cell in with_interval(each)]
        share = max(terms(one).most / terms(one).bound for one in results)
        rows.append((*case, *cells, f"{share:.1%}"))
    heads = ("D", "Δ", "RTT", "bound", "TTS p50", "TTS most")
    return Table(
        key="time_to_stable",
        title="Time to stable [ms] on random graphs, with data traffic beside the protocol",
        columns=(
            "protocol",
            "n",
            "period or pause",
            *columns_with_interval(heads),
            "closest to the bound",
        ),
        rows=tuple(rows),
        note=f"50 senders, {DATA['rate_per_s']:g} messages a second each; means of {GRAPHS} graphs, each term"
        " being the longest of a run. The bound is D + Δ + RTT of the same run.",
    )


TABLES = (time_to_stable,)


def judge_time_to_stable(runs: Runs) -> Judgement:
    """C9."""
    found = _results(runs)
    shares = {
        (*case, one.seed): terms(one).most / terms(one).bound
        for case, results in found.items()
        for one in results
        if one.completed
    }
    above = [where for where, share in shares.items() if share > 1]
    unfinished = sum(not one.completed for results in found.values() for one in results)
    (protocol, members, period, graph), most = max(shares.items(), key=lambda item: item[1])
    return Judgement(
        paper="at most D + Δ + RTT",
        measured=f"{len(shares) - len(above)} of {len(shares)} runs within",
        holds=not above and not unfinished,
        why=f"closest to its bound comes {protocol} with {members} members every {period:g} ms on graph"
        f" {graph}, at {most:.1%} of it; {unfinished} runs did not end",
    )


CLAIMS = (
    Claim(
        id="C9",
        kind="exact",
        text="With data traffic beside the protocol, the time to know that a message is stable is at most its"
        " delivery, the time between two starts, and one round trip.",
        judge=judge_time_to_stable,
    ),
)
