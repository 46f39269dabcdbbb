"""Long ways: what is asked for again, and when, follows the round trips that were measured."""

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from live_groups import Reader, join, joined, play

from stablecast.engine.results import Delivery
from stablecast.multicast.round_trips import UNKNOWN_S, RoundTrips, Stamps
from stablecast.testing import Faults, Network

PAYLOAD = bytes(600)
"""Fills a datagram that is larger than any of control."""
RATE = 1_000
SECONDS = 10


class Losing:
    """A tap that loses 1 % of everything, and counts what it took of the data."""

    def __init__(self):
        self.data = 0
        self._draw = random.Random(3).random

    def __call__(self, datagram, sender, to):
        if self._draw() >= 0.01:
            return datagram
        self.data += len(datagram) > len(PAYLOAD)
        return None


async def send_at_rate(group):
    """Send at a steady rate, for as long as the group takes it."""
    loop = asyncio.get_running_loop()
    start, sent = loop.time(), 0
    while loop.time() < start + SECONDS:
        await group.send(PAYLOAD)
        sent += 1
        await asyncio.sleep(max(0.0, start + sent / RATE - loop.time()))


@pytest.mark.parametrize("delay_s", [(0.1, 0.1), (0.095, 0.105)], ids=["steady", "jittered"])
def test_a_long_way_with_losses_carries_the_rate_and_is_repaired_about_once(delay_s):
    async def scenario():
        network = Network(seed=8, delay_s=delay_s)
        async with joined(network, *"abcd") as groups:
            network.tap = losing = Losing()
            readers = [Reader(group) for group in groups[1:]]
            await send_at_rate(groups[0])
            assert min(len(reader.found) for reader in readers) >= 0.9 * RATE * SECONDS
            repairs = sum(group.stats().repairs_sent for group in groups)
            assert losing.data > 100
            assert repairs <= 3 * losing.data

    play(scenario)


def test_members_near_and_far_ask_for_nothing_that_is_on_its_way():
    async def scenario():
        network = Network(seed=8, delay_s=(0.001, 0.001))
        async with joined(network, *"abc") as groups:
            network.set_link("a", "c", Faults(delay_s=(0.1, 0.1)))
            reader = Reader(groups[2])
            await asyncio.sleep(2.0)
            for _ in range(1_000):
                await groups[0].send(PAYLOAD)
                await asyncio.sleep(0.002)
            await reader.has(1_000)
            assert sum(group.stats().repairs_sent for group in groups) == 0

    play(scenario)


@pytest.mark.parametrize("round_trip_s", [0.15, 0.3, 0.7])
def test_history_is_found_however_long_the_way_is(round_trip_s):
    async def scenario():
        network = Network(seed=6, delay_s=(round_trip_s / 2, round_trip_s / 2))
        keeps = {name: {"history_bytes": 1 << 20} for name in "bc"}
        async with joined(network, *"abc", each=keeps) as (a, *_):
            receipts = [await a.send(b"order %d" % k) for k in range(20)]
            await receipts[-1].stable()
            async with join(network, "d", [a.address]) as d:
                found = await d.history("a", 1, 20)
                assert found == [Delivery("a", k + 1, b"order %d" % k, "d") for k in range(20)]

    play(scenario)


def test_a_round_trip_is_what_a_stamp_took_less_the_time_that_it_was_kept():
    ours, theirs = Stamps(), Stamps()
    theirs.take(0, ours.stamp(100.0), 7.0)
    echo = theirs.echo(0, 7.5)
    assert ours.round_trip(echo, 100.75) == pytest.approx(0.25, abs=1e-5)
    assert ours.round_trip(theirs.echo(0, 8.0), 101.0) is None  # each stamp is returned once


def test_without_samples_the_longest_known_round_trip_is_assumed():
    trips = RoundTrips()
    assert trips.mean(1) == trips.longest() == 0.02
    trips.sample(2, 0.3)
    trips.sample(3, 0.1)
    assert trips.mean(1) == trips.longest() == 0.3
    assert trips.mean(3) == 0.1
    trips.keep([3])
    assert trips.mean(2) == 0.1


def test_an_answer_is_overdue_a_little_after_a_steady_round_trip_and_long_after_an_unsteady_one():
    steady, unsteady = RoundTrips(), RoundTrips()
    for k in range(100):
        steady.sample(1, 0.2)
        unsteady.sample(1, 0.2 + 0.05 * (-1) ** k)
    assert 0.2 < steady.answer_within(1) < 0.21
    assert 0.35 < unsteady.answer_within(1) < 0.5


def test_how_late_datagrams_come_is_remembered_for_a_while():
    trips = RoundTrips()
    for _ in range(100):
        trips.sample(1, 0.2)
    assert trips.late_by(1) < 0.003
    trips.was_late(1, 0.04)
    assert trips.late_by(1) == pytest.approx(0.05)
    trips.was_late(1, 10.0)
    assert trips.late_by(1) == pytest.approx(0.2)
    for _ in range(200):
        trips.sample(1, 0.2)
    assert trips.late_by(1) < 0.003


@pytest.mark.parametrize("seconds", [-0.1, 1e9, float("nan")])
def test_what_is_no_round_trip_is_no_sample(seconds):
    trips = RoundTrips()
    trips.sample(1, seconds)
    assert not trips.knows(1)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0.0, 1.0)), min_size=1), st.sets(st.integers(0, 3)))
def test_the_longest_round_trip_is_that_of_the_farthest_peer_however_they_change(samples, kept):
    trips, known = RoundTrips(), set()
    for session, seconds in samples:
        trips.sample(session, seconds)
        known.add(session)
        assert trips.longest() == max(map(trips.mean, known))
    trips.keep(kept)
    assert trips.longest() == max(map(trips.mean, known & kept), default=UNKNOWN_S)
