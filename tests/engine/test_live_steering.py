"""The search for a good step while a group runs: by itself, in a pace, and among members."""

import math

import pytest

from stablecast.engine.pace import STALL_STEPS, Pace, PaceOptions
from stablecast.engine.steering import FACTOR, PATIENCE, PROBES, SKIP, Steering
from stablecast.errors import InvalidInput

LEAST, MOST = 0.002, 1.0
GOOD = 0.05
PROBES_MOST = 400


def time_of(step, *, good=GOOD):
    """Queues below a good step, waiting above it."""
    return 5 * max(step, good * (good / step))


def searched(steering, time_of, probes=PROBES_MOST):
    """Let probes take what a function says, until the search has ended; return how many there were."""
    now, stable = 0.0, [0]
    for probe in range(1, probes + 1):
        steering.begin(0, probe, now)
        assert not steering.look(stable, now + 0.001)
        now += time_of(steering.step_s)
        stable[0] = probe
        steering.look(stable, now)
        if steering.window_s is not None:
            return probe
    raise AssertionError("the search has not ended")


@pytest.mark.parametrize("good", [0.004, 0.05, 0.3])
def test_the_search_ends_near_the_best_step_whatever_its_order_of_magnitude(good):
    steering = Steering(LEAST, MOST)
    probes = searched(steering, lambda step: time_of(step, good=good))
    low, high = steering.window_s
    assert low <= steering.step_s <= high
    assert abs(math.log(steering.step_s / good)) < 2 * math.log(FACTOR)
    assert probes < 25 * (PROBES + SKIP)


def test_the_step_has_a_new_number_whenever_it_changes():
    steering = Steering(LEAST, MOST)
    seen = {steering.number: steering.step_s}
    now, stable = 0.0, [0]
    for probe in range(1, 60):
        steering.begin(0, probe, now)
        stable[0] = probe
        changed = steering.look(stable, now + time_of(steering.step_s))
        assert changed == (steering.number not in seen)
        seen.setdefault(steering.number, steering.step_s)
        assert seen[steering.number] == steering.step_s
    assert len(seen) > 5


def test_it_searches_again_when_times_have_changed_for_good():
    steering = Steering(LEAST, MOST)
    searched(steering, time_of)
    now, stable = 1000.0, [PROBES_MOST]
    for probe in range(PROBES_MOST + 1, PROBES_MOST + SKIP + PATIENCE + 1):
        assert steering.searches == 1
        steering.begin(0, probe, now)
        stable[0] = probe
        steering.look(stable, now + 10 * time_of(steering.step_s))
    assert steering.searches == 2


def test_only_the_member_that_steers_searches_and_only_if_asked_to():
    assert Pace(PaceOptions(), 4, steers=True).steering is None
    assert Pace(PaceOptions(adaptive=True), 4).steering is None
    pace = Pace(PaceOptions(adaptive=True, step_s=0.01), 4, steers=True)
    assert pace.steering is not None
    assert pace.step == pace.steering.step_s > 0.01


def test_steps_can_be_searched_for_in_a_group_whose_shortest_step_is_longer_than_the_longest():
    pace = Pace(PaceOptions(adaptive=True, step_s=2.0, step_most_s=1.0), 4, steers=True)
    assert pace.step > 2.0


def test_a_step_that_was_found_is_what_a_stall_ends_with():
    pace = Pace(PaceOptions(adaptive=True), 4)
    pace.follow(0.03)
    for _ in range(STALL_STEPS + 20):
        pace.fired(1.0, 1.001, 0)
    assert pace.step > 0.03
    pace.progressed()
    assert pace.step == 0.03


@pytest.mark.parametrize("options", [{"step_s": 0.0}, {"step_s": math.nan}, {"step_most_s": -1.0}])
def test_steps_that_cannot_be_are_refused(options):
    with pytest.raises(InvalidInput, match="accepted: a number above 0"):
        PaceOptions(**options)
