import pytest

from stablecast.engine.pace import (
    BUSY_PARTS,
    LATE_BUSY_STEPS,
    STALL_STEPS,
    STALLED_STEP_S,
    STEP_LEAST_S,
    STEP_PER_LEVEL_S,
    Pace,
    PaceOptions,
)
from stablecast.multicast.round_trips import RoundTrips


def test_the_step_follows_the_size_of_the_group():
    assert Pace(PaceOptions(), 2).step == STEP_LEAST_S
    assert Pace(PaceOptions(), 64).step > Pace(PaceOptions(), 16).step > STEP_LEAST_S
    assert Pace(PaceOptions(step_s=0.05), 64).step == 0.05
    assert Pace(PaceOptions(), 64, takes_late=True).step > Pace(PaceOptions(), 64).step
    assert Pace(PaceOptions(step_s=0.05), 64, takes_late=True).step == 0.05


def test_on_a_tree_the_step_follows_its_levels():
    assert Pace(PaceOptions(), 2, relays=True).step == STEP_PER_LEVEL_S
    assert Pace(PaceOptions(), 64, relays=True).step == pytest.approx(2 * STEP_PER_LEVEL_S)
    assert Pace(PaceOptions(), 4096, relays=True).step == pytest.approx(4 * STEP_PER_LEVEL_S)
    assert Pace(PaceOptions(step_s=0.05), 64, relays=True).step == 0.05


def test_on_a_tree_retransmissions_wait_for_a_step_or_for_two_round_trips_of_each_level():
    trips = RoundTrips()
    pace = Pace(PaceOptions(), 64, relays=True, trips=trips)
    trips.sample(1, 0.001)
    assert pace.resend() == pace.step
    trips.sample(2, 0.1)
    assert pace.resend() == pytest.approx(0.4)
    assert Pace(PaceOptions(), 64, trips=trips).resend() == pytest.approx(2 * Pace(PaceOptions(), 64).step)


def test_a_process_that_does_not_keep_up_takes_longer_steps_up_to_a_limit():
    pace = Pace(PaceOptions(step_s=0.01, step_most_s=0.5), 4)
    pace.fired(1.0, 1.003, 0)
    assert pace.step == 0.01
    pace.fired(1.0, 1.2, 0)
    assert pace.step == pytest.approx(0.015)
    for _ in range(50):
        pace.fired(1.0, 3.0, 0)
    assert pace.step == 0.5


def test_a_step_that_costs_little_beside_the_data_gets_longer_only_when_it_is_very_late():
    late_s = 0.5 * LATE_BUSY_STEPS * 0.01
    quiet, busy = (Pace(PaceOptions(step_s=0.01), 4) for _ in range(2))
    quiet.fired(1.0, 1.0 + late_s, BUSY_PARTS - 1)
    busy.fired(1.0, 1.0 + late_s, BUSY_PARTS)
    assert (quiet.step, busy.step) == (pytest.approx(0.015), 0.01)
    busy.fired(1.0, 1.0 + 3 * late_s, BUSY_PARTS)
    assert busy.step == pytest.approx(0.015)


def test_messages_are_stable_after_some_steps_at_the_earliest_or_after_the_ways_through_the_tree():
    trips = RoundTrips()
    pace = Pace(PaceOptions(step_s=0.01), 64, relays=True, trips=trips)
    trips.sample(1, 0.001)
    assert pace.first_stable() == pytest.approx(0.02)
    trips.sample(2, 0.1)
    assert pace.first_stable() == pytest.approx(0.2)
    assert Pace(PaceOptions(step_s=0.01), 4, trips=trips).first_stable() == pytest.approx(0.1)


def test_steps_get_short_again_when_timers_are_in_time():
    pace = Pace(PaceOptions(step_s=0.01), 4)
    pace.fired(1.0, 2.0, 0)
    for _ in range(10):
        pace.fired(3.0, 3.001, 0)
    assert pace.step == 0.01


@pytest.mark.parametrize(
    ("unstable", "filled", "pressed"), [(99, 0.1, False), (100, 0.1, True), (1, 0.5, True), (1, 0.49, False)]
)
def test_many_unstable_bytes_or_a_full_buffer_ask_for_a_step_at_once(unstable, filled, pressed):
    pace = Pace(PaceOptions(trigger_bytes=100, pressure=0.5), 4)
    assert pace.is_pressed(unstable, filled) is pressed


def test_steps_get_longer_while_nothing_becomes_stable_and_short_at_once_when_something_does():
    pace = Pace(PaceOptions(step_s=0.01), 4)
    for _ in range(STALL_STEPS):
        pace.fired(1.0, 1.001, 0)
    assert pace.step == 0.01
    for _ in range(20):
        pace.fired(1.0, 1.001, 0)
    assert pace.step == STALLED_STEP_S
    pace.progressed()
    assert pace.step == 0.01


def test_a_long_step_that_was_asked_for_is_not_shortened_by_a_stall():
    pace = Pace(PaceOptions(step_s=0.4), 4)
    for _ in range(2 * STALL_STEPS):
        pace.fired(1.0, 1.001, 0)
    assert pace.step == 0.4
