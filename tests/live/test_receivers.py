"""Members that only send, only receive, or receive from some: what they get, and whom stability waits for."""

import asyncio

import pytest
from live_groups import Reader, Watcher, join, joined, play, until

import stablecast
from stablecast import at_least, each_zone, everyone
from stablecast.engine.choice import live_protocols, takes_receivers
from stablecast.engine.options import Options
from stablecast.engine.results import MemberLagging, Reached, ViewChanged
from stablecast.errors import InvalidInput
from stablecast.membership.slow_members import SlowPolicy
from stablecast.protocols import protocol as find_protocol
from stablecast.testing import Network
from stablecast.trace.log import EventLog
from stablecast.trace.verdict import judge_files

PARTS = {
    "orders": {"zone": "here"},
    "prices-1": {"receives": False, "zone": "here"},
    "prices-2": {"receives": ["prices-*"], "zone": "there"},
    "desk": {"receives": ["prices-*", "orders"], "sends": False, "zone": "there"},
    "audit": {"receives": ["orders"], "sends": False, "zone": "far"},
}
RECEIVERS = {
    "orders": ("desk", "audit"),
    "prices-1": ("orders", "prices-2", "desk"),
    "prices-2": ("orders", "desk"),
}
DIFFERING = [name for name in live_protocols() if takes_receivers(find_protocol(name))]


def of_each(network, **options):
    return joined(network, *PARTS, each=PARTS, **options)


def test_all_protocols_but_one_take_receivers_of_their_own():
    assert set(live_protocols()) - set(DIFFERING) == {"transitive"}


@pytest.mark.parametrize("policy", ["until-stable", "two-buffers"])
@pytest.mark.parametrize("protocol", DIFFERING)
def test_each_gets_what_it_receives_and_a_message_is_stable_when_its_receivers_have_it(protocol, policy):
    async def scenario():
        network = Network(seed=5, loss=0.1, duplicate=0.1, reorder=0.1)
        options = {"protocol": protocol, "policy": policy, "copies": 1, "short_s": 0.01}
        async with of_each(network, **options) as groups:
            readers = {group.me: Reader(group) for group in groups}
            senders = [group for group in groups if group.me in RECEIVERS]
            receipts = []
            for k in range(15):
                for group in senders:
                    receipts.append(await group.send(b"%d" % k))
                await asyncio.sleep(0.005)
            for receipt in receipts:
                outcome = await receipt.stable(timeout=20.0)
                assert isinstance(outcome, stablecast.Stable)
                assert set(outcome.members) == {receipt.id.source, *RECEIVERS[receipt.id.source]}
            sent = [b"%d" % k for k in range(15)]
            for name, reader in readers.items():
                own = {"orders": {"orders"}, "prices-2": {"prices-2"}}.get(name, set())
                heard = {source for source, who in RECEIVERS.items() if name in who} | own
                await reader.has(15 * len(heard))
                assert {delivery.source for delivery in reader.found} == heard
                assert all(reader.payloads(source) == sent for source in heard)

    play(scenario)


def test_the_view_says_who_receives_what():
    async def scenario():
        async with of_each(Network(seed=1)) as groups:
            for group in groups:
                assert {source: group.view.receivers_of(source) for source in PARTS} == {
                    **RECEIVERS,
                    "desk": (),
                    "audit": (),
                }
                with pytest.raises(InvalidInput, match="'nobody' is not in the view"):
                    group.view.receivers_of("nobody")
            assert set(groups[4].frontier) == {"orders", "audit"}

    play(scenario)


def test_a_member_that_does_not_send_is_refused_in_one_line():
    async def scenario():
        async with joined(Network(seed=1), "a", "b", each={"b": {"sends": False}}) as (_, b):
            told = "'b' joined with sends=False: it only receives"
            with pytest.raises(InvalidInput, match=told):
                await b.send(b"x")
            with pytest.raises(InvalidInput, match=told):
                b.send_nowait(b"x")

    play(scenario)


@pytest.mark.parametrize("protocol", ["vector", "explicit"])
def test_who_does_not_receive_holds_nothing_back_and_is_named_nowhere(protocol):
    async def scenario():
        network = Network(seed=2)
        slow = SlowPolicy(lagging_after=0.2, exclude_after=None)
        async with of_each(network, protocol=protocol, slow=slow, fail_after=30.0) as groups:
            orders, prices_1, prices_2, desk, _ = groups
            events = Watcher(orders)
            prices_1._driver.transport.pause()
            prices_2._driver.transport.pause()
            outcome = await (await orders.send(b"1")).stable(timeout=5.0)
            assert isinstance(outcome, stablecast.Stable)
            assert outcome.members == ("orders", "desk", "audit")
            desk._driver.transport.pause()
            receipt = await orders.send(b"2")
            outcome = await receipt.stable(timeout=2.0)
            assert [laggard.member for laggard in outcome.laggards] == ["desk"]
            assert [laggard.member for laggard in orders.explain(receipt.id).laggards] == ["desk"]
            assert orders.stats().held_by == ("desk",)
            assert {event.member for event in events.of(MemberLagging)} == {"desk"}
            for group in (prices_1, prices_2, desk):
                group._driver.transport.resume()

    play(scenario)


def test_with_timestamps_nobody_waits_for_a_member_that_receives_and_sends_nothing_of_it():
    async def scenario():
        async with of_each(Network(seed=2), protocol="timestamp", fail_after=30.0) as groups:
            groups[4]._driver.transport.pause()
            outcome = await (await groups[1].send(b"1")).stable(timeout=5.0)
            assert outcome.members == ("orders", "prices-1", "prices-2", "desk")
            groups[4]._driver.transport.resume()

    play(scenario)


def test_levels_count_those_who_are_to_have_a_message():
    async def scenario():
        async with of_each(Network(seed=3)) as groups:
            receipt = await groups[1].send(b"x")
            reached = await receipt.when(everyone, timeout=5.0)
            assert set(reached.members) == {"prices-1", "orders", "prices-2", "desk"}
            assert isinstance(await receipt.when(each_zone(1), timeout=5.0), Reached)
            assert isinstance(await receipt.when(at_least(5), timeout=5.0), stablecast.TimedOut)

    play(scenario)


def test_when_a_sender_crashes_its_receivers_agree_and_nobody_else_waits():
    async def scenario():
        network = Network(seed=4, loss=0.3)
        async with of_each(network, fail_after=1.0) as groups:
            readers = [Reader(group) for group in groups]
            for k in range(30):
                await groups[1].send(b"%d" % k)
            groups[1]._driver.flush()
            groups[1]._driver.transport.crash()
            rest = [groups[0], *groups[2:]]
            await until(lambda: all(len(group.members) == 4 for group in rest))
            got = [readers[rank].payloads("prices-1") for rank in (0, 2, 3)]
            assert got[0] == got[1] == got[2]
            assert readers[4].payloads("prices-1") == []
            outcome = await (await groups[0].send(b"on")).stable(timeout=5.0)
            assert outcome.members == ("orders", "desk", "audit")

    play(scenario)


def test_a_member_comes_to_receive_and_stops_while_the_group_runs():
    async def scenario():
        async with of_each(Network(seed=6)) as groups:
            orders, audit = groups[0], groups[4]
            reader, prices = Reader(audit), groups[1]
            await (await prices.send(b"before")).stable(timeout=5.0)
            await audit.receive_from(["orders", "prices-1"])
            assert audit.view.receivers_of("prices-1") == (*RECEIVERS["prices-1"], "audit")
            assert audit.members == tuple(PARTS)
            outcome = await (await prices.send(b"during")).stable(timeout=5.0)
            assert outcome.members == ("orders", "prices-1", "prices-2", "desk", "audit")
            await audit.receive_from(["orders"])
            outcome = await (await prices.send(b"after")).stable(timeout=5.0)
            assert "audit" not in outcome.members
            await (await orders.send(b"end")).stable(timeout=5.0)
            await reader.has(2)
            assert [delivery.payload for delivery in reader.found] == [b"during", b"end"]

    play(scenario)


def test_a_change_of_what_is_received_is_no_departure():
    async def scenario():
        async with joined(Network(seed=7), "a", "b", "c") as (a, b, _):
            events = Watcher(a)
            await b.receive_from(["c"])
            await until(lambda: events.of(ViewChanged))
            [changed] = events.of(ViewChanged)
            assert changed.members == ("a", "b", "c")
            assert changed.joined == changed.left == changed.failed == ()
            assert changed.reason == "b changed what to receive"

    play(scenario)


def test_traces_have_a_group_for_each_source_and_are_judged_by_its_receivers(tmp_path):
    async def scenario():
        network = Network(seed=8, loss=0.1)
        logs = {name: EventLog(tmp_path / f"{name}.jsonl") for name in PARTS}
        each = {name: {**part, "trace": logs[name]} for name, part in PARTS.items()}
        async with joined(network, *PARTS, each=each, protocol="vector") as groups:
            for _ in range(5):
                for group in groups[:3]:
                    await (await group.send(b"x")).stable(timeout=5.0)
        for log in logs.values():
            log.close()

    play(scenario)
    verdict = judge_files(sorted(tmp_path.glob("*.jsonl")))
    assert verdict.safe, verdict
    assert verdict.delivered, verdict
    assert verdict.messages == 15
    assert verdict.deliveries == 5 * sum(map(len, RECEIVERS.values()))


def test_late_messages_are_fetched_from_those_who_received_them():
    async def scenario():
        network = Network(seed=9)
        each = {name: {**part, "history_bytes": 1 << 20} for name, part in PARTS.items()}
        async with joined(network, *PARTS, each=each) as groups:
            for k in range(3):
                await (await groups[1].send(b"%d" % k)).stable(timeout=5.0)
            async with join(network, "late", [groups[0].address], receives=["orders"]) as late:
                found = await late.history("prices-1", 1, 3)
                assert [delivery.payload for delivery in found] == [b"0", b"1", b"2"]

    play(scenario)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"receives": "orders"}, "receives 'orders' is not accepted"),
        ({"receives": 3}, "receives 3 is not accepted"),
        ({"receives": ["a b"]}, "receives has 'a b'"),
        ({"receives": [7]}, "receives has 7"),
        ({"receives": ["x"] * 65}, "receives has 65 names"),
        ({"sends": 1}, "sends 1 is not accepted"),
        ({"sends": False, "receives": False}, "neither sends nor receives"),
    ],
)
def test_what_makes_no_sense_is_refused_at_joining(options, told):
    with pytest.raises(InvalidInput, match=told):
        Options(group="orders", **options)


def test_a_protocol_that_needs_all_members_as_receivers_says_which_ones_do_not():
    with pytest.raises(InvalidInput, match=r"transitive needs all members as receivers .*timestamp"):
        _ = Options(group="orders", protocol="transitive", receives=["a"]).choice
    assert Options(group="orders", protocol="transitive", sends=False).choice.protocol.name == "transitive"
