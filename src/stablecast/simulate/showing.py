"""A run as a card, for notebooks."""

from __future__ import annotations

from typing import Any

from stablecast.showing import Card, Table
from stablecast.simulate.result import Result, TrafficResult
from stablecast.words import counted


def card_of_run(result: Result) -> Card:
    """Return what a run measured: what it took, its messages by type, and what became of the data."""
    members = counted(result.members, "member")
    tables = [Table(title="messages on hops", columns=("type", "hops"), rows=list(result.hops.items()))]
    return Card(
        title=f"{result.protocol}: {members}, {counted(result.rounds, 'round')}",
        lead=f"{result.topology_label}, {counted(result.senders, 'sender')}, seed {result.seed}",
        facts={**_facts(result), **(_of_traffic(result.traffic) if result.traffic else {})},
        tables=tables,
    )


def ms(us: float | None) -> float | None:
    """Return microseconds as milliseconds."""
    return None if us is None else us / 1e3


def _facts(result: Result) -> dict[str, Any]:
    sometimes = {
        "lost": result.lost,
        "dropped": result.dropped,
        "suspected though alive": result.false_suspicions,
        "joins": result.joins,
        "members that connected": result.connects,
    }
    return {
        "complete": result.completed,
        "executions": result.executions,
        "messages sent": result.messages_sent,
        "most handled by one member": result.processed_max,
        "bytes on all hops": result.hop_bytes,
        "to the first member's knowing (ms)": ms(result.rtt_first_us),
        "to the last member's knowing (ms)": ms(result.rtt_last_us),
        "link queue, most": result.queue_max,
        **{name: count for name, count in sometimes.items() if count},
        "simulated (ms)": ms(result.simulated_us),
    }


def _of_traffic(traffic: TrafficResult) -> dict[str, Any]:
    return {
        "data messages": traffic.messages,
        "known to be stable": traffic.messages_stable,
        "time to stable, p50 (ms)": ms(traffic.tts_p50_us),
        "time to stable, p99 (ms)": ms(traffic.tts_p99_us),
        "time to stable, longest (ms)": ms(traffic.tts_max_us),
        "kept by a member, most (messages)": traffic.held_max,
    }
