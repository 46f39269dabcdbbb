import asyncio

import pytest
from live_groups import Reader, Watcher, first_deliveries, join, joined, play, until

import stablecast
from stablecast.engine.choice import live_protocols
from stablecast.engine.pace import PaceOptions
from stablecast.engine.results import MemberFailed, Released, Settled, ViewChanged
from stablecast.errors import InvalidInput
from stablecast.testing import Faults, Network

BAD_NETWORK = {"loss": 0.1, "duplicate": 0.1, "reorder": 0.1, "delay_s": (0.0002, 0.002)}


@pytest.mark.parametrize("protocol", live_protocols())
def test_everyone_gets_everything_once_and_in_order_and_learns_that_it_is_stable(protocol):
    async def scenario():
        network = Network(seed=11, **BAD_NETWORK)
        async with joined(network, "a", "b", "c", "d", protocol=protocol, pace=PaceOptions()) as groups:
            readers = [Reader(group) for group in groups]
            receipts = []
            for k in range(20):
                for group in groups[:3]:
                    receipts.append(await group.send(b"%d of " % k + group.me.encode()))
                await asyncio.sleep(0.003)
            outcomes = [await receipt.stable(timeout=20.0) for receipt in receipts]
            assert {type(outcome) for outcome in outcomes} == {stablecast.Stable}
            assert {outcome.members for outcome in outcomes} == {("a", "b", "c", "d")}
            for reader in readers:
                await reader.has(60)
                for source in ("a", "b", "c"):
                    assert reader.payloads(source) == [b"%d of " % k + source.encode() for k in range(20)]
            assert len(readers[3].found) == 60

    play(scenario)


def test_a_member_joins_through_one_that_does_not_lead():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b", "c") as (a, _, c), join(network, "d", [c.address]) as d:
            assert d.members == ("a", "b", "c", "d")
            receipt = await d.send(b"hello")
            assert (await first_deliveries(a, 1))[0].id == receipt.id == ("d", 1)

    play(scenario)


def test_a_lone_member_is_a_group_of_one_whose_messages_are_stable_at_once():
    async def scenario():
        async with join(Network(seed=1), "a") as group:
            assert group.members == ("a",)
            assert group.name == "orders"
            outcome = await (await group.send(b"x")).stable(timeout=1.0)
            assert outcome.members == ("a",)
            assert group.frontier == {"a": 1}
            assert (await first_deliveries(group, 1))[0].payload == b"x"

    play(scenario)


def test_members_that_all_name_each_other_as_seeds_begin_one_group():
    async def scenario():
        network = Network(seed=3)
        addresses = ["10.0.0.1:7000", "10.0.0.2:7000", "10.0.0.3:7000"]
        groups = await asyncio.gather(*(join(network, name, addresses) for name in "abc"))
        await until(lambda: {len(group.members) for group in groups} == {3})
        for group in groups:
            await group.close()

    play(scenario)


@pytest.mark.parametrize("size", [0, 1, 1_300, 1_400, 70_000, 1 << 20])
def test_a_message_of_any_size_comes_whole(size):
    async def scenario():
        network = Network(seed=5, loss=0.02)
        async with joined(network, "a", "b") as (a, b):
            payload = bytes(k % 251 for k in range(size))
            before, large, after = await a.send(b"before"), await a.send(payload), await a.send(b"after")
            found = await first_deliveries(b, 3)
            assert [delivery.id for delivery in found] == [before.id, large.id, after.id]
            assert found[1].payload == payload
            assert isinstance(await after.stable(timeout=30.0), stablecast.Stable)

    play(scenario)


def test_bytes_like_objects_are_copied_when_they_are_sent():
    async def scenario():
        async with joined(Network(seed=5), "a", "b") as (a, b):
            changing = bytearray(b"first")
            await a.send(changing)
            changing[:] = b"other"
            await a.send(memoryview(b"second"))
            assert [delivery.payload for delivery in await first_deliveries(b, 2)] == [b"first", b"second"]

    play(scenario)


def test_safe_delivery_hands_over_only_what_everyone_has():
    async def scenario():
        network = Network(seed=5)
        async with joined(network, "a", "b", "c", deliver="stable", fail_after=30.0) as (a, b, _):
            reader = Reader(b)
            await a.send(b"everyone has this")
            await reader.has(1)
            network.pause("c")
            receipt = await a.send(b"one member lacks this")
            await asyncio.sleep(10.0)
            assert len(reader.found) == 1
            network.resume("c")
            assert isinstance(await receipt.stable(timeout=10.0), stablecast.Stable)
            await reader.has(2)

    play(scenario)


def test_safe_delivery_puts_large_messages_together_too():
    async def scenario():
        network = Network(seed=5, loss=0.05)
        async with joined(network, "a", "b", deliver="stable") as (a, b):
            await a.send(b"z" * 10_000)
            await a.send(b"small")
            assert [len(delivery.payload) for delivery in await first_deliveries(b, 2)] == [10_000, 5]

    play(scenario)


def test_a_member_that_wants_nothing_delivered_still_lets_messages_become_stable():
    async def scenario():
        network = Network(seed=5)
        quiet = {"b": {"deliver": "nothing", "queue_messages": 1}}
        async with joined(network, "a", "b", each=quiet) as (a, b):
            reader = Reader(b)
            receipts = [await a.send(b"x") for _ in range(50)]
            assert isinstance(await receipts[-1].stable(timeout=5.0), stablecast.Stable)
            assert not reader.found
            assert b.stats().waiting == 0

    play(scenario)


def test_a_reader_that_stops_leaves_the_rest_to_the_next_one():
    async def scenario():
        async with joined(Network(seed=5), "a", "b") as (a, b):
            for k in range(30):
                await a.send(b"%d" % k)
            first = await first_deliveries(b, 3)
            second = await first_deliveries(b, 4)
            rest = [delivery async for batch in _ending(b.batches(), 23) for delivery in batch]
            numbers = [delivery.seq for delivery in (*first, *second, *rest)]
            assert numbers == list(range(1, 31))

    async def _ending(batches, count):
        async for batch in batches:
            yield batch
            count -= len(batch)
            if count <= 0:
                return

    play(scenario)


def test_two_readers_at_a_time_are_refused():
    async def scenario():
        async with joined(Network(seed=5), "a", "b") as (a, _):
            reader = Reader(a)
            await asyncio.sleep(0)
            with pytest.raises(InvalidInput, match="one reader"):
                await first_deliveries(a, 1)
            await a.send(b"x")
            await reader.has(1)

    play(scenario)


def test_events_tell_who_joins_leaves_and_fails_from_the_call_on():
    async def scenario():
        network = Network(seed=5)
        async with joined(network, "a", "b") as (a, b):
            events = Watcher(a)
            c = await join(network, "c", [a.address])
            await c.close()
            await until(lambda: len(a.members) == 2)
            network.crash("b")
            await events.first(MemberFailed)
            changes = events.of(ViewChanged)
            assert [(e.joined, e.left, e.failed) for e in changes] == [
                (("c",), (), ()),
                ((), ("c",), ()),
                ((), (), ("b",)),
            ]
            assert [e.me for e in changes] == ["a", "a", "a"]
            assert all(e.main for e in changes)
            assert "b failed" in changes[-1].reason
            assert events.of(MemberFailed) == [MemberFailed("b")]
            await b.close()

    play(scenario)


def test_events_tell_when_copies_are_let_go():
    async def scenario():
        async with joined(Network(seed=5), "a", "b") as (a, b):
            events = Watcher(b)
            await a.send(b"x")
            assert await events.first(Released) == Released("a", 1)

    play(scenario)


def test_what_a_crashed_sender_said_reaches_all_survivors_or_none():
    async def scenario():
        network = Network(seed=5)
        async with joined(network, "a", "b", "c", "d") as (a, b, c, d):
            readers = [Reader(group) for group in (a, b, c)]
            for place in ("a", "b"):  # only c hears what d says
                network.set_link("d", place, Faults(loss=1.0), both_ways=False)
            for k in range(10):
                await d.send(b"%d" % k)
            await readers[2].has(10)
            network.crash("d")
            for reader in readers:
                await reader.has(10)
                assert reader.payloads("d") == [b"%d" % k for k in range(10)]
            await d.close()

    play(scenario)


def test_both_sides_of_a_partition_go_on_and_come_together_again():
    async def scenario():
        network = Network(seed=9)
        async with joined(network, "a", "b", "c", "d", "e") as groups:
            events = Watcher(groups[4])
            network.partition(["a", "b", "c"], ["d", "e"])
            await until(lambda: [len(group.members) for group in groups] == [3, 3, 3, 2, 2])
            assert isinstance(await (await groups[0].send(b"x")).stable(timeout=5.0), stablecast.Stable)
            cut_off = await (await groups[4].send(b"y")).stable(timeout=5.0)
            assert cut_off.members == ("d", "e")
            assert [group.stats().main for group in groups] == [True, True, True, False, False]
            network.heal()
            await until(lambda: {len(group.members) for group in groups} == {5})
            assert sorted(groups[0].members) == ["a", "b", "c", "d#2", "e#2"]
            assert groups[4].me == "e#2"
            assert events.of(Settled)
            receipt = await groups[4].send(b"back")
            assert receipt.id == ("e#2", 1)
            assert len((await receipt.stable(timeout=5.0)).members) == 5

    play(scenario)


def test_three_members_over_real_sockets_with_a_key(tmp_path):
    async def scenario():
        key = b"k" * 32
        async with (
            stablecast.join("orders", member="a", key=key) as a,
            stablecast.join("orders", member="b", key=key, seeds=[a.address]) as b,
            stablecast.join("orders", member="c", key=key, seeds=[b.address]) as c,
        ):
            receipts = [await a.send(b"%d" % k) for k in range(1_000)]
            large = await b.send(b"z" * (1 << 20))
            found = await first_deliveries(c, 1_001)
            assert [d.payload for d in found if d.source == "a"] == [b"%d" % k for k in range(1_000)]
            assert [len(d.payload) for d in found if d.source == "b"] == [1 << 20]
            for receipt in (receipts[-1], large):
                assert isinstance(await receipt.stable(timeout=10.0), stablecast.Stable)

    async def within_time():
        async with asyncio.timeout(30):
            await scenario()

    asyncio.run(within_time())
