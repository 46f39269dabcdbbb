"""Multicast trees rooted at each source: links and times by hand, and what holds on every graph."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.overlays import Tree
from stablecast.protocols import protocol
from stablecast.simulate import Setup, Traffic, Trigger, costs, simulate, topology
from stablecast.simulate.network import next_link
from stablecast.simulate.options import Options
from stablecast.simulate.prepare import place_members, prepare
from stablecast.simulate.routes import POLICIES
from stablecast.simulate.source_trees import is_branch
from stablecast.simulate.topologies import Mesh, Topology

US = 1_000_000
RECEIVE, HANDLE = 1, 4


def ring(member_nodes=(0, 1, 2, 3, 4)):
    """Five nodes in a ring, 0 - 1 - 3 - 4 - 2 - 0; 3 - 4 is not of the tree, and 2 - 4 is slow."""
    tree = Tree(np.array([-1, 0, 0, 1, 2]))
    mesh = Mesh(
        ends=np.array([[3, 4]]),
        delay_ps=np.array([5 * US]),
        tree_delay_ps=np.array([0, 10, 20, 30, 90]) * US,
    )
    return Topology("ring", "ring", tree, np.array(member_nodes), mesh)


def prepared(shape, *, routes="hops", tree="source"):
    setup = Setup(protocol="coordp", topology=shape, routes=routes, multicast_tree=tree, cast="multicast")
    sim, _ = prepare(setup, protocol("coordp"))
    return sim


def branches(sim, source):
    """Return the numbers of the links in a source's tree, those of each node in the order of sending."""
    found = {}
    for node in range(sim.node_count):
        ways = range(int(sim.way_start[node]), int(sim.way_start[node + 1]))
        links = [int(sim.way_link[way]) for way in ways if is_branch(sim, source, way)]
        if links:
            found[node] = links
    return found


# Links: 0 and 1 between 1 and 0 (up, down), 2 and 3 between 2 and 0, 4 and 5 between 3 and 1, 6 and 7 between
# 4 and 2, 8 from 3 to 4 and 9 back.
BY_HOPS = {
    0: {0: [1, 3], 1: [5], 2: [7]},
    1: {0: [3], 1: [0, 5], 3: [8]},
    2: {0: [1], 2: [2, 7], 4: [9]},
    3: {1: [0], 3: [4, 8], 4: [6]},
    4: {2: [2], 3: [4], 4: [6, 9]},
}
BY_DELAY = {
    0: {0: [1, 3], 1: [5], 3: [8]},
    1: {0: [3], 1: [0, 5], 3: [8]},
    2: {0: [1], 1: [5], 2: [2], 3: [8]},
    3: {0: [3], 1: [0], 3: [4, 8]},
    4: {0: [3], 1: [0], 3: [4], 4: [9]},
}


@pytest.mark.parametrize(("routes", "expected"), [("hops", BY_HOPS), ("delay", BY_DELAY)])
def test_the_links_of_each_sources_tree_by_hand(routes, expected):
    sim = prepared(ring(), routes=routes)
    assert {source: branches(sim, source) for source in range(5)} == expected


def test_branches_without_members_are_left_out_by_hand():
    """Node 2 holds no member: only the trees of nodes 0 and 4, whose way to each other it is on, have it."""
    sim = prepared(ring(member_nodes=(0, 1, 3, 4)))
    assert {int(sim.member_node[i]): branches(sim, i) for i in range(4)} == {
        0: {0: [1, 3], 1: [5], 2: [7]},
        1: {1: [0, 5], 3: [8]},
        3: {1: [0], 3: [4, 8]},
        4: {2: [2], 3: [4], 4: [6, 9]},
    }


def arrivals(routes, tree):
    """Return when each member got each sender's only message, from when it was sent, in picoseconds.

    The senders send one after the other, twenty milliseconds apart.
    """
    setup = Setup(
        protocol="coordp",
        topology=ring(),
        costs=costs("links-only"),
        routes=routes,
        multicast_tree=tree,
        cast="multicast",
        traffic=Traffic(messages=1, rate_per_s=10.0, data_bytes=968),
        trigger=Trigger(kind="periodic", period_ms=200.0),
    )
    rows = []
    simulate(setup, trace=lambda block: rows.extend(map(tuple, block.tolist())))
    return {
        (source, member): at_ps - 20_000 * US * source
        for code, at_ps, member, source, _, _ in rows
        if code == RECEIVE and member != source
    }


WIRE_PS = 80 * US
"""1000 bytes at 100 Mbit/s."""


@pytest.mark.parametrize(
    ("routes", "tree", "ways"),
    [
        ("hops", "source", {0: (2, 40), 1: (1, 30), 2: (2, 95), 4: (1, 5)}),
        ("delay", "source", {0: (2, 40), 1: (1, 30), 2: (3, 60), 4: (1, 5)}),
        ("hops", "shared", {0: (2, 40), 1: (1, 30), 2: (3, 60), 4: (4, 150)}),
    ],
)
def test_the_times_of_node_3s_multicast_by_hand(routes, tree, ways):
    found = arrivals(routes, tree)
    assert len(found) == 20
    for member, (hops, delay_us) in ways.items():
        assert found[3, member] == hops * WIRE_PS + delay_us * US


graphs = st.fixed_dictionaries(
    {
        "nodes": st.integers(2, 30),
        "edge_probability": st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0]),
        # Two picoseconds at most, or none at all, so that there are ties of every kind.
        "delay_max_us": st.sampled_from([0.0, 2e-6, 1000.0]),
        "seed": st.integers(0, 10**6),
    }
)


def unicast_cost(sim, start, target):
    hops = delay = 0
    while start != target:
        link = next_link(sim, start, target)
        start, hops, delay = int(sim.links[link].to), hops + 1, delay + int(sim.links[link].propagation_ps)
    return hops, delay


@pytest.mark.parametrize("routes", POLICIES)
@given(graph=graphs, data=st.data())
@settings(max_examples=40)
def test_a_source_reaches_each_member_once_by_a_shortest_path_and_no_empty_branch(routes, graph, data):
    members = data.draw(st.integers(1, graph["nodes"]))
    sim = prepared(topology("random-graph", members=members, **graph), routes=routes)
    source = data.draw(st.integers(0, members - 1))
    root, tree = int(sim.member_node[source]), branches(sim, source)
    costs_of, edge = {root: (0, 0)}, [root]
    while edge:
        node = edge.pop()
        for link in tree.get(node, []):
            there = int(sim.links[link].to)
            assert there not in costs_of
            hops, delay = costs_of[node]
            costs_of[there] = (hops + 1, delay + int(sim.links[link].propagation_ps))
            edge.append(there)
    assert set(tree) <= set(costs_of)
    homes = [int(node) for node in sim.member_node]
    assert set(homes) <= set(costs_of)
    assert {node for node in costs_of if node not in tree} <= {root, *homes}
    for home in homes:
        assert costs_of[home] == unicast_cost(sim, root, home)


@given(graph=graphs, data=st.data())
@settings(max_examples=15)
def test_every_member_handles_each_multicast_once(graph, data):
    members = data.draw(st.integers(1, graph["nodes"]))
    shape = topology("random-graph", members=members, **graph)
    setup = Setup(protocol="fulldist", topology=shape, cast="multicast", multicast_tree="source")
    rows = []
    result = simulate(setup, trace=lambda block: rows.extend(map(tuple, block.tolist())), wire_log=True)
    assert result.completed
    handled = Counter((row[2], row[3]) for row in rows if row[0] == HANDLE)
    assert handled == {(i, j): 1 for i in range(members) for j in range(members)}


@pytest.mark.parametrize(
    "network",
    [
        {"topology": "balanced", "nodes": 30, "members": 20},
        {"topology": "random-graph", "nodes": 30, "members": 20, "edge_probability": 0.0},
    ],
)
def test_on_a_tree_both_kinds_of_trees_are_the_same(network):
    def trace(kind):
        rows = []
        options = Options(protocol="fulldist", cast="multicast", multicast_tree=kind, seed=5, **network)
        simulate(options.setup(), trace=lambda block: rows.extend(map(tuple, block.tolist())), wire_log=True)
        return rows

    assert trace("source") == trace("shared") != []


def test_one_bit_for_each_source_and_node_is_all_that_trees_take():
    everywhere = prepared(topology("random-graph", nodes=100, seed=1))
    assert everywhere.wanted.nbytes == 1
    some = prepared(topology("random-graph", nodes=100, members=60, seed=1))
    assert some.wanted.shape == (60, 13)
    shared = prepared(topology("random-graph", nodes=100, members=60, seed=1), tree="shared")
    assert shared.wanted.nbytes == 1


def test_every_source_has_a_tree_on_the_papers_largest_graph():
    options = Options(
        protocol="fulldist", topology="random-graph", members=1890, nodes=1900, edge_probability=0.0021,
        senders=50, tracked=1, cast="multicast", multicast_tree="source",
    )  # fmt: skip
    sim, _ = prepare(place_members(options.setup()), protocol("fulldist"))
    for source in (0, 1, 944, 1889):
        tree = branches(sim, source)
        assert 1889 <= sum(map(len, tree.values())) <= 1899


def test_a_tree_that_is_none_is_refused():
    with pytest.raises(InvalidInput, match="did you mean 'source'"):
        Options(protocol="coordp", multicast_tree="sources").setup()
