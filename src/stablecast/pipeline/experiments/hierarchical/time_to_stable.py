"""Time to stable, measured with data traffic beside the protocol, and the techniques of section 7."""

from __future__ import annotations

from typing import Any

from stablecast.pipeline.experiments.table import Table
from stablecast.simulate import Result, Setup, Traffic, Trigger, simulate, topology
from stablecast.theory import PROTOCOLS, time_to_stable_bound

PERIOD_MS = 100.0
SENDERS = 20


def run(
    protocol: str,
    *,
    rate_per_s: float = 10,
    period_ms: float = PERIOD_MS,
    changed_only: bool = False,
    **traffic: Any,
) -> Result:
    """Run data traffic of 20 senders in a tree of 121 members beside the protocol."""
    return simulate(
        Setup(
            protocol=protocol,
            topology=topology("tree", degree=3, height=4, fill=3),
            senders=SENDERS,
            traffic=Traffic(messages=100, rate_per_s=rate_per_s, data_bytes=500, buffer=200, **traffic),
            trigger=Trigger(kind="periodic", period_ms=period_ms),
            changed_only=changed_only,
        )
    )


def time_to_stable() -> Table:
    """Measured time to stable against D + Δ + RTT."""
    rows = []
    holds = True
    for protocol in PROTOCOLS:
        result = run(protocol)
        data = result.traffic
        assert data is not None and data.tts_max_us is not None and data.tts_p50_us is not None
        assert result.rtt_last_max_us is not None
        gap = max(data.start_gap_max_us, result.round_trip_max_us)
        bound = time_to_stable_bound(data.delivery_max_us, gap, result.rtt_last_max_us)
        holds &= data.tts_max_us <= bound
        values = (data.delivery_max_us, gap, result.rtt_last_max_us, bound, data.tts_p50_us, data.tts_max_us)
        rows.append((protocol, *(round(value / 1000, 1) for value in values), data.buffer_max))
    return Table(
        key="time_to_stable",
        title=f"Time to stable [ms] (121 members, {SENDERS} senders at 10/s, every {PERIOD_MS:.0f} ms)",
        columns=("protocol", "D", "Δ", "RTT", "bound", "TTS p50", "TTS most", "buffer most"),
        rows=rows,
        verdicts={"H10": (holds, "TTS never above D + Δ + RTT")},
        exact=True,
    )


TECHNIQUES: dict[str, dict[str, Any]] = {
    "none": {},
    "piggybacking (wait 50 ms)": {"piggyback_ms": 50.0},
    "changed entries only": {"changed_only": True},
    "senders in 4 groups": {"sender_groups": 4},
    "one sequence for all": {"sender_groups": 1},
}


def techniques() -> Table:
    """What each technique of section 7 saves and costs, with less data than starts of the protocol."""
    rows = []
    for protocol in PROTOCOLS:
        for name, options in TECHNIQUES.items():
            result = run(protocol, rate_per_s=5, period_ms=50, **options)
            data = result.traffic
            assert data is not None and data.tts_p50_us is not None and data.tts_max_us is not None
            rows.append(
                (
                    protocol,
                    name,
                    result.hop_bytes // max(result.executions, 1),
                    result.riders,
                    round(data.tts_p50_us / 1000, 1),
                    round(data.tts_max_us / 1000, 1),
                )
            )
    return Table(
        key="techniques",
        title="Techniques of section 7 (121 members, 20 senders at 5/s, started every 50 ms)",
        columns=(
            "protocol",
            "technique",
            "bytes on hops / execution",
            "rides",
            "TTS p50 [ms]",
            "TTS most [ms]",
        ),
        rows=rows,
    )
