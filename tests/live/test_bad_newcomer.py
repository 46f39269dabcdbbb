"""A process that cannot join, and tries again and again, keeps no member waiting."""

import asyncio
import contextlib

import pytest
from live_groups import join, joined, play, until

import stablecast
from stablecast.errors import JoinFailed
from stablecast.testing import Network

BAD = ("10.0.9.9", 7000)
SMALL = 500
"""Bytes of a datagram that still comes through to the bad newcomer."""


@contextlib.asynccontextmanager
async def restarted_at_once(network, seed, *, addresses):
    """Have a supervisor start a process that joins, again whenever that fails, at the next address."""
    failures = []

    async def supervise():
        for address in addresses:
            transport = network.transport(address)
            try:
                async with stablecast.join("orders", transport=transport, member="bad", seeds=[seed]):
                    await asyncio.Event().wait()
            except JoinFailed as error:
                failures.append(str(error))

    task = asyncio.create_task(supervise())
    try:
        yield failures
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def share_of_time_blocked(groups, seconds):
    """Return in which part of the time some member waited for a view change to end."""
    looks = [0, 0]
    for _ in range(int(seconds / 0.02)):
        await asyncio.sleep(0.02)
        looks[any(group.stats().state == "changing view" for group in groups)] += 1
    return looks[1] / sum(looks)


def deaf_for_large_ones(hosts):
    def tap(datagram, sender, to):
        return None if to[0] in hosts and len(datagram) > SMALL else datagram

    return tap


def test_a_newcomer_that_hears_only_small_datagrams_keeps_nobody_waiting():
    async def scenario():
        network = Network(seed=5)
        async with joined(network, *(f"member-{k}" for k in range(12))) as groups:
            network.tap = deaf_for_large_ones({BAD[0]})
            views = [group.stats().views for group in groups]
            async with restarted_at_once(network, groups[0].address, addresses=[BAD] * 1000) as failures:
                assert await share_of_time_blocked(groups, 60.0) < 0.01
                assert [group.stats().views for group in groups] == views
                assert "datagrams of full size do not get to 10.0.9.9:7000" in failures[0]

    play(scenario)


def test_a_newcomer_that_could_not_hear_is_let_in_once_it_can():
    async def scenario():
        network = Network(seed=5)
        async with joined(network, *(f"member-{k}" for k in range(12))) as groups:
            network.tap = deaf_for_large_ones({BAD[0]})
            async with restarted_at_once(network, groups[0].address, addresses=[BAD] * 1000) as failures:
                await until(lambda: len(failures) == 3)
                network.tap = None
                await until(lambda: all(len(group.members) == 13 for group in groups))

    play(scenario)


@pytest.mark.parametrize("ports", [1, 1_000], ids=["same-port", "other-ports"])
def test_one_that_dies_whenever_it_is_about_to_be_let_in_is_waited_for_less_and_less(ports):
    async def scenario():
        network = Network(seed=5)
        async with joined(network, *(f"member-{k}" for k in range(12))) as groups:

            async def start_and_kill():
                for k in range(10_000):
                    transport = network.transport((BAD[0], BAD[1] + k % ports))
                    joining = stablecast.join(
                        "orders", transport=transport, member="bad", seeds=[groups[0].address]
                    )
                    starting = asyncio.create_task(joining.__aenter__())
                    await asyncio.sleep(0.04)
                    network.crash(transport)
                    starting.cancel()

            task = asyncio.create_task(start_and_kill())
            assert await share_of_time_blocked(groups, 60.0) < 0.1
            task.cancel()

    play(scenario)


def test_another_process_of_that_name_on_another_host_need_not_wait():
    async def scenario():
        network = Network(seed=5)
        async with joined(network, *(f"member-{k}" for k in range(12))) as groups:
            network.tap = deaf_for_large_ones({BAD[0]})
            async with restarted_at_once(network, groups[0].address, addresses=[BAD] * 1000) as failures:
                await until(lambda: len(failures) == 4)
                async with join(network, "bad", [groups[0].address]) as group:
                    assert len(group.members) == 13

    play(scenario)


def test_newcomers_that_die_when_they_are_let_in_leave_members_most_of_the_time():
    """Each has another name and port, as a process has that was told neither, so none is known again."""

    async def scenario():
        network = Network(seed=1)
        async with joined(network, *(f"m{k}" for k in range(6))) as groups:
            present = None

            def tap(datagram, sender, to):
                nonlocal present
                if present is not None and sender == present.address and len(datagram) > 900:
                    network.crash(present)  # it has just shown that it receives datagrams of full size
                    present = None
                return datagram

            async def dies_again_and_again():
                nonlocal present
                for k in range(10_000):
                    present = network.transport(("10.9.9.9", 30_000 + k))
                    joining = asyncio.create_task(ignored(stablecast.join, present, groups[0].address))
                    try:
                        while present is not None and not joining.done():
                            await asyncio.sleep(0.02)
                    finally:
                        joining.cancel()
                        await asyncio.gather(joining, return_exceptions=True)
                    await asyncio.sleep(0.05)

            network.tap = tap
            task = asyncio.create_task(dies_again_and_again())
            assert await share_of_time_blocked(groups, 30) < 0.25
            async with join(network, "good", [groups[0].address]) as good:  # others are let in meanwhile
                await until(lambda: len(good.members) == 7)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    play(scenario)


async def ignored(join_, transport, seed):
    with contextlib.suppress(stablecast.errors.StablecastError):
        await join_("orders", transport=transport, seeds=[seed])
