"""Links that carry nothing in one direction hold no message back, whatever the protocol, and are named."""

import asyncio

import pytest
from live_groups import Reader, Watcher, joined, play

import stablecast
from stablecast.engine.choice import live_protocols
from stablecast.engine.results import StabilityResumed, StabilityStalled
from stablecast.testing import Faults, Network

DEAD = Faults(loss=1.0)


async def all_stable(groups, timeout):
    """Send from every member, and tell whether everything becomes stable in time."""
    receipts = [await group.send(group.me.encode()) for group in groups]
    outcomes = [await receipt.stable(timeout) for receipt in receipts]
    return all(isinstance(outcome, stablecast.Stable) for outcome in outcomes)


@pytest.mark.parametrize("link", ["ac", "ca", "bc"])
@pytest.mark.parametrize("protocol", live_protocols())
def test_one_dead_direction_of_one_link_holds_nothing_back(protocol, link):
    async def scenario():
        network = Network(seed=7)
        async with joined(network, *"abcd", protocol=protocol) as groups:
            readers = [Reader(group) for group in groups]
            assert await all_stable(groups, 5.0)
            network.set_link(*link, DEAD, both_ways=False)
            for _ in range(3):
                assert await all_stable(groups, 5.0)
            assert [group.stats().views for group in groups] == [4, 3, 2, 1]
            for reader in readers:
                assert sorted(d.id for d in await reader.has(16)) == [
                    (n, k) for n in "abcd" for k in range(1, 5)
                ]

    play(scenario)


@pytest.mark.parametrize("protocol", ["coordp", "train", "timestamp"])
def test_a_group_in_which_nobody_hears_everyone_finds_out_what_is_stable(protocol):
    async def scenario():
        network = Network(seed=7)
        async with joined(network, *"abcd", protocol=protocol) as groups:
            for link in ("ab", "bc", "cd", "da"):
                network.set_link(*link, DEAD, both_ways=False)
            for _ in range(3):
                assert await all_stable(groups, 10.0)

    play(scenario)


@pytest.mark.parametrize(
    ("protocol", "link"), [("coordp", "ca"), ("s_coordp", "ca"), ("train", "da"), ("timestamp", "bc")]
)
def test_who_waits_is_told_which_link_stands_in_the_way_and_when_it_no_longer_does(protocol, link):
    async def scenario():
        network = Network(seed=7)
        async with joined(network, *"abcd", protocol=protocol) as groups:
            watchers = [Watcher(group) for group in groups]
            network.set_link(*link, DEAD, both_ways=False)
            while not all(watcher.of(StabilityStalled) for watcher in watchers):  # it is not at each message
                assert await all_stable(groups, 10.0)
            stalls = [await watcher.first(StabilityStalled) for watcher in watchers]
            assert {stall.links for stall in stalls} == {(tuple(link),)}
            assert {stall.members for stall in stalls} == {()}
            assert not [end for watcher in watchers for end in watcher.of(StabilityResumed)]
            network.set_link(*link, None, both_ways=False)
            for watcher in watchers:
                await watcher.first(StabilityResumed)
                assert len(watcher.of(StabilityStalled)) == len(watcher.of(StabilityResumed))

    play(scenario)


def test_who_waits_for_stability_is_told_which_member_stands_in_the_way():
    async def scenario():
        network = Network(seed=7)
        async with joined(network, *"abc", fail_after=30.0) as (a, b, _):
            watchers = [Watcher(group) for group in (a, b)]
            network.pause("c")
            receipt = await a.send(b"x")
            for watcher in watchers:
                stall = await watcher.first(StabilityStalled)
                assert (stall.links, stall.members) == ((), ("c",))
            network.resume("c")
            assert isinstance(await receipt.stable(5.0), stablecast.Stable)
            for watcher in watchers:
                await watcher.first(StabilityResumed)

    play(scenario)


def test_nobody_is_told_of_a_stall_while_messages_become_stable():
    async def scenario():
        network = Network(seed=7, loss=0.05)
        async with joined(network, *"abcd") as groups:
            watchers = [Watcher(group) for group in groups]
            for _ in range(100):
                await groups[0].send(b"x")
                await asyncio.sleep(0.1)
            assert not [event for watcher in watchers for event in watcher.of(StabilityStalled)]

    play(scenario)


def test_a_link_that_is_dead_is_not_named_while_nothing_waits_for_it():
    async def scenario():
        network = Network(seed=7)
        async with joined(network, *"abcd", protocol="gsgc") as groups:
            watchers = [Watcher(group) for group in groups]
            network.set_link("a", "c", DEAD, both_ways=False)
            for _ in range(20):
                assert await all_stable(groups, 1.0)
                await asyncio.sleep(0.5)
            assert not [event for watcher in watchers for event in watcher.of(StabilityStalled)]

    play(scenario)
