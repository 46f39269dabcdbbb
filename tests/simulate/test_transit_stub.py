"""Transit-stub graphs: domains as documented, all connected, a member on a central root, both drivers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_keystone_gossip import compare
from test_random_graph import hops_from_root, pairs_of

from stablecast.errors import InvalidInput
from stablecast.simulate import Setup
from stablecast.simulate.prepare import place_members
from stablecast.simulate.topologies.registry import topology
from stablecast.simulate.topologies.transit_stub import (
    central_node,
    draw_links,
    hops_between,
    plan_domains,
    transit_count,
    transit_stub,
)

sizes = st.integers(1, 700)
seeds = st.integers(0, 10**9)


def links_of(nodes: int, *, extra: int = 0, seed: int = 0) -> list[tuple[int, int]]:
    return draw_links(np.random.default_rng(seed), plan_domains(nodes), extra)


def link_count(nodes: int, seed: int) -> int:
    return len(pairs_of(transit_stub(nodes=nodes, seed=seed)))


@given(sizes)
def test_domains_hold_every_node_once_and_are_even(nodes: int) -> None:
    domains = plan_domains(nodes)
    held = [v for domain in domains for v in range(domain.first, domain.first + domain.size)]
    assert held == list(range(nodes))
    backbone = transit_count(domains)
    assert backbone == 1 or abs(nodes / backbone - 25) < 13
    for is_stub, count, most in ((False, math.ceil(backbone / 8), 8), (True, 4 * backbone, 9)):
        of_kind = [domain.size for domain in domains if domain.is_stub == is_stub]
        assert len(of_kind) == min(count, sum(of_kind))
        assert max(of_kind, default=0) <= most
        assert max(of_kind, default=0) - min(of_kind, default=0) <= 1
    gates = Counter(domain.gate for domain in domains if domain.is_stub)
    assert set(gates) <= set(range(backbone))
    assert max(gates.values(), default=0) <= 4


@pytest.mark.parametrize(("nodes", "transit", "stubs"), [(200, [8], [6] * 32), (100, [4], [6] * 16)])
def test_the_documented_sizes(nodes: int, transit: list[int], stubs: list[int]) -> None:
    domains = plan_domains(nodes)
    assert [domain.size for domain in domains if not domain.is_stub] == transit
    assert [domain.size for domain in domains if domain.is_stub] == stubs


def test_a_thousand_nodes_have_five_transit_domains() -> None:
    assert [domain.size for domain in plan_domains(1000) if not domain.is_stub] == [8] * 5


@given(sizes, seeds)
def test_every_domain_is_connected_in_itself_and_domains_are_joined_once(nodes: int, seed: int) -> None:
    domains, links = plan_domains(nodes), links_of(nodes, seed=seed)
    assert len(links) == len(set(links))
    assert all(0 <= low < high < nodes for low, high in links)
    where = [k for k, domain in enumerate(domains) for _ in range(domain.size)]
    for k, domain in enumerate(domains):
        inside = [(i - domain.first, j - domain.first) for i, j in links if where[i] == where[j] == k]
        assert (hops_between(domain.size, inside) >= 0).all()
    between = Counter((where[i], where[j]) for i, j in links if where[i] != where[j])
    transit = [k for k, domain in enumerate(domains) if not domain.is_stub]
    stubs = [(where[domain.gate], k) for k, domain in enumerate(domains) if domain.is_stub]
    assert between == Counter([*itertools.combinations(transit, 2), *stubs])
    for i, j in links:
        if domains[where[j]].is_stub and where[i] != where[j]:
            assert i == domains[where[j]].gate


@given(st.integers(20, 300), st.integers(0, 8), seeds)
def test_extra_links_go_from_transit_nodes_to_stubs_and_between_stubs(
    nodes: int, extra: int, seed: int
) -> None:
    domains, plain = plan_domains(nodes), links_of(nodes, seed=seed)
    links = links_of(nodes, extra=extra, seed=seed)
    assert links[: len(plain)] == plain
    assert len(set(links)) == len(plain) + 2 * extra
    backbone = transit_count(domains)
    where = [k for k, domain in enumerate(domains) for _ in range(domain.size)]
    added = links[len(plain) :]
    assert all(low < backbone <= high for low, high in added[:extra])
    assert all(backbone <= low < high and where[low] != where[high] for low, high in added[extra:])


@given(sizes, st.integers(0, 999))
def test_every_node_is_reached_and_the_tree_takes_the_fewest_hops(nodes: int, seed: int) -> None:
    graph = transit_stub(nodes=nodes, seed=seed)
    pairs = pairs_of(graph)
    assert graph.tree.size == graph.member_count == nodes
    assert len(pairs) == len(set(pairs))
    hops = hops_from_root(nodes, pairs)
    assert [hops[v] for v in range(nodes)] == graph.tree.depth.tolist()


def test_two_nodes_of_a_stub_are_linked_as_often_as_in_all_connected_graphs() -> None:
    """Of the 64 graphs of four nodes 38 are connected: 16 of 3 links, 15 of 4, 6 of 5 and one of 6."""
    expected = (16 * 3 + 15 * 4 + 6 * 5 + 6) / 38
    runs = 400
    found = sum(len(links_of(17, seed=seed)) - 4 for seed in range(runs))  # four stubs of four nodes
    mean = found / (4 * runs)
    print(f"seeds 0 to {runs - 1}: {mean} links a stub, expected {expected}")
    # The number of links of such a stub has a spread of 0.8.
    assert abs(mean - expected) < 5 * 0.8 / math.sqrt(4 * runs)


def test_the_graph_of_200_nodes_is_as_dense_as_its_probabilities() -> None:
    """28 pairs with 0.8, 32 stubs of six with 0.5 if connected (8.02 links), 32 links to them."""
    counts = [link_count(200, seed) for seed in range(30)]
    print(f"seeds 0 to 29: {counts}")
    assert abs(np.mean(counts) - (28 * 0.8 + 32 * connected_mean(6) + 32)) < 5 * 11 / math.sqrt(30)


def connected_mean(size: int) -> float:
    """The mean number of links of the connected graphs of so many nodes, by all graphs."""
    pairs = list(itertools.combinations(range(size), 2))
    chosen = np.arange(1 << len(pairs))
    near = [
        sum(((chosen >> k) & 1) << (sum(p) - v) for k, p in enumerate(pairs) if v in p) for v in range(size)
    ]
    reached = np.ones_like(chosen)
    for _ in range(size):
        for v in range(size):
            reached = np.where((reached >> v) & 1, reached | near[v], reached)
    links = sum((chosen >> k) & 1 for k in range(len(pairs)))
    return float(np.mean(np.asarray(links)[reached == (1 << size) - 1]))


def total_hops(start: int, backbone: int, links: list[tuple[int, int]]) -> int:
    """Add up the hops from one transit node to all; the search begins at 0, so the two change names."""
    renamed = {start: 0, 0: start}
    found = hops_from_root(0, [(renamed.get(one, one), renamed.get(other, other)) for one, other in links])
    return sum(found[node] for node in range(backbone))


@given(sizes, seeds)
def test_the_root_is_the_transit_node_nearest_to_all_others(nodes: int, seed: int) -> None:
    links, backbone = links_of(nodes, seed=seed), transit_count(plan_domains(nodes))
    totals = [total_hops(node, backbone, links) for node in range(backbone)]
    assert central_node(backbone, links) == totals.index(min(totals))


@pytest.mark.parametrize("seed", range(10))
def test_the_tree_hangs_on_that_node(seed: int) -> None:
    links = draw_links(seeded(seed), plan_domains(200), 0)
    from_center = hops_between(200, links)[central_node(8, links)]
    assert sorted(from_center) == transit_stub(nodes=200, seed=seed).tree.depth.tolist()


@given(st.integers(1, 60), st.data())
def test_member_0_is_on_the_root_whoever_else_is_drawn(members: int, data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 99))
    graph = transit_stub(nodes=60, members=members, seed=seed)
    assert graph.member_count == len(set(graph.member_nodes.tolist())) == members
    placed = place_members(Setup(protocol="coordp", topology=graph)).topology
    assert placed.member_nodes[0] == 0


@pytest.mark.parametrize("delay_max_us", [0.0, 3e-6, 20_000.0])
def test_links_between_transit_nodes_are_the_long_ones(delay_max_us: float) -> None:
    graph = transit_stub(nodes=200, delay_max_us=delay_max_us, seed=3)
    longest = round(delay_max_us * 1e6)
    delays = np.concatenate((graph.mesh.delay_ps, graph.mesh.tree_delay_ps[1:]))
    long = delays > longest // 10
    assert delays.min() >= 0
    assert delays.max() <= longest
    assert (delays[long] >= longest // 2).all()
    if delay_max_us == 20_000.0:
        transit = [pair for pair in draw_links(seeded(3), plan_domains(200), 0) if max(pair) < 8]
        assert long.sum() == len(transit)


def seeded(seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, 0x74737475])


def test_a_seed_makes_a_graph_and_another_seed_another() -> None:
    first, again, other = (transit_stub(nodes=120, members=40, seed=s) for s in (1, 1, 2))
    for part in ("ends", "delay_ps", "tree_delay_ps"):
        assert np.array_equal(getattr(first.mesh, part), getattr(again.mesh, part))
        assert not np.array_equal(getattr(first.mesh, part), getattr(other.mesh, part))
    assert (first.tree.parent == again.tree.parent).all()
    assert (first.member_nodes == again.member_nodes).all()


def test_the_graph_of_a_seed_is_the_same_everywhere() -> None:
    inside = [(1, 2), (2, 3), (4, 5), (4, 6), (7, 9), (8, 9), (10, 11)]
    assert draw_links(seeded(7), plan_domains(12), 0) == [*inside, (0, 2), (0, 4), (0, 8), (0, 11)]
    graph = transit_stub(nodes=12, seed=7)
    assert graph.tree.parent.tolist() == [-1, 0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 9]
    assert graph.mesh.tree_delay_ps.tolist()[:4] == [0, 1618242880, 188581827, 830590455]


def test_the_registry_knows_it_and_its_label_tells_what_is_not_the_default() -> None:
    graph = topology("transit-stub", seed=7, extra_links=None)
    assert (graph.name, graph.cast) == ("transit-stub", "multicast")
    assert graph.label == "transit-stub 200 nodes seed 7"
    assert topology("transit-stub", members=30).tree.size == 30
    other = topology("transit-stub", nodes=50, extra_links=2, delay_max_us=250)
    assert other.label == "transit-stub 50 nodes extra 2 delay 250 us seed 0"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"nodes": 0}, r"^0 nodes make no transit-stub graph \(accepted: 1 to 32768\)$"),
        ({"nodes": 40_000}, r"^40000 nodes make no transit-stub graph"),
        ({"members": 0}, r"^0 nodes make no transit-stub graph"),
        (
            {"nodes": 50, "members": 51},
            r"^51 members do not fit a topology of 50 nodes \(accepted: 1 to 50\)$",
        ),
        ({"nodes": 50, "members": 0}, r"^0 members do not fit"),
        ({"nodes": 4, "extra_links": 1}, r"^1 extra links do not fit the graph \(accepted: 0 to 0\)$"),
        ({"extra_links": -1}, r"^-1 extra links do not fit"),
        ({"delay_max_us": -1.0}, r"accepted: 0 to 10000000 µs"),
        ({"delay_max_us": math.nan}, r"accepted: 0 to 10000000 µs"),
        ({"degree": 3}, r"no option --degree \(accepted: --nodes, --members, --extra-links, --delay-max-us"),
    ],
)
def test_what_makes_no_graph_is_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        topology("transit-stub", **options)


def test_as_many_extra_links_as_are_accepted_are_found() -> None:
    graph = transit_stub(nodes=10, extra_links=2)
    assert len(pairs_of(graph)) == link_count(10, 0) + 4
    with pytest.raises(InvalidInput, match="accepted: 0 to 2"):
        transit_stub(nodes=10, extra_links=3)


GRAPH: dict[str, Any] = {"topology": "transit-stub", "nodes": 60, "members": 25, "extra_links": 2, "seed": 3}


@pytest.mark.parametrize(
    "more",
    [{}, {"routes": "delay", "link_loss": 0.05, "resend_ms": 200.0}, {"multicast_tree": "source"}],
)
def test_both_drivers_give_the_same_trace(more: dict[str, Any]) -> None:
    run = compare(events_max=200_000, protocol="coordp", until_ms=60_000.0, **GRAPH, **more)
    assert run.completed


def test_both_drivers_give_the_same_trace_of_bimodal_multicast() -> None:
    compare(
        events_max=200_000,
        protocol="bimodal",
        policy="bufferers",
        messages=10,
        rate_per_s=25.0,
        link_loss=0.02,
        **GRAPH,
    )


def test_a_multicast_takes_the_links_of_the_tree_once() -> None:
    run = compare(events_max=200_000, protocol="coordp", topology="transit-stub", nodes=60)
    assert run.hops[0] == 59
