import asyncio
import contextlib
import threading
import time
from pathlib import Path

import pytest
from live_groups import Reader, Watcher, join, joined, play, until

import stablecast
from stablecast.errors import BindFailed, DrainTimedOut, GroupClosed, JoinFailed
from stablecast.membership.actions import Timing
from stablecast.testing import Network


def what_there_is():
    """Return the tasks, the sockets and the threads of this process."""
    sockets = set()
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            sockets.add(str(entry.readlink()))
    sockets = {target for target in sockets if target.startswith("socket:")}
    return asyncio.all_tasks(), sockets, set(threading.enumerate())


@pytest.fixture(scope="module", autouse=True)
def _warmed_up():
    """Let what is made once, such as the protocol's code, be made."""

    async def scenario():
        async with stablecast.join("orders", metrics="127.0.0.1:0"):
            pass

    asyncio.run(scenario())


async def calls_have_ended():
    """Wait for the threads of calls that were cancelled: they end by themselves (``live/apart``)."""
    async with asyncio.timeout(20):
        while any(thread.name == "stablecast-apart" for thread in threading.enumerate()):
            await asyncio.sleep(0.001)


def test_nothing_is_left_of_a_group_that_was_left():
    async def scenario():
        before = what_there_is()
        async with asyncio.timeout(20):
            async with (
                stablecast.join("orders", metrics="127.0.0.1:0") as a,
                stablecast.join("orders", seeds=[a.address]) as b,
            ):
                receipt = await a.send(b"x")
                await receipt.stable()
                assert len(what_there_is()[1]) >= len(before[1]) + 3
            assert b.members
        assert what_there_is() == before

    asyncio.run(scenario())


def test_nothing_is_left_when_somebody_is_asking_for_metrics():
    async def scenario():
        before = what_there_is()
        async with stablecast.join("orders", metrics="127.0.0.1:0") as group:
            reader, writer = await asyncio.open_connection(*group.metrics_address)
            writer.write(b"GET /met")
            await writer.drain()
            await asyncio.sleep(0.01)
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
        await asyncio.sleep(0)
        assert what_there_is() == before

    asyncio.run(scenario())


@pytest.mark.parametrize("moments", [0, 1, 2, 3, 5, 10])
def test_nothing_is_left_when_joining_is_cancelled(moments):
    async def scenario():
        before = what_there_is()

        async def stay():
            async with stablecast.join("orders", seeds=["127.0.0.1:9"], metrics="127.0.0.1:0"):
                await asyncio.Event().wait()

        task = asyncio.create_task(stay())
        for _ in range(moments):
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        del task
        await calls_have_ended()
        assert what_there_is() == before

    asyncio.run(scenario())


def test_nothing_is_left_when_a_member_is_cancelled_and_cancelled_again_while_it_leaves():
    async def scenario():
        before = what_there_is()
        async with stablecast.join("orders") as other:
            inside = asyncio.Event()

            async def stay():
                async with stablecast.join("orders", seeds=[other.address]):
                    inside.set()
                    await asyncio.Event().wait()

            task = asyncio.create_task(stay())
            await inside.wait()
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            began = time.monotonic()
            await asyncio.wait([task])
            assert time.monotonic() - began < 1.0
            assert task.cancelled()
            del task
        assert what_there_is() == before

    asyncio.run(scenario())


@pytest.mark.parametrize("arguments", [{"seeds": ["127.0.0.1:9"]}, {"metrics": "192.0.2.1:1"}], ids=str)
def test_nothing_is_left_when_joining_fails(arguments):
    async def scenario():
        before = what_there_is()
        with pytest.raises((JoinFailed, BindFailed)):
            await stablecast.join("orders", timing=Timing(join_timeout=0.2), **arguments)
        assert what_there_is() == before

    asyncio.run(scenario())


def test_closing_twice_and_at_the_same_time_is_fine():
    async def scenario():
        async with joined(Network(seed=1), "a", "b") as (a, b):
            await asyncio.gather(a.close(), a.close())
            await a.close()
            await until(lambda: b.members == ("b",))

    play(scenario)


def test_closing_takes_bounded_time_when_nobody_answers():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b", "c") as (a, _, c):
            network.pause("a")
            network.pause("b")
            began = asyncio.get_running_loop().time()
            await c.close()
            assert asyncio.get_running_loop().time() - began <= 1.1
            network.resume("a")
            network.resume("b")
            await until(lambda: a.members == ("a", "b"))

    play(scenario)


def test_the_last_messages_before_leaving_reach_everyone_even_without_drain():
    async def scenario():
        network = Network(seed=8, loss=0.2)
        async with joined(network, "a", "b", "c") as (a, b, c):
            readers = [Reader(b), Reader(c)]
            for k in range(50):
                await a.send(b"%d" % k)
            await a.close()
            for reader in readers:
                await reader.has(50)
                assert reader.payloads("a") == [b"%d" % k for k in range(50)]

    play(scenario)


def test_drain_waits_until_own_messages_are_stable_and_then_leaves():
    async def scenario():
        network = Network(seed=8, loss=0.2)
        async with joined(network, "a", "b") as (a, b):
            receipts = [await a.send(b"%d" % k) for k in range(50)]
            await a.drain(timeout=30.0)
            assert isinstance(await receipts[-1].stable(), stablecast.Stable)
            with pytest.raises(GroupClosed):
                await a.send(b"too late")
            with pytest.raises(GroupClosed):
                await a.drain()
            await until(lambda: b.members == ("b",))

    play(scenario)


def test_a_drain_that_takes_too_long_leaves_the_member_where_it_is():
    async def scenario():
        network = Network(seed=8)
        async with joined(network, "a", "b", fail_after=60.0) as (a, _):
            network.pause("b")
            await a.send(b"x")
            await a.send(b"y")
            with pytest.raises(DrainTimedOut, match="2 messages are not stable after 2 s"):
                await a.drain(timeout=2.0)
            network.resume("b")
            receipt = await a.send(b"still here")
            assert isinstance(await receipt.stable(timeout=5.0), stablecast.Stable)
            await a.drain(timeout=5.0)

    play(scenario)


def test_a_drain_that_is_overtaken_by_close_ends():
    async def scenario():
        network = Network(seed=8)
        async with joined(network, "a", "b", fail_after=60.0) as (a, _):
            network.pause("b")
            await a.send(b"x")
            draining = asyncio.create_task(a.drain())
            await asyncio.sleep(0.1)
            await a.close()
            with pytest.raises(GroupClosed):
                await draining

    play(scenario)


def test_readers_and_watchers_end_when_the_group_is_closed():
    async def scenario():
        network = Network(seed=8)
        async with joined(network, "a", "b", buffer_bytes=64 << 10, fail_after=60.0) as (a, b):
            reader, watcher = Reader(a), Watcher(a)
            await b.send(b"last words")
            await reader.has(1)
            network.pause("b")
            while True:
                try:
                    a.send_nowait(bytes(1_000))
                except stablecast.StablecastError:
                    break
            sending = asyncio.create_task(a.send(bytes(1_000)))
            await asyncio.sleep(0.1)
            await a.close()
            await reader.task
            await watcher.task
            with pytest.raises(GroupClosed):
                await sending
            with pytest.raises(GroupClosed):
                await a.history("b", 1, 1)

    play(scenario)


def test_what_had_come_before_closing_can_still_be_read():
    async def scenario():
        async with joined(Network(seed=8), "a", "b") as (a, b):
            receipts = [await b.send(b"%d" % k) for k in range(5)]
            await receipts[-1].stable()
            await a.close()
            assert [delivery.payload async for delivery in a.deliveries()] == [b"%d" % k for k in range(5)]

    play(scenario)


def test_a_group_that_everyone_has_left_can_be_begun_again():
    async def scenario():
        network = Network(seed=8)
        for _ in range(3):
            async with join(network, "a") as a, join(network, "b", [a.address]) as b:
                assert sorted(b.members) == ["a", "b"]

    play(scenario)
