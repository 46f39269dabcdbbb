"""Applications that read, that do not, and that never meant to: who is held up, and who is told."""

import asyncio
import contextlib
import logging

import pytest
from live_groups import Reader, Watcher, first_deliveries, joined, play, until

import stablecast
from stablecast.engine.results import DeliveriesGivenUp, MemberLagging, QueueFull
from stablecast.errors import DeliveriesGone
from stablecast.membership.slow_members import SlowPolicy
from stablecast.testing import Network

PATIENT = SlowPolicy(lagging_after=0.5, exclude_after=None)


async def send_all(group, count):
    return [await group.send(b"%d" % k) for k in range(count)]


def test_a_member_that_only_sends_is_never_held_up():
    async def scenario():
        async with joined(Network(seed=1), "a", queue_messages=10) as (a,):
            for _ in range(10):
                receipts = await send_all(a, 10)
                await asyncio.sleep(0.01)
            assert isinstance(await receipts[-1].stable(timeout=5.0), stablecast.Stable)

    play(scenario)


def test_members_that_only_send_hold_up_neither_themselves_nor_each_other():
    async def scenario():
        async with joined(Network(seed=1), "a", "b", queue_messages=10, slow=PATIENT) as groups:
            events = Watcher(groups[0])
            sent = await asyncio.gather(*(send_all(group, 200) for group in groups))
            for receipts in sent:
                assert isinstance(await receipts[-1].stable(timeout=5.0), stablecast.Stable)
            assert not events.of(MemberLagging)
            assert [group.stats().waiting for group in groups] == [0, 0]

    play(scenario)


def test_a_reader_that_answers_all_that_it_reads_does_not_wait_for_itself():
    async def scenario():
        options = {"queue_messages": 5, "slow": PATIENT}
        async with joined(Network(seed=1), "a", "b", **options) as (a, b):
            reader = Reader(a)

            async def answer():
                async with contextlib.aclosing(b.deliveries()) as deliveries:
                    await asyncio.sleep(1.0)  # so that much waits
                    async for delivery in deliveries:
                        await asyncio.sleep(0.001)  # it has work to do
                        for _ in range(3 if delivery.source == "a" else 0):
                            await b.send(b"re: " + delivery.payload)

            answering = asyncio.create_task(answer())
            for _ in range(100):
                await a.send(b"x")
                await asyncio.sleep(0.001)
            await until(lambda: len(reader.payloads("b")) == 300)
            answering.cancel()
            await asyncio.wait([answering])

    play(scenario)


def test_a_queue_that_is_full_is_an_event_and_a_warning_that_name_the_cause(caplog):
    async def scenario():
        each = {"b": {"queue_messages": 10}}
        async with joined(Network(seed=1), "a", "b", slow=PATIENT, each=each) as (a, b):
            events, _ = Watcher(b), Reader(a)
            b.deliveries()
            for _ in range(30):
                await a.send(b"x")
                await asyncio.sleep(0.01)
            event = await events.first(QueueFull)
            assert 10 <= event.waiting < 30
            assert len(events.of(QueueFull)) == 1
            await first_deliveries(b, 30)

    with caplog.at_level(logging.INFO, "stablecast"):
        play(scenario)
    assert "orders/b: queue full: 10 deliveries wait to be read, and no more is taken in" in caplog.text
    assert "orders/b: the application reads again" in caplog.text


def test_deliveries_that_nobody_had_asked_for_are_given_up_with_an_event_and_a_warning(caplog):
    async def scenario():
        async with joined(Network(seed=1), "a", "b", queue_messages=10) as (a, b):
            events = Watcher(b)
            await send_all(a, 50)
            assert (await events.first(DeliveriesGivenUp)).count >= 10
            await until(lambda: b.stats().delivered == 50)
            assert len(events.of(DeliveriesGivenUp)) == 1
            for ask in (b.deliveries, b.batches):
                with pytest.raises(DeliveriesGone, match="nobody had asked for deliveries of 'orders'"):
                    ask()

    with caplog.at_level(logging.WARNING, "stablecast"):
        play(scenario)
    assert "deliveries that nobody had asked for, and all that follow" in caplog.text


def test_who_asks_in_time_loses_nothing():
    async def scenario():
        async with joined(Network(seed=1), "a", "b", queue_messages=10) as (a, b):
            Reader(a)
            await send_all(a, 9)
            await until(lambda: b.stats().waiting == 9)
            reader = Reader(b)
            await send_all(a, 50)
            assert [delivery.seq for delivery in await reader.has(59)] == list(range(1, 60))

    play(scenario)


def test_own_deliveries_that_a_reader_leaves_are_warned_of(caplog):
    async def scenario():
        async with joined(Network(seed=1), "a", queue_messages=10) as (a,):
            await a.send(b"x")
            await first_deliveries(a, 1)
            await send_all(a, 100)
            await until(lambda: a.stats().waiting == 100)
            assert [delivery.seq for delivery in await first_deliveries(a, 100)] == list(range(2, 102))

    with caplog.at_level(logging.WARNING, "stablecast"):
        play(scenario)
    assert "deliveries wait to be read, own ones included" in caplog.text


def test_deliveries_show_where_their_reader_came_back_as_a_new_member():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b", "c", fail_after=1.0) as (a, b, _):
            reader = Reader(b)
            await a.send(b"before")
            await reader.has(1)
            network.partition(["b"])
            await until(lambda: a.members == ("a", "c") and b.members == ("b",))
            await a.send(b"missed")
            network.heal()
            await until(lambda: len(a.members) == 3 and b.me == "b#2")
            await a.send(b"after")
            found = await reader.has(2)
            assert [(delivery.payload, delivery.me) for delivery in found] == [
                (b"before", "b"),
                (b"after", "b#2"),
            ]

    play(scenario)
