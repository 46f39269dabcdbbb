"""Plain cubes: how much worse they are is measured, and the claims can be missed."""

import pytest
from hypercube_rows import changed, rows_of, well_formed

from stablecast.overlays.hypercube import hypercube
from stablecast.papers.hypercube import plain_cubes
from stablecast.papers.hypercube.plain_cubes import COMPENSATED, OF_LAST, PLAIN, round_on, with_failures
from stablecast.pipeline.runs import Runs


@pytest.fixture(scope="module")
def rows():
    small = [
        point
        for point in plain_cubes.points(False)
        if point.options.get("members", 65) == 65 and point.options.get("dimension", 2) <= 4
    ]
    return rows_of(small)


def test_rounds_end_with_compensating_links_and_not_always_without(rows):
    judgement = plain_cubes.judge_robustness(Runs(rows))
    assert judgement.holds
    assert plain_cubes.finished(Runs(rows), PLAIN, OF_LAST, 65, 1).value == 0.0
    assert plain_cubes.finished(Runs(rows), COMPENSATED, OF_LAST, 65, 5).value == 1.0


def test_a_compensated_round_that_does_not_end_is_a_miss(rows):
    stuck = changed(rows, [with_failures(COMPENSATED, OF_LAST, 65, 3, 1)], completed=False)
    assert not plain_cubes.judge_robustness(stuck).holds


def test_plain_rounds_that_always_end_are_a_miss(rows):
    plain = [point for point in plain_cubes.points(False) if point.options.get("links") == PLAIN]
    assert not plain_cubes.judge_robustness(changed(rows, plain, completed=True)).holds


def test_compensating_links_that_cost_much_are_a_miss(rows):
    assert plain_cubes.judge_cost(Runs(rows)).holds
    plain = [round_on(PLAIN, 65, graph) for graph in range(2)]
    assert not plain_cubes.judge_cost(changed(rows, plain, rtt_last_us=1000.0)).holds


def test_connectivity_is_the_least_number_of_disjoint_paths():
    assert plain_cubes.connectivity(hypercube(33, compensated=False)) == 1
    assert plain_cubes.connectivity(hypercube(33)) == 5
    assert plain_cubes.connectivity(hypercube(32)) == 5
    assert plain_cubes.connectivity(hypercube(48, compensated=False)) == 5


def test_those_that_fail_are_neighbours_in_their_own_cube():
    for kind in plain_cubes.KINDS:
        gone = plain_cubes.failing(kind, OF_LAST, 65, 5, 0)
        near = hypercube(65, compensated=kind == COMPENSATED).neighbours_of(64).tolist()
        assert set(gone) <= set(near)
        assert len(gone) == min(5, len(near))


def test_tables_and_figure_are_made(rows):
    runs = Runs(rows)
    assert all(well_formed(make(runs)) for make in plain_cubes.TABLES)
    assert [len(panel.series) for panel in plain_cubes.figure_plain_cubes(runs).panels] == [2, 4, 2]
