"""Time to stable, measured with data traffic beside the protocol."""

from __future__ import annotations

from typing import Any

from stablecast.papers.hierarchical.theory import PROTOCOLS
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import Runs
from stablecast.report.table import Table
from stablecast.theory import time_to_stable_bound

PERIOD_MS = 100.0
SENDERS = 20


def with_data(
    protocol: str, *, rate_per_s: float = 10, period_ms: float = PERIOD_MS, **options: Any
) -> Point:
    """Return data traffic of 20 senders in a tree of 121 members beside the protocol."""
    return simulation(
        protocol=protocol,
        degree=3,
        height=4,
        fill=3,
        senders=SENDERS,
        messages=100,
        rate_per_s=rate_per_s,
        data_bytes=500,
        buffer=200,
        trigger="periodic",
        period_ms=period_ms,
        **options,
    )


def points(full: bool) -> list[Point]:
    """Return it for every protocol."""
    return [with_data(protocol) for protocol in PROTOCOLS]


def terms_us(runs: Runs, protocol: str) -> tuple[float, float, float, float]:
    """Return D, Δ and RTT of a protocol's run, and the bound that they make."""
    result = runs[with_data(protocol)].result
    assert result.traffic is not None and result.rtt_last_max_us is not None
    delivery, rtt = result.traffic.delivery_max_us, result.rtt_last_max_us
    gap = max(result.traffic.start_gap_max_us, result.round_trip_max_us)
    return delivery, gap, rtt, float(time_to_stable_bound(delivery, gap, rtt))


def time_to_stable(runs: Runs) -> Table:
    """Measured time to stable against D + Δ + RTT."""
    rows = []
    for protocol in PROTOCOLS:
        data = runs[with_data(protocol)].result.traffic
        assert data is not None and data.tts_max_us is not None and data.tts_p50_us is not None
        values = (*terms_us(runs, protocol), data.tts_p50_us, data.tts_max_us)
        rows.append((protocol, *(round(value / 1000, 1) for value in values), data.buffer_max))
    return Table(
        key="time_to_stable",
        title=f"Time to stable [ms] (121 members, {SENDERS} senders at 10/s, every {PERIOD_MS:.0f} ms)",
        columns=("protocol", "D", "Δ", "RTT", "bound", "TTS p50", "TTS most", "buffer most"),
        rows=tuple(rows),
        note="The bound is D + Δ + RTT: delivery, the time between two starts, and one round trip.",
    )


TABLES = (time_to_stable,)


def judge_time_to_stable(runs: Runs) -> Judgement:
    """H10."""
    share = {}
    for protocol in PROTOCOLS:
        data = runs[with_data(protocol)].result.traffic
        assert data is not None and data.tts_max_us is not None
        share[protocol] = data.tts_max_us / terms_us(runs, protocol)[-1]
    closest = max(share, key=lambda protocol: share[protocol])
    within = sum(value <= 1 for value in share.values())
    return Judgement(
        paper="at most D + Δ + RTT",
        measured=f"{within} of {len(share)} protocols within",
        holds=within == len(share),
        why=f"closest to its bound comes {closest}, at {share[closest]:.1%} of it",
    )


CLAIMS = (
    Claim(
        id="H10",
        kind="exact",
        text="Time to stable, measured with data traffic beside the protocol, is at most delivery, the time"
        " between two starts, and one round trip.",
        judge=judge_time_to_stable,
    ),
)
