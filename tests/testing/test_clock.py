import asyncio
import random

import pytest

from stablecast.errors import StablecastError
from stablecast.testing import LeftBehind, Stuck, VirtualClock, VirtualLoop, run

A_MONTH = 30 * 24 * 3_600.0


def test_timers_fire_in_time_and_then_in_the_order_in_which_they_were_set():
    clock = VirtualClock()
    fired = []
    for name, when in [("d", 2.0), ("a", 1.0), ("b", 1.0), ("c", 1.0)]:
        clock.call_at(when, lambda name=name: fired.append((clock.now, name)))
    clock.run_until(3.0)
    assert fired == [(1.0, "a"), (1.0, "b"), (1.0, "c"), (2.0, "d")]
    assert clock.now == clock.time() == 3.0


def test_a_timer_of_the_past_fires_now_and_time_does_not_go_back():
    clock = VirtualClock(now=5.0)
    times = []
    clock.call_at(1.0, lambda: times.append(clock.now))
    assert times == []
    clock.run_until(5.0)
    clock.run_until(2.0)
    assert times == [5.0]
    assert clock.now == 5.0


def test_a_timer_can_be_cancelled_before_and_after_it_has_fired():
    clock = VirtualClock()
    fired = []
    timers = [clock.call_at(when, fired.append, when) for when in (1.0, 2.0)]
    timers[1].cancel()
    clock.run_until(3.0)
    for timer in timers:
        timer.cancel()
    assert fired == [1.0]


def test_the_clock_stops_as_soon_as_a_condition_holds_or_at_the_limit():
    clock = VirtualClock()
    fired = []

    def tick():
        fired.append(clock.now)
        clock.call_at(clock.now + 1.0, tick)

    tick()
    assert clock.run_until(lambda: len(fired) == 4, 10.0)
    assert clock.now == 3.0
    assert not clock.run_until(lambda: False, 10.0)
    assert clock.now == 13.0
    assert clock.run_until(lambda: True)
    assert clock.now == 13.0


def test_an_exception_in_a_timer_comes_out_of_the_clock_which_can_go_on():
    clock = VirtualClock()
    fired = []
    clock.call_at(1.0, lambda: 1 // 0)
    clock.call_at(2.0, fired.append, 2)
    with pytest.raises(ZeroDivisionError):
        clock.run_until(3.0)
    clock.run_until(3.0)
    assert fired == [2]


def test_a_month_of_sleeping_takes_no_time():
    async def main():
        await asyncio.sleep(A_MONTH)
        return asyncio.get_running_loop().time()

    assert run(main(), limit=2 * A_MONTH) == A_MONTH


def test_a_time_so_late_that_nanoseconds_are_lost_in_it_still_comes():
    run(asyncio.sleep(1e12), limit=1e13)


def test_sleepers_of_the_same_instant_wake_up_in_the_order_in_which_they_lay_down():
    async def main():
        woken = []

        async def sleeper(number):
            await asyncio.sleep(1.0)
            woken.append(number)

        await asyncio.gather(*map(sleeper, range(50)))
        return woken

    assert run(main()) == list(range(50))


def test_many_cancelled_timers_do_not_disturb_the_others():
    async def main():
        loop = asyncio.get_running_loop()
        for number in range(500):
            loop.call_later(10.0 + number, pytest.fail).cancel()
        async with asyncio.timeout(5.0):
            await asyncio.sleep(1.0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5.0):
                await asyncio.Event().wait()
        return loop.time()

    assert run(main()) == 6.0


def test_a_coroutine_that_waits_for_nothing_is_called_stuck_by_name_and_place():
    async def waits_for_ever():
        await asyncio.Event().wait()

    async def helper():
        await asyncio.get_running_loop().create_future()

    async def main():
        task = asyncio.create_task(helper(), name="a helper")
        await waits_for_ever()
        task.cancel()

    with pytest.raises(Stuck) as stuck:
        run(main())
    told = str(stuck.value)
    assert told.startswith("nothing is left to happen, but 'a helper' waits in helper (test_clock.py:")
    assert "main' waits in waits_for_ever (test_clock.py:" in told


def test_a_coroutine_that_only_ticks_is_called_stuck_at_the_limit():
    async def ticks():
        while True:
            await asyncio.sleep(1.0)

    with pytest.raises(Stuck, match=r"100 s of virtual time have passed, but '.*ticks' waits in ticks"):
        run(ticks(), limit=100.0)


def test_a_task_that_refuses_to_be_cancelled_is_named_and_ends_the_run():
    async def stubborn():
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    async def main():
        main.task = asyncio.create_task(stubborn(), name="stubborn")
        await asyncio.sleep(0)

    with pytest.warns(LeftBehind), pytest.raises(Stuck, match="'stubborn' waits in stubborn"):
        run(main())


def test_tasks_that_are_left_behind_are_reported_and_cancelled():
    ended = []

    async def helper():
        try:
            await asyncio.sleep(10.0)
        finally:
            ended.append("cancelled")

    async def main():
        main.task = asyncio.create_task(helper(), name="a helper")
        await asyncio.sleep(1.0)
        return "done"

    with pytest.warns(LeftBehind, match="'a helper' waits in helper"):
        assert run(main()) == "done"
    assert ended == ["cancelled"]


def test_an_exception_of_the_coroutine_comes_out_and_one_in_a_callback_ends_the_run():
    async def fails():
        await asyncio.sleep(1.0)
        raise KeyError("mine")

    async def callback_fails():
        asyncio.get_running_loop().call_later(1.0, lambda: 1 // 0)
        await asyncio.sleep(2.0)
        pytest.fail("went on")

    with pytest.raises(KeyError, match="mine"):
        run(fails())
    with pytest.raises(ZeroDivisionError):
        run(callback_fails())


def test_a_seed_gives_the_same_random_numbers_and_the_state_of_before_comes_back():
    async def draw():
        return random.random()

    random.seed(5)
    expected = random.random()
    random.seed(5)
    assert run(draw(), seed=1) == run(draw(), seed=1) != run(draw(), seed=2)
    assert random.random() == expected


def test_what_is_given_to_a_thread_is_called_at_once():
    async def main():
        assert await asyncio.to_thread(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)

    run(main())


def test_a_virtual_loop_says_that_it_has_no_sockets():
    loop = VirtualLoop()
    with pytest.raises(StablecastError, match="no sockets"):
        loop.add_reader(0, print)
    loop.close()
