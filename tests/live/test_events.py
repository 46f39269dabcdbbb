"""Events: read by whoever asks, kept for nobody who has gone; and the log, which has them as well."""

import asyncio
import gc
import inspect
import logging
from collections import deque

import pytest
from live_groups import Reader, Watcher, join, joined, play, until

import stablecast
from stablecast.engine.options import Options
from stablecast.engine.results import MemberFailed, Released, ViewChanged
from stablecast.errors import JoinFailed
from stablecast.live.joining import join as join_function
from stablecast.testing import Network


def test_nothing_is_kept_for_streams_of_events_that_were_dropped():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a") as (a,):
            for _ in range(50):
                a.events()
            read = a.events()
            await a.send(b"x")
            assert isinstance(await anext(read), Released)
            del read
            gc.collect()
            events = a.events()
            async with join(network, "b", [a.address]):
                event = await anext(events)
                assert isinstance(event, ViewChanged)
                assert not [holder for holder in gc.get_referrers(event) if isinstance(holder, deque)]

    play(scenario)


def test_waiting_for_an_event_may_time_out_and_go_on():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a") as (a,):
            events = a.events()
            for _ in range(10):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(events), 0.1)
            async with join(network, "b", [a.address]):
                assert (await asyncio.wait_for(anext(events), 5.0)).members == ("a", "b")
            await events.aclose()
            assert [event async for event in events] == []

    play(scenario)


def futures():
    gc.collect()
    # by type: isinstance asks a weak proxy for its class, and what a proxy stood for may be gone
    return sum(issubclass(type(thing), asyncio.Future) for thing in gc.get_objects())


def test_waits_that_timed_out_leave_nothing_behind():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b", fail_after=100.0) as (a, _):
            Reader(a)
            events = a.events()
            network.pause("b")
            receipts = [await a.send(b"x") for _ in range(20)]
            before = futures()
            for _ in range(20):
                waits = [receipt.stable(timeout=0.01) for receipt in receipts]
                outcomes = await asyncio.gather(*waits)
                assert {type(outcome) for outcome in outcomes} == {stablecast.TimedOut}
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(events), 0.001)
            assert futures() - before < 20
            network.resume("b")
            last = await asyncio.gather(*(receipt.stable(timeout=5.0) for receipt in receipts))
            assert {type(outcome) for outcome in last} == {stablecast.Stable}

    play(scenario)


def test_some_who_wait_give_up_and_the_others_are_woken():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b", fail_after=100.0) as (a, _):
            network.pause("b")
            receipts = [await a.send(b"x") for _ in range(30)]
            waiting = [asyncio.create_task(receipt.stable()) for receipt in receipts]
            await asyncio.sleep(0.1)
            for task in waiting[::3]:
                task.cancel()
            await asyncio.sleep(0.1)
            network.resume("b")
            found = await asyncio.gather(*waiting, return_exceptions=True)
            kinds = [stablecast.Stable if k % 3 else asyncio.CancelledError for k in range(30)]
            assert [type(outcome) for outcome in found] == kinds

    play(scenario)


def test_the_log_tells_of_views_suspicions_and_failures(caplog):
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b") as (a, _):
            events = Watcher(a)
            network.crash("b")
            await events.first(MemberFailed)
            await until(lambda: a.members == ("a",))

    with caplog.at_level(logging.INFO, "stablecast"):
        play(scenario)
    told = {(record.levelname, record.message) for record in caplog.records}
    assert any(
        level == "INFO" and message.startswith("orders/a: view: a, b; joined: b (") for level, message in told
    )
    assert ("INFO", "orders/a: suspects b, which was not heard of for 3 s") in told
    assert ("WARNING", "orders/a: failed: b") in told
    assert any(message.startswith("orders/a: has left the group") for _, message in told)


def test_the_log_tells_of_processes_and_datagrams_that_are_refused(caplog):
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a") as (a,):
            with pytest.raises(JoinFailed):
                await join(network, "b", [a.address], protocol="train")
            with pytest.raises(JoinFailed):
                await join(network, "c", [a.address], key=bytes(32))

    with caplog.at_level(logging.INFO, "stablecast"):
        play(scenario)
    told = [(record.levelname, record.message) for record in caplog.records]
    why = "this group runs protocol 's_coord', not 'train'"
    assert ("WARNING", f"orders/a: refused to let in the process at 10.0.0.2:7000: {why}") in told
    refused = [message for _, message in told if "datagrams so far" in message]
    assert refused[0] == "orders/a: refused 1 datagrams so far (key), the last one from 10.0.0.3:7000"
    assert len(refused) == 2


def test_a_program_that_sets_up_no_log_is_not_bothered():
    handlers = logging.getLogger("stablecast").handlers
    assert any(isinstance(handler, logging.NullHandler) for handler in handlers)


def test_every_option_is_a_parameter_of_join_with_its_default():
    parameters = inspect.signature(join_function).parameters
    assert not [name for name, parameter in parameters.items() if parameter.kind is parameter.VAR_KEYWORD]
    made = join_function("orders")._options
    assert made == Options(group="orders")
    assert set(Options.__dataclass_fields__) <= set(parameters)
    with pytest.raises(TypeError, match="sise"):
        stablecast.join("orders", sise=3)


def test_a_group_shows_what_it_is_and_keeps_the_engine_s_calls_to_itself():
    async def scenario():
        async with joined(Network(seed=1), "a", "b") as (a, _):
            assert repr(a) == "<Group 'orders': 'a' at 10.0.0.1:7000, member, view of a, b>"
            public = {name for name in dir(a) if not name.startswith("_")}
            assert not public & {"deliver", "tell", "went_on", "join_failed", "has_left"}
        assert "closed" in repr(a)

    play(scenario)
