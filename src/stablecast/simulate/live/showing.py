"""A run of a simulated live group as a card, for notebooks."""

from __future__ import annotations

from typing import Any

from stablecast.showing import Card, Table
from stablecast.simulate.live.result import LiveResult
from stablecast.simulate.showing import ms
from stablecast.words import counted


def card_of_live_run(result: LiveResult) -> Card:
    """Return what became of the messages, what they took, and what members told."""
    told = [event for event in result.told if event.time_us > 0]
    events = [(event.time_us / 1e6, event.member, event.kind, event.about) for event in told]
    tables = [Table(columns=("", "p50 (ms)", "p99 (ms)", "longest (ms)"), rows=_times(result))]
    if events:
        columns = ("s", "member", "event", "about")
        tables.append(Table(title="what members told", columns=columns, rows=events))
    return Card(
        title=f"{result.protocol}, live: {counted(result.members, 'member')},"
        f" {result.messages_stable:,} of {counted(result.messages, 'message')} stable",
        lead=f"{result.topology_label}, {counted(result.senders, 'sender')}, seed {result.seed}",
        facts=_facts(result),
        tables=tables,
    )


def _times(result: LiveResult) -> list[tuple[Any, ...]]:
    delivery = (result.delivery_p50_us, result.delivery_p99_us, result.delivery_max_us)
    stable = (result.tts_p50_us, result.tts_p99_us, result.tts_max_us)
    return [("time to delivery", *map(ms, delivery)), ("time to stable", *map(ms, stable))]


def _facts(result: LiveResult) -> dict[str, Any]:
    sometimes = {
        "stable in a smaller view": result.messages_in_smaller_view,
        "given up": result.deliveries_given_up,
        "had to wait for room": result.blocked,
        "dropped": result.dropped,
        "lost": result.lost,
        "repairs": result.repairs_sent,
    }
    return {
        "complete": result.completed,
        "deliveries": result.deliveries,
        "datagrams": result.datagrams,
        "bytes sent": result.sent_bytes,
        "kept by a member, most (bytes)": result.peak_bytes_max,
        "members at the end": result.members_at_end,
        "step (ms)": ms(result.step_us),
        "busiest processor": f"{result.host_load_max:.0%}",
        "busiest link": f"{result.link_load_max:.0%}",
        **{name: count for name, count in sometimes.items() if count},
        "simulated (s)": result.simulated_us / 1e6,
    }
