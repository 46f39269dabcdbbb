"""Random graphs: connected, as dense as asked for, numbered as a tree demands, the same for a seed."""

import math
from collections import Counter, defaultdict
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.overlays import Tree
from stablecast.simulate.topologies import Mesh, Topology
from stablecast.simulate.topologies.random_graph import random_graph
from stablecast.simulate.topologies.registry import topology


def pairs_of(graph):
    """All links as pairs of nodes, the lower first, in any order."""
    tree = [(int(parent), child) for child, parent in enumerate(graph.tree.parent) if child]
    return tree + [(int(low), int(high)) for low, high in graph.mesh.ends]


def hops_from_root(size, pairs):
    """Plain breadth-first search; a node that is not reached is missing."""
    neighbours = defaultdict(list)
    for one, other in pairs:
        neighbours[one].append(other)
        neighbours[other].append(one)
    hops, level = {0: 0}, [0]
    while level:
        level = [w for v in level for w in neighbours[v] if hops.setdefault(w, hops[v] + 1) > hops[v]]
        level = list(dict.fromkeys(level))
    return hops


graphs = st.builds(
    random_graph,
    nodes=st.integers(1, 60),
    edge_probability=st.sampled_from([0.0, 1e-300, 0.01, 0.05, 0.2, 0.7, 1.0]),
    delay_max_us=st.sampled_from([0.0, 2e-6, 1000.0]),
    seed=st.integers(0, 10**9),
)


@given(graphs)
def test_every_node_is_reached_and_the_tree_takes_the_fewest_hops(graph):
    pairs = pairs_of(graph)
    assert len(pairs) == len(set(pairs))
    assert all(0 <= low < high < graph.tree.size for low, high in pairs)
    hops = hops_from_root(graph.tree.size, pairs)
    assert [hops[v] for v in range(graph.tree.size)] == graph.tree.depth.tolist()


@given(graphs)
def test_the_parent_is_the_neighbour_of_the_lowest_number(graph):
    for low, high in graph.mesh.ends:
        assert graph.tree.parent[high] < low


@given(st.integers(1, 60), st.integers(0, 99))
def test_probability_one_links_all_and_zero_makes_a_tree(nodes, seed):
    full = random_graph(nodes=nodes, edge_probability=1, seed=seed)
    assert len(pairs_of(full)) == math.comb(nodes, 2)
    bare = random_graph(nodes=nodes, edge_probability=0, seed=seed)
    assert len(pairs_of(bare)) == nodes - 1


@pytest.mark.parametrize(("nodes", "probability"), [(300, 0.04), (1900, 0.01), (16_384, 16 / 16_384)])
def test_the_number_of_links_is_binomial_where_hardly_a_node_is_left_out(nodes, probability):
    runs = 40 if nodes < 1000 else 4
    counts = [
        len(pairs_of(random_graph(nodes=nodes, edge_probability=probability, seed=s))) for s in range(runs)
    ]
    expected = math.comb(nodes, 2) * probability
    spread = math.sqrt(expected * (1 - probability) / runs)
    print(f"seeds 0 to {runs - 1}: mean {np.mean(counts)}, expected {expected} ± {spread}")
    assert abs(np.mean(counts) - expected) < 5 * spread + 0.01
    if runs == 40:
        # The variance of n draws from a normal distribution has a relative spread of sqrt(2/(n-1)).
        assert abs(np.var(counts, ddof=1) / (runs * spread**2) - 1) < 5 * math.sqrt(2 / (runs - 1))


def degree_sequences(nodes, probability):
    """Work out how probable each sequence of degrees is, from all graphs and all ways to join their parts."""
    chance = Counter()
    pairs = list(combinations(range(nodes), 2))
    for chosen in product((False, True), repeat=len(pairs)):
        linked = [pair for pair, is_in in zip(pairs, chosen, strict=True) if is_in]
        weight = probability ** len(linked) * (1 - probability) ** (len(pairs) - len(linked))
        parts = {v: {v} for v in range(nodes)}
        for one, other in linked:
            union = parts[one] | parts[other]
            parts.update(dict.fromkeys(union, union))
        in_order = [part for v, part in parts.items() if v == min(part)]
        earlier = [set().union(*in_order[:i]) for i in range(len(in_order))]
        ways = list(product(*map(list, map(product, in_order[1:], earlier[1:]))))
        for joints in ways:
            degrees = Counter(v for pair in [*linked, *joints] for v in pair)
            chance[tuple(sorted(degrees.values()))] += weight / len(ways)
    return chance


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.8])
def test_small_graphs_have_the_probabilities_of_all_draws_and_joints(probability):
    runs = 3000
    seen = Counter()
    for seed in range(runs):
        graph = random_graph(nodes=4, edge_probability=probability, seed=seed)
        seen[tuple(sorted(np.bincount(np.ravel(pairs_of(graph)), minlength=4).tolist()))] += 1
    expected = degree_sequences(4, probability)
    print(f"p {probability}, seeds 0 to {runs - 1}: {seen}, expected {expected}")
    assert sum(expected.values()) == pytest.approx(1)
    assert set(seen) <= set(expected)
    for shape, chance in expected.items():
        spread = math.sqrt(runs * chance * (1 - chance))
        assert abs(seen[shape] - runs * chance) < 5 * spread + 2


@given(graphs)
def test_delays_are_in_range_and_the_root_has_none(graph):
    longest = {"delay 0 us": 0, "delay 2e-06 us": 2}
    bound = next((ps for told, ps in longest.items() if told in graph.label), 10**9)
    for delays in (graph.mesh.delay_ps, graph.mesh.tree_delay_ps):
        assert delays.min(initial=0) >= 0
        assert delays.max(initial=0) <= bound
    assert graph.mesh.tree_delay_ps[0] == 0


def test_delays_are_even_over_their_range():
    graph = random_graph(nodes=400, edge_probability=0.1, seed=5)
    for delays in (graph.mesh.delay_ps, graph.mesh.tree_delay_ps[1:]):
        tenths = np.bincount(delays * 10 // (10**9 + 1), minlength=10)
        spread = math.sqrt(delays.size * 0.1 * 0.9)
        print(f"seed 5: {tenths} of {delays.size}")
        assert np.abs(tenths - delays.size / 10).max() < 5 * spread


def test_a_seed_makes_a_graph_and_another_seed_another():
    first, again, other = (random_graph(nodes=120, edge_probability=0.03, seed=s) for s in (1, 1, 2))
    for part in ("ends", "delay_ps", "tree_delay_ps"):
        assert np.array_equal(getattr(first.mesh, part), getattr(again.mesh, part))
        assert not np.array_equal(getattr(first.mesh, part), getattr(other.mesh, part))
    assert (first.tree.parent == again.tree.parent).all()


def test_the_graph_of_a_seed_is_the_same_everywhere():
    graph = random_graph(nodes=12, edge_probability=0.2, seed=7)
    assert graph.tree.parent.tolist() == [-1, 0, 0, 2, 2, 3, 3, 3, 4, 5, 7, 10]
    assert graph.mesh.ends.tolist() == [[1, 2], [5, 6], [5, 7], [6, 9], [8, 9]]
    assert graph.mesh.tree_delay_ps.tolist()[:4] == [0, 466442849, 936787460, 461517758]


def test_without_nodes_there_are_as_many_as_members_or_200():
    assert random_graph().tree.size == random_graph().member_count == 200
    assert random_graph(members=30).tree.size == random_graph(members=30).member_count == 30
    few = random_graph(nodes=50, members=20, seed=4)
    assert (few.tree.size, few.member_count) == (50, 20)
    assert (few.member_nodes == random_graph(nodes=50, members=20, seed=4).member_nodes).all()


def test_the_registry_knows_it_and_its_label_tells_what_is_not_the_default():
    graph = topology("random-graph", nodes=300, seed=7, edge_probability=None)
    assert (graph.name, graph.cast) == ("random-graph", "unicast")
    assert graph.label == "random-graph 300 nodes p 0.02 seed 7"
    other = topology("random-graph", nodes=3, edge_probability=0.5, delay_max_us=250)
    assert other.label == "random-graph 3 nodes p 0.5 delay 250 us seed 0"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"nodes": 0}, "0 nodes make no graph"),
        ({"nodes": 5, "members": 6}, "6 members do not fit"),
        ({"edge_probability": 1.01}, "accepted: 0 to 1"),
        ({"edge_probability": -0.1}, "accepted: 0 to 1"),
        ({"edge_probability": math.nan}, "accepted: 0 to 1"),
        ({"delay_max_us": -1.0}, "accepted: 0 to 10000000 µs"),
        ({"delay_max_us": math.inf}, "accepted: 0 to"),
        ({"delay_max_us": math.nan}, "accepted: 0 to"),
        ({"nodes": 100_000, "edge_probability": 0.5}, "accepted: up to 20000000"),
        ({"degree": 3}, "no option --degree .*--edge-probability, --delay-max-us"),
    ],
)
def test_what_makes_no_graph_is_refused(options, what):
    with pytest.raises(InvalidInput, match=what):
        topology("random-graph", **options)


def test_an_option_of_another_topology_is_spelled_as_on_the_command_line():
    with pytest.raises(InvalidInput, match="no option --edge-probability "):
        topology("tree", edge_probability=0.1)


def ints(*values):
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(
    ("ends", "delays", "tree_delays", "what"),
    [
        ([[0, 3]], [1], [0, 0, 0], "accepted: 0 to 2"),
        ([[0, -1]], [1], [0, 0, 0], "accepted: 0 to 2"),
        ([[0, 2]], [1, 1], [0, 0, 0], "two ends and a delay"),
        ([[0, 2]], [-1], [0, 0, 0], "negative"),
        ([[0, 1]], [1], [0, 0], "one for each of its 3 nodes"),
    ],
)
def test_a_mesh_that_does_not_fit_is_refused(ends, delays, tree_delays, what):
    line = Tree(ints(-1, 0, 1))
    with pytest.raises(InvalidInput, match=what):
        Topology("hand", "hand", line, ints(0), mesh=Mesh(ints(*ends), ints(*delays), ints(*tree_delays)))


def test_a_cast_that_is_unknown_is_refused():
    with pytest.raises(InvalidInput, match="did you mean 'unicast'"):
        Topology("hand", "hand", Tree(ints(-1)), ints(0), cast="unicasts")
