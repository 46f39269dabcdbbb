import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.papers.hierarchical.theory import PAPER_TABLE_3
from stablecast.simulate import topology
from stablecast.theory import random_tree_level_probabilities


@pytest.mark.parametrize(("shape", "size"), PAPER_TABLE_3.items())
def test_trees_have_the_sizes_of_table_3(shape, size):
    assert topology("tree", degree=shape[0], height=5, fill=shape[1]).member_count == size


def test_random_trees_have_the_height_asked_for_and_levels_near_their_weights():
    n, degree, height = 1109, 4, 5
    counts = np.zeros(height + 1)
    for seed in range(40):
        tree = topology("random-tree", members=n, degree=degree, height=height, seed=seed).tree
        assert tree.size == n
        assert tree.height == height
        counts += np.diff(tree.level_starts)
    weights = [float(w) for w in random_tree_level_probabilities(n, degree, height)]
    expected = np.array([1, *[(n - 1) * w for w in weights]])
    assert np.abs(counts / 40 / expected - 1).max() < 0.2


def test_a_seed_makes_a_random_tree_and_another_seed_another():
    first, again, other = (
        topology("random-tree", members=100, degree=3, height=4, seed=s).tree for s in (1, 1, 2)
    )
    assert (first.parent == again.parent).all()
    assert (first.parent != other.parent).any()


@given(st.integers(1, 300), st.integers(2, 6))
def test_inner_nodes_of_balanced_trees_have_the_same_degree_but_the_last(nodes, degree):
    tree = topology("balanced", nodes=nodes, degree=degree).tree
    assert tree.size == nodes
    neighbours = tree.child_count + (np.arange(nodes) > 0)
    inner = np.flatnonzero(tree.child_count)
    assert (neighbours[inner[:-1]] == degree).all()
    assert (neighbours[inner[-1:]] <= degree).all()
    assert (np.diff(inner) == 1).all()


@given(st.integers(1, 300), st.integers(2, 6))
def test_the_last_level_of_a_balanced_tree_can_be_spread_evenly(nodes, degree):
    filled, tree = (
        topology("balanced", nodes=nodes, degree=degree, spread_last=how).tree for how in (False, True)
    )
    assert tree.level_starts.tolist() == filled.level_starts.tolist()
    for level in range(tree.height - 1):
        inner = tree.child_count[tree.level_starts[level] : tree.level_starts[level + 1]]
        assert set(inner) == {degree if level == 0 else degree - 1}
    if tree.height:
        last = tree.child_count[tree.level_starts[-3] : tree.level_starts[-2]]
        assert last.max() - last.min() <= 1


def test_members_are_drawn_from_the_nodes_by_the_seed():
    few = topology("balanced", nodes=200, members=50, seed=3)
    assert few.member_count == 50
    assert len(set(few.member_nodes.tolist())) == 50
    assert (few.member_nodes == topology("balanced", nodes=200, members=50, seed=3).member_nodes).all()


def test_a_tree_with_a_number_of_nodes_is_the_first_of_them_level_by_level():
    whole, cut = (topology("tree", degree=2, height=3, nodes=nodes) for nodes in (15, 10))
    assert cut.tree.parent.tolist() == whole.tree.parent.tolist()[:10] == [-1, 0, 0, 1, 1, 2, 2, 3, 3, 4]
    assert cut.member_count == 10
    assert cut.label != whole.label


@pytest.mark.parametrize(
    ("name", "options", "what"),
    [
        ("tree", {"degree": 2, "height": 2, "members": 8}, "8 members do not fit a topology of 7 nodes"),
        ("tree", {"degree": 2, "height": 2, "nodes": 8}, "8 nodes of a tree of 7"),
        ("tree", {"degree": 2, "height": 2, "nodes": 0}, "accepted: 1 to 7"),
        ("random-tree", {"nodes": 5}, "no option --nodes"),
        ("random-tree", {"members": 5, "degree": 3, "height": 5}, "accepted|members"),
        ("balanced", {"nodes": 0}, "accepted"),
        ("balanced", {"degree": 1}, "accepted"),
        ("trees", {}, "did you mean 'tree'"),
    ],
)
def test_what_makes_no_topology_is_refused(name, options, what):
    with pytest.raises(InvalidInput, match=what):
        topology(name, **options)
