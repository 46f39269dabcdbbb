"""The keystone for graphs, messages to each, resends, detours and failures: both drivers, every protocol."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from test_keystone import PACKETS, some
from test_keystone_gossip import EXAMPLES, compare

from stablecast.testing.reference.driver import TooLong

PROTOCOLS = ("coord", "coordp", "cubefulldist", "fulldist", "s_coord", "s_coordp", "s_train", "train")
LINKED = ("coord", "coordp", "cubefulldist", "s_coord", "s_coordp")
TREES = ("s_coord", "s_coordp", "s_train")


@st.composite
def cases(draw: st.DrawFn, protocol: str) -> dict[str, Any]:
    """Draw a network, what goes wrong on it, and either data traffic or a number of executions."""
    nodes = draw(st.integers(1, 18))
    options: dict[str, Any] = {
        "protocol": protocol,
        "topology": draw(st.sampled_from(("random-graph", "random-graph", "balanced"))),
        "nodes": nodes,
        "members": draw(st.integers(max(1, nodes - 3), nodes)),
        "costs": draw(st.sampled_from(("links-only", "links-only", "lan1997"))),
        "seed": draw(st.integers(0, 1000)),
        "until_ms": 400.0,
    }
    if options["topology"] == "random-graph":
        options |= {"edge_probability": draw(st.sampled_from((0.0, 0.1, 0.5)))}
        options |= draw(some(delay_max_us=(0.0, 30.0, 5000.0), routes=("delay",)))
    options |= draw(some(cast=("unicast", "multicast"), placement=("random", "network"), sample_ms=(0.05,)))
    if draw(st.integers(0, 2)) == 0:
        options |= {"cast": "multicast", "multicast_tree": "source"}
    options |= draw(PACKETS)
    options |= draw(some(link_loss=(0.1, 0.3), queue_limit=(4,), duplicate=(0.3,), reorder=(0.4,)))
    options |= draw(some(resend_ms=(3.0, 8.0), detour_us=(0.0, 40.0), loss_until_ms=(50.0,)))
    options |= draw(some(propagation_us=(20.0,), executions=(2, 3)))
    if protocol in TREES:
        options |= draw(some(tree_degree=("log", "network", "2")))
    if protocol in ("s_coord", "s_coordp"):
        options |= draw(some(cast=("unicast", "relay")))
    if protocol == "cubefulldist":
        options |= draw(some(pause_ms=(0.0, 5.0), free_bitmap=(True,), links=("plain",)))
    if protocol in LINKED:
        options |= draw(some(placement=("near",)))
    options["faults"] = draw(crashes(options["members"]))
    options |= draw(some(detect_ms=(-1.0, 0.5, 10.0)))
    if draw(st.integers(0, 3)) == 0:
        options |= {"messages": draw(st.integers(1, 4)), "rate_per_s": 300.0, "period_ms": 10.0}
        options |= draw(some(data_loss=(0.2,), nak_ms=(5.0,), piggyback_ms=(5.0,)))
    return options


@st.composite
def crashes(draw: st.DrawFn, members: int) -> str:
    """Draw members that fail, some of them from the start."""
    failing = draw(st.lists(st.integers(0, members - 1), max_size=3, unique=True))
    return "; ".join(f"crash {member} at {draw(st.sampled_from((0, 0, 1, 4.5)))}" for member in failing)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@EXAMPLES
@given(data=st.data())
def test_both_drivers_give_the_same_trace(protocol: str, data: st.DataObject) -> None:
    try:
        compare(**data.draw(cases(protocol)))
    except TooLong:
        reject()


GRAPH: dict[str, Any] = {"topology": "random-graph", "members": 30, "edge_probability": 0.1, "seed": 3}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_protocol_on_a_graph(protocol: str) -> None:
    run = compare(events_max=200_000, protocol=protocol, **GRAPH)
    assert run.completed


@pytest.mark.parametrize("routes", ["hops", "delay"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_protocol_with_multicasts_on_trees_of_their_sources(protocol: str, routes: str) -> None:
    trees = {"cast": "multicast", "multicast_tree": "source", "nodes": 40, "routes": routes}
    run = compare(events_max=200_000, protocol=protocol, messages=1, senders=5, **GRAPH, **trees)
    assert run.completed


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_protocol_against_everything_at_once(protocol: str) -> None:
    wrong = {"link_loss": 0.1, "duplicate": 0.2, "reorder": 0.2, "resend_ms": 10.0, "executions": 3}
    run = compare(events_max=500_000, protocol=protocol, until_ms=60_000.0, **GRAPH, **wrong)
    assert run.lost > 0
    assert run.completed


@pytest.mark.parametrize("routes", ["hops", "delay"])
def test_the_hypercube_of_members_that_fail_in_the_round(routes: str) -> None:
    run = compare(
        events_max=200_000, protocol="cubefulldist", fail_neighbours=3, fail_at_ms=1.0, detect_ms=2.0,
        routes=routes, **GRAPH,
    )  # fmt: skip
    assert run.completed


def test_a_multicast_of_one_message_to_each_takes_a_message_to_each() -> None:
    run = compare(events_max=100_000, protocol="coordp", cast="unicast", **GRAPH)
    assert run.sent == {0: 29, 1: 29, 2: 29}


@pytest.mark.parametrize("protocol", ["coord", "fulldist", "cubefulldist"])
def test_a_full_link_that_drops_a_message_at_once_does_not_hurt_those_behind_it(protocol: str) -> None:
    """What was dropped while others that carry the same are still to be sent is not given back yet."""
    full = {"queue_limit": 1, "resend_ms": 5.0, "until_ms": 2000.0, "executions": 3}
    run = compare(events_max=500_000, protocol=protocol, **GRAPH, **full)
    assert run.dropped > 0
