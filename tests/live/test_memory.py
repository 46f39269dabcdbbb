"""What a member keeps of those who are gone is bounded."""

import asyncio
import gc
import tracemalloc
from itertools import pairwise

from live_groups import join, joined, play, until

from stablecast.engine import acquaintances, outcomes, seal
from stablecast.testing import Network


async def read_and_drop(group):
    async for _ in group.batches():
        pass


def bytes_per_restart(times):
    """Return what each restart of a third member leaves at two members, once as many have been before.

    What other threads of this process allocate meanwhile counts too, once; a leak shows in every batch.
    """
    found = []

    async def scenario():
        network = Network(seed=2)
        async with joined(network, "a", "b", history_bytes=1) as (a, b):
            readers = [asyncio.create_task(read_and_drop(group)) for group in (a, b)]
            for _ in range(3):
                for _ in range(times):
                    async with join(network, "c", [a.address]) as c:
                        await until(lambda: len(a.members) == len(b.members) == 3)
                        for group in (a, b, c):
                            await (await group.send(b"x")).stable()
                    await until(lambda: len(a.members) == len(b.members) == 2)
                gc.collect()
                found.append(tracemalloc.get_traced_memory()[0])
        await asyncio.gather(*readers)

    tracemalloc.start()
    try:
        play(scenario)
    finally:
        tracemalloc.stop()
    return min(after - before for before, after in pairwise(found)) / times


def test_a_peer_that_restarts_leaves_little():
    assert bytes_per_restart(15) < 8_000


def test_a_peer_that_restarts_again_and_again_leaves_nothing(monkeypatch):
    for module, bound in (
        (acquaintances, "MOST"),
        (outcomes, "VIEWS_KEPT"),
        (outcomes, "TIMES_KEPT"),
        (seal, "GUESTS_MAX"),
        (seal, "DERIVED_MAX"),
    ):
        monkeypatch.setattr(module, bound, 10)
    assert bytes_per_restart(20) < 2_000
