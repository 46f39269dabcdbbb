"""The keystone with packets and each host model, in cases that have to come up: both drivers, same trace."""

from __future__ import annotations

from typing import Any

import pytest
from test_keystone_gossip import compare

HOSTS = ("serial", "per-link", "delay")
TREE: dict[str, Any] = {"topology": "tree", "degree": 3, "height": 2, "events_max": 300_000}
DATA: dict[str, Any] = {"messages": 5, "senders": 3, "data_bytes": 400, "rate_per_s": 100.0, "buffer": 4}


@pytest.mark.parametrize("costs", ["lan1997", "links-only", "wan1997"])
@pytest.mark.parametrize("protocol", ["coordp", "fulldist", "s_coordp", "s_train", "train"])
@pytest.mark.parametrize("host", HOSTS)
def test_each_protocol_on_the_papers_tree(protocol: str, host: str, costs: str) -> None:
    run = compare(protocol=protocol, costs=costs, host_model=host, mtu_bytes=50, **TREE)
    assert run.completed
    assert sum(run.packet_hops.values()) > 2 * sum(run.hops.values())


@pytest.mark.parametrize("host", HOSTS)
def test_lost_packets_of_data_are_repaired_by_whole_messages(host: str) -> None:
    run = compare(
        protocol="s_coordp",
        host_model=host,
        mtu_bytes=120,
        link_loss=0.05,
        loss_until_ms=300.0,
        nak_ms=5.0,
        trigger="periodic",
        period_ms=60.0,
        retry_ms=500.0,
        **TREE,
        **DATA,
    )
    assert run.lost > 20
    assert run.completed


@pytest.mark.parametrize("host", HOSTS)
def test_full_queues_drop_packets_of_a_message(host: str) -> None:
    run = compare(
        protocol="fulldist", costs="links-only", host_model=host, mtu_bytes=40, queue_limit=6, **TREE
    )
    assert run.dropped > 0
    assert not run.completed


@pytest.mark.parametrize("cast", ["multicast", "unicast"])
@pytest.mark.parametrize("host", HOSTS)
def test_whole_messages_come_twice_and_late_on_a_graph(host: str, cast: str) -> None:
    options: dict[str, Any] = {
        "protocol": "fulldist",
        "costs": "lan1997",
        "host_model": host,
        "mtu_bytes": 44,
    }
    graph = {"topology": "random-graph", "nodes": 14, "members": 11, "edge_probability": 0.3, "cast": cast}
    straight = compare(seed=3, events_max=300_000, **options, **graph)
    run = compare(seed=3, duplicate=0.3, reorder=0.3, detour_us=300.0, events_max=300_000, **options, **graph)
    assert run.completed
    assert sum(run.processed) > sum(straight.processed)


@pytest.mark.parametrize("host", HOSTS)
def test_riders_make_a_message_of_more_packets(host: str) -> None:
    run = compare(
        protocol="fulldist",
        host_model=host,
        mtu_bytes=200,
        piggyback_ms=15.0,
        trigger="periodic",
        period_ms=30.0,
        retry_ms=100.0,
        **TREE,
        **{**DATA, "messages": 20},
    )
    assert run.riders > 10
    assert run.completed


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("faults", ["crash 4 at 20.2; crash 9 at 30", "partition 0-4 from 21.1 to 100"])
def test_members_that_crash_or_are_cut_off_between_two_packets(host: str, faults: str) -> None:
    run = compare(
        protocol="gsgc",
        topology="balanced",
        members=10,
        costs="lan1997",
        host_model=host,
        mtu_bytes=60,
        step_s=0.02,
        threshold_steps=20,
        faults=faults,
        until_ms=150.0,
        events_max=600_000,
        **DATA,
    )
    assert sum(run.packet_hops.values()) > 2 * sum(run.hops.values())


@pytest.mark.parametrize("processor", ["separate", "shared"])
def test_packets_at_serial_routers_with_one_processor(processor: str) -> None:
    run = compare(protocol="coordp", router="serial", processor=processor, mtu_bytes=45, **TREE)
    assert run.completed
    assert run.host_queue_max > 12
