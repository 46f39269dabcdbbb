"""The keystone for crashes of coordinators and inner members: both drivers agree, and who is left finishes.

Up to five members crash at drawn times, the first ones more often than others, and each of the others is told
at a time of its own.  Unlike in the other keystone tests every run has to come to an end.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from test_keystone import some
from test_keystone_gossip import EXAMPLES, compare

from stablecast.protocols import protocol_names
from stablecast.simulate import simulate
from stablecast.simulate.options import Options
from stablecast.testing.reference.driver import TooLong

PROTOCOLS = protocol_names(lambda found: found.runs.successors)
TREES = ("s_coord", "s_coordp")
UNTIL_MS = 30_000.0


@st.composite
def crashes(draw: st.DrawFn, members: int, times_ms: tuple[float, ...]) -> str:
    """Draw up to five members that crash; some are left."""
    first = list(range(draw(st.integers(0, 3))))
    others = draw(st.lists(st.integers(0, members - 1), max_size=4, unique=True))
    failing = [each for each in dict.fromkeys(first + others) if each < members][: min(5, members - 1)]
    return "; ".join(f"crash {member} at {draw(st.sampled_from(times_ms))}" for member in failing)


@st.composite
def cases(draw: st.DrawFn, protocol: str) -> dict[str, Any]:
    """Draw a network, crashes in a round that takes 2 to 20 ms, and what else goes wrong."""
    nodes = draw(st.integers(2, 20))
    options: dict[str, Any] = {
        "protocol": protocol,
        "topology": draw(st.sampled_from(("random-graph", "balanced"))),
        "nodes": nodes,
        "members": draw(st.integers(max(2, nodes - 3), nodes)),
        "costs": draw(st.sampled_from(("links-only", "lan1997"))),
        "seed": draw(st.integers(0, 1000)),
        "until_ms": UNTIL_MS,
        "executions": draw(st.integers(1, 3)),
        "detect_ms": draw(st.sampled_from((0.0, 0.3, 3.0, 50.0))),
    }
    if options["topology"] == "random-graph":
        options |= {"edge_probability": draw(st.sampled_from((0.1, 0.5)))}
        options |= draw(some(delay_max_us=(0.0, 30.0, 1000.0)))
    options |= draw(some(detect_spread_ms=(0.5, 4.0, 40.0), placement=("random", "network")))
    options |= draw(some(cast=("unicast", "multicast", "relay") if protocol in TREES else ("unicast",)))
    options |= draw(some(trigger=("periodic",), period_ms=(1.0, 15.0)))
    if protocol in TREES:
        options |= draw(some(tree_degree=("log", "network", "1", "2")))
    if draw(st.booleans()):
        options["resend_ms"] = draw(st.sampled_from((10.0, 60.0)))
        options |= draw(some(link_loss=(0.05, 0.2), duplicate=(0.2,), reorder=(0.3,), loss_until_ms=(100.0,)))
    if draw(st.integers(0, 3)) == 0:
        options |= {"messages": draw(st.integers(1, 3)), "rate_per_s": 300.0}
    times_ms = (0, 0.02, 0.2, 0.5, 1, 1.5, 2.5, 4, 7, 20)
    return options | {"faults": draw(crashes(options["members"], times_ms))}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@EXAMPLES
@given(data=st.data())
def test_both_drivers_agree_and_all_that_are_left_finish(protocol: str, data: st.DataObject) -> None:
    options = data.draw(cases(protocol))
    print(Options(**options).command())
    try:
        run = compare(events_max=60_000, **options)
    except TooLong:
        reject()
    assert run.completed, Options(**options).command()


GRAPH: dict[str, Any] = {"topology": "random-graph", "members": 30, "edge_probability": 0.15, "seed": 3}
CRASH_MS = tuple(round(0.25 * k, 2) for k in range(40))


@pytest.mark.parametrize("resend_ms", [0.0, 20.0])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_whenever_in_the_round_the_coordinator_and_an_inner_member_crash(
    protocol: str, resend_ms: float
) -> None:
    """The crashes go through the round in steps of a quarter of a millisecond, and the next in behind."""
    for at_ms in CRASH_MS:
        faults = f"crash 0 at {at_ms}; crash 1,6 at {at_ms + 1.1}"
        options = {"faults": faults, "detect_ms": 0.7, "detect_spread_ms": 2.0, "until_ms": UNTIL_MS}
        case = Options(protocol=protocol, resend_ms=resend_ms, **GRAPH, **options)
        assert simulate(case.setup()).completed, case.command()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_executions_go_on_under_the_successor(protocol: str) -> None:
    run = compare(
        events_max=200_000, protocol=protocol, executions=4, faults="crash 0 at 12", detect_ms=1.0,
        until_ms=UNTIL_MS, **GRAPH,
    )  # fmt: skip
    assert run.completed
    assert run.executions == run.executions_started == 4


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_successor_begins_a_running_execution_anew_and_it_counts_once(protocol: str) -> None:
    calm = compare(events_max=100_000, protocol=protocol, **GRAPH)
    struck = compare(events_max=100_000, protocol=protocol, faults="crash 0 at 1", detect_ms=3.0, **GRAPH)
    assert struck.executions == struck.executions_started == 1
    assert struck.last_learned_ps[0] > calm.last_learned_ps[0]
    assert struck.root_rtt_ps[0] < struck.last_learned_ps[0]


def test_a_coordinator_that_crashes_when_all_is_done_is_not_missed() -> None:
    calm = compare(protocol="coordp", **GRAPH, events_max=100_000)
    struck = compare(protocol="coordp", **GRAPH, events_max=100_000, faults="crash 0 at 500")
    assert struck.completed
    assert struck.sent == calm.sent


def test_a_periodic_trigger_waits_for_its_time_under_the_successor_too() -> None:
    """The coordinator crashes before its first start."""
    run = compare(
        events_max=100_000, protocol="s_coordp", trigger="periodic", period_ms=20.0, executions=2,
        faults="crash 0 at 3", detect_ms=1.0, **GRAPH,
    )  # fmt: skip
    assert run.completed
    assert run.finished_at_ps > 40 * 10**9


def test_a_successor_that_sends_nothing_starts_by_pressure_at_once() -> None:
    run = compare(
        events_max=100_000, protocol="coordp", trigger="pressure", threshold=2, messages=4, senders=2,
        executions=3, faults="crash 0 at 30", rate_per_s=100.0, buffer=4, until_ms=5000.0, **GRAPH,
    )  # fmt: skip
    assert run.completed
    assert run.executions == 3


def test_a_detector_that_takes_its_time_with_each_member_tells_all_within_the_spread() -> None:
    setup = Options(
        protocol="coordp", **GRAPH, faults="crash 0 at 5", detect_ms=10.0, detect_spread_ms=4.0
    ).setup()
    told_ms = [fault.at_ps / 1e9 for fault in setup.schedule.faults if fault.what == 4]
    assert len(told_ms) == 29
    assert 15.0 <= min(told_ms) < max(told_ms) <= 19.0
    assert len(set(told_ms)) == 29
