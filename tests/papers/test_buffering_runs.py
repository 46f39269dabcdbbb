"""Repair, omissions, space, places, reduction and crashes: claims follow the runs, and can be missed."""

import math

import pytest
from buffering_rows import altered, run_all, verdict, with_extra

from stablecast.papers.buffering import (
    PAPER,
    crashes,
    networks,
    omission,
    places,
    reduction,
    repair,
    space,
    space_figures,
)
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.simulate.topologies.registry import topology

pytestmark = pytest.mark.xdist_group("buffering_runs")  # its runs take seconds, once

MODULES = (repair, omission, space, places, reduction, crashes)
SMALL = {repair: MODULES[:1], omission: (omission,), space: (space,), places: (places,)}
SMALL |= {reduction: (space, reduction), crashes: (crashes,)}
"""The modules whose runs a module's claims need."""
MISSED = {"B5d"}


@pytest.fixture(scope="module")
def rows():
    """The quick runs, by module."""
    own = {module: run_all(module.points(False)) for module in MODULES}
    return {module: [row for part in SMALL[module] for row in own[part]] for module in MODULES}


@pytest.mark.parametrize("members", [23, 47, networks.HUNDRED, 127])
def test_trees_have_as_many_members_as_they_are_called_by(members):
    parents, holders = networks.sending_tree(networks.TREE, members, 0)
    assert len(parents) == len(holders) == members
    assert parents.count(0) == 2


def test_the_sending_tree_of_a_graph_keeps_the_distances_from_member_0():
    parents, holders = networks.sending_tree(networks.GRAPH, 47, 3)
    built = topology("random-graph", members=47, edge_probability=round(4 / 47, 6), seed=3)
    depth = [0]
    for parent in parents[1:]:
        depth.append(depth[parent] + 1)
    assert sorted(depth) == sorted(int(each) for each in built.tree.depth)
    assert len(holders) == 47


def test_members_on_the_transit_stub_network_are_fewer_than_its_nodes():
    parents, holders = networks.sending_tree(networks.TRANSIT, 47, 1)
    assert (len(parents), len(holders), holders[0]) == (networks.TRANSIT_NODES, 47, 0)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_claims_are_judged_on_real_runs(rows, module):
    held = {claim.id: verdict(module.CLAIMS, claim.id, rows[module]) for claim in module.CLAIMS}
    assert {name for name, holds in held.items() if not holds} == MISSED & set(held)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_tables_and_figures_are_made(rows, module):
    runs = Runs(rows[module])
    for table in (make(runs) for make in module.TABLES):
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}
    makers = space_figures.FIGURES if module is space else module.FIGURES
    for figure in (make(runs) for make in makers):
        for series in (each for panel in figure.panels for each in panel.series):
            assert all(map(math.isfinite, (*series.x, *series.y)))


HASHED, BOTH = {"policy": "bufferers"}, {"policy": "two-buffers"}
ALTERED = {
    "B4a nothing is passed on": (repair, "forwards", lambda _: 0, HASHED),
    "B4a a repair takes five": (repair, "rounds", lambda _: 5, HASHED),
    "B4b too many are missed": (repair, "violations", lambda _: 30, HASHED),
    "B4c many ranges": (repair, "sent_bytes", lambda total: total + 10**6, HASHED),
    "B5a an omission is lost": (omission, "violations", lambda _: 1, BOTH | {"members": 100}),
    "B5a nothing is multicast again": (omission, "recasts", lambda _: 0, BOTH | {"members": 400}),
    "B5b one is lost on the tree": (omission, "violations", lambda _: 1, BOTH | {"height": 6}),
    "B6a the original shrinks": (
        space,
        "buffer_peak_mean",
        lambda most: most / 2,
        {"policy": "rounds", "height": 6, "rate_per_s": 25.0},
    ),
    "B6b the optimised one grows": (
        space,
        "buffer_peak_mean",
        lambda most: 3 * most,
        HASHED | {"members": 95, "topology": "transit-stub"},
    ),
    "B6c a faster sender needs less": (
        space,
        "buffer_peak_mean",
        lambda _: 1.0,
        HASHED | {"rate_per_s": 75.0},
    ),
    "B6d loss costs nothing": (space, "buffer_peak_mean", lambda _: 1.0, HASHED | {"link_loss": 0.015}),
    "B8a half of the reduction": (reduction, "buffer_mean", lambda mean: 2.5 * mean, HASHED),
    "B8b too many violations": (reduction, "violations", lambda _: 20, HASHED | {"link_loss": 0.001}),
    "B8c too many violations": (reduction, "violations", lambda _: 40, HASHED | {"link_loss": 0.015}),
    "B8d too many violations": (reduction, "violations", lambda _: 40, HASHED | {"link_loss": 0.015}),
    "B8e a large group keeps more": (reduction, "buffer_mean", lambda _: 10.0, HASHED | {"height": 9}),
    "B8f too many violations": (reduction, "violations", lambda _: 40, HASHED | {"height": 9}),
    "B9a crashes cost more": (crashes, "violations", lambda _: 40, HASHED | {"fail_random": 20}),
    "B9b one is not stable": (crashes, "violations", lambda _: 1, {"policy": "until-stable"}),
}


@pytest.mark.parametrize("what", ALTERED)
def test_a_claim_is_missed_when_the_runs_say_otherwise(rows, what):
    module, column, new, options = ALTERED[what]
    assert not verdict(module.CLAIMS, what.split()[0], altered(rows[module], column, new, **options))


PLACED = {
    "B7a one member holds too much": ("peak 7", lambda _: 90.0),
    "B7a one member holds nothing": ("peak 7", lambda _: 0.0),
    "B7b too many in one place": ("places 1", lambda _: 90.0),
    "B7c what is kept nowhere is lost": ("violations", lambda _: 50.0),
}


@pytest.mark.parametrize("what", PLACED)
def test_claims_on_places_are_missed_when_the_numbers_say_otherwise(rows, what):
    name, new = PLACED[what]
    changed = with_extra(rows[places], name, new, policy="bufferers")
    assert not verdict(places.CLAIMS, what.split()[0], changed)


def test_requests_that_do_not_grow_would_hold(rows):
    fixed = altered(rows[omission], "hops_by_kind", lambda hops: dict(hops) | {"RECAST_REQUEST": 60})
    assert verdict(omission.CLAIMS, "B5d", fixed)
    many = altered(rows[omission], "hops_by_kind", lambda hops: dict(hops) | {"RECAST_REQUEST": 10**5})
    assert not verdict(omission.CLAIMS, "B5c", many)


def test_without_runs_nothing_is_judged():
    for claim in PAPER.claims:
        if claim.id != "B3":
            with pytest.raises(MissingRun):
                claim.judge(Runs([]))


def test_quick_is_a_part_of_full_and_no_point_comes_twice():
    full, quick = ([point.key for point in PAPER.points(which)] for which in (True, False))
    assert len(set(full)) == len(full)
    assert set(quick) <= set(full)
