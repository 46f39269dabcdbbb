"""T4: messages that senders have to keep until they are stable, against their rate."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.timestamp.steady import NETWORK, T_ACK_MS
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.simulate.result import TrafficResult
from stablecast.theory.timestamp import buffer_messages, printed_buffer

GROUP = {"nodes": 16, "members": 16, "senders": 4, "buffer": 10_000}
T_SEND_MS = 10.0
"""Short, so that the last messages, behind which nothing is sent, wait hardly longer than the others."""
RATES = (5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
QUICK_SEEDS, FULL_SEEDS = 2, 10
PROTOCOLS = ("timestamp", "vector", "explicit")


def buffering(protocol: str, rate_per_s: float, seed: int) -> Point:
    """Return a run of two seconds or more at a rate."""
    options: dict[str, Any] = {"send_every_ms": T_SEND_MS} if protocol == "timestamp" else {}
    return simulation(
        protocol=protocol,
        rate_per_s=rate_per_s,
        messages=max(10, round(2 * rate_per_s)),
        ack_every_ms=T_ACK_MS,
        seed=seed,
        **GROUP,
        **NETWORK,
        **options,
    )


def points(full: bool) -> list[Point]:
    """Return runs of every protocol and rate."""
    return [
        buffering(protocol, rate, seed)
        for protocol in PROTOCOLS
        for rate in RATES
        for seed in range(FULL_SEEDS if full else QUICK_SEEDS)
    ]


def _traffic(runs: Runs, protocol: str, rate: float) -> list[TrafficResult]:
    asked = [buffering(protocol, rate, seed) for seed in range(FULL_SEEDS)]
    found = [runs[point].result.traffic for point in asked if point in runs]
    if not found:
        raise MissingRun(f"this run was not made: {asked[0].replay}")
    return [traffic for traffic in found if traffic is not None]


def held(traffic: TrafficResult, rate: float) -> tuple[int, int, int]:
    """Return the rate times the median latency, what a sender held at most, and times the longest latency."""
    low, high = (
        buffer_messages(Fraction(us or 1) / 10**6, Fraction(rate))
        for us in (traffic.tts_p50_us, traffic.tts_max_us)
    )
    return low, traffic.buffer_max, high


def buffers(runs: Runs) -> Table:
    """What senders held, beside latency times rate."""
    rows = []
    for protocol in PROTOCOLS:
        for rate in RATES:
            found = _traffic(runs, protocol, rate)
            longest = max(traffic.tts_max_us or 0 for traffic in found)
            low, most, high = zip(*(held(traffic, rate) for traffic in found), strict=True)
            printed = float(printed_buffer(Fraction(longest) / 10**6, Fraction(rate)))
            cells = (round(longest / 1000, 1), min(low), min(most), max(most), max(high))
            rows.append((protocol, rate, *cells, float(f"{printed:.2g}")))
    return Table(
        key="buffers",
        title="Messages in a sender's buffer",
        columns=(
            "protocol",
            "messages a second",
            "longest latency [ms]",
            "rate × median latency",
            "held at most, least of the runs",
            "held at most, most of the runs",
            "rate × longest latency",
            "as printed: latency / rate",
        ),
        rows=tuple(rows),
        note=f"{GROUP['senders']} senders of {GROUP['members']} members, t_ack ="
        f" {T_ACK_MS:g} ms, t_send = {T_SEND_MS:g} ms. Products are rounded up to whole messages. A"
        " message that waits longest may be the last one, with nothing sent behind it.",
    )


TABLES = (buffers,)


def judge_buffers(runs: Runs) -> Judgement:
    """T4l."""
    outside, count, equal = [], 0, 0
    most: dict[str, list[int]] = {}
    for protocol in PROTOCOLS:
        for rate in RATES:
            found = [held(traffic, rate) for traffic in _traffic(runs, protocol, rate)]
            most.setdefault(protocol, []).append(max(value for _, value, _ in found))
            count += len(found)
            equal += sum(value == high for _, value, high in found)
            if not all(low <= value <= high for low, value, high in found):
                outside.append(f"{protocol} at {rate:g}/s")
    rises = all(a <= b for values in most.values() for a, b in pairwise(values)) and all(
        values[0] < values[-1] for values in most.values()
    )
    return Judgement(
        paper="worst latency divided by the rate",
        measured=", ".join(
            f"{protocol} {values[0]} to {values[-1]} messages from {RATES[0]:g} to {RATES[-1]:g}/s"
            for protocol, values in most.items()
        ),
        holds=not outside and rises,
        why=f"judged as latency times rate, since divided by it faster senders would need less; {equal} of"
        f" {count} runs hold the longest latency times the rate exactly, and the others no more than that and"
        f" no less than the median times the rate; outside: {'; '.join(outside) or 'none'}",
    )


CLAIMS = (
    Claim(
        id="T4l",
        kind="trend",
        text="A sender's buffer holds the worst latency times its rate (printed: divided by).",
        judge=judge_buffers,
    ),
)


def _buffer_lines(runs: Runs, protocol: str) -> tuple[Series, Series]:
    measured, computed = [], []
    for rate in RATES:
        found = [held(traffic, rate) for traffic in _traffic(runs, protocol, rate)]
        measured.append(float(max(value for _, value, _ in found)))
        computed.append(float(max(high for _, _, high in found)))
    return (
        Series(name=protocol, x=RATES, y=tuple(measured), style="points"),
        Series(name=f"{protocol}: rate × latency", x=RATES, y=tuple(computed), like=protocol),
    )


def figure_buffers(runs: Runs) -> Figure:
    """What senders hold against their rate."""
    pairs = [_buffer_lines(runs, protocol) for protocol in PROTOCOLS]
    series = tuple(each for pair in pairs for each in pair)
    return Figure(
        key="buffers",
        title="Messages that a sender holds until they are stable",
        caption="Most messages in one sender's buffer, and the longest latency times the rate. Divided by the"
        " rate, as printed in the paper, the lines would fall.",
        panels=(
            Panel(
                title="faster senders hold more",
                x=Axis("messages of a sender a second", log=True),
                y=Axis("messages in its buffer", log=True),
                series=series,
            ),
        ),
    )


FIGURES = (figure_buffers,)
