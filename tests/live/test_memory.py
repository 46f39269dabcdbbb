"""What a member keeps of those who are gone is bounded."""

import gc
import tracemalloc

from live_groups import join, joined, play, until

from stablecast.testing import Network


def traced_bytes():
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_a_peer_that_restarts_again_and_again_leaves_next_to_nothing():
    async def scenario():
        network = Network(seed=2)
        async with joined(network, "a", "b") as (a, b):

            async def restart_and_talk(times):
                for _ in range(times):
                    async with join(network, "c", [a.address]) as c:
                        await until(lambda: len(a.members) == len(b.members) == 3)
                        for group in (a, b, c):
                            await (await group.send(b"x")).stable()
                    await until(lambda: len(a.members) == len(b.members) == 2)

            await restart_and_talk(40)
            tracemalloc.start()
            try:
                before = traced_bytes()
                await restart_and_talk(40)
                assert traced_bytes() - before < 40 * 2_000
            finally:
                tracemalloc.stop()

    play(scenario)
