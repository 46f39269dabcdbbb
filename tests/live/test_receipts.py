import asyncio

import pytest
from live_groups import Reader, joined, play, until

import stablecast
from stablecast.engine.results import MessageId
from stablecast.errors import GroupClosed
from stablecast.testing import Faults, Network


def test_a_receipt_names_its_message_and_can_be_asked_again_and_again():
    async def scenario():
        async with joined(Network(seed=1), "a", "b") as (a, _):
            receipt = await a.send(b"x")
            assert receipt.id == MessageId("a", 1)
            assert repr(receipt) == "Receipt('a', 1)"
            first = await receipt.stable()
            await asyncio.sleep(5.0)
            assert await receipt.stable() == first
            assert 0.0 < first.seconds < 0.1

    play(scenario)


def test_cancelling_a_waiter_does_not_cancel_the_message():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b") as (a, b):
            reader = Reader(b)
            network.pause("b")
            receipt = await a.send(b"x")
            waiters = [asyncio.create_task(receipt.stable()) for _ in range(3)]
            await asyncio.sleep(0.5)
            waiters[1].cancel()
            await asyncio.wait([waiters[1]])
            network.resume("b")
            assert await waiters[0] == await waiters[2]
            assert isinstance(await receipt.stable(timeout=1.0), stablecast.Stable)
            assert (await reader.has(1))[0].id == receipt.id

    play(scenario)


def test_while_a_member_is_paused_waiting_times_out_and_says_for_whom():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b", "c", fail_after=30.0) as (a, b, c):
            assert isinstance(await (await b.send(b"before")).stable(1.0), stablecast.Stable)
            assert isinstance(await (await a.send(b"before")).stable(1.0), stablecast.Stable)
            network.pause("c")
            await asyncio.sleep(1.0)
            receipt = await a.send(b"x")
            outcome = await receipt.stable(timeout=2.0)
            assert isinstance(outcome, stablecast.TimedOut)
            assert outcome.id == receipt.id
            assert outcome.seconds == pytest.approx(2.0, abs=0.01)
            (laggard,) = outcome.laggards
            assert (laggard.member, laggard.has_up_to) == ("c", 1)
            assert laggard.since == pytest.approx(2.0, abs=0.01)
            assert laggard.last_heard == pytest.approx(3.0, abs=0.6)
            network.resume("c")
            assert isinstance(await receipt.stable(timeout=2.0), stablecast.Stable)
            del c

    play(scenario)


def test_after_a_crash_a_message_is_stable_in_the_smaller_view():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b", "c") as (a, _, _):
            network.crash("c")
            receipt = await a.send(b"x")
            outcome = await receipt.stable(timeout=10.0)
            assert isinstance(outcome, stablecast.StableInSmallerView)
            assert outcome.members == ("a", "b")
            assert outcome.gone == ("c",)
            assert outcome.seconds > 1.0
            later = await (await a.send(b"y")).stable(timeout=1.0)
            assert isinstance(later, stablecast.Stable)
            assert later.members == ("a", "b")

    play(scenario)


def test_a_member_that_leaves_before_it_has_a_message_is_not_said_to_have_it():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b", "c") as (a, _, c):
            reader = Reader(c)
            for place in ("a", "b"):  # c can still be heard, but hears nothing
                network.set_link(place, "c", Faults(loss=1.0), both_ways=False)
            receipt = await a.send(b"x")
            await c.close()
            outcome = await receipt.stable(timeout=10.0)
            assert isinstance(outcome, stablecast.StableInSmallerView)
            assert (outcome.members, outcome.gone) == (("a", "b"), ("c",))
            assert not reader.found

    play(scenario)


def test_a_message_of_an_earlier_incarnation_keeps_its_outcome():
    async def scenario():
        network = Network(seed=4)
        async with joined(network, "a", "b", "c") as (_, _, c):
            early = await c.send(b"early")
            assert isinstance(await early.stable(1.0), stablecast.Stable)
            network.partition(["a", "b"], ["c"])
            cut_off = await c.send(b"alone")
            outcome = await cut_off.stable(timeout=20.0)
            assert outcome.members == ("c",)
            assert outcome.gone == ("a", "b")
            network.heal()
            await until(lambda: c.me == "c#2" and len(c.members) == 3)
            assert isinstance(await early.stable(1.0), stablecast.Stable)
            assert (await cut_off.stable(1.0)).gone == ("a", "b")
            assert c.explain(cut_off.id).state == "stable"
            assert (await cut_off.when(stablecast.at_least(1))).members == ("c",)

    play(scenario)


def test_explain_tells_who_lacks_a_message_since_when_and_when_it_was_last_heard_of():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b", "c", fail_after=30.0) as (a, b, _):
            network.pause("c")
            receipt = await a.send(b"x")
            assert a.explain(receipt.id).state == "sending"
            await asyncio.sleep(4.0)
            for group in (a, b):  # a member that did not send it knows too
                explanation = group.explain(receipt.id)
                assert explanation.state == "waiting"
                (laggard,) = explanation.laggards
                assert laggard.member == "c"
                assert laggard.since == pytest.approx(4.0, abs=0.1)
                assert 3.0 < laggard.last_heard < 5.0
                assert str(explanation).startswith("a/1: waiting for c has up to 0, waiting for 4 s, last")
            network.resume("c")
            await receipt.stable()
            assert str(a.explain(receipt.id)) == "a/1: stable"
            assert a.explain(("a", 2)).state == "unknown"
            assert a.explain(("nobody", 1)).state == "unknown"

    play(scenario)


def test_who_waits_when_the_group_is_closed_is_told_so():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b", fail_after=30.0) as (a, _):
            network.pause("b")
            receipt = await a.send(b"x")
            waiting = asyncio.create_task(receipt.stable())
            level = asyncio.create_task(receipt.when(stablecast.everyone))
            await asyncio.sleep(0.1)
            await a.close()
            for task in (waiting, level):
                with pytest.raises(GroupClosed, match="'orders' was closed"):
                    await task
            with pytest.raises(GroupClosed):
                await a.send(b"y")

    play(scenario)


def test_a_receipt_keeps_its_outcome_through_any_number_of_incarnations():
    async def scenario():
        network = Network(seed=4)
        async with joined(network, "a", "b", "c", fail_after=1.0) as (_, _, c):
            early = await c.send(b"early")
            assert isinstance(await early.stable(1.0), stablecast.Stable)
            for incarnation in range(2, 13):
                network.partition(["a", "b"], ["c"])
                await until(lambda: len(c.members) == 1)
                network.heal()
                label = f"c#{incarnation}"
                await until(lambda: c.me == label and len(c.members) == 3)  # noqa: B023  # awaited here
            assert isinstance(await early.stable(1.0), stablecast.Stable)
            assert (await early.when(stablecast.at_least(3), 1.0)).members == ("a", "b", "c")

    play(scenario)
