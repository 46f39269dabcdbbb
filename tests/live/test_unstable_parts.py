"""How many parts may be unstable: what protocols attach to parts is kept in a ring, which must never wrap."""

import asyncio

import pytest
from live_groups import Reader, joined, play

import stablecast
from stablecast.engine.attached import RING
from stablecast.engine.choice import choose
from stablecast.engine.pace import Pace, PaceOptions
from stablecast.engine.tracker import Tracker
from stablecast.errors import BufferFull, StablecastError
from stablecast.multicast.frames import Data
from stablecast.testing import Network

LARGEST = 1 << 20
"""Bytes of the largest message: some 2,700 parts in datagrams of 512 bytes."""
FIRST = 300
"""Bytes of a message whose datagrams have a size of their own, so that a tap can tell them."""


def is_first(datagram):
    """Tell a datagram that carries the first message, or a repair of it, from all others."""
    return 340 < len(datagram) < 400


async def widened(group):
    """Send large messages until the window has room for one beside others."""
    for _ in range(3):
        receipt = await group.send(bytes(LARGEST))
        assert isinstance(await receipt.stable(timeout=30.0), stablecast.Stable)


@pytest.mark.parametrize(("protocol", "small"), [("timestamp", 1_385), ("transitive", 2_000)])
def test_a_message_that_a_member_lacks_is_not_called_stable_however_many_parts_follow(protocol, small):
    async def scenario():
        network = Network(seed=3, largest=512, buffered=100_000)
        async with joined(network, "m0", "m1", protocol=protocol) as (sender, receiver):
            reader = Reader(receiver)
            await widened(sender)
            before = len(reader.found)
            network.tap = lambda datagram, *_: None if is_first(datagram) else datagram
            first = await sender.send(bytes(FIRST))
            await asyncio.sleep(0)
            for _ in range(small):
                await sender.send(b"")
            # Of timestamp, the last part of this one is the 4,096th that is unstable.
            large = asyncio.create_task(sender.send(bytes(LARGEST)))
            outcome = await first.stable(timeout=2.0)
            assert len(reader.found) == before
            assert isinstance(outcome, stablecast.TimedOut)
            network.tap = None
            last = await large
            assert isinstance(await last.stable(timeout=30.0), stablecast.Stable)
            assert [len(d.payload) for d in reader.found[before:]] == [FIRST, *[0] * small, LARGEST]

    play(scenario)


def test_who_does_not_want_to_wait_is_told_how_many_parts_may_be_unstable():
    async def scenario():
        network = Network(seed=3, largest=512)
        async with joined(network, "m0", "m1", protocol="timestamp") as (sender, _):
            network.pause("m1")
            for _ in range(RING - 1):
                sender.send_nowait(b"")
            with pytest.raises(BufferFull, match=r"4096 parts would be unstable \(accepted: 4095\)"):
                sender.send_nowait(b"")
            network.resume("m1")
            receipt = await sender.send(b"")
            assert isinstance(await receipt.stable(timeout=10.0), stablecast.Stable)

    play(scenario)


def test_a_source_that_has_counted_wrong_gets_an_error_and_sends_nothing():
    tracker = Tracker(
        choose("timestamp"),
        view=2,
        rank=0,
        bases=[10, 10],
        pace=Pace(PaceOptions(), 2),
        send=lambda frame, dest: None,
        now=0.0,
    )
    assert len(tracker.attach(10 + RING - 1, 0.1)) == 1
    with pytest.raises(StablecastError, match="part 4106 goes out while those after 10 are unstable"):
        tracker.attach(10 + RING, 0.1)


def test_a_run_whose_numbers_have_no_place_is_not_taken_in():
    async def scenario():
        network = Network(seed=3)
        async with joined(network, "m0", "m1", protocol="timestamp") as (_, receiver):
            here = receiver._engine.in_view
            for part, is_taken in ((RING - 1, True), (RING, False)):
                here.take(Data(here.view.id, 0, part, part, [b"x"], [1 << 40]), 0.0)
                assert (part in here.data.streams[0].ahead) == is_taken

    play(scenario)
