"""Skew, drift and silence: claims about time to stable follow the runs, and altered runs are noticed."""

import pytest
from timestamp_rows import change, check_tables_and_figures, plus, ran, run_all, times, verdict

from stablecast.papers.timestamp import clock_figures, clocks, slowest_sender, unequal_senders
from stablecast.pipeline.runs import MissingRun, Runs

pytestmark = pytest.mark.xdist_group("timestamp_clocks")  # its runs take seconds, once

FIGURES = {
    clocks: clock_figures.FIGURES,
    unequal_senders: unequal_senders.FIGURES,
    slowest_sender: slowest_sender.FIGURES,
}
FAR_US = clocks.LINKS_US[clocks.FAR]


@pytest.fixture(scope="module")
def rows():
    """The quick runs of all modules."""
    return {module: run_all(module.points(False)) for module in FIGURES}


def skewed(clock, skew_ms, **options):
    return ran("timestamp", clock=clock, skew_us=skew_ms * 1000, **options)


def slower(factor, where):
    """Multiply mean and longest times."""
    alter_mean, alter_most = (change(name, times(factor), where) for name in ("tts_mean_us", "tts_max_us"))
    return lambda rows: alter_most(alter_mean(rows))


def test_claims_are_judged_on_real_runs(rows):
    holding = {clocks: ("T5c", "T5e", "T5g"), unequal_senders: ("T5d",), slowest_sender: ("T5h",)}
    for module, names in holding.items():
        assert [name for name in names if not verdict(module.CLAIMS, name, rows[module])] == []
    assert not verdict(clocks.CLAIMS, "T5f", rows[clocks])


ALTERED = {
    "T5c skew costs nothing": (
        clocks,
        change("tts_max_us", lambda _: 50_000.0, ran("timestamp", clock="physical", propagation_us=1000.0)),
    ),
    "T5c more than the skew": (
        clocks,
        change("tts_max_us", plus(50_000), skewed("physical", 10.0, propagation_us=FAR_US)),
    ),
    "T5c the mean does not rise": (
        clocks,
        change("tts_mean_us", times(0.1), skewed("physical", 320.0)),
    ),
    "T5d logical clocks are as fast": (
        unequal_senders,
        slower(0.9, ran("timestamp", clock="logical", propagation_us=1000.0)),
    ),
    "T5d physical clocks are slower over long links": (
        unequal_senders,
        slower(1.5, ran("timestamp", clock="physical", propagation_us=FAR_US)),
    ),
    "T5e hybrid clocks are slower": (clocks, slower(1.1, skewed("hybrid", 20.0))),
    "T5g drift costs more than it makes": (
        clocks,
        change("tts_max_us", plus(30_000), ran("timestamp", drift_ppm=1000.0)),
    ),
    "T5g drift costs nothing": (
        clocks,
        change("tts_max_us", lambda _: 40_000.0, lambda options: "drift_ppm" in options),
    ),
    "T5h silence costs nothing": (
        slowest_sender,
        change("tts_mean_us", lambda _: 30_000.0, ran("timestamp")),
    ),
    "T5h silence costs more than t_send": (
        slowest_sender,
        change("tts_mean_us", times(1.5), ran("timestamp", send_every_ms=500.0)),
    ),
    "T5h vectors are slower": (slowest_sender, change("tts_mean_us", times(2), ran("vector"))),
}


@pytest.mark.parametrize("what", ALTERED)
def test_a_claim_is_missed_when_the_runs_say_otherwise(rows, what):
    module, alter = ALTERED[what]
    assert not verdict(module.CLAIMS, what.split()[0], alter(rows[module]))


def test_the_missed_claim_would_hold_on_other_runs(rows):
    assert verdict(clocks.CLAIMS, "T5f", slower(1.3, ran("timestamp", clock="logical"))(rows[clocks]))


@pytest.mark.parametrize("module", FIGURES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_tables_and_figures_are_made(rows, module):
    check_tables_and_figures(module, rows[module], figures=FIGURES[module])


def test_the_table_has_a_row_for_each_skew_and_kind_of_link(rows):
    skew, drift = (make(Runs(rows[clocks])) for make in clocks.TABLES)
    assert len(skew.rows) == len(clocks.LINKS_US) * len(clocks.SKEWS_MS)
    assert len(drift.rows) == len(clocks.DRIFTS_PPM)


def test_a_run_that_did_not_finish_is_not_measured(rows):
    stuck = change("completed", lambda _: False, skewed("physical", 80.0))(rows[clocks])
    with pytest.raises(MissingRun, match="did not finish"):
        clocks.judge_skew(Runs(stuck))


def test_senders_clocks_are_apart_by_no_more_than_the_group_s_and_that_by_no_more_than_the_skew():
    for seed in range(8):
        senders, group = clocks.drawn_skews_ms(seed, 40.0)
        assert 0 < senders <= group <= 40.0


@pytest.mark.parametrize("module", FIGURES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_quick_is_a_part_of_full_and_no_point_comes_twice(module):
    full, quick = ([point.key for point in module.points(which)] for which in (True, False))
    assert len(set(full)) == len(full)
    assert len(set(quick)) == len(quick)
    assert set(quick) < set(full)


@pytest.mark.parametrize("module", FIGURES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_without_runs_nothing_is_judged(module):
    for claim in module.CLAIMS:
        with pytest.raises(MissingRun):
            claim.judge(Runs([]))


def test_each_sender_is_the_fast_one_by_turns():
    rates = [
        unequal_senders.run_of(clocks.NEAR, clocks.PHYSICAL, 1000.0, seed).options["first_rates_per_s"]
        for seed in range(clocks.SENDERS)
    ]
    assert {text.count(",") for text in rates} == set(range(clocks.SENDERS))
    assert all(text.endswith("1000") and set(text.split(",")[:-1]) <= {"9"} for text in rates)


def test_equal_rates_are_not_named():
    point = unequal_senders.run_of(clocks.NEAR, clocks.LOGICAL, unequal_senders.RATE_PER_S, 1)
    assert "first_rates_per_s" not in point.options
