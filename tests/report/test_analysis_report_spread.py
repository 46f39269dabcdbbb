import numpy as np
import pytest

from stablecast.report.analysis_spread import Spread


@pytest.fixture
def times():
    return np.random.default_rng(7).lognormal(10, 1.5, 20_000).astype(np.int64)


def filled(times, parts=1) -> Spread:
    spread = Spread()
    for part in np.array_split(times, parts):
        spread.add(part)
    return spread


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 1.0])
def test_percentiles_are_right_to_the_width_of_a_bin(times, share):
    exact = np.quantile(times, share, method="inverted_cdf")
    assert filled(times).percentile(share) == pytest.approx(exact, rel=0.012)


def test_the_parts_do_not_matter(times):
    whole, parts = filled(times), filled(times, 7)
    assert whole.percentile(0.9) == parts.percentile(0.9)
    assert (whole.count, whole.largest, whole.smallest) == (20_000, times.max(), times.min())
    assert parts.mean == pytest.approx(times.mean())


def test_the_cumulative_part_grows_from_nothing_to_all(times):
    at, parts = filled(times).cumulative()
    assert (parts[0], parts[-1]) == (0, 1)
    assert (np.diff(parts) > 0).all()
    middle = len(at) // 2
    assert parts[middle] == pytest.approx((times < at[middle]).mean(), abs=1e-3)


@pytest.mark.parametrize("bins", [1, 10, 48])
def test_every_time_is_in_one_bin_of_the_histogram(times, bins):
    edges, parts = filled(times).histogram(low=times.min(), high=times.max(), bins=bins)
    assert parts.sum() == pytest.approx(1)
    assert len(edges) == len(parts) + 1 <= bins + 1
    assert edges[0] <= times.min() <= times.max() <= edges[-1] * 1.0001
    assert np.diff(np.log10(edges)) == pytest.approx(np.diff(np.log10(edges))[0])


def test_times_of_nothing_or_less_are_counted_and_stand_at_the_left_end():
    spread = filled(np.array([-5, 0, 0, 1000]))
    assert (spread.count, spread.instant, spread.smallest) == (4, 3, -5)
    assert spread.percentile(0.5) == 0
    assert spread.percentile(1.0) == 1000
    at, parts = spread.cumulative()
    assert at[0] == 1
    assert parts[-1] == 1


def test_nothing_at_all():
    spread = filled(np.zeros(0, dtype=np.int64))
    assert (spread.count, spread.mean, spread.percentile(0.5)) == (0, 0, 0)
    assert spread.cumulative()[0].size == 0
