import asyncio

import pytest
from live_groups import Reader, Watcher, joined, play, until

import stablecast
from stablecast.engine.results import (
    MemberEvicted,
    MemberExcluded,
    MemberLagging,
    MemberRecovered,
    ViewChanged,
)
from stablecast.errors import BufferFull
from stablecast.membership.slow_members import SlowPolicy
from stablecast.testing import Network

SMALL = 64 << 10
PAYLOAD = bytes(1_000)


async def send_until_full(group):
    """Send until there is no room; return how many messages went."""
    for count in range(10_000):
        try:
            group.send_nowait(PAYLOAD)
        except BufferFull:
            return count
    raise AssertionError("the buffer never filled up")


def test_send_waits_while_the_budget_is_full_and_goes_on_in_order():
    async def scenario():
        network = Network(seed=3)
        async with joined(network, "a", "b", buffer_bytes=SMALL, fail_after=60.0) as (a, b):
            reader = Reader(b)
            network.pause("b")
            sent = await send_until_full(a)
            assert 10 < sent < SMALL // len(PAYLOAD)
            waiting = [asyncio.create_task(a.send(b"late %d" % k + PAYLOAD)) for k in range(5)]
            await asyncio.sleep(3.0)
            assert not any(task.done() for task in waiting)
            assert a.stats().unstable_bytes <= SMALL
            network.resume("b")
            receipts = [await task for task in waiting]
            assert [receipt.id.seq for receipt in receipts] == list(range(sent + 1, sent + 6))
            await receipts[-1].stable(timeout=5.0)
            await reader.has(sent + 5)
            assert reader.payloads("a")[sent:] == [b"late %d" % k + PAYLOAD for k in range(5)]

    play(scenario)


def test_many_senders_that_wait_all_go_on_soon_after_there_is_room():
    async def scenario():
        network = Network(seed=3)
        async with joined(network, "a", "b", buffer_bytes=SMALL, fail_after=60.0) as (a, _):
            network.pause("b")
            await send_until_full(a)
            waiting = [asyncio.create_task(a.send(PAYLOAD)) for _ in range(100)]
            await asyncio.sleep(1.0)
            network.resume("b")
            async with asyncio.timeout(0.5):
                await asyncio.gather(*waiting)

    play(scenario)


def test_cancelling_a_sender_that_waits_sends_nothing_and_holds_nobody_up():
    async def scenario():
        network = Network(seed=3)
        async with joined(network, "a", "b", buffer_bytes=SMALL, fail_after=60.0) as (a, b):
            reader = Reader(b)
            network.pause("b")
            sent = await send_until_full(a)
            first, second = (asyncio.create_task(a.send(name + PAYLOAD)) for name in (b"first", b"second"))
            await asyncio.sleep(0.5)
            first.cancel()
            await asyncio.wait([first])
            network.resume("b")
            assert (await second).id.seq == sent + 1
            await reader.has(sent + 1)
            assert reader.payloads("a")[-1] == b"second" + PAYLOAD

    play(scenario)


def test_on_full_error_raises_instead_of_waiting():
    async def scenario():
        network = Network(seed=3)
        async with joined(network, "a", "b", buffer_bytes=SMALL, on_full="error", fail_after=60.0) as (a, _):
            network.pause("b")
            await send_until_full(a)
            with pytest.raises(BufferFull, match=r"bytes are not stable yet \(accepted at present: \d+\)"):
                await a.send(PAYLOAD)
            network.resume("b")
            await until(lambda: a.stats().unstable_bytes == 0)
            await a.send(PAYLOAD)

    play(scenario)


def test_a_message_larger_than_the_budget_goes_out_alone():
    async def scenario():
        async with joined(Network(seed=3), "a", "b", buffer_bytes=SMALL) as (a, b):
            reader = Reader(b)
            for _ in range(3):
                await a.send(bytes(200_000))
            await reader.has(3)

    play(scenario)


def test_senders_wait_through_a_view_change_and_lose_nothing():
    async def scenario():
        network = Network(seed=3, loss=0.05)
        async with joined(network, "a", "b", "c", buffer_bytes=SMALL) as (a, b, _):
            reader = Reader(b)
            Reader(a)

            async def send_all():
                return [await a.send(b"%d" % k + PAYLOAD) for k in range(300)]

            sending = asyncio.create_task(send_all())
            await asyncio.sleep(0.01)
            network.crash("c")
            receipts = await sending
            assert [receipt.id.seq for receipt in receipts] == list(range(1, 301))
            await reader.has(300)
            assert reader.payloads("a") == [b"%d" % k + PAYLOAD for k in range(300)]
            outcomes = [await receipt.stable(timeout=5.0) for receipt in receipts]
            assert {type(outcome) for outcome in outcomes} <= {
                stablecast.Stable,
                stablecast.StableInSmallerView,
            }

    play(scenario)


SLOW = SlowPolicy(lagging_after=0.5, exclude_after=2.0, evict_after=3, ban=30.0)


def test_a_reader_that_does_not_read_holds_the_group_up_and_catches_up_when_it_does():
    async def scenario():
        network = Network(seed=3)
        patient = SlowPolicy(lagging_after=0.5, exclude_after=None)
        async with joined(network, "a", "b", slow=patient, each={"b": {"queue_messages": 10}}) as (a, b):
            events, _ = Watcher(a), Reader(a)
            b.deliveries()  # it means to read, some day
            receipts = []
            for _ in range(100):
                receipts.append(await a.send(b"x"))
                await asyncio.sleep(0.01)
            assert await events.first(MemberLagging)
            assert 10 <= b.stats().waiting < 30
            assert isinstance(await receipts[-1].stable(timeout=1.0), stablecast.TimedOut)
            reader = Reader(b)
            await reader.has(100)
            assert [delivery.seq for delivery in reader.found] == list(range(1, 101))
            assert isinstance(await receipts[-1].stable(timeout=5.0), stablecast.Stable)
            assert await events.first(MemberRecovered) == MemberRecovered("b")

    play(scenario)


@pytest.mark.parametrize("slow", ["b", "a"], ids=["a follower", "the leader"])
def test_a_member_that_does_not_read_is_reported_then_left_out_and_comes_back(slow):
    async def scenario():
        network = Network(seed=3)
        names = ("a", "b", "c")
        async with joined(network, *names, slow=SLOW, each={slow: {"queue_messages": 10}}) as groups:
            lazy = groups[names.index(slow)]
            busy = next(group for group in groups if group is not lazy)
            events, back = Watcher(busy), Watcher(lazy)
            lazy.deliveries()
            for group in groups:
                if group is not lazy:
                    Reader(group)
            for _ in range(100):
                await busy.send(b"x")
                await asyncio.sleep(0.01)
            lagging = await events.first(MemberLagging)
            assert lagging.member == slow
            assert lagging.seconds == pytest.approx(0.5, abs=0.4)
            excluded = await events.first(MemberExcluded)
            assert excluded.member == slow
            assert excluded.seconds == pytest.approx(2.0, abs=0.4)
            change = await first_change_without(events, slow)
            assert change.failed == (slow,)
            assert "too slow" in change.reason
            Reader(lazy)
            await until(lambda: lazy.me == f"{slow}#2" and len(lazy.members) == 3)
            assert back.of(ViewChanged)[-1].me == f"{slow}#2"
            receipt = await busy.send(b"everyone again")
            assert len((await receipt.stable(timeout=5.0)).members) == 3

    async def first_change_without(events, name):
        await until(lambda: any(name not in event.members for event in events.of(ViewChanged)))
        return next(event for event in events.of(ViewChanged) if name not in event.members)

    play(scenario)


def test_a_member_that_is_slow_again_and_again_is_evicted_for_a_while():
    async def scenario():
        network = Network(seed=3)
        policy = SlowPolicy(lagging_after=0.5, exclude_after=1.0, evict_after=2, ban=20.0)
        lazy = {"c": {"queue_messages": 10}}
        async with joined(network, "a", "b", "c", slow=policy, each=lazy) as (a, b, c):
            events = Watcher(a)
            Reader(a), Reader(b), c.deliveries()

            async def go_on_sending():
                while True:
                    await a.send(b"x")
                    await asyncio.sleep(0.01)

            sending = asyncio.create_task(go_on_sending())
            evicted = await events.first(MemberEvicted)
            assert evicted.seconds == pytest.approx(20.0, abs=0.5)
            assert [event.member for event in events.of(MemberExcluded)] == ["c"]
            sending.cancel()
            Reader(c)
            await until(lambda: len(a.members) == 2)
            await asyncio.sleep(10.0)
            assert len(a.members) == 2
            await until(lambda: len(a.members) == 3)

    play(scenario)
