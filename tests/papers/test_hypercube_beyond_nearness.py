"""Overlays placed by distance: the claims hold on real runs, and are missed if placements change roles."""

import math

import pytest
from hypercube_rows import exchanged, rows_of, well_formed

from stablecast.papers.hypercube import nearness
from stablecast.papers.hypercube.nearness import CUBE, GRAPH, NEAR, RANDOM, TREE, Group, placed
from stablecast.papers.paper import verdicts_of
from stablecast.papers.registry import paper
from stablecast.pipeline.runs import MissingRun, Runs

SIZES = (100, 400)


@pytest.fixture(scope="module")
def rows():
    points = [point for point in nearness.points(False) if point.options["members"] in SIZES]
    return rows_of(points, graphs=3)


def test_both_overlays_gain_and_the_tree_gains_more(rows):
    runs = Runs(rows)
    assert nearness.judge_gain(runs).holds
    assert nearness.judge_embedding(runs).holds


def test_the_claims_are_missed_if_near_and_random_change_roles(rows):
    pairs = [
        (placed(Group(GRAPH, protocol, n), RANDOM, graph), placed(Group(GRAPH, protocol, n), NEAR, graph))
        for protocol in (TREE, CUBE)
        for n in SIZES
        for graph in range(3)
    ]
    runs = exchanged(rows, pairs)
    assert not nearness.judge_gain(runs).holds
    assert not nearness.judge_embedding(runs).holds
    assert not nearness.judge_overtaking(runs).holds


def test_overtaking_is_judged_from_400_members_on(rows):
    small = [row for row in rows if row["members"] == 100]
    with pytest.raises(MissingRun):
        nearness.judge_overtaking(Runs(small))
    judgement = nearness.judge_overtaking(Runs(rows))
    assert "at 400" in judgement.measured


def test_table_and_figure_are_made(rows):
    runs = Runs(rows)
    table = nearness.placements_by_distance(runs)
    assert well_formed(table)
    assert {row[0] for row in table.rows} == {"random graph", "transit-stub"}
    series = [each for panel in nearness.figure_nearness(runs).panels for each in panel.series]
    assert len(series) == 9
    assert all(map(math.isfinite, (value for each in series for value in each.y)))


def test_the_claims_are_ours_and_not_in_the_count():
    found = {verdict.claim.id: verdict.claim.ours for verdict in verdicts_of(paper("hypercube"), Runs([]))}
    ours = {"C10a", "C10b", "C10c", "C11a", "C11b", "C12a", "C12b"}
    assert {claim for claim, is_ours in found.items() if is_ours} >= ours
    assert not found["C9"]


def test_other_readings_and_further_graphs_are_asked_for_what_is_judged():
    assert {point.options["protocol"] for point in nearness.judged_points(True)} == {TREE, CUBE}
    assert nearness.judged_points(False) == []
    few, more = (len(nearness._with_graphs(count)) for count in (6, 12))
    assert more == 2 * few


def test_what_is_not_run_under_the_other_readings_is_judged_under_the_main_one_alone():
    verdicts = {verdict.claim.id: verdict for verdict in verdicts_of(paper("hypercube"), Runs([]))}
    assert verdicts["C12a"].under == verdicts["C12b"].under == {}
    assert len(verdicts["C10a"].under) == len(paper("hypercube").readings)
