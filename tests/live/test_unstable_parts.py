"""How many parts may be unstable: what protocols attach to parts is kept in a ring, which must never wrap."""

import asyncio

import pytest
from live_groups import Reader, joined, play

import stablecast
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
