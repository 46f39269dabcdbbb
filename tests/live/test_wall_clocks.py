"""Hybrid clocks of live members: clocks on the wall that are wrong, and that are set, cost no stability."""

import asyncio

import pytest
from live_groups import join, joined, play
from zone_traffic import all_stable, send_for

import stablecast
from stablecast.engine.tracker import DAY_ONE_S, DAYS_MOST_US
from stablecast.errors import JoinFailed
from stablecast.protocols.contract.clocks import COUNTER_BITS
from stablecast.testing import Network
from stablecast.testing.endpoint import BEGINNING_S

HYBRID = {"protocol": "timestamp", "protocol_options": {"clock": "hybrid"}}
HOUR_S = 3600.0
YEARS_S = 100 * 365 * 86_400.0


def last_stamp_s(group):
    """Return the time of day that a member's newest stamp tells."""
    return DAY_ONE_S + (int(group._engine.in_view.tracker.machine.me.last) >> COUNTER_BITS) / 1e6


async def time_to_stable(group):
    loop = asyncio.get_running_loop()
    began = loop.time()
    receipt = await group.send(b"one pizza")
    assert isinstance(await receipt.stable(timeout=20.0), stablecast.Stable)
    return loop.time() - began


def test_stamps_are_the_time_of_day():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b", "c", **HYBRID) as groups:
            await time_to_stable(groups[1])
            now = BEGINNING_S + asyncio.get_running_loop().time()
            assert all(last_stamp_s(group) == pytest.approx(now, abs=0.5) for group in groups)

    play(scenario)


@pytest.mark.parametrize("who", [(0,), (1,), (0, 1, 2, 3)], ids=str)
@pytest.mark.parametrize("ahead_s", [-HOUR_S, HOUR_S, -YEARS_S, YEARS_S])
def test_a_clock_that_is_set_back_or_forward_holds_nothing_up(who, ahead_s):
    async def scenario():
        network = Network(seed=2, loss=0.05)
        names = "abcd"
        async with joined(network, *names, **HYBRID) as groups:
            before = max([await time_to_stable(group) for group in groups])
            stamps = [int(group._engine.in_view.tracker.machine.me.last) for group in groups]
            under_way = await send_for(groups, 0.1)
            for k in who:
                network.set_clock(names[k], ahead_s)
            under_way += await send_for(groups, 0.5)
            await all_stable(under_way)
            after = max([await time_to_stable(group) for group in groups])
            assert after < before + 1.0  # a lost acknowledgement may take its time; an hour it does not
            for group, stamp in zip(groups, stamps, strict=True):
                assert int(group._engine.in_view.tracker.machine.me.last) > stamp

    play(scenario)


def test_a_clock_goes_back_and_stamps_count_on_from_where_they_were():
    async def scenario():
        network = Network(seed=3)
        async with joined(network, "a", "b", **HYBRID) as (a, b):
            await time_to_stable(a)
            reached = last_stamp_s(a)
            for name in "ab":
                network.set_clock(name, -HOUR_S)
            for _ in range(5):
                await time_to_stable(b)
            assert reached <= last_stamp_s(a) < reached + 1.0

    play(scenario)


def test_a_member_that_joins_with_a_wrong_clock_is_as_good_as_any():
    async def scenario():
        network = Network(seed=4)
        async with joined(network, "a", "b", **HYBRID) as (a, _):
            late = network.transport("late")
            late.clock_ahead_s = -HOUR_S
            async with stablecast.join(
                "orders", transport=late, member="late", seeds=[a.address], **HYBRID
            ) as group:
                assert await time_to_stable(group) < 5.0
                assert await time_to_stable(a) < 5.0

    play(scenario)


def test_members_with_other_clocks_are_refused():
    async def scenario():
        network = Network(seed=5)
        async with joined(network, "a", **HYBRID) as (a,):
            with pytest.raises(JoinFailed, match="with clock=hybrid, not with its default options"):
                await join(network, "b", [a.address], protocol="timestamp")

    play(scenario)


@pytest.mark.parametrize("clock", ["logical", "hybrid"])
def test_only_hybrid_clocks_read_the_time_of_day(clock):
    async def scenario():
        network = Network(seed=6)
        options = {"protocol": "timestamp", "protocol_options": {"clock": clock}}
        async with joined(network, "a", "b", **options) as (a, _):
            await time_to_stable(a)
            return a._engine.reads_time_of_day, last_stamp_s(a) > DAY_ONE_S + 1.0

    assert play(scenario) == (clock == "hybrid",) * 2


def test_what_clocks_count_leaves_room_for_stamps_that_go_on():
    most = (DAYS_MOST_US + (1 << 62) // 10**6) << COUNTER_BITS
    assert most < (1 << 63) - (1 << 55)
