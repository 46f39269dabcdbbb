"""The techniques of section 7: what each saves and costs, all bytes and all processors counted.

What a technique costs on hops is the protocol's own messages, its bytes inside data messages on every hop of
the data, and the messages by which senders of a group hand their data to its head.  What it costs hosts is
the time to send and receive all of these, of data messages the share of the bytes that they carry.  Both are
compared with the run without the technique, for one execution of the protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stablecast.papers.hierarchical.theory import PROTOCOLS
from stablecast.papers.hierarchical.time_to_stable import SENDERS, with_data
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import Runs
from stablecast.report.table import Table
from stablecast.simulate.costs import LAN_1997
from stablecast.simulate.result import Result
from stablecast.theory.trees import group_size

NONE, CHANGED, ONE = "none", "changed entries only", "one sequence for all"
RIDE_ALL, RIDE_GAINING = "piggybacking, all that can wait", "piggybacking, where it gains"
GROUPS = "senders in 4 groups"
TECHNIQUES: dict[str, dict[str, Any]] = {
    NONE: {},
    RIDE_ALL: {"piggyback_ms": 50.0},
    RIDE_GAINING: {"piggyback_ms": 50.0, "piggyback": "both"},
    CHANGED: {"changed_only": True},
    GROUPS: {"sender_groups": 4},
    ONE: {"sender_groups": 1},
}
LOSSES: dict[str, Any] = {"link_loss": 0.001, "retry_ms": 1000.0, "until_ms": 60_000.0}
REQUEST = "REQUEST"
Measure = Callable[[Result], float]
HEIGHTS = (1, 2, 3, 4, 5)
DEGREE = 3


def with_technique(protocol: str, technique: str, **more: Any) -> Point:
    """Return data traffic with one technique, and less data than starts of the protocol."""
    return with_data(protocol, rate_per_s=5.0, period_ms=50.0, **TECHNIQUES[technique], **more)


def points(full: bool) -> list[Point]:
    """Return every technique for every protocol, and changed entries also with losses."""
    plain = [with_technique(protocol, name) for protocol in PROTOCOLS for name in TECHNIQUES]
    return plain + [
        with_technique(protocol, name, **LOSSES) for protocol in PROTOCOLS for name in (NONE, CHANGED)
    ]


def own_bytes(result: Result) -> float:
    """Return the bytes of the protocol's messages on hops in one execution."""
    return result.hop_bytes / max(result.executions, 1)


def net_bytes(result: Result) -> float:
    """Return all bytes that the protocol and its technique put on hops in one execution."""
    requests = result.data_hop_bytes.get(REQUEST, 0)
    return (result.hop_bytes + result.carried_hop_bytes + requests) / max(result.executions, 1)


def net_host_ms(result: Result) -> float:
    """Return the time of all hosts for the protocol and its technique, in one execution."""
    requests_us = result.data_host_us.get(REQUEST, 0.0)
    return (result.host_us + requests_us) / 1000 / max(result.executions, 1)


def techniques(runs: Runs) -> Table:
    """What each technique of section 7 saves and costs."""
    rows = [
        (protocol, name, *_measured(runs[with_technique(protocol, name)].result))
        for protocol in PROTOCOLS
        for name in TECHNIQUES
    ]
    return Table(
        key="techniques",
        title=f"Techniques of section 7 (121 members, {SENDERS} senders at 5/s, started every 50 ms)",
        columns=("protocol", "technique", *_COLUMNS),
        rows=tuple(rows),
        note="Bytes and host time are for one execution. Own bytes are those of stability messages; riders"
        " are their bytes inside data, on every hop of the data; requests are data on its way to the head of"
        " a group of senders. Net bytes are the sum; host time is for all three.",
    )


_COLUMNS = (
    "own bytes",
    "riders",
    "requests",
    "net bytes",
    "host [ms]",
    "rides",
    "TTS p50 [ms]",
    "TTS most [ms]",
)


def _measured(result: Result) -> tuple[float, ...]:
    data, executions = result.traffic, max(result.executions, 1)
    assert data is not None and data.tts_p50_us is not None and data.tts_max_us is not None
    riders, requests = result.carried_hop_bytes, result.data_hop_bytes.get(REQUEST, 0)
    parts = (round(each / executions) for each in (result.hop_bytes, riders, requests))
    times = (round(us / 1000, 1) for us in (data.tts_p50_us, data.tts_max_us))
    return (*parts, round(net_bytes(result)), round(net_host_ms(result), 1), result.riders, *times)


def changed_with_losses(runs: Runs) -> Table:
    """What changed entries save and cost where messages are lost."""
    rows = []
    for protocol in PROTOCOLS:
        for name in (NONE, CHANGED):
            result = runs[with_technique(protocol, name, **LOSSES)].result
            data = result.traffic
            assert data is not None and data.tts_p50_us is not None and data.tts_max_us is not None
            times = (round(us / 1000, 1) for us in (data.tts_p50_us, data.tts_max_us))
            rows.append((protocol, name, round(net_bytes(result)), data.messages_stable, *times))
    return Table(
        key="changed_with_losses",
        title="Changed entries where a link loses a message of a thousand (start anew after 1 s)",
        columns=("protocol", "technique", "net bytes", "stable", "TTS p50 [ms]", "TTS most [ms]"),
        rows=tuple(rows),
    )


def ride_bytes_max(members: int, hops: int) -> tuple[float, float]:
    """Return up to how many bytes of payload an ACK that would go over so many hops gains by riding.

    The first is for bytes on hops, the second for time of hosts; the costs are the paper's.
    """
    costs, to_all = LAN_1997, 1 + LAN_1997.receive_factor * members
    to_one = 1 + costs.receive_factor
    fixed_us = costs.send_us + costs.send_us_per_byte * costs.header_bytes
    in_bytes = costs.header_bytes * hops / (members - 1 - hops) if hops < members - 1 else float("inf")
    return in_bytes, fixed_us * to_one / (costs.send_us_per_byte * (to_all - to_one))


def riding_acks(runs: Runs) -> Table:
    """Up to which size an ACK gains by riding on data that goes to all."""
    rows = []
    for height in HEIGHTS:
        members = group_size(DEGREE, height, DEGREE)
        near, time_bytes = ride_bytes_max(members, 1)
        far, _ = ride_bytes_max(members, height)
        rows.append((members, round(near, 1), round(far, 1), round(time_bytes, 1)))
    return Table(
        key="riding_acks",
        title=f"Largest array [bytes] with which an ACK gains by riding (trees of degree {DEGREE})",
        columns=("members", "bytes, to the parent", "bytes, leaf to root", "host time"),
        rows=tuple(rows),
        note="A sequence number takes 4 bytes. With larger arrays an ACK on its own costs less, since one"
        " that rides goes to every member.",
    )


TABLES = (techniques, changed_with_losses, riding_acks)


def _gaining(runs: Runs, technique: str, measure: Measure) -> list[str]:
    """Return the protocols for which a technique lowers a measure."""
    return [
        protocol
        for protocol in PROTOCOLS
        if measure(runs[with_technique(protocol, technique)].result)
        < measure(runs[with_technique(protocol, NONE)].result)
    ]


def _shares(runs: Runs, technique: str, measure: Measure) -> str:
    """Return the change of a measure for each protocol, in words."""
    told = []
    for protocol in PROTOCOLS:
        before = measure(runs[with_technique(protocol, NONE)].result)
        after = measure(runs[with_technique(protocol, technique)].result)
        told.append(f"{protocol} {after / before - 1:+.1%}")
    return ", ".join(told)


def judge_piggybacking(runs: Runs) -> Judgement:
    """H10b: with messages that ride only where that costs less, and with all that can."""
    both = {
        name: set(_gaining(runs, name, net_bytes)) & set(_gaining(runs, name, net_host_ms))
        for name in (RIDE_GAINING, RIDE_ALL)
    }
    alone = [each for each in PROTOCOLS if not runs[with_technique(each, RIDE_GAINING)].result.riders]
    of = len(PROTOCOLS)
    return Judgement(
        paper="less load and less processor time, for all",
        measured=f"both for {len(both[RIDE_GAINING])} of {of}; if all ride, for {len(both[RIDE_ALL])}",
        holds=len(both[RIDE_GAINING]) == of,
        why=f"where riding gains, net bytes change by {_shares(runs, RIDE_GAINING, net_bytes)}; if all ride,"
        f" by {_shares(runs, RIDE_ALL, net_bytes)}: an acknowledgement on data goes to everyone, and nothing"
        f" gains of {', '.join(alone) or 'no protocol'}",
    )


def judge_changed(runs: Runs) -> Judgement:
    """H10c: net bytes and host time, with all data stable also where messages are lost."""
    fewer, less = (_gaining(runs, CHANGED, each) for each in (net_bytes, net_host_ms))
    lossy = [runs[with_technique(protocol, CHANGED, **LOSSES)].result for protocol in PROTOCOLS]
    done, of = sum(result.completed for result in lossy), len(PROTOCOLS)
    return Judgement(
        paper="smaller messages",
        measured=f"fewer bytes for {len(fewer)} of {of}, less host time for {len(less)}",
        holds=len(fewer) == len(less) == done == of,
        why=f"net bytes change by {_shares(runs, CHANGED, net_bytes)}; with losses everything becomes stable"
        f" for {done} of {of}",
    )


def judge_grouped(runs: Runs) -> Judgement:
    """H10d: the sizes of the protocol's messages, as the paper words it; requests are told beside them."""
    of, named = len(PROTOCOLS), (GROUPS, ONE)
    own, net, host = (
        [len(_gaining(runs, name, measure)) for name in named]
        for measure in (own_bytes, net_bytes, net_host_ms)
    )
    return Judgement(
        paper="smaller ACK and INFO",
        measured=f"smaller for {own[0]} (4 groups) and {own[1]} (one) of {of}",
        holds=own == [of, of],
        why=f"one sequence changes their bytes by {_shares(runs, ONE, own_bytes)}; with the requests to the"
        " head of a group, which a total order needs anyway, net bytes are lower for"
        f" {net[0]} (4 groups) and {net[1]} (one) of {of}, host time for {host[0]} and {host[1]}",
    )


CLAIMS = (
    Claim(
        id="H10b",
        kind="trend",
        text="Stability messages that travel inside data messages reduce the load of the network and the time"
        " of processors, for every protocol.",
        judge=judge_piggybacking,
    ),
    Claim(
        id="H10c",
        kind="trend",
        text="Exchanging only the sequence numbers that changed makes messages smaller, for every protocol.",
        judge=judge_changed,
    ),
    Claim(
        id="H10d",
        kind="trend",
        text="Senders that share one series of sequence numbers make ACK and INFO smaller, for every"
        " protocol.",
        judge=judge_grouped,
    ),
)
