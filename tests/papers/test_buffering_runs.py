"""Repair, omissions, space, places, reduction, crashes, views: claims follow the runs, and can be missed."""

import math

import pytest
from buffering_rows import altered, run_all, verdict, with_extra

from stablecast.papers.buffering import (
    PAPER,
    crashes,
    networks,
    omission,
    places,
    readings,
    reduction,
    repair,
    space,
    space_figures,
    views,
)
from stablecast.papers.buffering.tree_odds import breadth_first_tree
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.simulate.topologies.registry import topology

pytestmark = pytest.mark.xdist_group("buffering_runs")  # its runs take seconds, once

MODULES = (repair, omission, space, places, reduction, crashes, views)
SMALL = {repair: MODULES[:1], omission: (omission,), space: (space,), places: (places,)}
SMALL |= {reduction: (space, reduction), crashes: (crashes,), views: (views,)}
"""The modules whose runs a module's claims need."""
MISSED = {"B5d"}


@pytest.fixture(scope="module")
def rows():
    """The quick runs, by module."""
    own = {module: run_all(module.points(False)) for module in MODULES}
    return {module: [row for part in SMALL[module] for row in own[part]] for module in MODULES}


@pytest.mark.parametrize("members", [20, 63, 64, networks.HUNDRED, 500])
@pytest.mark.parametrize("children", [2, 4])
def test_trees_have_as_many_members_as_the_paper_says_and_are_filled_level_by_level(members, children):
    parents, holders = networks.sending_tree(networks.TREE, members, 0, children)
    assert parents == breadth_first_tree(children, members)
    assert holders == tuple(range(members))


def point(policy=networks.HASHED, **options):
    return networks.of(networks.TREE, networks.HUNDRED, policy, rate_per_s=25.0, **options)


def test_the_main_reading_is_section_6_with_hash_and_multicast_retransmission():
    options = point().options
    assert options["policy"] == "bufferers"
    assert "no_recast" not in options
    assert (options["nodes"], options["copies"]) == (100, pytest.approx(5.85, abs=0.01))
    assert PAPER.readings[0].point(point()) is point()


def changed(name, asked):
    """Return what a reading changes of a run, old and new."""
    reading = next(each for each in PAPER.readings if each.name == name)
    found = reading.point(asked)
    assert found.task == asked.task
    names = sorted({*asked.options, *found.options})
    pairs = {each: (asked.options.get(each), found.options.get(each)) for each in names}
    return {each: pair for each, pair in pairs.items() if pair[0] != pair[1]}


CHANGES = {
    "repairs alone": {"no_recast": (None, True)},
    "two buffers": {"policy": ("bufferers", "two-buffers")},
    "push too": {"no_push": (True, None)},
    "C by the tree": {"copies": (5.85, 4.887)},
    "wide tree": {"copies": (5.85, 5.443), "degree": (2, 4), "height": (6, 4)},
}


def test_readings_change_what_they_say_and_nothing_else():
    for name, wanted in CHANGES.items():
        found = changed(name, point())
        assert found == {
            key: pytest.approx(pair, abs=1e-9) if key == "copies" else pair for key, pair in wanted.items()
        }
    assert set(CHANGES) == {each.name for each in readings.READINGS[1:]}


def test_readings_change_figures_5_and_6_too_and_leave_a_star_its_c():
    played = places.points(False)[-1]
    assert set(changed("C by the tree", played)) == {"copies"}
    star = networks.star(100, networks.HASHED, messages=10, copies=6.5)
    assert changed("C by the tree", star) == changed("wide tree", star) == {}


def test_what_is_ours_is_counted_apart():
    ours = {claim.id for claim in PAPER.claims if claim.ours}
    assert ours == {"B5d", "B8d", "B8e", "B8f", "B9a", "B9b"}


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
    "B6a repair takes as long in a small group": (
        space,
        "repair_rounds_max",
        lambda _: 7,
        {"policy": "rounds"},
    ),
    "B6a the optimised one grows": (
        space,
        "buffer_peak_mean",
        lambda most: 3 * most,
        HASHED | {"nodes": 100},
    ),
    "B6b the optimised one grows": (
        space,
        "buffer_peak_mean",
        lambda most: 3 * most,
        HASHED | {"members": 100, "topology": "transit-stub"},
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
    "B10a views matter": (views, "violations", lambda _: 20, {"view_missing": 0.1}),
    "B10b who joins misses messages": (views, "violations", lambda _: 20, {"detect_spread_ms": 500.0}),
    "B9b one is not stable": (crashes, "violations", lambda _: 1, {"policy": "until-stable"}),
}


@pytest.mark.parametrize("what", ALTERED)
def test_a_claim_is_missed_when_the_runs_say_otherwise(rows, what):
    module, column, new, options = ALTERED[what]
    assert not verdict(module.CLAIMS, what.split()[0], altered(rows[module], column, new, **options))


def test_that_the_original_grows_is_not_judged_by_how_long_we_have_it_keep_messages(rows):
    held = altered(rows[space], "buffer_peak_mean", lambda _: 100.0, policy="rounds")
    for name in ("B6a", "B6b"):
        assert verdict(space.CLAIMS, name, held)


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
