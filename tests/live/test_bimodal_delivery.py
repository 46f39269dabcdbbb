"""Bimodal delivery on a network in memory: repair by gossip, what is given up, and how rarely that is."""

import asyncio
import contextlib

import numpy as np
import pytest
from live_groups import Reader, Watcher, first_deliveries, join, joined, play, until

import stablecast
from stablecast.engine.results import QueueFull, Released, ViewChanged
from stablecast.errors import InvalidInput, JoinFailed
from stablecast.live.injection import InjectedTransport, Injection
from stablecast.testing import Faults, Network
from stablecast.theory.buffering import binomial, more_than

EIGHT = [f"m{k}" for k in range(8)]
SIXTEEN = [f"m{k:02}" for k in range(16)]
RARE = {"delivery": "bimodal"}
OFTEN = {"delivery": stablecast.Bimodal(copies=1.0, keep_rounds=3, short_rounds=1, gossip_s=0.1, loss=0.3)}
"""So few copies and rounds that much is given up."""


def seqs(reader, source):
    return [delivery.seq for delivery in reader.found if delivery.source == source]


def given_up(watcher, source):
    lost = watcher.of(stablecast.MessagesLost)
    return [seq for each in lost if each.source == source for seq in range(each.first, each.last + 1)]


async def send_each(groups, count, *, size=100, pause=0.01):
    """Have each member send so many messages, each in a datagram of its own; return the receipts."""
    receipts = []
    for _ in range(count):
        for group in groups:
            receipts.append(await group.send(bytes(size)))
        await asyncio.sleep(pause)
    return receipts


def test_what_was_lost_comes_by_gossip_and_the_outcome_says_how_probably_it_did_not():
    async def scenario():
        network = Network(seed=1, loss=0.05)
        async with joined(network, *EIGHT, **RARE) as groups:
            readers = [Reader(group) for group in groups]
            receipts = await send_each(groups, 50)
            outcomes = [await receipt.stable() for receipt in receipts]
            for reader in readers:
                for name in EIGHT:
                    assert seqs(reader, name) == list(range(1, 51))
            assert all(isinstance(outcome, stablecast.ProbablyStable) for outcome in outcomes)
            assert {outcome.members for outcome in outcomes} == {tuple(EIGHT)}
            assert all(0.0009 < outcome.p_fail < 0.0011 and not outcome.gone for outcome in outcomes)
            stats = [group.stats() for group in groups]
            assert sum(each.repairs_sent for each in stats) > 0
            await until(lambda: all(group.stats().unstable_bytes == 0 for group in groups))
            assert groups[0].frontier == dict.fromkeys(EIGHT, 50)
            assert groups[0].explain(receipts[0].id).state == "probably stable"

    play(scenario)


def test_what_is_given_up_is_told_and_the_next_messages_are_delivered_in_order():
    async def scenario():
        network = Network(seed=2, loss=0.3)
        async with joined(network, *EIGHT, fail_after=20.0, **OFTEN) as groups:
            readers, watchers = [Reader(group) for group in groups], [Watcher(group) for group in groups]
            receipts = await send_each(groups, 40, pause=0.05)
            await asyncio.gather(*(receipt.stable() for receipt in receipts))
            await asyncio.sleep(5.0)  # signs of life tell of the last messages, which are then given up too
            lost = 0
            for reader, watcher in zip(readers, watchers, strict=True):
                for name in EIGHT:
                    found, missing = seqs(reader, name), given_up(watcher, name)
                    assert found == sorted(found)
                    assert sorted(found + missing) == list(range(1, 41))
                    lost += len(missing)
            assert lost > 0
            stats = [group.stats() for group in groups]
            assert sum(each.lost_messages for each in stats) == lost
            assert stats[0].lost_share == stats[0].lost_messages / (7 * 40)
            assert all(each.unstable_messages == 0 for each in stats)

    play(scenario)


def test_a_large_message_comes_whole_or_is_given_up():
    async def scenario():
        network = Network(seed=3, loss=0.2)
        async with joined(network, *EIGHT[:4], fail_after=20.0, **OFTEN) as groups:
            reader, watcher = Reader(groups[1]), Watcher(groups[1])
            sent = [bytes([k]) * (5000 if k % 2 else 50) for k in range(60)]
            receipts = []
            for payload in sent:
                receipts.append(await groups[0].send(payload))
                await asyncio.sleep(0.05)
            await receipts[-1].stable()
            await asyncio.sleep(5.0)
            missing = given_up(watcher, "m0")
            assert {2, 4, 6} & set(missing) or missing  # some of the large ones
            assert reader.payloads("m0") == [p for seq, p in enumerate(sent, 1) if seq not in missing]

    play(scenario)


def test_violations_are_no_more_than_p_fail_explains_and_members_keep_their_share():
    """A smaller version of ``python -m benchmarks.bimodal``."""

    async def scenario():
        network = Network(seed=4, loss=0.05)
        bimodal = stablecast.Bimodal(p_fail=0.01, loss=0.05, short_rounds=0)
        async with joined(network, *SIXTEEN, delivery=bimodal, queue_messages=10**6) as groups:
            watchers = [Watcher(group) for group in groups]
            kept, living = [], []
            receipts = []
            for step in range(60):
                receipts += await send_each(groups, 1, pause=0.05)
                if step > 40:  # messages leave as fast as they come
                    streams = [stream for group in groups for stream in group._engine.in_view.data.streams]
                    places = [each for stream in streams for each in stream.kept.values()]
                    living.append(len(places))
                    kept.append(sum(each.run is not None for each in places))
            outcomes = [await receipt.stable() for receipt in receipts]
            violated = {
                (source, seq)
                for watcher in watchers
                for source in SIXTEEN
                for seq in given_up(watcher, source)
            }
            p_fail, copies = outcomes[-1].p_fail, groups[0]._engine.in_view.data.terms.copies
            most = int(np.argmax(more_than(binomial(len(receipts), p_fail)) <= 0.01))
            assert len(violated) <= most
            share = sum(kept) / sum(living)
            assert copies / 16 < 0.3
            assert abs(share - copies / 16) < 0.06  # a round at most until others' copies go, of 15 and more

    play(scenario)


@contextlib.asynccontextmanager
async def with_omissions(network, names, omission, **options):
    """Yield members whose multicasts leave for nobody now and then, and their transports."""
    async with contextlib.AsyncExitStack() as stack:
        groups, transports, seeds = [], [], []
        for place, name in enumerate(names):
            injection = Injection(send_omission=omission, seed=place)
            transports.append(InjectedTransport(network.transport(name), injection))
            joining = stablecast.join("orders", transport=transports[-1], member=name, seeds=seeds, **options)
            groups.append(await stack.enter_async_context(joining))
            seeds = [groups[0].address]
        await until(lambda: all(len(group.members) == len(names) for group in groups))
        yield groups, transports


def test_a_multicast_that_never_left_is_found_by_shared_holes_and_multicast_again():
    async def scenario():
        network = Network(seed=5)
        async with with_omissions(network, SIXTEEN, 0.02, **RARE) as (groups, transports):
            readers = [Reader(group) for group in groups]
            receipts = await send_each(groups, 40, pause=0.05)
            await asyncio.gather(*(receipt.stable() for receipt in receipts))
            omitted = sum(transport.injected.omitted for transport in transports)
            stats = [group.stats() for group in groups]
            again = sum(each.multicasts_again for each in stats)
            assert omitted > 5
            assert again >= omitted / 2
            assert (
                sum(each.repairs_sent for each in stats) - again < omitted * 15 / 2
            )  # by itself to each: 15
            assert sum(each.lost_messages for each in stats) == 0
            for reader in readers:
                assert all(seqs(reader, name) == list(range(1, 41)) for name in SIXTEEN)

    play(scenario)


def test_a_last_message_that_never_left_is_heard_of_by_gossip_and_multicast_again():
    async def scenario():
        network = Network(seed=14)
        async with with_omissions(network, EIGHT, 0.0, **RARE) as (groups, transports):
            readers = [Reader(group) for group in groups]
            for transport in transports:
                transport._injection = Injection(send_omission=1.0)
            receipts = [await group.send(b"last") for group in groups]
            await asyncio.sleep(0.01)
            for transport in transports:
                transport._injection = Injection()
            await asyncio.gather(*(receipt.stable() for receipt in receipts))
            assert sum(group.stats().multicasts_again for group in groups) > 0
            for name in EIGHT:
                assert all(reader.payloads(name) == [b"last"] for reader in readers)

    play(scenario)


def test_a_message_whose_sender_crashed_comes_from_those_who_keep_it():
    async def scenario():
        network = Network(seed=6)
        async with joined(network, *EIGHT, delivery=stablecast.Bimodal(copies=7.0, short_rounds=0)) as groups:
            readers = [Reader(group) for group in groups]
            network.set_link("m0", "m7", Faults(loss=1.0), both_ways=False)
            await send_each(groups[:1], 5, pause=0.001)
            network.crash("m0")
            await until(lambda: all(len(group.members) == 7 for group in groups[1:]))
            for reader in readers[1:]:
                assert seqs(reader, "m0") == [1, 2, 3, 4, 5]

    play(scenario)


def test_the_end_of_a_view_waits_for_nobody_who_lacks_what_nobody_keeps():
    async def scenario():
        network = Network(seed=7)
        async with joined(
            network, *EIGHT, delivery=stablecast.Bimodal(copies=1e-9, short_rounds=0)
        ) as groups:
            watchers = [Watcher(group) for group in groups]
            readers = [Reader(group) for group in groups]
            for name in EIGHT[1:]:
                network.set_link(name, "m7", Faults(loss=0.0))
            network.set_link("m0", "m7", Faults(loss=1.0), both_ways=False)
            for group in groups:  # copies are at least 1 in all: take those away too
                group._engine.in_view.data._keepers._copies = 0.0
            await send_each(groups[:1], 5, pause=0.2)
            network.crash("m0")
            await until(lambda: all(len(group.members) == 7 for group in groups[1:]))
            changes = watchers[7].of(ViewChanged)
            assert changes[-1].failed == ("m0",)
            assert [group.me for group in groups] == EIGHT  # nobody was left out
            assert given_up(watchers[7], "m0") == [1, 2, 3, 4, 5]
            assert all(seqs(reader, "m0") == [1, 2, 3, 4, 5] for reader in readers[1:7])
            receipt = await groups[7].send(b"goes on")
            assert isinstance(await receipt.stable(), stablecast.ProbablyStable)

    play(scenario)


def test_a_message_is_not_settled_while_a_member_is_silent_and_then_without_it():
    async def scenario():
        network = Network(seed=8)
        async with joined(network, *EIGHT[:4], fail_after=6.0, **RARE) as groups:
            network.partition(["m0", "m1", "m2"], ["m3"])
            receipt = await groups[0].send(b"who has it")
            await asyncio.sleep(5.0)  # its rounds are over
            assert receipt.outcome is None
            assert groups[0].explain(receipt.id).state == "gossiping"
            outcome = await receipt.stable()
            assert (outcome.members, outcome.gone) == (("m0", "m1", "m2"), ("m3",))
            assert outcome.p_fail > groups[0].stats().p_fail

    play(scenario)


def test_a_reader_that_does_not_read_loses_messages_and_holds_nobody_up():
    async def scenario():
        network = Network(seed=9)
        slow = {"m1": {"queue_messages": 20}}
        async with joined(network, *EIGHT[:3], each=slow, **RARE) as groups:
            readers = [Reader(groups[0]), Reader(groups[2])]
            watcher = Watcher(groups[1])
            groups[1].deliveries()  # it wants them, and does not read
            receipts = await send_each(groups[:1], 100)
            assert isinstance(await receipts[-1].stable(), stablecast.ProbablyStable)
            assert all(seqs(reader, "m0") == list(range(1, 101)) for reader in readers)
            await watcher.first(QueueFull)
            await until(lambda: given_up(watcher, "m0"))
            found = await first_deliveries(groups[1], 20)
            assert [delivery.seq for delivery in found] == list(range(1, 21))
            assert groups[0].members == tuple(EIGHT[:3])

    play(scenario)


def test_a_measured_loss_above_the_assumed_one_raises_p_fail():
    async def scenario():
        network = Network(seed=10, loss=0.1)
        assumed = stablecast.Bimodal(loss=0.01, keep_rounds=40)
        async with joined(network, *EIGHT, fail_after=10.0, delivery=assumed) as groups:
            before = groups[0].stats()
            receipts = await send_each(groups, 200, pause=0.02)
            await receipts[-1].stable()
            after = groups[0].stats()
            assert np.isnan(before.loss)
            assert 0.07 < after.loss < 0.13
            assert after.p_fail > 2 * before.p_fail

    play(scenario)


def test_copies_that_were_let_go_are_told_in_order():
    async def scenario():
        network = Network(seed=11)
        async with joined(network, *EIGHT[:3], **RARE) as groups:
            watcher = Watcher(groups[1])
            receipts = await send_each(groups[:1], 5)
            await receipts[-1].stable()
            await until(lambda: groups[1].frontier["m0"] == 5)
            released = [event.seq for event in watcher.of(Released) if event.source == "m0"]
            assert released == sorted(released)
            assert released[-1] == 5

    play(scenario)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"deliver": "stable"}, "deliver 'stable' is not accepted with bimodal delivery"),
        ({"policy": "two-buffers"}, "policy 'two-buffers' is not accepted with bimodal delivery"),
        ({"history_bytes": 1000}, "history_bytes is not accepted with bimodal delivery"),
        ({"protocol": "coordp"}, "a protocol is not accepted with bimodal delivery"),
    ],
)
def test_what_needs_to_know_that_everyone_has_a_message_is_refused(options, said):
    with pytest.raises(InvalidInput, match=said):
        stablecast.join("orders", delivery="bimodal", **options)


def test_levels_are_refused():
    async def scenario():
        async with joined(Network(seed=12), "m0", "m1", **RARE) as groups:
            receipt = await groups[0].send(b"x")
            with pytest.raises(InvalidInput, match=r"at_least\(2\) is not accepted in bimodal delivery"):
                await receipt.when(stablecast.at_least(2))

    play(scenario)


@pytest.mark.parametrize("delivery", ["reliable", "bimodal:loss=0.01"])
def test_a_member_that_would_deliver_otherwise_is_not_let_in(delivery):
    async def scenario():
        network = Network(seed=13)
        async with joined(network, "m0", **RARE) as groups:
            with pytest.raises(JoinFailed, match="this group runs protocol 'bimodal'"):
                await join(network, "m1", [groups[0].address], delivery=delivery)

    play(scenario)
