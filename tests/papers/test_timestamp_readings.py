"""Readings of the timestamp paper: what each changes, what it rests on, and the verdicts that turn."""

import pytest
from timestamp_rows import run_all

from stablecast.papers.paper import verdicts_of
from stablecast.papers.timestamp import PAPER, buffers, clocks, comparison, unequal_senders
from stablecast.papers.timestamp.readings import READINGS
from stablecast.papers.timestamp.schemes import EXPLICIT, LOGICAL, TIMESTAMP, TRANSITIVE, VECTOR
from stablecast.pipeline.runs import Runs

pytestmark = pytest.mark.xdist_group("timestamp_clocks")  # some of its runs are those of the clocks

BY_NAME = {reading.name: reading for reading in READINGS}


def changed(name, point):
    """Return the options that a reading gives a run and that the main reading does not."""
    options = BY_NAME[name].point(point).options
    return {key: value for key, value in options.items() if point.options.get(key) != value}


def test_every_choice_names_a_section_of_the_paper():
    choices = [choice for reading in READINGS for choice in reading.choices]
    assert len(READINGS) == 7
    assert all(reading.choices for reading in READINGS)
    assert [choice.decision for choice in choices if "section" not in choice.rests_on] == []


def test_what_each_reading_changes():
    timestamp, vector, explicit, logical = (
        scheme.runs_of(8, 64)[0] for scheme in (TIMESTAMP, VECTOR, EXPLICIT, LOGICAL)
    )
    assert changed("values alone", vector) == {"header_bytes": 0}
    assert changed("in data", timestamp) == {"piggyback_ms": 100.0}
    assert changed("in data", clocks.vector_run(clocks.NEAR, 0)) == {"piggyback_ms": 20.0}
    assert changed("one for each sender", vector) == {"ack_to": "senders"}
    assert changed("one for each sender", explicit) == {}
    assert changed("wide timestamps", timestamp) == {"stamp_bytes": 8}
    assert changed("wide timestamps", vector) == {}
    assert changed("clocks apart", logical) == {}
    assert changed("clocks apart", vector) == {}


def test_clocks_are_apart_by_the_way_between_the_most_distant_members():
    for links, us in clocks.LINKS_US.items():
        apart = changed("clocks apart", clocks.run_of(links, clocks.PHYSICAL, 0.0, 1))
        assert apart == {"skew_us": 4 * us}
    given = clocks.run_of(clocks.NEAR, clocks.PHYSICAL, 10.0, 1)
    assert changed("clocks apart", given) == {}


def test_equal_senders_are_those_of_the_common_rate():
    fast = unequal_senders.run_of(clocks.FAR, clocks.LOGICAL, 1000.0, 2)
    same = unequal_senders.run_of(clocks.FAR, clocks.LOGICAL, unequal_senders.RATE_PER_S, 2)
    assert BY_NAME["equal senders"].point(fast).key == same.key


def test_runs_that_ride_are_those_of_the_reading():
    (asked, _), (riding, _) = (each.runs_of(32, 32) for each in (VECTOR, VECTOR.riding()))
    assert BY_NAME["in data"].point(asked).key == riding.key


def test_what_is_ours_is_counted_apart():
    ours = {claim.id for claim in PAPER.claims if claim.ours}
    assert ours >= {"T3f", "T4f", "T4g", "T4h", "T5e", "T5f", "T7", "T8a", "T8b", "T9"}
    assert not ours & {"T1", "T2", "T4a", "T4b", "T4c", "T4d", "T4e", "T5b", "T5c", "T5d", "T5h"}


def test_a_claim_whose_runs_the_readings_lack_is_judged_under_the_main_one():
    judged = {claim.id for claim in PAPER.claims if claim.depends_on_reading and not claim.ours}
    assert judged == {"T4b", "T4c", "T4d", "T4e", "T4l", "T5c", "T5d", "T5g", "T5h"}


def test_every_run_of_a_reading_is_asked_for():
    needed = {point.key for point in (*buffers.points(True), *TRANSITIVE.runs_of(8, 64))}
    assert needed <= {point.key for point in PAPER.judged_points(True)}
    compared = {point.key for point in comparison.points(True)}
    assert not compared & {point.key for point in PAPER.judged_points(True)}


def test_logical_clocks_are_slower_where_senders_are_unequal_alone():
    asked = unequal_senders.judged_points(False)
    wanted = [BY_NAME[name].point(point) for name in ("own messages", "equal senders") for point in asked]
    runs = Runs(run_all({point.key: point for point in wanted}.values()))
    verdict = next(each for each in verdicts_of(PAPER, runs) if each.claim.id == "T5d")
    assert verdict.under["own messages"].holds
    assert verdict.under["equal senders"].measurable
    assert not verdict.under["equal senders"].holds
    assert not verdict.under["values alone"].measurable
