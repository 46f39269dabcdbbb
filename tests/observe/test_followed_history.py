"""What was seen over time: rates, times to stable, and frontiers of the busiest sources."""

import pytest
from observed_groups import group

from stablecast.engine.observed import SeenSource
from stablecast.observe.history import MOST_SAMPLES, MOST_SOURCES, History


def test_rates_are_what_happened_between_two_looks():
    history = History()
    assert history.take(group(at_s=10, data_bytes=100)).rates is None
    rates = history.take(
        group(at_s=12, received_messages=50, stable_messages=37, data_bytes=2_100, sent=4)
    ).rates
    assert (rates.received, rates.stable, rates.data_bytes, rates.sent) == (10, 5, 1_000, 2)


@pytest.mark.parametrize("change", [{"incarnation": "2"}, {"received_messages": 5}, {"at_s": 10}], ids=str)
def test_there_is_no_rate_where_counts_begin_anew_or_no_time_has_passed(change):
    history = History()
    history.take(group(at_s=10))
    assert history.take(group(**{"at_s": 11} | change)).rates is None
    fields = {"at_s": 12} | {key: value for key, value in change.items() if key != "at_s"}
    assert history.take(group(**fields)).rates is not None


def test_time_to_stable_is_the_mean_of_own_messages_or_of_what_was_let_go():
    history = History()
    first = history.take(group(at_s=1, own_stable=10, own_stable_s=1.0, releases=5, releases_s=0.5))
    assert first.to_stable_s is None
    own = history.take(group(at_s=2, own_stable=14, own_stable_s=3.0, releases=6, releases_s=9.0))
    assert (own.to_stable_s, own.is_own) == (0.5, True)
    others = history.take(group(at_s=3, own_stable=14, own_stable_s=3.0, releases=8, releases_s=9.5))
    assert (others.to_stable_s, others.is_own) == (0.25, False)
    nothing = history.take(group(at_s=4, own_stable=14, own_stable_s=3.0, releases=8, releases_s=9.5))
    assert nothing.to_stable_s is None
    assert history.times() == [0.5, 0.25]


def test_frontiers_are_kept_of_the_sources_that_sent_last():
    history = History()
    idle = [SeenSource(name=f"idle{k}", received=10, stable=10) for k in range(20)]
    history.take(group(at_s=1, sources=tuple(idle)))
    busy = SeenSource(name="busy", received=7, stable=3)
    sample = history.take(group(at_s=2, sources=(*idle, busy)))
    assert sample.frontiers["busy"] == (7, 3)
    assert len(sample.frontiers) == MOST_SOURCES
    assert "busy" not in history.take(group(at_s=3, sources=tuple(idle))).frontiers


def test_old_samples_are_forgotten():
    history = History()
    for k in range(MOST_SAMPLES + 3):
        history.take(group(at_s=k + 1))
    assert len(history.samples) == MOST_SAMPLES
