"""Intervals against Monte Carlo, and verdicts that could turn."""

import math

import numpy as np
import pytest
from scipy import stats

from stablecast.papers.statistics import Comparison, Estimate, exactly, holds, mean_of, ratio_of, undecided

SEED = 20


def test_the_interval_of_a_mean_is_students():
    values = [3.0, 5.0, 4.5, 7.0]
    found = mean_of(values)
    low, high = stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    assert found.value == pytest.approx(np.mean(values))
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert found.seeds == 4


@pytest.mark.parametrize("paired", [True, False])
def test_the_interval_of_a_ratio_holds_the_ratio_in_about_95_of_100_samples(paired):
    rng = np.random.default_rng(SEED)
    inside = 0
    for _ in range(2000):
        below = rng.normal(10, 1.5, size=12)
        above = 2 * below + rng.normal(0, 1, size=12) if paired else rng.normal(20, 2, size=12)
        found = ratio_of(above, below, paired=paired)
        inside += found.low <= 2 <= found.high
    assert 0.93 <= inside / 2000 <= 0.975, f"seed {SEED}"


def test_pairs_that_vary_together_have_a_narrow_ratio():
    below = [1.0, 2.0, 3.0, 4.0]
    above = [2.1, 3.9, 6.1, 7.9]
    assert ratio_of(above, below, paired=True).half_width < ratio_of(above, below).half_width / 3


def test_of_one_seed_nothing_is_known():
    assert math.isinf(mean_of([3.0]).half_width)
    assert math.isinf(ratio_of([3.0], [2.0]).half_width)


def test_values_that_are_not_pairs_are_refused():
    with pytest.raises(ValueError, match="not pairs"):
        ratio_of([1.0, 2.0], [1.0, 2.0, 3.0], paired=True)


def compared(value: float, reach: float, **limits: float) -> Comparison:
    return Comparison(what="gain", found=Estimate(value, value - reach, value + reach, 6), **limits)


def test_a_verdict_could_turn_while_an_interval_crosses_its_limit():
    sure, open_one = compared(3, 0.5, least=1), compared(1.2, 0.5, least=1)
    assert holds([sure, open_one])
    assert undecided([sure]) == ""
    assert undecided([sure, open_one]) == "gain: 1.2 ± 0.5 (6 seeds) against at least 1"


def test_one_settled_miss_settles_a_miss():
    missed, open_one = compared(0.2, 0.1, least=1), compared(1.2, 0.5, least=1)
    assert not holds([missed, open_one])
    assert undecided([missed, open_one]) == ""
    assert undecided([compared(0.9, 0.3, least=1), open_one]).endswith("and 1 more")


def test_what_chance_has_no_part_in_is_settled():
    assert Comparison(what="rounds", found=exactly(3), least=3, most=3).settled
    assert str(exactly(3)) == "3"
