"""Datagrams that strangers have recorded, and send again by the thousand: newcomers still get in."""

import asyncio

import pytest
from live_groups import join, play

from stablecast.engine import wire
from stablecast.engine.keys import Key, Keyring
from stablecast.engine.seal import Seal
from stablecast.testing import Network

RING = Keyring((Key(0, bytes(range(32))),))
PER_S = 5_000
EVERY_S = 0.01
SESSIONS = 700
"""More than a member has windows for."""


def recorded_hellos(each):
    """Return what processes that are no more once said, the first of each session first."""
    seals = [Seal("orders", session, keyring=RING) for session in range(1, SESSIONS + 1)]
    return [seal.close(wire.pack([wire.Hello(7)])) for _ in range(each) for seal in seals]


@pytest.mark.parametrize("addresses", [1, 40], ids=["one address", "many addresses"])
@pytest.mark.parametrize("each", [1, 60], ids=["replayed again and again", "each once"])
def test_a_flood_of_recorded_hellos_keeps_nobody_out(addresses, each):
    async def scenario():
        network = Network(seed=1, buffered=100_000)
        attackers = [network.transport(f"attacker {k}") for k in range(addresses)]
        recorded = recorded_hellos(each)

        async def flood(target):
            sent = 0
            while True:
                for _ in range(int(PER_S * EVERY_S)):
                    attackers[sent % addresses].send(recorded[sent % len(recorded)], [target])
                    sent += 1
                await asyncio.sleep(EVERY_S)

        async with join(network, "a", key=RING) as a:
            host, port = a.address.split(":")
            flooding = asyncio.create_task(flood((host, int(port))))
            await asyncio.sleep(2.05)
            async with join(network, "b", [a.address], key=RING) as b:
                assert b.members == ("a", "b")
            flooding.cancel()
            assert network.datagrams.delivered > 2 * PER_S

    play(scenario)
