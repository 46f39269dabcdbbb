"""T5: what a sender that has little to send costs everyone, and what its being heard of more often costs."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy as np

from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.simulate.result import Result

MEMBERS, SENDERS = 16, 8
T_ACK_MS = 20.0
RATE_PER_S = 1.0
MESSAGES = 10
T_SENDS_MS = (10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
"""Up to the time between two data messages of a sender."""
QUICK_SEEDS, FULL_SEEDS = 3, 12
PROTOCOLS = ("timestamp", "vector")
ABOUT = (
    f"{SENDERS} senders of {MEMBERS} members, {RATE_PER_S:g} message a second each, t_ack = {T_ACK_MS:g} ms,"
    " 1 ms a link."
)


@cache
def idle(protocol: str, t_send_ms: float, seed: int) -> Point:
    """Return a run in which senders have a message now and then; vectors know no t_send."""
    options: dict[str, Any] = (
        {"send_every_ms": t_send_ms, "stamp_bytes": 4} if protocol == "timestamp" else {}
    )
    return simulation(
        protocol=protocol,
        topology="balanced",
        nodes=MEMBERS,
        members=MEMBERS,
        senders=SENDERS,
        costs="links-only",
        propagation_us=1000.0,
        messages=MESSAGES,
        rate_per_s=RATE_PER_S,
        ack_every_ms=T_ACK_MS,
        seed=seed,
        **options,
    )


def points(full: bool) -> list[Point]:
    """Return runs with every longest silence."""
    asked = [
        idle(protocol, t_send, seed)
        for protocol in PROTOCOLS
        for t_send in T_SENDS_MS
        for seed in range(FULL_SEEDS if full else QUICK_SEEDS)
    ]
    return list({point.key: point for point in asked}.values())


def _results(runs: Runs, protocol: str, t_send: float) -> list[Result]:
    asked = [idle(protocol, t_send, seed) for seed in range(FULL_SEEDS)]
    found = [runs[point].result for point in asked if point in runs]
    if not found:
        raise MissingRun(f"this run was not made: {asked[0].replay}")
    return found


def mean_ms(runs: Runs, protocol: str, t_send: float) -> float:
    """Return the mean time to stable."""
    found = [result.traffic for result in _results(runs, protocol, t_send)]
    return fmean((each.tts_mean_us or 0) / 1000 for each in found if each is not None)


def bytes_per_s(runs: Runs, protocol: str, t_send: float) -> float:
    """Return the protocol's bytes in a second, what it put into data included."""
    found = _results(runs, protocol, t_send)
    return fmean((each.sent_bytes + each.attached_bytes) / each.simulated_us * 1e6 for each in found)


def silences(runs: Runs) -> Table:
    """Time and bytes against t_send."""
    rows = [
        (
            t_send,
            *(round(mean_ms(runs, protocol, t_send), 1) for protocol in PROTOCOLS),
            *(round(bytes_per_s(runs, protocol, t_send)) for protocol in PROTOCOLS),
        )
        for t_send in T_SENDS_MS
    ]
    return Table(
        key="silences",
        title="Time to stable and bytes against the longest silence of a sender",
        columns=(
            "t_send [ms]",
            "timestamp, mean [ms]",
            "vector, mean [ms]",
            "timestamp, bytes a second",
            "vector, bytes a second",
        ),
        rows=tuple(rows),
        note=f"{ABOUT} Vectors know no t_send and are repeated for comparison. Bytes as sent, with those in"
        " data.",
    )


TABLES = (silences,)


def judge_slowest(runs: Runs) -> Judgement:
    """T5h."""
    timestamp = [mean_ms(runs, "timestamp", t_send) for t_send in T_SENDS_MS]
    vector = [mean_ms(runs, "vector", t_send) for t_send in T_SENDS_MS]
    slope = float(np.polyfit(T_SENDS_MS, timestamp, 1)[0])
    most = max(
        (after - timestamp[0]) / (t_send - T_SENDS_MS[0])
        for t_send, after in zip(T_SENDS_MS[1:], timestamp[1:], strict=True)
    )
    rises = all(a < b for a, b in pairwise(timestamp))
    return Judgement(
        paper="latency is directly related to the minimum rate of the senders",
        measured=f"{timestamp[0]:.0f} to {timestamp[-1]:.0f} ms for t_send {T_SENDS_MS[0]:g} to"
        f" {T_SENDS_MS[-1]:g} ms, slope {slope:.2f}; vectors {vector[0]:.0f} ms",
        holds=rises and slope > 0.5 and most <= 1 and timestamp[0] > vector[0],
        why=f"mean times; never more than t_send more ({most:.2f} of it at most); with {SENDERS} senders the"
        " last of the others is heard of after most of t_send; vectors wait for nobody else's messages",
    )


CLAIMS = (
    Claim(
        id="T5h",
        kind="trend",
        text="The slowest sender determines the latency: it is directly related to the minimum rate at which"
        " senders send.",
        judge=judge_slowest,
    ),
)


def figure_silences(runs: Runs) -> Figure:
    """Time and bytes against t_send."""
    x = Axis("longest silence of a sender, t_send [ms]", log=True)
    return Figure(
        key="silences",
        title="The longest silence of a sender",
        caption=f"{ABOUT} A message is stable only when every other sender has been heard of after it. To be"
        " heard of more often costs NULL messages. Vectors know no t_send.",
        panels=(
            Panel(
                title="(A) time",
                x=x,
                y=Axis("mean time to stable [ms]", log=True),
                series=tuple(
                    Series(
                        name=protocol,
                        x=T_SENDS_MS,
                        y=tuple(mean_ms(runs, protocol, t_send) for t_send in T_SENDS_MS),
                    )
                    for protocol in PROTOCOLS
                ),
            ),
            Panel(
                title="(B) bytes",
                x=x,
                y=Axis("bytes sent in a second [B]"),
                series=tuple(
                    Series(
                        name=protocol,
                        x=T_SENDS_MS,
                        y=tuple(bytes_per_s(runs, protocol, t_send) for t_send in T_SENDS_MS),
                    )
                    for protocol in PROTOCOLS
                ),
            ),
        ),
    )


FIGURES = (figure_silences,)
