"""Crashes in mid-round: what they cost is measured against the same round without them."""

import pytest
from hypercube_rows import changed, rows_of, well_formed

from stablecast.papers.hypercube import recovery
from stablecast.papers.hypercube.grid import FIRST, LAST, MESSAGES, of
from stablecast.papers.hypercube.recovery import ANYONE, CUBE, MIDDLE, WITH_FIRST, Crash, crashed
from stablecast.papers.hypercube.trials import estimate
from stablecast.pipeline.runs import Runs

SLOW = Crash(100, WITH_FIRST, MIDDLE, 1, 50.0)


@pytest.fixture(scope="module")
def rows():
    return rows_of(recovery.points(False))


def test_cubefulldist_loses_less_than_a_successor_takes(rows):
    runs = Runs(rows)
    assert recovery.judge_succession(runs).holds
    assert recovery.judge_little(runs).holds


@pytest.mark.parametrize("protocol", ["coord", "s_coord"])
def test_a_successor_waits_for_the_detector_and_asks_everyone_anew(rows, protocol):
    runs = Runs(rows)
    assert recovery.lost(runs, protocol, SLOW, LAST).value > 50.0
    assert recovery.lost(runs, protocol, SLOW, MESSAGES).value > 150


def test_the_middle_is_in_the_middle(rows):
    for protocol, at in recovery.MIDDLE_MS[100].items():
        first = estimate(Runs(rows), [of(protocol, 100, graph) for graph in range(2)], FIRST)
        assert 0.3 < at / first.value < 0.7


def test_a_slow_hypercube_is_a_miss(rows):
    cases = [Crash(100, who, MIDDLE, 5, 10.0) for who in (ANYONE, WITH_FIRST)]
    late = changed(rows, [crashed(CUBE, c, graph) for c in cases for graph in range(2)], rtt_last_us=90_000.0)
    assert not recovery.judge_succession(late).holds
    assert not recovery.judge_little(late).holds


def test_a_round_that_does_not_end_is_a_miss(rows):
    stuck = changed(rows, [crashed("s_coord", SLOW, 1)], completed=False)
    assert not recovery.judge_succession(stuck).holds


def test_the_same_members_crash_in_all_protocols():
    told = {crashed(p, SLOW._replace(moment=recovery.EARLY), 3).options["faults"] for p in recovery.PROTOCOLS}
    assert told == {"crash 0 at 0.5"}


def test_table_and_figure_are_made(rows):
    runs = Runs(rows)
    assert well_formed(recovery.recovery(runs))
    assert all(len(panel.series) == 3 for panel in recovery.figure_recovery(runs).panels)
