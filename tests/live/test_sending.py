"""Sending lets others have their turn, and is refused where it could do harm: other threads, loops, forks."""

import asyncio
import logging
import os
import threading

import pytest
from live_groups import Reader, join, joined, play, until

import stablecast
from stablecast.engine.seal import Seal
from stablecast.errors import BufferFull, GroupClosed, InvalidInput, NotHere
from stablecast.testing import Network


def test_a_task_that_only_sends_lets_others_have_their_turn():
    async def scenario():
        async with joined(Network(seed=1), "a") as (a,):
            turns = 0

            async def count():
                nonlocal turns
                while True:
                    await asyncio.sleep(0)
                    turns += 1

            counting = asyncio.create_task(count())
            for _ in range(10_000):
                await a.send(b"x")
            counting.cancel()
            assert turns >= 5

    play(scenario)


def test_messages_that_were_sent_together_still_go_together():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b") as (a, b):
            reader = Reader(b)
            before = network.datagrams.sent
            for _ in range(1_000):
                await a.send(b"x")
            await reader.has(1_000)
            assert network.datagrams.sent - before < 100

    play(scenario)


def test_receipts_of_messages_that_go_together_are_numbered_and_each_becomes_stable():
    async def scenario():
        async with joined(Network(seed=1), "a", "b") as (a, b):
            reader = Reader(b)
            payloads = [bytes([k % 251]) * (k % 400) for k in range(500)]
            receipts = [await a.send(payload) for payload in payloads]
            assert [receipt.id for receipt in receipts] == [(a.me, k) for k in range(1, 501)]
            assert a.stats().sent == 500
            for receipt in receipts:
                assert isinstance(await receipt.stable(timeout=5), stablecast.Stable)
            await reader.has(500)
            assert reader.payloads(a.me) == payloads

    play(scenario)


def test_a_small_message_does_not_overtake_a_large_one_that_waits_for_room():
    async def scenario():
        async with joined(Network(seed=1), "a", "b", buffer_bytes=200_000) as (a, b):
            reader = Reader(b)
            payloads = (b"first", bytes(99_995), b"small")
            receipts = await asyncio.gather(*map(a.send, payloads))
            assert [receipt.id.seq for receipt in receipts] == [1, 2, 3]
            await reader.has(3)

    play(scenario)


def test_a_group_that_is_being_closed_takes_no_message_in_the_same_turn():
    async def scenario():
        async with joined(Network(seed=1), "a", "b") as (a, _):
            await a.send(b"taken")
            closing = asyncio.create_task(a.close())
            await asyncio.sleep(0)
            with pytest.raises(GroupClosed):
                await a.send(b"too late")
            await closing

    play(scenario)


def test_cancelling_a_send_that_lets_others_have_their_turn_sends_nothing():
    async def scenario():
        async with joined(Network(seed=1), "a") as (a,):
            for _ in range(1_000):
                sending = asyncio.create_task(a.send(b"x"))
                await asyncio.sleep(0)
                sent = a.stats().sent
                if not sending.done():
                    sending.cancel()
                    await asyncio.wait([sending])
                    assert sending.cancelled()
                    assert a.stats().sent == sent
                for _ in range(50):
                    a.send_nowait(b"y")

    play(scenario)


def in_thread(function):
    """Call a function in another thread; return its result, or the error."""
    found = []

    def work():
        try:
            found.append(function())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]


def test_another_thread_is_refused_before_anything_changes():
    async def scenario():
        async with joined(Network(seed=1), "a", "b") as (a, b):
            reader = Reader(b)
            for call in (
                lambda: a.send_nowait(b"from elsewhere"),
                lambda: asyncio.run(a.send(b"from another loop")),
                lambda: asyncio.run(a.close()),
                a.deliveries,
                a.events,
                lambda: a.rotate_key(bytes(32)),
            ):
                error = in_thread(call)
                assert isinstance(error, NotHere)
                assert "another thread" in str(error)
            receipt = await a.send(b"from here")
            assert receipt.id.seq == 1
            assert isinstance(await receipt.stable(timeout=5.0), stablecast.Stable)
            assert (await reader.has(1))[0].payload == b"from here"

    play(scenario)


def test_another_event_loop_is_refused():
    group = None

    async def first():
        nonlocal group
        group = await join(Network(seed=1), "a")

    async def second():
        with pytest.raises(NotHere, match="another event loop"):
            await group.send(b"x")

    play(first)
    play(second)
    with pytest.raises(NotHere, match="another event loop"):
        group.send_nowait(b"x")


def test_other_threads_have_a_way_to_send_that_keeps_their_order():
    async def scenario():
        async with joined(Network(seed=1), "a", "b") as (a, b):
            reader = Reader(b)
            futures = in_thread(lambda: [a.send_threadsafe(b"%d" % k) for k in range(2_000)])
            await until(lambda: all(future.done() for future in futures))
            receipts = [future.result() for future in futures]
            assert [receipt.id.seq for receipt in receipts] == list(range(1, 2_001))
            await reader.has(2_000)
            assert reader.payloads("a") == [b"%d" % k for k in range(2_000)]
            assert isinstance(await receipts[-1].stable(timeout=5.0), stablecast.Stable)

    play(scenario)


def test_a_thread_waits_for_its_receipt_while_the_loop_goes_on():
    async def scenario():
        async with stablecast.join("orders") as group:
            receipt = await asyncio.to_thread(lambda: group.send_threadsafe(b"x").result(timeout=20.0))
            assert receipt.id.seq == 1

    asyncio.run(scenario())


def test_a_message_of_a_thread_may_be_cancelled_refused_or_too_late():
    async def scenario():
        async with joined(Network(seed=1), "a") as (a,):
            dropped = a.send_threadsafe(b"not sent")
            assert dropped.cancel()
            kept = a.send_threadsafe(b"sent")
            assert isinstance(in_thread(lambda: a.send_threadsafe("text")), InvalidInput)
            await until(kept.done)
            assert a.stats().sent == 1
            last = a.send_threadsafe(b"just before the end")
        with pytest.raises(GroupClosed):
            last.result(timeout=0)
        with pytest.raises(GroupClosed):
            a.send_threadsafe(b"after the end").result(timeout=0)
        return a

    group = play(scenario)
    with pytest.raises(GroupClosed):
        group.send_threadsafe(b"after the loop").result(timeout=0)


def test_a_message_of_a_thread_gets_the_error_of_a_full_buffer():
    async def scenario():
        network = Network(seed=1)
        options = {"buffer_bytes": 64 << 10, "on_full": "error", "fail_after": 60.0}
        async with joined(network, "a", "b", **options) as (a, _):
            network.pause("b")
            futures = [a.send_threadsafe(bytes(1_000)) for _ in range(200)]
            await until(lambda: all(future.done() for future in futures))
            assert isinstance(futures[-1].exception(), BufferFull)
            network.resume("b")

    play(scenario)


def in_fork(function):
    """Call a function in a fork of this process; return what it says."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, str(function()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as told:
        return told.read()


def refusal_of(function):
    def call():
        try:
            return f"done: {function()!r}"
        except NotHere as error:
            return f"refused: {error}"

    return call


def test_a_fork_of_the_process_cannot_use_its_group():
    async def scenario():
        async with joined(Network(seed=1), "a", "b") as (a, b):
            reader = Reader(b)
            for call in (
                lambda: a.send_nowait(b"x"),
                lambda: a.send_threadsafe(b"x"),
                lambda: a.send(b"x").send(None),
                lambda: a.close().send(None),
                a.events,
                a.deliveries,
            ):
                told = in_fork(refusal_of(call))
                assert told.startswith(
                    "refused: group 'orders' was joined by the process that this one was forked"
                )
            assert in_fork(lambda: repr(a)) == repr(a)
            await a.send(b"the parent goes on")
            assert (await reader.has(1))[0].seq == 1

    play(scenario)


def test_a_fork_of_the_process_seals_nothing_so_no_nonce_is_used_twice():
    seal = Seal("orders", 7, keyring=None)
    seal.close(b"x")
    assert in_fork(refusal_of(lambda: seal.close(b"y"))).startswith("refused: session 7 belongs to")
    assert in_fork(refusal_of(lambda: len(Seal("orders", 8, keyring=None).close(b"y")))) == "done: 35"
    seal.close(b"y")


def test_senders_that_wait_for_long_are_warned_of_with_the_cause(caplog):
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b", buffer_bytes=64 << 10, fail_after=60.0) as (a, _):
            network.pause("b")

            async def send_all():
                for _ in range(100):
                    await a.send(bytes(1_000))

            sending = asyncio.create_task(send_all())
            await asyncio.sleep(6.0)
            network.resume("b")
            await sending

    with caplog.at_level(logging.DEBUG, "stablecast"):
        play(scenario)
    waits = [record for record in caplog.records if "senders" in record.message]
    assert [record.levelname for record in waits][:2] == ["DEBUG", "WARNING"]
    assert "orders/a: senders have waited for 5 s" in waits[1].message
    assert "bytes are not stable yet" in waits[1].message
