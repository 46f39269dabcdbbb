import asyncio

import pytest
from live_groups import join, joined, play

import stablecast
from stablecast import at_least, each_zone, everyone, members, zones
from stablecast.engine.levels import Spread
from stablecast.engine.results import Reached
from stablecast.errors import InvalidInput
from stablecast.testing import Network

ZONES = {"a": "north", "b": "north", "c": "south", "d": "south", "e": "west"}


@pytest.mark.parametrize(
    ("level", "has", "holds"),
    [
        (at_least(3), "abc", True),
        (at_least(3), "ab", False),
        (each_zone(1), "ace", True),
        (each_zone(1), "abcd", False),
        (each_zone(2), "abcde", True),  # the west has only one
        (each_zone(2), "abce", False),
        (zones(2), "ac", True),
        (zones(2), "ab", False),
        (members("a", "c"), "ac", True),
        (members("a", "c"), "abd", False),
        (everyone, "abcde", True),
        (everyone, "abcd", False),
        (each_zone(1) & at_least(4), "ace", False),
        (each_zone(1) & at_least(4), "abce", True),
        (members("b") | at_least(4), "b", True),
        (members("b") | at_least(4), "acde", True),
        (members("b") | at_least(4), "acd", False),
    ],
    ids=str,
)
def test_a_level_holds_for_those_who_have_the_message(level, has, holds):
    assert level.holds(Spread(ZONES, frozenset(has))) is holds


def test_levels_say_what_they_are():
    assert str(each_zone(1) & (at_least(3) | everyone)) == "(each_zone(1) & (at_least(3) | everyone))"
    assert str(members("a", "b") | zones(2)) == "(members(a, b) | zones(2))"


@pytest.mark.parametrize("make", [at_least, each_zone, zones])
@pytest.mark.parametrize("count", [0, -1, 1.5, "2", True])
def test_a_level_of_no_members_is_refused(make, count):
    with pytest.raises(InvalidInput, match="whole number, at least 1"):
        make(count)


def test_a_level_of_no_names_is_refused():
    with pytest.raises(InvalidInput, match="at least one member"):
        members()


def in_zones(network):
    each = {name: {"zone": zone} for name, zone in ZONES.items()}
    return joined(network, *ZONES, each=each, fail_after=60.0)


def test_a_level_is_reached_while_others_are_paused():
    async def scenario():
        network = Network(seed=2, loss=0.1)
        async with in_zones(network) as (a, *_):
            network.pause("d")
            network.pause("e")
            receipt = await a.send(b"x")
            three = await receipt.when(at_least(3), timeout=5.0)
            assert isinstance(three, Reached)
            assert three.members == ("a", "b", "c")
            assert isinstance(await receipt.when(zones(2) & members("b"), timeout=5.0), Reached)
            late = await receipt.when(each_zone(1), timeout=1.0)
            assert isinstance(late, stablecast.TimedOut)
            assert [laggard.member for laggard in late.laggards] == ["d", "e"]
            network.resume("e")
            assert (await receipt.when(each_zone(1))).members == ("a", "b", "c", "e")
            network.resume("d")
            assert isinstance(await receipt.when(everyone), Reached)
            assert isinstance(await receipt.stable(), stablecast.Stable)

    play(scenario)


def test_waiting_for_a_level_asks_now_and_then_and_not_at_every_answer():
    async def scenario():
        network = Network(seed=2)
        async with in_zones(network) as (a, *_):
            network.pause("e")
            receipt = await a.send(b"x")
            await asyncio.sleep(1.0)
            before = a.stats().control_bytes
            assert isinstance(await receipt.when(everyone, timeout=10.0), stablecast.TimedOut)
            during = a.stats().control_bytes - before
            await asyncio.sleep(10.0)
            otherwise = a.stats().control_bytes - before - during
            assert during - otherwise < 50 * 30

    play(scenario)


def test_members_that_join_later_do_not_count():
    async def scenario():
        network = Network(seed=2)
        async with joined(network, "a", "b") as (a, b):
            receipt = await a.send(b"x")
            await receipt.stable()
            async with join(network, "c", [a.address]):
                assert (await receipt.when(at_least(2))).members == ("a", "b")
                assert isinstance(await receipt.when(everyone), Reached)
                never = await receipt.when(at_least(3))
                assert isinstance(never, stablecast.TimedOut)
                assert not never.laggards
            await b.close()

    play(scenario)


def test_a_level_that_waits_for_a_crashed_member_ends_with_the_smaller_view():
    async def scenario():
        network = Network(seed=2)
        async with joined(network, "a", "b", "c") as (a, _, _):
            network.crash("c")
            receipt = await a.send(b"x")
            both = asyncio.create_task(receipt.when(everyone))
            three = await receipt.when(at_least(3))
            assert isinstance(three, stablecast.TimedOut)
            assert (await both).members == ("a", "b")

    play(scenario)
