"""The two-part search finds the flat portion of a curve, offline and while rounds go by."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.theory.step_search import DOUBLINGS_MAX, StepController, near_minimum, window

untimed = settings(deadline=None)  # a busy machine is not a failure
places = st.floats(0.5, 19.5)
slopes = st.floats(0.1, 50)


def valley(place, fall, rise, floor=1.0):
    """Fall to the place, rise behind it."""
    return lambda x: floor + (fall * (place - x) if x < place else rise * (x - place))


def printed_part_1(f, low, high, gap):
    """Figure 10, line by line, with the golden ratio unrounded."""
    a, b, ratio = low, high, (math.sqrt(5) - 1) / 2
    while b - a > gap:
        d = b - a
        m1, m2 = a + (1 - ratio) * d, a + ratio * d
        if f(m1) >= f(m2):
            a = m1
        else:
            b = m2
    return (a + b) / 2


# Part I


@untimed
@given(places, slopes, slopes, st.floats(0.01, 5))
def test_part_one_comes_as_near_to_the_minimum_as_the_gap_asks(place, fall, rise, gap):
    found = near_minimum(valley(place, fall, rise), 0, 20, gap)
    assert abs(found.step - place) <= gap / 2 + 1e-6
    assert found.value == valley(place, fall, rise)(found.step)


@untimed
@given(places, slopes, slopes)
def test_part_one_is_the_printed_one_with_fewer_measurements(place, fall, rise):
    asked = []

    def f(x):
        asked.append(x)
        return valley(place, fall, rise)(x)

    found = near_minimum(f, 0, 20, 2)
    assert found.step == pytest.approx(printed_part_1(valley(place, fall, rise), 0, 20, 2))
    assert found.evaluations == len(asked) == 2 + 4 + 1  # five stages, all but the first reuse one
    assert min(asked) > 0


def test_part_one_of_a_range_within_the_gap_measures_its_middle():
    found = near_minimum(lambda x: x, 4, 5, 2)
    assert (found.step, found.value, found.evaluations) == (4.5, 4.5, 1)


def test_part_one_ends_even_with_a_gap_below_the_resolution_of_numbers():
    assert near_minimum(lambda x: (x - 3) ** 2, 0, 20, 1e-300).evaluations < 2000


# Part II


def test_part_two_finds_the_window_of_the_papers_example():
    times = {x: 28.6 if 4 <= x <= 10 else 40.0 for x in range(-20, 30)}
    assert window(times.__getitem__, 9, 28.6, 0.1, 1).low == 4
    assert window(times.__getitem__, 9, 28.6, 0.1, 1).high == 10


@untimed
@given(places, slopes, slopes, st.floats(0.02, 0.5), st.floats(0.05, 2))
def test_part_two_ends_within_one_stride_of_the_band(place, fall, rise, share, stride):
    f = valley(place, fall, rise)
    found = window(f, place, f(place), share, stride)
    for end, beyond in ((found.low, found.low - stride), (found.high, found.high + stride)):
        assert end == place or abs(f(end) - f(place)) < share * f(place)
        assert beyond <= 0 or abs(f(beyond) - f(place)) >= share * f(place) * (1 - 1e-9)


@untimed
@given(st.floats(0.1, 100), st.floats(0.01, 10))
def test_part_two_never_asks_for_a_step_outside_the_range(step, stride):
    def f(x):
        assert 0 < x <= 120
        return 1.0

    found = window(f, step, 1.0, 0.1, stride, high=120)
    assert 0 < found.low <= stride
    assert 120 - stride <= found.high <= 120


def test_part_two_of_a_level_curve_ends():
    found = window(lambda x: 7.0, 10, 7.0, 0.1, 1)
    assert found.high >= 2**DOUBLINGS_MAX
    assert found.evaluations < 4 * DOUBLINGS_MAX


def test_the_band_is_relative_not_absolute_as_printed():
    f = valley(10, 1, 1, floor=100)
    assert window(f, 10, 100, 0.045, 1).high == 14
    assert window(lambda x: f(x) / 1000, 10, 0.1, 0.045, 1).high == 14


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: near_minimum(abs, -1, 20, 2),
        lambda: near_minimum(abs, 5, 5, 2),
        lambda: near_minimum(abs, 0, math.inf, 2),
        lambda: near_minimum(abs, 0, 20, 0),
        lambda: near_minimum(abs, 0, 20, math.nan),
        lambda: window(abs, 0, 1, 0.1, 1),
        lambda: window(abs, 9, 0, 0.1, 1),
        lambda: window(abs, 9, 1, 0, 1),
        lambda: window(abs, 9, 1, 0.1, 0),
        lambda: window(abs, 9, 1, 0.1, 1, low=9),
        lambda: window(abs, 9, 1, 0.1, 1, high=8),
        lambda: StepController(0, 20, 2, rounds=0),
        lambda: StepController(0, 20, 2, patience=0),
        lambda: StepController(0, 20, 2, skip=-1),
        lambda: StepController(0, 20, 2).round_finished(0, 1),
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(InvalidInput):
        wrong()


# Online


def settle(controller, f, most=500):
    """Let rounds go by until a window is found."""
    for _ in range(most):
        if controller.window is not None:
            return
        controller.round_finished(f(controller.step), controller.step)
    raise AssertionError("no window found")


@untimed
@given(places, slopes, slopes)
def test_without_noise_the_controller_finds_what_the_search_finds(place, fall, rise):
    f = valley(place, fall, rise, floor=20)
    controller = StepController(0, 20, 2)
    settle(controller, f)
    best = near_minimum(f, 0, 20, 2)
    around = window(f, best.step, best.value, 0.1, 1, high=20)
    assert controller.step == best.step
    assert controller.window == (around.low, around.high)


@untimed
@given(st.floats(3, 17), st.integers(0, 1000))
def test_with_noise_it_comes_to_a_step_that_is_nearly_as_good(place, seed):
    f, chance = valley(place, 2, 2, floor=20), random.Random(seed)
    controller = StepController(0, 20, 2, rounds=5)
    settle(controller, lambda x: f(x) * chance.gauss(1, 0.03))
    assert f(controller.step) < 1.25 * f(place)
    low, high = controller.window
    assert low <= controller.step <= high


@untimed
@given(st.floats(3, 8), st.floats(12, 17), st.integers(1, 5))
def test_it_searches_again_when_conditions_change_and_not_before(before, after, patience):
    controller = StepController(0, 20, 2, patience=patience)
    old, new = (valley(place, 3, 3, floor=20) for place in (before, after))
    settle(controller, old)
    for _ in range(50):
        controller.round_finished(old(controller.step), controller.step)
    assert controller.searches == 1
    for _ in range(patience):
        assert controller.searches == 1
        controller.round_finished(new(controller.step), controller.step)
    assert controller.searches == 2
    assert controller.window is None
    settle(controller, new)
    assert abs(controller.step - after) <= 1


def test_single_rounds_outside_the_band_are_no_change():
    controller = StepController(0, 20, 2, patience=3)
    f = valley(9, 2, 2, floor=28)
    settle(controller, f)
    for k in range(60):
        controller.round_finished(f(controller.step) * (2 if k % 3 else 1), controller.step)
    assert controller.searches == 1


def test_rounds_of_another_step_are_passed_over():
    controller = StepController(0, 20, 2, rounds=1)
    first = controller.step
    assert controller.round_finished(1.0, first + 1) == first
    assert controller.round_finished(30.0, first) != first


@untimed
@given(places, st.integers(1, 3))
def test_rounds_after_a_change_can_be_left_to_drain_the_queues(place, skip):
    f = valley(place, 2, 2, floor=20)
    careful, plain = StepController(0, 20, 2, skip=skip), StepController(0, 20, 2)
    before = [math.nan]  # the step of the round before

    def held_up(x):
        slow = 5 if x != before[0] else 1
        before[0] = x
        return slow * f(x)

    settle(plain, f)
    settle(careful, held_up)
    assert (careful.step, careful.window) == (plain.step, plain.window)


def test_a_step_that_was_rounded_on_its_way_is_the_same_step():
    controller = StepController(0, 20, 2, rounds=1)
    asked = controller.step
    assert controller.round_finished(30.0, round(asked, 9)) != asked


class Backlog:
    """Rounds on links without a limit: a step below ``carried`` leaves more behind with each round."""

    def __init__(self, carried, floor=2.8):
        self.carried, self.floor, self.left = carried, floor, 0.0

    def round_s(self, step):
        took = max(self.floor * step, self.floor * self.carried) + self.left
        self.left = max(0.0, self.left + took * (self.carried / step - 1))
        return took


@pytest.mark.parametrize("low", [0.0, 0.01, 0.5])
@pytest.mark.parametrize("carried", [2.0, 9.0, 15.0])
def test_a_lower_bound_far_off_does_not_make_the_queues_grow_without_end(low, carried):
    group = Backlog(carried)
    controller = StepController(low, 20, 2, skip=1)
    times = []
    while controller.window is None and len(times) < 200:
        times.append(group.round_s(controller.step))
        controller.round_finished(times[-1], controller.step)
    assert controller.window is not None
    assert 0.97 * carried <= controller.step <= carried + 2.5
    assert max(times) < 50 * group.floor * carried
    assert group.left < group.floor * carried


def test_queues_that_grow_because_links_got_slower_are_drained_before_the_next_search():
    group = Backlog(9.0)
    controller = StepController(0.01, 20, 2, skip=1)
    settle(controller, group.round_s)
    group.carried, times, settled = 13.5, [], []
    for _ in range(200):
        times.append(group.round_s(controller.step))
        controller.round_finished(times[-1], controller.step)
        if controller.searches > 1 and controller.window is not None:
            settled.append(controller.step)
    assert max(times) < 15 * group.floor * group.carried
    assert settled
    assert all(13 <= step <= 16 for step in settled)
