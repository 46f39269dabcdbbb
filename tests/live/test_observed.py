"""What a member tells of its group: who is silent, who lacks what since when, and who has gone."""

import asyncio

import msgspec
import pytest
from live_groups import joined, play, until

from stablecast.engine.observe import observe
from stablecast.engine.observed import BEHIND, FAILED, OK, SILENT, SUSPECTED, Observed
from stablecast.live.notes import Notes
from stablecast.testing import Network

NAMES = tuple("abcdefgh")


def seen(group):
    return observe(group._engine, group._driver.now(), time_us=1)


def state_of(group, name):
    return next(one.state for one in seen(group).members if one.name == name)


def test_a_group_where_nothing_is_wrong_is_ok_everywhere():
    async def scenario():
        async with joined(Network(seed=1), "a", "b", "c") as (a, b, c):
            await (await b.send(bytes(100))).stable()
            await asyncio.sleep(2.0)
            for group in (a, b, c):
                told = seen(group)
                assert [one.state for one in told.members] == [OK, OK, OK]
                assert told.holding == ()
                assert [(one.name, one.received, one.stable) for one in told.sources] == [("b", 1, 1)]
                assert all(one.last_heard_s < 0.5 for one in told.members if one.name != group.me)
            assert seen(b).own_stable == 1
            assert seen(b).releases == seen(a).releases == 1
            assert 0 < seen(a).releases_s < 1

    play(scenario)


@pytest.mark.parametrize("is_loaded", [False, True], ids=["idle", "under load"])
def test_a_stopped_member_of_eight_is_named_by_all_others_within_a_second(is_loaded):
    async def scenario():
        network = Network(seed=2)
        async with joined(network, *NAMES) as groups:

            async def load():
                while is_loaded:
                    await groups[0].send(bytes(100))
                    await asyncio.sleep(0.02)

            loading = asyncio.create_task(load())
            await asyncio.sleep(1.0)
            network.pause("h")
            began, named, states = groups[0]._driver.now(), {}, set()
            while len(named) < 7:
                for group in groups[:7]:
                    state = state_of(group, "h")
                    states.add(state)
                    if state != OK:
                        named.setdefault(group.me, group._driver.now() - began)
                await asyncio.sleep(0.01)
            loading.cancel()
            assert max(named.values()) < 1.0, named
            assert min(named.values()) > 0.5, named  # nobody is called silent between two rounds
            assert states == {OK, SILENT}
            others = [one for one in seen(groups[0]).members if one.name != "h"]
            assert {one.state for one in others} == {OK}

    play(scenario)


def test_a_member_that_stays_away_is_suspected_then_gone_and_is_told_of_as_failed():
    async def scenario():
        network = Network(seed=3)
        async with joined(network, "a", "b", "c") as (a, _, _):
            a._notes = notes = Notes(a._driver.now)
            network.pause("c")
            await until(lambda: state_of(a, "c") == SUSPECTED)
            await until(lambda: a.members == ("a", "b"))
            (gone,) = notes.gone()
            assert (gone.name, gone.state) == ("c", FAILED)
            assert gone.since_s < 0.1
            assert [note.kind for note in notes.after(0)] == ["member_failed", "view_changed"]
            assert notes.after(1)[0].text == "view of 2 members; failed: c"

    play(scenario)


def test_who_holds_back_what_since_when():
    async def scenario():
        network = Network(seed=4)
        async with joined(network, "a", "b", "c", fail_after=60.0) as (a, _, _):
            await (await a.send(bytes(10))).stable()
            network.pause("c")
            for _ in range(5):
                await a.send(bytes(1_000))
            await asyncio.sleep(3.0)
            told = seen(a)
            (holding,) = told.holding
            assert (holding.member, holding.source, holding.first, holding.messages) == ("c", "a", 2, 5)
            assert holding.bytes >= 5_000
            assert holding.since_s == pytest.approx(3.0, abs=0.1)
            (source,) = told.sources
            assert (source.received, source.stable, source.lacking) == (6, 1, ("c",))
            assert source.oldest_s == pytest.approx(3.0, abs=0.1)
            member = told.members[2]
            assert (member.behind_messages, member.behind_source) == (5, "a")
            explained = a.explain(("a", 2))
            assert [lag.member for lag in explained.laggards] == ["c"]
            network.resume("c")
            await until(lambda: not seen(a).holding)
            assert state_of(a, "c") == OK

    play(scenario)


def test_a_member_that_lives_and_takes_nothing_in_is_behind_and_not_silent():
    async def scenario():
        network = Network(seed=5)
        async with joined(network, "a", "b", "c", each={"c": {"queue_messages": 1}}) as (a, _, c):
            c.events()
            deliveries = c.deliveries()  # asked for, and never read
            for _ in range(10):
                await a.send(bytes(100))
                await asyncio.sleep(0.05)
            await until(lambda: state_of(a, "c") == BEHIND)
            assert seen(a).members[2].last_heard_s < 0.5
            await deliveries.aclose()

    play(scenario)


def test_in_bimodal_delivery_nobody_is_said_to_lack_anything():
    async def scenario():
        network = Network(seed=6)
        async with joined(network, "a", "b", "c", delivery="bimodal", fail_after=60.0) as (a, _, _):
            network.pause("c")
            await a.send(bytes(100))
            await until(lambda: state_of(a, "c") == SILENT)
            assert seen(a).holding == ()

    play(scenario)


def test_what_is_told_can_be_read_back_and_has_no_number_that_json_lacks():
    async def scenario():
        async with joined(Network(seed=7), "a", "b") as (a, _):
            told = seen(a)
            assert msgspec.json.decode(msgspec.json.encode(told), type=Observed) == told
            assert told.time_to_stable_p50 is None

    play(scenario)


def test_in_a_larger_group_members_that_are_no_neighbours_hear_of_silence_within_two_seconds():
    async def scenario():
        network = Network(seed=8)
        names = [f"m{k}" for k in range(20)]
        async with joined(network, *names) as groups:
            await asyncio.sleep(1.0)
            network.pause("m19")
            began, named = groups[0]._driver.now(), {}
            while len(named) < 19:
                for group in groups[:19]:
                    if state_of(group, "m19") != OK:
                        named.setdefault(group.me, group._driver.now() - began)
                await asyncio.sleep(0.05)
            assert max(named.values()) < 2.0, named
            neighbours = groups[0]._engine.in_view.detector.watched
            assert len(neighbours) < 19
            known = [one.is_known for one in seen(groups[0]).members]
            assert known.count(True) == len(neighbours) + 1

    play(scenario)
