"""A view that is old, and an engine that fails."""

import asyncio
import random

import pytest
from live_groups import Watcher, joined, play, until

from stablecast.engine.engine import Engine
from stablecast.engine.options import Options
from stablecast.engine.results import ViewChanged
from stablecast.engine.tracker import LAST_PS, Tracker
from stablecast.errors import GroupClosed
from stablecast.membership import attempt
from stablecast.testing import Network

DAY_S = 86_400.0


def engines_of(count, protocol):
    return [
        Engine(
            Options(group="orders", member=f"m{k}", protocol=protocol, fail_after=1e9, alive_every=1_800.0),
            address=("10.0.0.1", 7000 + k),
            largest=1_400,
            rng=random.Random(k + 1),
            now=0.0,
        )
        for k in range(count)
    ]


def exchange(engines, now):
    """Hand datagrams over until there are none; tell whether there were any."""
    by_address = {engine.agreement.me.address: engine for engine in engines}
    moved = False
    while True:
        sent = [(engine, datagram) for engine in engines for datagram in engine.output().datagrams]
        if not sent:
            return moved
        moved = True
        for engine, (data, to, _) in sent:
            for address in to:
                if address in by_address:
                    by_address[address].receive([(data, engine.agreement.me.address)], now)


def run(engines, now, until_s):
    """Let time go on from timer to timer."""
    exchange(engines, now)
    while (due := min(engine.next_timer() for engine in engines)) < until_s:
        now = max(now, due)
        for engine in engines:
            if engine.next_timer() <= now:
                engine.handle_timer(now)
        exchange(engines, now)
    return until_s


@pytest.mark.parametrize("protocol", ["gsgc", "coordp", "timestamp", "vector"])
def test_a_message_becomes_stable_in_a_group_that_slept_for_months(protocol):
    engines = engines_of(3, protocol)
    engines[0].join([], 0.0)
    for engine in engines[1:]:
        engine.join([engines[0].agreement.me.address], 0.0)
    now = run(engines, 0.0, 3.0)
    assert [len(engine.labels) for engine in engines] == [3, 3, 3]
    views = [engine.counters.views for engine in engines]
    now += 150 * DAY_S  # longer than 64 bits of picoseconds
    for engine in engines:
        engine.handle_timer(now)
    engines[1].own.send(b"x", now)
    engines[1].flush(now)
    now = run(engines, now, now + 20.0)
    assert all(engine.frontier["m1"] == 1 for engine in engines)
    assert [engine.counters.views for engine in engines] == [count + 1 for count in views]


def test_the_time_of_a_protocol_stands_still_at_its_end():
    engines = engines_of(1, "gsgc")
    engines[0].join([], 0.0)
    tracker = engines[0].in_view.tracker
    assert isinstance(tracker, Tracker)
    assert tracker._ps(200 * DAY_S) == LAST_PS < 1 << 63


def test_a_view_is_renewed_before_its_time_is_over(monkeypatch):
    monkeypatch.setattr(attempt, "RENEWED_AFTER", 5.0)
    assert attempt.RENEWED_AFTER < 106 * DAY_S

    async def scenario():
        async with joined(Network(seed=1), *"abc") as (a, b, c):
            watcher = Watcher(b)
            await until(lambda: len(watcher.of(ViewChanged)) >= 2)
            event = watcher.of(ViewChanged)[0]
            assert event.reason == "a view is renewed from time to time"
            assert event.members == ("a", "b", "c")
            assert not event.joined + event.left + event.failed
            receipt = await c.send(b"x")
            await receipt.stable()
            assert a.members == ("a", "b", "c")

    play(scenario)


def test_a_member_whose_engine_fails_is_out_and_says_why(monkeypatch, caplog):
    async def scenario():
        async with joined(Network(seed=2), *"abc", fail_after=1.0) as (a, b, c):
            waiting = asyncio.create_task(b.deliveries().__anext__())
            await asyncio.sleep(0)

            def fails(now):
                raise RuntimeError("as planned")

            monkeypatch.setattr(b._engine, "handle_timer", fails)
            await until(lambda: b._driver.closed)
            with pytest.raises(GroupClosed, match=r"its engine failed with RuntimeError\(.as planned"):
                await b.send(b"x")
            with pytest.raises(StopAsyncIteration):
                await waiting
            await until(lambda: a.members == c.members == ("a", "c"))

    play(scenario)
    assert "this member has failed, and is out of the group" in caplog.text
