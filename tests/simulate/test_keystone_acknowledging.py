"""The keystone for protocols that acknowledge data: stamps, groups that differ, losses and crashes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from test_keystone import PACKETS, some
from test_keystone_gossip import EXAMPLES, compare
from test_keystone_hypercube import crashes

from stablecast.testing.reference.driver import TooLong

PROTOCOLS = ("timestamp", "vector", "explicit", "transitive")


@st.composite
def cases(draw: st.DrawFn, protocol: str) -> dict[str, Any]:
    """Draw a network, clocks and groups, and what goes wrong."""
    nodes = draw(st.integers(1, 14))
    members = draw(st.integers(max(1, nodes - 3), nodes))
    options: dict[str, Any] = {
        "protocol": protocol,
        "topology": draw(st.sampled_from(("random-graph", "balanced", "balanced"))),
        "nodes": nodes,
        "members": members,
        "senders": draw(st.integers(1, members)),
        "costs": draw(st.sampled_from(("links-only", "lan1997"))),
        "seed": draw(st.integers(0, 1000)),
        "messages": draw(st.integers(1, 5)),
        "rate_per_s": draw(st.sampled_from((20.0, 300.0))),
        "until_ms": 600.0,
    }
    options |= draw(some(ack_every_ms=(7.0, 30.0), cast=("unicast", "multicast"), placement=("random",)))
    options |= draw(some(multicast_tree=("source",)))
    options |= draw(some(link_loss=(0.1, 0.3), queue_limit=(4,), duplicate=(0.3,), reorder=(0.4,)))
    options |= draw(some(detour_us=(0.0, 40.0), loss_until_ms=(50.0,), data_loss=(0.2,), nak_ms=(5.0,)))
    options |= draw(some(buffer=(1, 3), piggyback_ms=(4.0, 40.0), piggyback=("bytes", "both")))
    options |= draw(some(first_rates_per_s=("500", "7", "700,300")[: 1 + min(options["senders"], 2)]))
    options |= draw(PACKETS)
    options["faults"] = draw(crashes(members))
    options |= draw(some(detect_ms=(-1.0, 0.5, 10.0)))
    if protocol == "timestamp":
        options |= draw(some(clock=("logical", "hybrid", "physical"), stamp_bytes=(4,)))
        options |= draw(some(send_every_ms=(5.0, 40.0), skew_us=(2000.0, 50_000.0), sync_s=(0.05,)))
        if options.get("skew_us"):
            options |= draw(some(drift_ppm=(10.0,)))
    if protocol in ("timestamp", "vector"):
        options |= draw(some(ack_to=("senders", "all")))
    if protocol in ("vector", "transitive"):
        options |= draw(some(know=("own", "all")))
    if protocol != "transitive" and members > 1:
        options |= draw(some(receivers=(1, members - 1)))
    return options


@pytest.mark.parametrize("protocol", PROTOCOLS)
@EXAMPLES
@given(data=st.data())
def test_both_drivers_give_the_same_trace(protocol: str, data: st.DataObject) -> None:
    try:
        compare(**data.draw(cases(protocol)))
    except TooLong:
        reject()


GROUP: dict[str, Any] = {"topology": "balanced", "nodes": 12, "senders": 5, "messages": 6, "rate_per_s": 50.0}
LOSSES: dict[str, Any] = {"link_loss": 0.05, "duplicate": 0.2, "reorder": 0.2, "seed": 4}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_protocol_ends_in_spite_of_losses(protocol: str) -> None:
    run = compare(events_max=200_000, protocol=protocol, until_ms=60_000.0, **GROUP, **LOSSES)
    assert run.lost > 0
    assert run.completed


@pytest.mark.parametrize("clock", ["physical", "logical", "hybrid"])
@pytest.mark.parametrize("protocol", ["timestamp"])
def test_each_clock_ends_with_a_crash(protocol: str, clock: str) -> None:
    faults = {"faults": "crash 5 at 40; crash 7 at 60", "detect_ms": 15.0, "skew_us": 5000.0}
    run = compare(events_max=200_000, protocol=protocol, clock=clock, until_ms=60_000.0, **GROUP, **faults)
    assert run.completed


@pytest.mark.parametrize("protocol", ["timestamp", "vector", "explicit"])
def test_groups_that_differ(protocol: str) -> None:
    run = compare(events_max=200_000, protocol=protocol, receivers=4, until_ms=60_000.0, **GROUP)
    assert run.completed
