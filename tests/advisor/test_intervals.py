"""Prediction intervals hold as often as they say."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from stablecast.advisor.intervals import ENOUGH, Interval, predict, student, surely_worse

TRIALS = 2000


def coverage(runs, draw, rng):
    held = 0
    for _ in range(TRIALS):
        interval = predict([draw(rng) for _ in range(runs)])
        held += interval.holds(draw(rng))
    return held / TRIALS


@pytest.mark.parametrize("runs", [4, 12, ENOUGH, 79])
def test_95_of_100_further_log_normal_values_are_in_it(runs):
    rng = random.Random(runs)
    assert 0.93 < coverage(runs, lambda rng: rng.lognormvariate(3, 0.3), rng) < 0.975


@pytest.mark.parametrize("runs", [ENOUGH, 79])
def test_with_many_runs_the_distribution_does_not_matter(runs):
    rng = random.Random(runs)
    assert 0.93 < coverage(runs, lambda rng: rng.choice([1, 50]) * (1 + rng.random()), rng) < 0.975


def test_equal_runs_are_in_their_own_interval():
    assert predict([20.4] * 79).holds(20.4)
    assert predict([20.4] * 5).holds(20.4)


def test_one_run_tells_nothing():
    interval = predict([3.0])
    assert interval.low == 0.0
    assert interval.high == float("inf")


@given(st.lists(st.floats(0.01, 1e6), min_size=2, max_size=100))
def test_the_median_is_between_the_ends(values):
    interval = predict(values)
    assert interval.low <= interval.mid <= interval.high


@given(st.lists(st.floats(0.01, 1e6), min_size=2, max_size=60), st.floats(0.01, 100))
def test_another_unit_changes_nothing_else(values, factor):
    one, other = predict(values).scaled(factor), predict([value * factor for value in values])
    assert other.low == pytest.approx(one.low, rel=1e-6)
    assert other.high == pytest.approx(one.high, rel=1e-6)


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 10, 40])
def test_student_is_close_to_the_exact_quantile(freedom):
    assert student(0.95, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=0.01)


def test_an_uncertain_factor_widens_an_interval():
    assert Interval(10, 8, 12, 79).times(Interval(1.1, 0.9, 1.5, 0)) == Interval(11.0, 7.2, 18.0, 79)


def test_pairs_tell_a_small_difference_that_noise_would_hide():
    rng = random.Random(1)
    noise = [rng.lognormvariate(0, 0.5) for _ in range(8)]
    assert surely_worse([1.1 * value for value in noise], noise)
    assert not surely_worse(noise, [1.1 * value for value in noise])
    assert not surely_worse(noise, noise)
    assert not surely_worse(noise[:2], [value / 9 for value in noise[:2]])
