"""How large a group may be: what a protocol attaches for each member must leave room for messages."""

import asyncio
import dataclasses

import pytest
from live_groups import Reader, join, joined, play

import stablecast
from stablecast.engine.attached import members_most
from stablecast.engine.choice import choose
from stablecast.errors import InvalidInput, JoinFailed
from stablecast.live.demo.plan import DemoOptions
from stablecast.protocols import protocol
from stablecast.testing import Network


def heavy(numbers):
    """Return a protocol from outside that attaches so many numbers for each member of the group."""
    transitive = protocol("transitive")
    kernels = dataclasses.replace(transitive.kernels, attached=lambda sizes: numbers * sizes.group)
    return transitive.replace(about=f"heavy-{numbers}: attaches {numbers} numbers a member.", kernels=kernels)


def test_who_would_leave_no_room_for_messages_is_refused_and_the_others_go_on():
    async def scenario():
        network = Network(seed=4)
        options = {"protocol": heavy(20)}
        names = [f"m{k}" for k in range(5)]
        async with joined(network, *names, **options) as groups:
            readers = [Reader(group) for group in groups]
            for name in ("late", "later"):
                with pytest.raises(JoinFailed) as refused:
                    await join(network, name, [groups[0].address], **options)
                assert (
                    "refused: the group has 5 members, and 'm0' can be in one of at most 5: its datagrams"
                    " have room for what protocol 'heavy-20' attaches for so many (accepted: larger"
                    " datagrams, at every member)" in str(refused.value)
                )
            assert {group.members for group in groups} == {tuple(names)}
            assert groups[0].stats().views == 5  # nobody changed the view for those who were refused
            receipt = await groups[1].send(b"among five")
            assert isinstance(await receipt.stable(timeout=10.0), stablecast.Stable)
            for reader in readers:
                await reader.has(1)

    play(scenario)


def test_of_those_who_ask_together_as_many_get_in_as_fit():
    async def scenario():
        network = Network(seed=4)
        options = {"protocol": heavy(20)}
        async with joined(network, "m0", **options) as (first,):
            assert first.stats().members_most == 5
            asking = [
                asyncio.ensure_future(_joined(join(network, f"m{k}", [first.address], **options)))
                for k in range(1, 8)
            ]
            groups = await asyncio.gather(*asking, return_exceptions=True)
            inside = [group for group in groups if not isinstance(group, BaseException)]
            assert len(inside) == 4
            assert {type(group) for group in groups if group not in inside} == {JoinFailed}
            assert {len(group.members) for group in (first, *inside)} == {5}
            for group in inside:
                await group.close()

    play(scenario)


async def _joined(joining):
    return await joining


def test_there_is_room_again_when_a_member_has_left():
    async def scenario():
        network = Network(seed=4)
        options = {"protocol": heavy(20)}
        async with joined(network, *[f"m{k}" for k in range(5)], **options) as groups:
            await groups[4].close()
            async with join(network, "late", [groups[0].address], **options) as late:
                assert late.members == ("m0", "m1", "m2", "m3", "late")

    play(scenario)


def test_the_member_with_the_smallest_datagrams_limits_the_group():
    async def scenario():
        options = {"protocol": heavy(20)}
        network = Network(seed=4, largest=9_000)
        async with joined(network, "m0", "m1", "m2", "m3", "m4", **options) as groups:
            assert groups[0].stats().members_most == 47
            network.largest = 1_400  # of whoever comes now
            with pytest.raises(JoinFailed, match="has 5 members, and 'late' can be in one of at most 5"):
                await join(network, "late", [groups[0].address], **options)

    play(scenario)


def test_a_protocol_that_leaves_no_room_for_messages_at_all_is_refused_at_once():
    async def scenario():
        network = Network(seed=4)
        with pytest.raises(InvalidInput) as refused:
            await join(network, "m0", protocol=heavy(200))
        assert str(refused.value) == (
            "datagrams of 1400 bytes have no room for messages beside the 200 numbers that protocol"
            " 'heavy-200' attaches (accepted: larger datagrams)"
        )
        network.transport("10.0.0.1:7000")  # the address is free again

    play(scenario)


@pytest.mark.parametrize(
    ("name", "largest", "members"),
    [
        ("transitive", 512, 15),
        ("transitive", 1_400, 114),
        ("transitive", 16_000, 1_736),
        ("timestamp", 512, 0),
        ("gsgc", 512, 0),
    ],
)
def test_how_many_members_fit_follows_from_the_protocol_and_the_datagrams(name, largest, members):
    assert members_most(choose(name), largest) == members


def test_a_demo_with_too_many_members_is_refused_before_it_begins(tmp_path):
    file = tmp_path / "heavy.py"
    file.write_text(
        "from dataclasses import replace\n"
        "from stablecast.protocols.transitive import PROTOCOL as transitive\n"
        "kernels = replace(transitive.kernels, attached=lambda sizes: 100 * sizes.group)\n"
        "PROTOCOL = transitive.replace(about='heavy: a hundred numbers a member.', kernels=kernels)\n"
    )
    DemoOptions(members=17, protocol=str(file))
    with pytest.raises(InvalidInput, match=r"protocol 'heavy' 18 is not accepted \(accepted: 2 to 17\)"):
        DemoOptions(members=18, protocol=str(file))
