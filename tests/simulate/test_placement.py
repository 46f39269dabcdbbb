"""Members that are numbered by distance, and hypercubes without compensating links, in both drivers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_keystone_gossip import compare

from stablecast.errors import InvalidInput
from stablecast.protocols import protocol
from stablecast.simulate import simulate
from stablecast.simulate.options import Options
from stablecast.simulate.prepare import place_members

LINKED = ("coord", "coordp", "cubefulldist", "s_coord", "s_coordp")
GRAPH: dict[str, Any] = {"topology": "random-graph", "members": 30, "edge_probability": 0.1, "seed": 3}


@pytest.mark.parametrize("name", LINKED)
def test_both_drivers_place_by_distance_alike(name: str) -> None:
    assert compare(events_max=200_000, protocol=name, placement="near", **GRAPH).completed


@pytest.mark.parametrize("members", [1, 2, 3, 5, 9, 17])
def test_both_drivers_run_plain_cubes_alike(members: int) -> None:
    options = {"protocol": "cubefulldist", "links": "plain", "edge_probability": 0.3}
    assert compare(events_max=200_000, **GRAPH | {"members": members} | options).completed


@pytest.mark.parametrize("name", LINKED)
@pytest.mark.parametrize("members", [1, 2, 3, 7, 8, 9, 33])
def test_every_node_keeps_one_member(name: str, members: int) -> None:
    asked = Options(protocol=name, placement="near", **GRAPH | {"members": members, "nodes": 40}).setup()
    placed = place_members(asked).topology.member_nodes
    assert sorted(placed.tolist()) == sorted(asked.topology.member_nodes.tolist())


@pytest.mark.parametrize("name", ["s_coord", "cubefulldist"])
def test_hops_and_times_are_less_than_at_random_on_average(name: str) -> None:
    found: dict[str, list[tuple[float, float]]] = {"near": [], "random": []}
    for placement, each in found.items():
        for seed in range(4):
            options = GRAPH | {"members": 100, "edge_probability": 0.04, "seed": seed}
            run = simulate(Options(protocol=name, placement=placement, **options).setup())
            assert run.rtt_last_us is not None
            each.append((run.hops["total"], run.rtt_last_us))
    assert (np.mean(found["near"], axis=0) < 0.85 * np.mean(found["random"], axis=0)).all()


def test_a_protocol_without_links_between_members_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"fulldist has no links .*accepted: placement network or random"):
        Options(protocol="fulldist", placement="near", **GRAPH).setup()


def test_links_that_lead_nowhere_are_refused() -> None:
    wrong = protocol("coordp").replace(links=lambda around: (np.array([30, 0]), np.array([0, 1, 2])))
    setup = Options(protocol="coordp", placement="near", **GRAPH).setup()
    with pytest.raises(InvalidInput, match="coordp: links lead to no member"):
        place_members(setup.replace(protocol=wrong))


def test_an_unknown_kind_of_links_is_told_in_one_line() -> None:
    with pytest.raises(InvalidInput, match="links") as raised:
        Options(protocol="cubefulldist", links="plian", **GRAPH).setup()
    assert "\n" not in str(raised.value)


def test_a_member_of_a_plain_cube_is_cut_off_with_its_only_neighbour() -> None:
    """Of 17 members the last has one neighbour, member 0; with compensating links it has four more."""
    crash = GRAPH | {"members": 17, "edge_probability": 0.3, "faults": "crash 0 at 0", "until_ms": 1000.0}
    ends = {
        links: simulate(Options(protocol="cubefulldist", links=links, **crash).setup()).completed
        for links in ("compensated", "plain")
    }
    assert ends == {"compensated": True, "plain": False}
