"""What a run costs in each t_ack between its beginning and its end: a long run less a short one.

Two runs that differ in the number of messages alone begin and end alike.  Data and acknowledgements come at
fixed intervals, one a multiple of the other, so the longer run is longer by whole periods of t_ack, and what
it costs more is what these periods cost: exactly, with nothing left over from the ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import Runs
from stablecast.simulate.result import Result

T_ACK_MS = 100.0
HEADER_BYTES, ENTRY_BYTES = 32, 4
RATE_PER_S = 10.0
"""One message of each sender in every t_ack."""
PERIODS = 10
"""Periods of t_ack in which the senders of the short run send, and by which the long one is longer."""
NETWORK = {"topology": "balanced", "spread_last": True, "costs": "links-only", "propagation_us": 1000.0}
ABOUT = (
    "Every member of a tree receives from every sender; t_ack = t_send = 100 ms; h = 32, e = 4 bytes unless"
    " stated otherwise."
)
WHOLE = 1e-6
"""Part of a period by which two runs' ends may miss whole periods."""


@dataclass(frozen=True)
class Steady:
    """What the whole group spends in one t_ack."""

    whole: bool
    """Whether both runs came to their ends, whole periods apart; otherwise the numbers are no more than
    near."""
    messages: float
    """Messages of the protocol; a multicast is one."""
    bytes: float
    """Bytes of these messages, as they were sent."""
    riding: float
    """Bytes of messages that rode inside data."""
    attached: float
    """Bytes of stamps, or of names of predecessors, in data messages."""
    operations: float
    """Comparisons that all members counted."""
    stable: float
    """Data messages that became stable."""

    @property
    def ack_bytes(self) -> float:
        """Bytes of acknowledgements, in messages of their own and inside data."""
        return self.bytes + self.riding

    @property
    def all_bytes(self) -> float:
        """The same, and those of stamps or names in data."""
        return self.ack_bytes + self.attached


def messages_in_t_ack(rate_per_s: float) -> float:
    """Return k, the messages of a sender in one t_ack."""
    return rate_per_s * T_ACK_MS / 1000


@cache
def _point(fields: tuple[tuple[str, Any], ...]) -> Point:
    return simulation(**dict(fields))


def pair(
    protocol: str,
    senders: int,
    members: int,
    *,
    rate_per_s: float = RATE_PER_S,
    periods: int = PERIODS,
    **options: Any,
) -> tuple[Point, Point]:
    """Return the short and the long run of a group of so many members, of whom so many send."""
    fields = {
        "protocol": protocol,
        "nodes": members,
        "members": members,
        "senders": senders,
        "rate_per_s": rate_per_s,
        "ack_every_ms": T_ACK_MS,
        "buffer": 10_000,
        **NETWORK,
        **options,
    }
    if protocol == "timestamp":
        fields = {"send_every_ms": T_ACK_MS, "stamp_bytes": ENTRY_BYTES, **fields}
    short = max(1, round(periods * messages_in_t_ack(rate_per_s)))
    return (
        _point((*fields.items(), ("messages", short))),
        _point((*fields.items(), ("messages", 2 * short))),
    )


def is_made(runs: Runs, points: tuple[Point, Point]) -> bool:
    """Tell whether both runs were made."""
    return all(point in runs for point in points)


def steady(runs: Runs, points: tuple[Point, Point]) -> Steady:
    """Return what a group spends in one t_ack, from a short and a long run."""
    short, long = (runs[point].result for point in points)
    apart = (long.simulated_us - short.simulated_us) / 1000 / T_ACK_MS
    periods = max(1, round(apart))
    whole = abs(apart - periods) < WHOLE and short.completed and long.completed
    return Steady(
        whole=whole,
        messages=(long.messages_sent - short.messages_sent) / periods,
        bytes=(long.sent_bytes - short.sent_bytes) / periods,
        riding=(long.rider_bytes - short.rider_bytes) / periods,
        attached=(long.attached_bytes - short.attached_bytes) / periods,
        operations=(long.operations - short.operations) / periods,
        stable=(_stable(long) - _stable(short)) / periods,
    )


def _stable(result: Result) -> int:
    return 0 if result.traffic is None else result.traffic.messages_stable
