from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stablecast.protocols import protocol
from stablecast.simulate.network import next_link
from stablecast.simulate.prepare import prepare
from stablecast.simulate.setup import Setup
from stablecast.simulate.topologies.registry import topology


def build(nodes, degree, members, seed):
    shape = topology("balanced", nodes=nodes, degree=degree, members=members, seed=seed)
    sim, _ = prepare(Setup(protocol="coordp", topology=shape), protocol("coordp"))
    return shape, sim


@given(st.integers(2, 60), st.integers(2, 5), st.data())
@settings(max_examples=30)
def test_every_route_is_the_tree_path(nodes, degree, data):
    shape, sim = build(nodes, degree, None, 0)
    tree = shape.tree
    start, target = data.draw(st.integers(0, nodes - 1)), data.draw(st.integers(0, nodes - 1))
    path = [start]
    while path[-1] != target:
        path.append(int(sim.links[next_link(sim, path[-1], target)].to))
        assert len(path) <= nodes
    assert len(path) == len(set(path))
    for here, there in pairwise(path):
        assert tree.parent[here] == there or tree.parent[there] == here


@given(st.integers(2, 60), st.data())
@settings(max_examples=30)
def test_a_multicast_reaches_every_member_once_and_no_empty_branch(nodes, data):
    members = data.draw(st.integers(1, nodes))
    shape, sim = build(nodes, 3, members, data.draw(st.integers(0, 99)))
    sender = int(shape.member_nodes[0])
    reached, edge = [sender], [(sender, -1)]
    while edge:
        node, back = edge.pop()
        for k in range(int(sim.nodes[node].cast_start), int(sim.nodes[node].cast_stop)):
            link = int(sim.cast_link[k])
            if link != back:
                there = int(sim.links[link].to)
                reached.append(there)
                edge.append((there, link ^ 1))
    assert len(reached) == len(set(reached))
    assert set(shape.member_nodes.tolist()) <= set(reached)
    leaves = [node for node in reached if sim.nodes[node].cast_stop - sim.nodes[node].cast_start <= 1]
    assert all(np.isin(node, shape.member_nodes) for node in leaves)
