"""A label stands for one member, and a message's name for one message, also where a group was split."""

import contextlib

import pytest
from live_groups import UNHURRIED, Reader, join, joined, play, until

import stablecast
from stablecast.engine.results import HistoryGone
from stablecast.testing import Network

MIB = 1 << 20
QUICK = {"fail_after": 1.0}


def contents_of(readers):
    """Return what each message's name stands for, at all processes together; each must stand for one."""
    found = {}
    for reader in readers:
        for delivery in reader.found:
            found.setdefault((delivery.source, delivery.seq), set()).add(delivery.payload)
    return found


async def send_some(group, text):
    for k in range(3):
        await (await group.send(b"%s %d" % (text, k))).stable()


@contextlib.asynccontextmanager
async def split_group(network, *, left, right, **options):
    """Yield the groups of both parts, each with a newcomer called x at its end, and readers of all."""
    async with joined(network, *left, *right, **QUICK, **options) as groups:
        here, there = groups[: len(left)], groups[len(left) :]
        one, other = network.transport("x at the left"), network.transport("x at the right")
        network.partition([*left, one], [*right, other])
        await until(lambda: len(here[0].members) == len(left) and len(there[0].members) == len(right))
        async with (
            newcomer(one, here[0], **options) as first,
            newcomer(other, there[0], **options) as second,
        ):
            here.append(first)
            there.append(second)
            readers = [Reader(group) for group in (*here, *there)]
            await until(lambda: all(first.me in group.members for group in here))
            await until(lambda: all(second.me in group.members for group in there))
            yield here, there, readers


def newcomer(transport, *contacts, name="x", **options):
    seeds = [contact.address for contact in contacts]
    return stablecast.join(
        "orders", transport=transport, member=name, seeds=seeds, pace=UNHURRIED, **QUICK, **options
    )


async def merged(network, groups):
    network.heal()
    await until(lambda: {len(group.members) for group in groups} == {len(groups)})


@pytest.mark.parametrize(("left", "right"), [("abc", "de"), ("ab", "cd"), ("abc", "def"), ("a", "b")])
def test_two_parts_that_let_in_a_process_of_the_same_name_give_it_different_labels(left, right):
    async def scenario():
        network = Network(seed=3)
        async with split_group(network, left=left, right=right) as (here, there, readers):
            first, second = here[-1], there[-1]
            assert first.me != second.me
            await send_some(first, b"left")
            await send_some(second, b"right")
            await merged(network, [*here, *there])
            await send_some(first, b"left again")
            await send_some(second, b"right again")
            await until(lambda: all(b"right again 2" in {d.payload for d in r.found} for r in readers))
            contents = contents_of(readers)
            assert all(len(payloads) == 1 for payloads in contents.values()), contents
            for reader in readers:
                names = [(delivery.source, delivery.seq) for delivery in reader.found]
                assert len(set(names)) == len(names)

    play(scenario)


def test_frontiers_never_go_back_when_parts_merge():
    async def scenario():
        network = Network(seed=4)
        async with split_group(network, left="abc", right="de") as (here, there, _):
            groups = [*here, *there]
            await send_some(there[-1], b"right")
            frontier = dict(there[0].frontier)
            await merged(network, groups)
            await send_some(here[-1], b"left")
            for source, seq in there[0].frontier.items():
                assert seq >= frontier.get(source, 0), (frontier, there[0].frontier)

    play(scenario)


def test_history_is_that_of_the_member_that_was_meant():
    async def scenario():
        network = Network(seed=5)
        keeps = {"history_bytes": MIB}
        async with split_group(network, left="abc", right="de", **keeps) as (here, there, _):
            first, second = here[-1].me, there[-1].me
            await send_some(here[-1], b"left")
            await send_some(there[-1], b"right")
            await merged(network, [*here, *there])
            for group in (here[0], there[0], there[-1]):
                found = await group.history(first, 1, 3)
                assert [delivery.payload for delivery in found] == [b"left %d" % k for k in range(3)]
                found = await group.history(second, 1, 3)
                assert [delivery.payload for delivery in found] == [b"right %d" % k for k in range(3)]
            assert isinstance(await here[0].history("x#7", 1, 1), HistoryGone)

    play(scenario)


def test_a_process_that_comes_from_another_beginning_tells_members_of_one_label_apart():
    """Two groups of one name that did not know of each other have the same labels until they merge."""

    async def scenario():
        network = Network(seed=6)
        keeps = {"history_bytes": 100}  # so little that messages are let go of
        async with joined(network, "a", "x", **QUICK, **keeps) as (a, first):
            one, other = network.transport("b"), network.transport("another x")
            network.partition(["a", "x"], [one, other])
            async with newcomer(one, name="b", **keeps) as b, newcomer(other, b, **keeps) as second:
                groups = [a, first, b, second]
                readers = [Reader(group) for group in groups]
                assert first.me == second.me == "x"
                await send_some(second, b"second")
                network.heal()
                async with join(network, "c", [a.address, b.address], **QUICK, **keeps) as c:
                    await until(lambda: {len(g.members) for g in (*groups, c)} == {5})
                    await send_some(first, b"first")
                    await send_some(second, b"second again")
                    await until(lambda: all(len(r.found) >= 6 for r in readers))
                for reader in readers:
                    names = [(delivery.source, delivery.seq) for delivery in reader.found]
                    assert len(set(names)) == len(names), reader.found

    play(scenario)
