import asyncio

import pytest
from live_groups import Reader, joined, play, until

import stablecast
from stablecast.membership.view import format_address
from stablecast.multicast.bufferers import bufferers, named
from stablecast.testing import Faults, Network

OPTIONS = {"policy": "two-buffers", "copies": 2, "short_s": 0.5}
NAMES = [f"m{k}" for k in range(8)]
SIXTEEN = [f"m{k}" for k in range(16)]
DATA_BYTES = 600
"""Datagrams with messages of this size are larger than it, and so are no others while no view changes."""


def chosen(view, part):
    """Return the names of the members that the hash chooses to keep a message of the first member."""
    names = {member.session & 0xFFFFFFFF: member.name for member in view.members}
    source, *_ = names
    return {names[one] for one in bufferers(names, (source, part), 6, by=named("mix"))}


async def sends_twenty_and_crashes(network, groups):
    """Let the first member send what the last one does not get, and crash when most have dropped it."""
    for k in range(20):
        await groups[0].send(bytes([k]) * DATA_BYTES)
        await asyncio.sleep(0.001)
    await asyncio.sleep(1.5)
    for part in range(1, 21):
        assert chosen(groups[0].view, part) - {"m0", "m15"}, "a message has no living keeper"
    network.crash("m0")


async def check_that_all_go_on_with_everything(groups, readers):
    await until(lambda: all(len(group.members) == 15 for group in groups[1:]))
    assert [group.me for group in groups] == SIXTEEN  # nobody was left out
    for reader in readers[1:]:
        assert reader.payloads("m0") == [bytes([k]) * DATA_BYTES for k in range(20)]


def test_only_a_few_members_keep_what_is_old_and_not_stable():
    async def scenario():
        network = Network(seed=13)
        async with joined(network, *NAMES, fail_after=60.0, **OPTIONS) as groups:
            network.pause("m7")
            receipts = []
            for _ in range(40):  # each in a run of its own
                receipts.append(await groups[0].send(bytes(100)))
                await asyncio.sleep(0.001)
            full = groups[0].stats().unstable_bytes
            await asyncio.sleep(2.0)
            kept = [group.stats().unstable_bytes for group in groups[1:7]]
            assert sum(kept) < 6 * full / 2
            assert groups[0].stats().unstable_bytes == full  # the sender keeps its own
            assert all(group.stats().unstable_messages == 40 for group in groups[:7])
            network.resume("m7")
            assert isinstance(await receipts[-1].stable(timeout=10.0), stablecast.Stable)
            assert all(group.stats().unstable_bytes == 0 for group in groups[:1])

    play(scenario)


def test_a_member_that_lacks_something_gets_it_from_those_who_keep_it():
    async def scenario():
        network = Network(seed=13)
        async with joined(network, *NAMES, fail_after=60.0, **OPTIONS) as groups:
            readers = [Reader(group) for group in groups]
            network.pause("m7")
            for k in range(30):
                await groups[0].send(b"%d" % k)
                await asyncio.sleep(0.001)
            await asyncio.sleep(2.0)
            network.set_link("m0", "m7", Faults(loss=1.0), both_ways=False)  # the sender itself cannot help
            network.resume("m7")
            for reader in readers:
                await reader.has(30)
                assert reader.payloads("m0") == [b"%d" % k for k in range(30)]

    play(scenario)


def test_when_all_who_kept_a_message_are_gone_the_view_still_changes_and_says_so():
    async def scenario():
        network = Network(seed=13)
        options = {**OPTIONS, "copies": 1}
        async with joined(network, *NAMES[:4], **options) as groups:
            readers = [Reader(group) for group in groups]
            for name in ("m1", "m2"):
                network.set_link(name, "m3", Faults(loss=1.0), both_ways=False)
            network.pause("m3")
            for k in range(20):
                await groups[0].send(b"%d" % k)
                await asyncio.sleep(0.001)
            await asyncio.sleep(1.5)
            network.crash("m0")
            network.resume("m3")
            await until(lambda: "m0" not in groups[1].members and "m0" not in groups[3].members)
            network.set_link("m1", "m3", None)
            network.set_link("m2", "m3", None)
            await until(lambda: {len(group.members) for group in groups[1:]} == {3})
            for reader in readers[1:3]:
                assert reader.payloads("m0") == [b"%d" % k for k in range(20)]
            found = readers[3].payloads("m0")
            assert found == [b"%d" % k for k in range(len(found))]

    play(scenario)


@pytest.mark.parametrize("seed", [2, 3, 4, 5, 6, 7])
def test_who_was_cut_off_gets_what_has_a_living_keeper_after_its_sender_crashed(seed):
    async def scenario():
        network = Network(seed=seed)
        async with joined(network, *SIXTEEN, policy="two-buffers", short_s=0.5) as groups:
            readers = [Reader(group) for group in groups]
            network.partition(["m15"])
            await sends_twenty_and_crashes(network, groups)
            network.heal()
            await check_that_all_go_on_with_everything(groups, readers)

    play(scenario)


@pytest.mark.parametrize("seed", [2, 3, 4, 5, 6, 7])
def test_keepers_are_found_while_the_view_ends(seed):
    async def scenario():
        network = Network(seed=seed)
        async with joined(network, *SIXTEEN, policy="two-buffers", short_s=0.5) as groups:
            readers = [Reader(group) for group in groups]
            last = groups[15]

            def lose_messages(datagram, _, to):
                """Let the last member have no message before the view ends."""
                is_for_last = format_address(to) == last.address
                is_lost = is_for_last and len(datagram) > DATA_BYTES and last.stats().state == "member"
                return None if is_lost else datagram

            network.tap = lose_messages
            await sends_twenty_and_crashes(network, groups)
            await check_that_all_go_on_with_everything(groups, readers)

    play(scenario)
