"""T1 and T2: groups that differ, lossy acknowledgements, skewed clocks, crashes; checked in every run."""

from __future__ import annotations

from typing import Any

from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import SIMULATE, Point, simulation
from stablecast.pipeline.runs import Run, Runs
from stablecast.report.table import Table

PROTOCOLS = ("timestamp", "vector", "explicit", "transitive")
CLOCKS = ("physical", "logical", "hybrid")
GROUP: dict[str, Any] = {
    "topology": "balanced",
    "spread_last": True,
    "nodes": 32,
    "members": 24,
    "senders": 8,
    "messages": 20,
    "rate_per_s": 20.0,
    "until_ms": 120_000.0,
}
LOSSES: dict[str, Any] = {"link_loss": 0.01, "data_loss": 0.05, "duplicate": 0.1, "reorder": 0.2}
LATE: dict[str, Any] = {"detour_us": 150_000.0}
"""Messages that come late come after the next acknowledgement of their sender."""
CRASHES: dict[str, Any] = {"faults": "crash 5 at 300; crash 9 at 450", "detect_ms": 200.0}
QUICK_SEEDS, FULL_SEEDS = 1, 20
CASES: dict[str, dict[str, Any]] = {
    "all receive, nothing lost": {},
    "all receive, losses": LOSSES | LATE,
    "5 receivers each, losses": LOSSES | LATE | {"receivers": 5},
    "1 receiver each, losses": LOSSES | LATE | {"receivers": 1},
    "told one by one, losses": LOSSES | LATE | {"ack_to": "senders"},
    "two crashes, losses": LOSSES | LATE | CRASHES,
}


def _accepts(protocol: str, case: dict[str, Any]) -> bool:
    if protocol in ("explicit", "transitive") and "ack_to" in case:
        return False
    # A message that only a crashed member had is never taken up by others that it precedes.
    return protocol != "transitive" or not ("receivers" in case or "faults" in case)


def _variants(protocol: str) -> list[dict[str, Any]]:
    if protocol != "timestamp":
        return [{}]
    return [{}, *({"clock": clock, "skew_us": 250_000.0} for clock in CLOCKS)]


def _points_of(protocol: str, case: str, full: bool) -> list[Point]:
    return [
        simulation(protocol=protocol, seed=seed, **GROUP, **CASES[case], **variant)
        for variant in _variants(protocol)
        for seed in range(FULL_SEEDS if full else QUICK_SEEDS)
    ]


def points(full: bool) -> list[Point]:
    """Return runs of every protocol in every case that it is for."""
    return [
        point
        for protocol in PROTOCOLS
        for case, options in CASES.items()
        if _accepts(protocol, options)
        for point in _points_of(protocol, case, full)
    ]


def _found(runs: Runs, protocol: str, case: str) -> list[Run]:
    there = [point for point in _points_of(protocol, case, full=True) if point in runs]
    return [runs[point] for point in there or _points_of(protocol, case, full=False)]


def _of_case(runs: Runs, *words: str) -> list[Run]:
    return [
        run
        for protocol in PROTOCOLS
        for case, options in CASES.items()
        if _accepts(protocol, options) and any(word in case for word in words)
        for run in _found(runs, protocol, case)
    ]


def _stable(run: Run) -> bool:
    """Tell whether a run ended with everything stable that a live sender sent."""
    return run.ok and run.result.completed


def _groups(runs: Runs) -> Judgement:
    found = _of_case(runs, "receive", "told")
    ended = sum(_stable(run) for run in found)
    lost = sum(run.result.lost for run in found if run.ok)
    return Judgement(
        paper="any node sender, receiver or both",
        measured=f"{ended} of {len(found)} runs end with all stable",
        holds=ended == len(found),
        why=f"timestamps, vectors and explicit acknowledgements with one, five and all members as receivers"
        f" of each sender; {lost:,} messages lost, others late or twice",
    )


def _theorems(runs: Runs) -> Judgement:
    mine = [
        run
        for run in runs
        if run.row["task"] == SIMULATE and run.row["protocol"] in PROTOCOLS and not run.row["no_rules"]
    ]
    unsafe = [run for run in mine if not run.ok and "SafetyViolation" in (run.row["error"] or "")]
    unstable = [run for run in mine if run.ok and not run.result.completed]
    failed = [run for run in mine if not run.ok and run not in unsafe]
    messages = sum(run.result.traffic.messages for run in mine if run.ok and run.result.traffic)
    return Judgement(
        paper="safe and live",
        measured=f"{len(unsafe)} unsafe, {len(unstable)} not live, of {len(mine)} runs",
        holds=not unsafe and not unstable and not failed,
        why=f"{messages:,} messages of all runs of this paper's protocols: whatever a member called stable"
        " was at everyone it was for, its own messages (theorem 1) and others' (theorem 2), and all became"
        f" stable; {len(failed)} runs failed for other reasons",
    )


CLAIMS = (
    Claim(
        id="T1",
        kind="exact",
        text="Sender and receiver groups may differ, acknowledgements be lost, late and repeated",
        judge=_groups,
    ),
    Claim(
        id="T2",
        kind="exact",
        text="Theorems 1 and 2: what is called stable is everywhere, and everything becomes stable",
        judge=_theorems,
    ),
)


def groups_table(runs: Runs) -> Table:
    """Show what the cases took."""
    rows = []
    for case, options in CASES.items():
        for protocol in PROTOCOLS:
            if _accepts(protocol, options):
                found = [run for run in _found(runs, protocol, case) if run.ok]
                traffic = [run.result.traffic for run in found if run.result.traffic is not None]
                worst = max((each.tts_max_us or 0 for each in traffic), default=0)
                sent = sum(each.messages for each in traffic)
                lost = sum(run.result.lost for run in found)
                ended = sum(run.result.completed for run in found)
                rows.append((case, protocol, f"{ended} of {len(found)}", sent, lost, round(worst / 1000)))
    return Table(
        key="groups",
        title="Groups that differ, losses, and crashes",
        columns=("case", "protocol", "runs ended", "messages", "lost", "longest time to stable [ms]"),
        rows=tuple(rows),
        note="24 members, 8 senders, acknowledgements every 100 ms. Losses: 1 % on each link, 5 % of data at"
        " each receiver, 10 % come twice and 20 % 150 ms late. timestamp is run with equal clocks and with"
        " each kind of clock, 250 ms apart. Every declaration of every run is checked against what all have.",
    )


TABLES = (groups_table,)
FIGURES = ()
