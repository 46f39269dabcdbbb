"""Hashes, probabilities and the smallest C: claims follow the draws, and can be missed."""

import pytest
from buffering_rows import run_all, verdict, with_extra

from stablecast.papers.buffering import hashes, odds
from stablecast.papers.buffering.confidence import explains, interval
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.theory.buffering import binomial

pytestmark = pytest.mark.xdist_group("buffering_hashes")  # its runs take seconds, once


@pytest.fixture(scope="module")
def rows():
    """The quick runs, by module."""
    return {module: run_all(module.points(False)) for module in (hashes, odds)}


def test_an_interval_leaves_out_no_more_than_it_says_on_either_side():
    odds_of = binomial(1000, 0.01)
    low, high = interval(1000, 0.01, 0.99)
    assert odds_of[:low].sum() <= 0.005 < odds_of[: low + 1].sum()
    assert odds_of[high + 1 :].sum() <= 0.005 < odds_of[high:].sum()


@pytest.mark.parametrize(("trials", "probability", "ends"), [(10, 0.0, (0, 0)), (10, 1.0, (10, 10))])
def test_what_is_certain_has_no_room_for_chance(trials, probability, ends):
    assert interval(trials, probability, 0.99) == ends


def test_a_count_far_from_its_mean_is_not_explained():
    assert explains(10, 10_000, 0.001, 0.99)
    assert not explains(40, 10_000, 0.001, 0.99)
    assert not explains(0, 10_000, 0.001, 0.99)


def test_hash_claims_are_judged_on_real_decisions(rows):
    held = {claim.id: verdict(hashes.CLAIMS, claim.id, rows[hashes]) for claim in hashes.CLAIMS}
    assert held == {"B1a": True, "B1b": True, "B1c": False, "B1d": True}


def test_odds_claims_are_judged_on_real_draws(rows):
    assert all(verdict(odds.CLAIMS, claim.id, rows[odds]) for claim in odds.CLAIMS)


ALTERED = {
    "B1a another mean": (hashes, "mean", lambda _: 6.1, {"hash_name": "mix", "group": 100}),
    "B1a uneven members": (hashes, "members_z", lambda _: 9.0, {"hash_name": "mix", "group": 250}),
    "B1b another mean": (hashes, "mean", lambda _: 6.5, {"hash_name": "shuffle", "variants": 60}),
    "B1d a fair checksum": (hashes, "counts_z", lambda _: 0.0, {"hash_name": "crc16", "group": 100}),
    "B2a one count astray": (odds, "P_fail", lambda count: 2 * count + 100, {"group": 20, "loss": 0.05}),
    "B2b above the limit": (odds, "P_fail", lambda _: odds.TRIALS / 5, {"group": 100, "loss": 0.2}),
}


@pytest.mark.parametrize("what", ALTERED)
def test_a_claim_is_missed_when_the_numbers_say_otherwise(rows, what):
    module, name, new, options = ALTERED[what]
    assert not verdict(module.CLAIMS, what.split()[0], with_extra(rows[module], name, new, **options))


def test_too_many_violations_miss_the_claim_on_independent_losses(rows):
    changed = [row | {"violations": 60} if row["violations"] is not None else row for row in rows[odds]]
    assert not verdict(odds.CLAIMS, "B2c", changed)


def test_tables_and_figures_are_made(rows):
    for module in (hashes, odds):
        for table in (make(Runs(rows[module])) for make in module.TABLES):
            assert table.rows
            assert {len(row) for row in table.rows} == {len(table.columns)}
    (figure,) = (make(Runs(rows[hashes])) for make in hashes.FIGURES)
    assert {series.name for series in figure.panels[0].series} == {"mix", "shuffle", "coins"}


def test_without_draws_nothing_is_judged_but_what_is_computed():
    for claim in (*hashes.CLAIMS, *odds.CLAIMS):
        if claim.id != "B3":
            with pytest.raises(MissingRun):
                claim.judge(Runs([]))
