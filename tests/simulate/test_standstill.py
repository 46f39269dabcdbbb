"""A run whose simulated time does not go on is given up."""

from types import SimpleNamespace

import pytest

from stablecast.errors import StablecastError
from stablecast.simulate import Setup, run, topology
from stablecast.simulate.prepare import place_members, prepare

MORE_ROOM, TRACE_FULL, PAUSED, ROUND_OVER, DONE = range(5)


def loop_that(steps):
    """Return a loop that pauses, and moves simulated time on by each of these steps before it does."""
    left = iter([0, *steps])

    def run_once(sim, *_):
        step = next(left, None)
        if step is None:
            return DONE
        sim.ctl.now += step
        return PAUSED

    return SimpleNamespace(
        run=run_once,
        MORE_ROOM=MORE_ROOM,
        TRACE_FULL=TRACE_FULL,
        PAUSED=PAUSED,
        ROUND_OVER=ROUND_OVER,
    )


def drive(steps):
    setup = place_members(Setup(protocol="coordp", topology=topology("tree", degree=2, height=1)))
    sim, rows = prepare(setup, setup.found_protocol)
    return run._run(setup, sim, rows, loop_that(steps), 1 << 30, None, None, None)


def test_time_that_stands_still_ends_the_run_with_one_line():
    with pytest.raises(StablecastError, match=r"coordp: time stands still at 0 µs, after 40,000,000 events"):
        drive([0] * (run.STANDSTILL_CALLS + 2))


def test_time_that_goes_on_now_and_then_does_not():
    assert drive([*([0] * run.STANDSTILL_CALLS), 1, *([0] * (run.STANDSTILL_CALLS - 1))]) >= 0
