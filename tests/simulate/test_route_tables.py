"""Tables of routes against Floyd and Warshall's algorithm, and the tables that are kept on disk."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.overlays import Tree
from stablecast.simulate import routes
from stablecast.simulate.routes import POLICIES, adjacency, kept_route_table, link_delays_ps, route_table
from stablecast.simulate.topologies import Mesh, Topology
from stablecast.simulate.topologies.balanced import balanced
from stablecast.simulate.topologies.random_graph import random_graph

HOP = 1 << 45
"""A hop in a cost where hops come first; a route's delay in these tests is below it."""


def links_of(topology):
    """List (number, from, to, delay) of every link, as the numbering is described."""
    tree, mesh = topology.tree, topology.mesh
    found = []
    for v in range(1, tree.size):
        delay = 0 if mesh is None else int(mesh.tree_delay_ps[v])
        parent = int(tree.parent[v])
        found += [(2 * (v - 1), v, parent, delay), (2 * (v - 1) + 1, parent, v, delay)]
    for e in range(0 if mesh is None else mesh.delay_ps.size):
        one, other, number = int(mesh.ends[e, 0]), int(mesh.ends[e, 1]), 2 * (tree.size - 1) + 2 * e
        delay = int(mesh.delay_ps[e])
        found += [(number, one, other, delay), (number + 1, other, one, delay)]
    return found


def cost_of_link(policy, delay):
    return HOP + delay if policy == "hops" else delay * 1024 + 1


def least_costs(topology, policy):
    """Return the cost of the best route between any two nodes."""
    size = topology.tree.size
    least = np.full((size, size), 1 << 60)
    np.fill_diagonal(least, 0)
    for _, one, other, delay in links_of(topology):
        least[one, other] = min(least[one, other], cost_of_link(policy, delay))
    for v in range(size):
        least = np.minimum(least, least[:, v, None] + least[None, v])
    return least


def expected_table(topology, policy):
    """Return the lowest of the links that lie on a best route, from the best costs alone."""
    least = least_costs(topology, policy)
    table = np.zeros(least.shape, dtype=np.int64)
    for node in range(topology.tree.size):
        own = sorted(link for link in links_of(topology) if link[1] == node)
        for target in range(topology.tree.size):
            ways = [cost_of_link(policy, delay) + least[to, target] for _, _, to, delay in own]
            if target != node:
                table[target, node] = ways.index(least[node, target])
    return table


def travel(topology, table):
    """Follow the table from every node to every target; return the cost of each way by both policies."""
    start, link, to = adjacency(topology)
    delays = link_delays_ps(topology)
    target, here = np.indices(table.shape)
    costs = {policy: np.zeros(table.shape, dtype=np.int64) for policy in POLICIES}
    for _ in range(topology.tree.size):
        on_the_way = here != target
        if not on_the_way.any():
            return costs
        which = start[here] + table[target, here]
        assert (which < start[here + 1])[on_the_way].all()
        which = np.where(on_the_way, which, 0)
        for policy, cost in costs.items():
            cost += np.where(on_the_way, cost_of_link(policy, delays[link[which]]), 0)
        here = np.where(on_the_way, to[which], here)
    raise AssertionError("a route goes round in a circle")


graphs = st.builds(
    random_graph,
    nodes=st.integers(1, 30),
    edge_probability=st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0]),
    # Two picoseconds at most, or none at all, so that there are ties of every kind.
    delay_max_us=st.sampled_from([0.0, 2e-6, 1000.0]),
    seed=st.integers(0, 10**9),
)


@given(graphs)
@settings(max_examples=40)
def test_links_are_listed_by_node_and_number(graph):
    found = adjacency(graph)
    links = sorted((one, number, other) for number, one, other, _ in links_of(graph))
    assert found.link.tolist() == [number for _, number, _ in links]
    assert found.to.tolist() == [other for _, _, other in links]
    assert found.start.tolist() == [sum(one < v for one, _, _ in links) for v in range(graph.tree.size + 1)]
    assert link_delays_ps(graph).tolist() == [delay for _, _, _, delay in sorted(links_of(graph))]


@pytest.mark.parametrize("policy", POLICIES)
@given(graph=graphs)
@settings(max_examples=60)
def test_every_entry_is_the_lowest_link_of_a_best_route(policy, graph):
    assert np.array_equal(route_table(graph, policy), expected_table(graph, policy))


@pytest.mark.parametrize("policy", POLICIES)
@given(graph=graphs)
@settings(max_examples=40)
def test_routes_followed_hop_by_hop_arrive_at_the_least_cost(policy, graph):
    assert np.array_equal(travel(graph, route_table(graph, policy))[policy], least_costs(graph, policy))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("nodes", "probability", "seed"), [(200, 0.01, 1), (300, 0.04, 2), (150, 0.5, 3)])
def test_routes_of_larger_graphs_arrive_at_the_least_cost(policy, nodes, probability, seed):
    print(f"seed {seed}")
    graph = random_graph(nodes=nodes, edge_probability=probability, seed=seed)
    assert np.array_equal(travel(graph, route_table(graph, policy))[policy], least_costs(graph, policy))


@pytest.mark.parametrize("policy", POLICIES)
def test_delays_of_very_different_size_make_no_difference(policy):
    graph = random_graph(nodes=120, edge_probability=0.05, seed=8)
    rng = np.random.default_rng(8)
    ends = graph.mesh.ends
    scattered = [(10 ** rng.uniform(0, 12, size=size)).astype(np.int64) for size in (len(ends), 120)]
    scattered[1][0] = 0
    hand = Topology("hand", "hand", graph.tree, graph.member_nodes, mesh=Mesh(ends, *scattered))
    assert np.array_equal(travel(hand, route_table(hand, policy))[policy], least_costs(hand, policy))


def ints(*values):
    return np.array(values, dtype=np.int64)


def ring(*delays_ps):
    """Four nodes in a ring 0 - 1 - 3 - 2 - 0, with a diagonal 0 - 3; delays in this order."""
    around = delays_ps
    mesh = Mesh(ints([2, 3], [0, 3]), ints(around[2], around[4]), ints(0, around[0], around[3], around[1]))
    return Topology("hand", "hand", Tree(ints(-1, 0, 0, 1)), ints(0, 1, 2, 3), mesh=mesh)


def first_hop(graph, policy, node, target):
    found = adjacency(graph)
    return int(found.to[found.start[node] + route_table(graph, policy)[target, node]])


def test_the_policies_differ_where_the_short_way_is_slow():
    graph = ring(1, 1, 2, 2, 9)
    assert first_hop(graph, "hops", 0, 3) == 3
    assert first_hop(graph, "delay", 0, 3) == 1
    # Two ways of two hops: the one of less delay, even if it begins with a higher link.
    assert first_hop(ring(4, 4, 3, 2, 9), "hops", 1, 2) == 0
    assert first_hop(ring(4, 4, 1, 2, 9), "hops", 1, 2) == 3


def test_of_equal_ways_the_policies_take_the_other_measure_and_then_the_lowest_link():
    graph = ring(3, 3, 3, 3, 6)
    assert first_hop(graph, "delay", 0, 3) == 3  # as slow as the other two, and fewer hops
    assert first_hop(graph, "delay", 3, 0) == 0
    assert first_hop(graph, "delay", 1, 2) == 0  # link 0, upwards
    assert first_hop(graph, "hops", 2, 1) == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_a_tree_has_the_routes_of_the_tree(policy):
    shape = balanced(nodes=40, degree=4)
    table = route_table(shape, policy)
    found = adjacency(shape)
    tree = shape.tree
    for target in range(40):
        for node in set(range(40)) - {target}:
            on = int(found.to[found.start[node] + table[target, node]])
            below = tree.entry[node] <= tree.entry[target] < tree.entry[node] + tree.subtree_size[node]
            assert (tree.parent[on] == node) if below else (on == tree.parent[node])


@pytest.mark.parametrize("policy", POLICIES)
def test_the_number_of_threads_makes_no_difference(policy, monkeypatch):
    graph = random_graph(nodes=333, edge_probability=0.03, seed=11)
    one = route_table(graph, policy, threads=1)
    monkeypatch.setattr(routes, "ONE_THREAD_STEPS", 0)
    for threads in (1, 2, 5, None):
        assert np.array_equal(route_table(graph, policy, threads=threads), one)


def test_what_has_no_table_is_refused():
    graph = random_graph(nodes=5)
    with pytest.raises(InvalidInput, match="did you mean 'delay'"):
        route_table(graph, "delays")
    with pytest.raises(InvalidInput, match=r"0 threads .*accepted: 1 or more"):
        route_table(graph, "hops", threads=0)
    with pytest.raises(InvalidInput, match=r"40000 nodes takes 3.0 GiB .*up to 32768 nodes, 2.0 GiB"):
        kept_route_table(balanced(nodes=40_000), "hops")
    with pytest.raises(InvalidInput, match="do not add up in 64 bits"):
        route_table(ring(1, 1, 1, 1, 1 << 61), "delay")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Keep tables in a folder of the test's own."""
    monkeypatch.setattr(routes, "ROUTES_FOLDER", tmp_path / "routes")
    monkeypatch.delenv(routes.ROUTES_MB, raising=False)
    return tmp_path / "routes"


@pytest.fixture
def searches(monkeypatch):
    """Count how often a table is found rather than read."""
    made = []

    def counted(topology, policy, **options):
        made.append(policy)
        return route_table(topology, policy, **options)

    monkeypatch.setattr(routes, "route_table", counted)
    return made


def large(seed, nodes=512):
    return random_graph(nodes=nodes, edge_probability=0.01, seed=seed)


def test_tables_are_kept_beside_the_compiled_code_and_apart_from_its_folders():
    assert routes.ROUTES_FOLDER.parent == routes.CACHE_FOLDER.parent
    assert not set(routes.ROUTES_FOLDER.name) <= set("0123456789abcdef")


@pytest.mark.parametrize("policy", POLICIES)
def test_a_kept_table_is_the_one_that_was_found(policy, folder, searches):
    first, again = (kept_route_table(large(seed=1), policy) for _ in range(2))
    assert searches == [policy]
    assert len(list(folder.iterdir())) == 1
    for table in (first, again):
        assert np.array_equal(table, route_table(large(seed=1), policy))
        assert not table.flags.writeable


def test_whatever_changes_routes_has_a_table_of_its_own(folder, searches):
    graph = large(seed=1)
    mesh = graph.mesh
    changed = [
        Mesh(mesh.ends, mesh.delay_ps + 1, mesh.tree_delay_ps),
        Mesh(mesh.ends, mesh.delay_ps, mesh.tree_delay_ps * 2),
        Mesh(mesh.ends[:, ::-1], mesh.delay_ps, mesh.tree_delay_ps),
        None,
    ]
    for other in (mesh, *changed):
        kept_route_table(Topology("hand", "hand", graph.tree, graph.member_nodes, mesh=other), "hops")
    kept_route_table(graph, "delay")
    kept_route_table(large(seed=2), "hops")
    assert len(searches) == len(list(folder.iterdir())) == 7


def test_the_members_do_not_change_the_table(folder, searches):
    kept_route_table(random_graph(nodes=512, members=9, seed=1), "hops")
    kept_route_table(random_graph(nodes=512, members=99, seed=1), "hops")
    assert len(searches) == 1


def test_small_graphs_are_not_kept(folder, searches):
    tables = [kept_route_table(large(seed=1, nodes=511), "hops") for _ in range(2)]
    assert len(searches) == 2
    assert not folder.exists()
    assert np.array_equal(*tables)
    assert not tables[0].flags.writeable


@pytest.mark.parametrize("content", ["truncated", "empty", "foreign", "other shape", "other kind"])
def test_a_file_that_is_not_the_table_is_replaced(content, folder, searches):
    good = np.array(kept_route_table(large(seed=3), "hops"))
    (path,) = folder.iterdir()
    if content == "truncated":
        path.write_bytes(path.read_bytes()[:-1])
    elif content in ("empty", "foreign"):
        path.write_bytes(b"" if content == "empty" else b"PK\x03\x04 something else")
    else:
        np.save(path, good[1:] if content == "other shape" else good.astype(np.int16))
    assert np.array_equal(kept_route_table(large(seed=3), "hops"), good)
    assert np.array_equal(kept_route_table(large(seed=3), "hops"), good)
    assert len(searches) == 2
    assert list(folder.iterdir()) == [path]


def test_the_least_recently_used_tables_make_room(folder, searches, monkeypatch):
    monkeypatch.setenv(routes.ROUTES_MB, "2")  # three tables of 512 KiB and their headers
    paths = {}
    for seed in (1, 2, 3):
        before = set(folder.glob("*"))
        kept_route_table(large(seed), "hops")
        (paths[seed],) = set(folder.iterdir()) - before
        os.utime(paths[seed], (seed, seed))
    kept_route_table(large(seed=1), "hops")  # used last, though it is the oldest
    assert len(searches) == 3
    kept_route_table(large(seed=4), "hops")
    assert {seed: path.exists() for seed, path in paths.items()} == {1: True, 2: False, 3: True}
    assert len(list(folder.iterdir())) == 3


def test_the_table_just_written_stays_even_if_its_clock_is_behind(folder, monkeypatch):
    monkeypatch.setenv(routes.ROUTES_MB, "1")
    kept_route_table(large(seed=1), "hops")
    (old,) = folder.iterdir()
    os.utime(old, (2**33, 2**33))
    kept = kept_route_table(large(seed=2), "hops")
    (new,) = folder.iterdir()
    assert new != old
    assert np.array_equal(kept, route_table(large(seed=2), "hops"))


def test_a_table_beyond_the_bound_is_used_from_memory(folder, monkeypatch):
    monkeypatch.setenv(routes.ROUTES_MB, "0")
    assert np.array_equal(kept_route_table(large(seed=1), "hops"), route_table(large(seed=1), "hops"))
    assert not folder.exists()


@pytest.mark.parametrize("size", ["many", "-1", "1.5", ""])
def test_a_bound_that_is_no_size_is_refused(size, folder, monkeypatch):
    monkeypatch.setenv(routes.ROUTES_MB, size)
    with pytest.raises(InvalidInput, match="accepted: a whole number of MiB"):
        kept_route_table(large(seed=1), "hops")


def test_without_a_folder_that_can_be_written_the_table_is_used_from_memory(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(routes, "ROUTES_FOLDER", tmp_path / "file" / "routes")
    assert np.array_equal(kept_route_table(large(seed=1), "hops"), route_table(large(seed=1), "hops"))


def test_a_full_disk_leaves_nothing_behind(folder, monkeypatch):
    def half(file, table):
        file.write(table.tobytes()[:1000])
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "save", half)
    assert np.array_equal(kept_route_table(large(seed=1), "hops"), route_table(large(seed=1), "hops"))
    assert list(folder.iterdir()) == []
