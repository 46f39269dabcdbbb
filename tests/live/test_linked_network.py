"""The network in memory with links: times, queues, shared links, and groups on it."""

import asyncio

import pytest
from live_groups import Reader, join, joined

from stablecast.simulate import costs, topology
from stablecast.testing import LinkedNetwork, VirtualClock, run

BARE = {"send_us": 0, "send_us_per_byte": 0, "header_bytes": 0}


def network_of(clock, members=3, **changes):
    return LinkedNetwork(topology("star", members=members), costs("lan", **BARE | changes), scheduler=clock)


def arrivals(clock, transport):
    came = []
    transport.start(lambda batch: came.extend((clock.now, datagram) for datagram, _ in batch))
    return came


def test_a_datagram_takes_its_time_on_every_link():
    clock = VirtualClock()
    network = network_of(clock, bandwidth_bps=8e6, propagation_us=500)
    one, other = network.transport("one"), network.transport("other")
    came = arrivals(clock, other)
    one.send(bytes(1000), [other.address])
    clock.run_until(1.0)
    assert [at for at, _ in came] == pytest.approx([2 * (0.001 + 0.0005)])


def test_those_who_send_to_one_share_its_link_and_a_full_queue_drops():
    clock = VirtualClock()
    network = network_of(clock, members=4, bandwidth_bps=8e6, propagation_us=0, queue_limit=2)
    to, *senders = (network.transport() for _ in range(4))
    came = arrivals(clock, to)
    for sender in senders:
        sender.send(bytes(1000), [to.address])
    clock.run_until(1.0)
    assert [at for at, _ in came] == pytest.approx([0.002, 0.003])
    assert network.on_links.dropped == 1


def test_processes_on_one_host_need_no_links():
    clock = VirtualClock()
    network = network_of(clock, members=2, propagation_us=500)
    first, _, third = (network.transport() for _ in range(3))
    came = arrivals(clock, third)
    first.send(b"x", [third.address])
    clock.run_until(1.0)
    assert came == [(0.0, b"x")]


def test_a_group_lives_on_links_whose_queues_overflow():
    async def scenario():
        slow = costs("lan", bandwidth_bps=2e6, queue_limit=5)
        network = LinkedNetwork(topology("star", members=3), slow, seed=1)
        async with joined(network, "a", "b") as (a, b), join(network, "c", [a.address]) as c:
            readers = [Reader(group) for group in (b, c)]
            receipts = [await a.send(bytes(5_000)) for _ in range(20)]
            outcomes = await asyncio.gather(*(receipt.stable() for receipt in receipts))
            got = [[delivery.seq for delivery in reader.found] for reader in readers]
        return network.on_links.dropped, outcomes, got

    dropped, outcomes, got = run(scenario(), limit=60.0)
    assert dropped > 0
    assert all(set(outcome.members) == {"a", "b", "c"} for outcome in outcomes)
    assert got == [list(range(1, 21))] * 2
