"""Time to stable on graphs: within D + Δ + RTT, and a run above it is found."""

import pytest
from hypercube_rows import changed, rows_of, well_formed

from stablecast.papers.hypercube import time_to_stable
from stablecast.pipeline.runs import Runs


@pytest.fixture(scope="module")
def rows():
    return rows_of(time_to_stable.points(False), graphs=1)


def test_every_protocol_is_within_the_bound(rows):
    judgement = time_to_stable.judge_time_to_stable(Runs(rows))
    assert judgement.holds
    assert judgement.measured == "8 of 8 runs within"


def test_a_message_that_takes_longer_is_a_miss(rows):
    case = time_to_stable.cases(False)[0]
    late = changed(rows, [time_to_stable.with_data(case, 0)], tts_max_us=1e6)
    assert not time_to_stable.judge_time_to_stable(late).holds


def test_a_run_that_does_not_end_is_a_miss(rows):
    case = time_to_stable.cases(False)[-1]
    stuck = changed(rows, [time_to_stable.with_data(case, 0)], completed=False)
    assert not time_to_stable.judge_time_to_stable(stuck).holds


def test_the_table_has_every_case(rows):
    table = time_to_stable.time_to_stable(Runs(rows))
    assert well_formed(table)
    assert [row[:3] for row in table.rows] == [tuple(case) for case in time_to_stable.cases(False)]


def test_the_bound_is_the_sum_of_its_terms(rows):
    found = time_to_stable.terms(
        Runs(rows)[time_to_stable.with_data(time_to_stable.cases(False)[0], 0)].result
    )
    assert found.bound == pytest.approx(found.delivery + found.gap + found.round_trip)
    assert found.median <= found.most
