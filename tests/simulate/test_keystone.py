"""The keystone: the compiled simulator and the plain driver give the same trace, event for event.

Each protocol is run on random networks, costs, traffic, triggers and faults.  A failure prints the first
event that differs and a command that runs the same case again.  ``KEYSTONE_EXAMPLES`` sets the number of
examples for each test and protocol; they are the same in every run with ``CI`` set (Hypothesis'
``derandomize``, in conftest), and new ones each time elsewhere.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from stablecast.errors import SafetyViolation
from stablecast.protocols import coordp
from stablecast.protocols.contract import GROUP, Outbox, declare_stable, kernel, send
from stablecast.simulate import Result, Setup, Traffic, Trigger, costs, simulate, topology
from stablecast.simulate.state import DATA_KINDS
from stablecast.simulate.trace_rows import ROW
from stablecast.testing.reference.driver import TooLong, run_plain
from stablecast.testing.reference.result import PlainRun, PlainTraffic
from stablecast.trace.schema import WIRE_KINDS

PROTOCOLS = ("coordp", "fulldist", "s_coordp", "s_train", "train")
EVENTS_MAX = 12_000
"""Cases that take the plain driver more events than this are not tried."""
CODES = ("send", "receive", "stable", "release", "handle", *WIRE_KINDS)

EXAMPLES = settings(
    max_examples=int(os.environ.get("KEYSTONE_EXAMPLES", "25")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@dataclass(frozen=True)
class Case:
    """A set-up in plain values, whose text makes it again."""

    protocol: str
    network: tuple[str, dict[str, int]] = ("tree", {"degree": 2, "height": 2})
    costs: tuple[str, dict[str, Any]] = ("lan1997", {})
    traffic: dict[str, Any] = field(default_factory=dict)
    trigger: dict[str, Any] = field(default_factory=dict)
    rest: dict[str, Any] = field(default_factory=dict)

    def setup(self) -> Setup:
        return Setup(
            protocol=self.protocol,
            topology=topology(self.network[0], **self.network[1]),
            costs=costs(self.costs[0], **self.costs[1]),
            traffic=Traffic(**self.traffic),
            trigger=Trigger(**self.trigger),
            **self.rest,
        )

    def replay(self) -> str:
        call = f"from test_keystone import *; compare({self!r})"
        return f'PYTHONPATH=src:tests/simulate .venv/bin/python -c "{call}"'


def run_fast(setup: Setup, *, wire: bool = False) -> tuple[list[tuple[int, ...]], Result]:
    rows: list[tuple[int, ...]] = []

    def give_up(*_: int) -> None:
        raise AssertionError("the compiled simulator does not end where the plain driver did")

    def take(block: np.ndarray[Any, Any]) -> None:
        rows.extend(map(tuple, block.tolist()))

    return rows, simulate(setup, trace=take, wire_log=True, wire=wire, progress=give_up)


def compare(case: Case, *, wire: bool = False, events_max: int = EVENTS_MAX) -> PlainRun:
    """Run a case both ways and demand the same; returns the plain run."""
    setup = case.setup()
    slow = run_plain(setup, wire=wire, events_max=events_max)
    rows, result = run_fast(setup, wire=wire)
    difference = first_difference(rows, slow.events)
    assert difference is None, f"{difference}\nreplay: {case.replay()}"
    fast_meters, slow_meters = meters_of_result(result), meters_of_plain(setup, slow)
    unequal = {
        name: (fast_meters[name], value) for name, value in slow_meters.items() if fast_meters[name] != value
    }
    assert not unequal, f"meters (fast, plain) differ: {unequal}\nreplay: {case.replay()}"
    return slow


def first_difference(fast: list[tuple[int, ...]], slow: list[tuple[int, ...]]) -> str | None:
    if fast == slow:
        return None
    for k, (left, right) in enumerate(itertools.zip_longest(fast, slow)):
        if left != right:
            return f"event {k} of {len(fast)} (fast) and {len(slow)} (plain): {told(left)} but {told(right)}"
    raise AssertionError("two unequal lists have no difference")


def told(row: tuple[int, ...] | None) -> str:
    if row is None:
        return "nothing"
    code, at_ps, member, source, number, size, *more = row
    if CODES[code] == "handle":
        what = f"handles kind {size} of execution {number} from {source}"
    else:
        what = f"{CODES[code]} {number} of column {source}, {size} bytes"
    what += f" {dict(zip(ROW[6:], more, strict=True))}" if more else ""
    return f"[at {at_ps} ps member {member} {what}]"


def meters_of_result(result: Result) -> dict[str, Any]:
    meters = dataclasses.asdict(result)
    return meters | (meters["traffic"] or {}) | {"delivery": result.delivery}


def meters_of_plain(setup: Setup, run: PlainRun) -> dict[str, Any]:
    kinds = setup.found_protocol.kinds
    numbers = range(len(kinds))
    meters = {
        "executions": run.executions,
        "completed": run.completed,
        "rounds": run.rounds,
        "hops_by_kind": {kinds[k]: run.hops.get(k, 0) for k in numbers},
        "hop_bytes": sum(run.hop_bytes.get(k, 0) for k in numbers),
        "packet_hops": sum(run.packet_hops.get(k, 0) for k in numbers),
        "data_packet_hops": sum(run.packet_hops.get(k, 0) for k in DATA_KINDS),
        "carried_hop_bytes": run.carried_hop_bytes,
        "host_us": (sum(run.host_ps.get(k, 0) for k in numbers) + run.carried_host_ps) / 1e6,
        "data_hops": {name: run.hops[k] for k, name in DATA_KINDS.items() if k in run.hops},
        "data_hop_bytes": of_data(run, run.hop_bytes, run.carried_hop_bytes),
        "data_host_us": {
            name: ps / 1e6 for name, ps in of_data(run, run.host_ps, run.carried_host_ps).items()
        },
        "messages_sent": sum(run.sent.get(k, 0) for k in numbers),
        "sent_bytes": sum(run.sent_bytes.get(k, 0) for k in numbers),
        "attached_bytes": run.attached_bytes,
        "operations": run.operations,
        "processed_max": max(run.processed),
        "rtt_root_us": mean_us(run.root_rtt_ps),
        "rtt_first_us": mean_us(run.first_learned_ps),
        "rtt_last_us": mean_us(run.last_learned_ps),
        "rtt_last_max_us": max(run.last_learned_ps) / 1e6 if run.last_learned_ps else None,
        "rtt_max_us": max(run.rtt_ps) / 1e6 if run.first_learned_ps else None,
        "round_trip_max_us": run.round_trip_max_ps / 1e6,
        "queue_max": run.queue_max,
        "queue_mean": run.queue_mean,
        "load_mean": sum(run.loads) / len(run.loads) if run.loads else None,
        "load_max": max(run.loads, default=0),
        "host_queue_max": run.host_queue_max,
        "dropped": run.dropped,
        "lost": run.lost,
        "false_suspicions": run.false_suspicions,
        "connects": len(run.connect_times_ps),
        "connect_mean_us": mean_us(run.connect_times_ps),
        "connect_max_us": max(run.connect_times_ps) / 1e6 if run.connect_times_ps else None,
        "early": run.early,
        "joins": len(run.join_times_ps),
        "join_mean_us": mean_us(run.join_times_ps),
        "join_max_us": max(run.join_times_ps) / 1e6 if run.join_times_ps else None,
        "riders": run.riders,
        "rider_bytes": run.rider_bytes,
        "simulated_us": run.finished_at_ps / 1e6,
        "delivery": run.delivery,
    }
    return meters if run.traffic is None else meters | traffic_meters(run, run.traffic)


def of_data(run: PlainRun, meter: dict[int, int], carried: int) -> dict[str, int]:
    return {
        name: meter.get(k, 0) - carried * (name == "DATA") for k, name in DATA_KINDS.items() if k in run.hops
    }


def traffic_meters(run: PlainRun, traffic: PlainTraffic) -> dict[str, Any]:
    times = np.sort(np.array(traffic.time_to_stable_ps, dtype=np.int64))
    stable = times.size > 0
    return {
        "messages": traffic.messages,
        "messages_stable": times.size,
        "tts_mean_us": mean_us(times),
        "tts_p50_us": round(np.quantile(times, 0.5)) / 1e6 if stable else None,
        "tts_p99_us": round(np.quantile(times, 0.99)) / 1e6 if stable else None,
        "tts_max_us": times[-1] / 1e6 if stable else None,
        "delivery_max_us": traffic.delivery_max_ps / 1e6,
        "start_gap_max_us": traffic.start_gap_max_ps / 1e6,
        "buffer_max": traffic.buffer_max,
        "blocked": traffic.blocked,
        "first_buffer_max": traffic.first_buffer_max,
        "first_blocked": traffic.first_blocked,
        "held_max": traffic.held_max,
        "held_mean": pytest.approx(
            traffic.held_area / len(run.processed) / run.ended_at_ps if run.ended_at_ps else 0.0
        ),
    }


def mean_us(times_ps: Any) -> float | None:
    times = np.asarray(times_ps)
    return round(times.mean()) / 1e6 if times.size else None


@st.composite
def networks(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    """Draw a topology of at most 25 nodes; on a balanced one some nodes only route."""
    name = draw(st.sampled_from(("tree", "random-tree", "balanced", "balanced")))
    seed = draw(st.integers(0, 1000))
    if name == "tree":
        shapes = ((1, 1), (1, 4), (2, 1), (2, 2), (2, 3), (3, 2), (4, 2), (8, 1))
        degree, height = draw(st.sampled_from(shapes))
        return name, {"degree": degree, "height": height, "fill": draw(st.integers(1, degree))}
    if name == "random-tree":
        return name, {"members": draw(st.integers(9, 18)), "degree": 2, "height": 3, "seed": seed}
    nodes = draw(st.integers(1, 25))
    members = draw(st.integers(1, nodes))
    return name, {"nodes": nodes, "degree": draw(st.integers(2, 5)), "members": members, "seed": seed}


def some(**choices: tuple[Any, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw values for some of the names."""
    options = {name: st.sampled_from(values) for name, values in choices.items()}
    return st.fixed_dictionaries({}, optional=options)


PRICES = st.tuples(
    st.sampled_from(("links-only", "lan1997", "wan1997")),
    some(
        bandwidth_bps=(30e3, 1e6, 123_456_789.0),
        propagation_us=(0.0, 2.5, 5000.0),
        router=("serial",),
        processor=("shared",),
        router_us=(0.0, 20.0, 1000.0, 1e-6),
        send_us=(0.0, 10.0),
        send_us_per_byte=(0.0, 1.0),
        receive_factor=(0.0, 1.1, 3.0),
        header_bytes=(0, 32),
        entry_bytes=(0, 4),
    ),
)


# Few bytes beyond the header are many packets, and the largest are those of no message.
PACKETS = some(mtu_bytes=(40, 100, 600, 10_000), host_model=("per-link", "delay"))


def with_packets(prices: tuple[str, dict[str, Any]], packets: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Add packets and host models to prices; only a host with one processor shares it with a router."""
    preset, changes = prices
    both = changes | packets
    if "host_model" in packets:
        both.pop("processor", None)
    return preset, both


def is_slow(preset: str, changes: dict[str, Any]) -> bool:
    return 30e3 in (changes.get("bandwidth_bps"), costs(preset).bandwidth_bps)


@st.composite
def quiet_cases(draw: st.DrawFn, protocol: str) -> Case:
    """Draw a case without data traffic; one that loses a message without retrying stalls."""
    network = draw(networks())
    preset, changes = with_packets(draw(PRICES), draw(PACKETS))
    slow = is_slow(preset, changes)
    faults = draw(some(queue_limit=(1, 3, 8), link_loss=(0.02, 0.3)))
    trigger = {"executions": draw(st.integers(1, 4))}
    trigger |= draw(some(kind=("periodic",), period_ms=(0.001, 1.0, 20.0)))
    trigger |= draw(some(retry_ms=(200.0, 3000.0) if slow else (5.0, 30.0)))
    rest = draw(some(seed=(1, 2, 3, 2**63 - 1), changed_only=(True,), loss_until_ms=(0.0, 1.0, 200.0)))
    rest["senders"] = draw(st.integers(1, topology(network[0], **network[1]).member_count))
    rest |= draw(some(tracked=tuple(range(1, rest["senders"] + 1))))
    if "retry_ms" in trigger:
        # A retry that comes too soon, or losses that do not end, would go on for ever.
        rest["until_ms"] = 20_000.0 if slow else 300.0
    return Case(protocol, network, (preset, changes | faults), {}, trigger, rest)


@st.composite
def busy_cases(draw: st.DrawFn, protocol: str) -> Case:
    """Draw a case with data traffic; with losses it may never be over, and is given up at some time."""
    network = draw(networks())
    preset, changes = with_packets(draw(PRICES), draw(PACKETS))
    slow = is_slow(preset, changes)
    senders = draw(st.integers(1, min(5, topology(network[0], **network[1]).member_count)))
    traffic: dict[str, Any] = {
        "messages": draw(st.integers(1, 6)),
        "buffer": draw(st.sampled_from((1, 2, 8))),
    }
    traffic |= draw(
        some(
            rate_per_s=(3.0, 100.0, 5000.0),
            data_bytes=(0, 100, 1000),
            nak_ms=(200.0, 2000.0) if slow else (1.0, 40.0),
            heartbeat_ms=(200.0, 2000.0) if slow else (3.0, 40.0),
            sender_groups=tuple(range(1, senders + 1)),
            piggyback_ms=(1.0, 20.0, 500.0),
            piggyback=("bytes", "time", "both"),
            data_loss=(0.1, 0.5),
        )
    )
    rate = traffic.get("rate_per_s", 10.0)
    firsts = [f"{rate * factor:g}" for factor in (0.3, 2.5)]
    traffic |= draw(some(first_rates_per_s=(*firsts, ",".join(firsts))[: 2 + (senders > 1)]))
    faults = {} if "sender_groups" in traffic else draw(some(queue_limit=(2, 8), link_loss=(0.02, 0.3)))
    trigger = draw(triggers(traffic["buffer"], slow=slow))
    rest = {"senders": senders} | draw(some(seed=(1, 2, 3), changed_only=(True,)))
    if faults or "data_loss" in traffic or "retry_ms" in trigger:
        rest |= draw(some(loss_until_ms=(0.0, 10.0, 100.0)))
        rest["until_ms"] = draw(st.sampled_from((5000.0, 60_000.0) if slow else (40.0, 400.0)))
    return Case(protocol, network, (preset, changes | faults), traffic, trigger, rest)


@st.composite
def triggers(draw: st.DrawFn, buffer: int, *, slow: bool) -> dict[str, Any]:
    """Draw when executions start, how many, and when to start anew."""
    kind = draw(st.sampled_from(("immediate", "periodic", "pressure")))
    trigger: dict[str, Any] = {"kind": kind}
    if kind == "periodic":
        trigger["period_ms"] = draw(st.sampled_from((1000.0, 5000.0) if slow else (2.0, 10.0, 50.0)))
    if kind == "pressure":
        trigger["threshold"] = draw(st.integers(1, buffer))
    if kind == "immediate" or draw(st.booleans()):
        trigger["executions"] = draw(st.integers(1, 5))
    if draw(st.booleans()):
        trigger["retry_ms"] = draw(st.sampled_from((1000.0, 10_000.0) if slow else (10.0, 60.0)))
    return trigger


@pytest.mark.parametrize("protocol", PROTOCOLS)
@EXAMPLES
@given(data=st.data())
def test_both_drivers_give_the_same_trace_without_data_traffic(protocol: str, data: st.DataObject) -> None:
    try_to_compare(data.draw(quiet_cases(protocol)))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@EXAMPLES
@given(data=st.data())
def test_both_drivers_give_the_same_trace_with_data_traffic(protocol: str, data: st.DataObject) -> None:
    try_to_compare(data.draw(busy_cases(protocol)))


def try_to_compare(case: Case) -> None:
    try:
        compare(case)
    except TooLong:
        reject()


@pytest.mark.parametrize("preset", ["links-only", "lan1997", "wan1997"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_protocol_on_the_papers_tree(protocol: str, preset: str) -> None:
    assert compare(Case(protocol, ("tree", {"degree": 3, "height": 2}), (preset, {}))).completed


SPARSE = ("balanced", {"nodes": 25, "degree": 3, "members": 9, "seed": 4})
LOSSES_END = {"senders": 3, "seed": 1, "loss_until_ms": 300.0}


def test_fulldist_overlapping_executions_on_links_only() -> None:
    case = Case("fulldist", SPARSE, ("links-only", {"propagation_us": 50.0}), {}, {"executions": 6})
    run = compare(case)
    newest = itertools.accumulate((row[4] for row in run.events), max)
    assert any(row[4] < seen for row, seen in zip(run.events, newest, strict=True))


def test_coordp_acks_meet_at_routers_that_share_the_hosts_processor() -> None:
    prices = ("lan1997", {"router": "serial", "processor": "shared"})
    assert compare(Case("coordp", ("tree", {"degree": 4, "height": 2}), prices)).host_queue_max > 4


def test_coordp_stalls_when_full_queues_drop_acks() -> None:
    run = compare(Case("coordp", SPARSE, ("links-only", {"queue_limit": 1})))
    assert run.dropped > 0
    assert not run.completed


def test_s_train_stalls_when_a_message_is_lost_and_nobody_retries() -> None:
    run = compare(Case("s_train", SPARSE, ("lan1997", {"link_loss": 0.3}), {}, {"executions": 5}))
    assert run.lost > 0
    assert not run.completed


def test_train_starts_anew_until_losses_end() -> None:
    trigger = {"executions": 2, "retry_ms": 100.0}
    run = compare(Case("train", SPARSE, ("lan1997", {"link_loss": 0.2}), {}, trigger, LOSSES_END))
    assert run.given_up > 0
    assert run.completed


def test_s_coordp_data_lost_at_receivers_and_on_links_is_repaired() -> None:
    traffic = {"messages": 8, "data_loss": 0.4, "rate_per_s": 200.0, "nak_ms": 5.0, "buffer": 4}
    trigger = {"kind": "periodic", "period_ms": 20.0, "retry_ms": 500.0}
    run = compare(Case("s_coordp", SPARSE, ("lan1997", {"link_loss": 0.1}), traffic, trigger, LOSSES_END))
    assert run.lost > 20
    assert run.completed


def test_fulldist_messages_ride_on_data_and_get_lost_with_it() -> None:
    traffic = {"messages": 40, "data_loss": 0.05, "rate_per_s": 100.0, "piggyback_ms": 15.0}
    trigger = {"kind": "periodic", "period_ms": 30.0, "retry_ms": 60.0}
    run = compare(Case("fulldist", SPARSE, ("lan1997", {}), traffic, trigger, LOSSES_END))
    assert run.riders > 10
    assert run.given_up > 0
    assert run.completed


def test_coordp_requests_wait_for_room_at_the_leader_of_a_sender_group() -> None:
    traffic = {"messages": 6, "buffer": 1, "rate_per_s": 1000.0, "sender_groups": 2}
    trigger = {"kind": "pressure", "threshold": 2}
    run = compare(Case("coordp", SPARSE, ("lan1997", {}), traffic, trigger, {"senders": 7}))
    assert run.traffic is not None
    assert run.traffic.blocked > 5
    assert run.completed


@pytest.mark.parametrize("spread_last", [False, True])
def test_s_train_sends_changed_entries_only(spread_last: bool) -> None:
    """A sender has a new message in one of three executions or so: arrays shrink, and nothing else does."""
    network = (SPARSE[0], SPARSE[1] | {"spread_last": spread_last})
    traffic = {"messages": 6, "rate_per_s": 10.0}
    trigger = {"kind": "periodic", "period_ms": 30.0}
    case = Case("s_train", network, ("lan1997", {}), traffic, trigger, {"changed_only": True})
    kinds = case.setup().found_protocol.kinds
    changed, whole = compare(case).hop_bytes, compare(dataclasses.replace(case, rest={})).hop_bytes
    assert changed.keys() == whole.keys()
    shorter = {kind for kind in whole if changed[kind] < 0.9 * whole[kind]}
    assert shorter == {kinds.index(name) for name in ("ACK1", "ACK2", "INFO")}
    assert all(changed[kind] == whole[kind] for kind in whole.keys() - shorter)


def test_where_all_entries_change_each_time_s_train_sends_them_without_their_places() -> None:
    traffic = {"messages": 6, "rate_per_s": 50.0}
    trigger = {"kind": "periodic", "period_ms": 30.0}
    case = Case("s_train", SPARSE, ("lan1997", {}), traffic, trigger, {"changed_only": True})
    assert compare(case).hop_bytes == compare(dataclasses.replace(case, rest={})).hop_bytes


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_of_one_agrees_with_itself(protocol: str) -> None:
    assert compare(Case(protocol, ("balanced", {"nodes": 5, "degree": 2, "members": 1}))).completed


def test_a_trace_longer_than_the_room_for_it_comes_out_whole() -> None:
    network = ("balanced", {"nodes": 60, "degree": 4})
    traffic = {"messages": 15, "rate_per_s": 20_000.0, "data_bytes": 50}
    case = Case("fulldist", network, ("wan1997", {}), traffic, {"executions": 4})
    assert len(compare(case, events_max=1_000_000).events) > 65_536


def test_a_stalled_sender_of_data_falls_silent_in_the_end() -> None:
    traffic = {"messages": 3, "data_loss": 0.1}
    run = compare(Case("coordp", traffic=traffic, trigger={"executions": 1}, rest={"senders": 1}))
    assert run.traffic is not None
    assert run.traffic.messages > len(run.traffic.time_to_stable_ps)


def test_more_riders_than_one_data_message_takes() -> None:
    traffic = {"messages": 3, "buffer": 8, "rate_per_s": 1.0, "piggyback_ms": 1000.0}
    trigger = {"kind": "periodic", "period_ms": 1.0, "retry_ms": 1.5, "executions": 3}
    case = Case("coordp", ("tree", {"degree": 2, "height": 1}), ("links-only", {}), traffic, trigger)
    assert compare(case, events_max=100_000).riders > 0


def call_stable_what_only_this_member_has(
    me: coordp.State, source: int, message: coordp.START, now: int, out: Outbox
) -> None:
    declare_stable(me, out, message.execution, me.received)


def raise_the_frontier_in_silence(
    me: coordp.State, source: int, message: coordp.START, now: int, out: Outbox
) -> None:
    me.stable[0] += 1


def declare_and_ask_for_more(
    me: coordp.State, source: int, message: coordp.START, now: int, out: Outbox
) -> None:
    for column in range(me.S.size):
        me.S[column] = 1
    declare_stable(me, out, message.execution, me.S)
    send(out, GROUP, coordp.ACK(message.execution, me.received))


def take_back(me: coordp.State, source: int, message: coordp.ACK, now: int, out: Outbox) -> None:
    me.stable[0] = 0


@pytest.mark.parametrize(
    ("receive", "complaint"),
    [
        ({coordp.START: call_stable_what_only_this_member_has}, "called stable while a member lacks it"),
        ({coordp.START: raise_the_frontier_in_silence}, "changed without being declared"),
        ({coordp.START: declare_and_ask_for_more, coordp.ACK: take_back}, "went back"),
    ],
)
def test_the_plain_driver_refuses_a_protocol_that_lies(
    receive: dict[type, Callable[..., None]], complaint: str
) -> None:
    told = coordp.PROTOCOL.kernels
    lies = {message: kernel(each) for message, each in receive.items()}
    liar = coordp.PROTOCOL.replace(kernels=dataclasses.replace(told, receive={**told.receive, **lies}))
    with pytest.raises(SafetyViolation, match=complaint):
        run_plain(Case("coordp").setup().replace(protocol=liar))
