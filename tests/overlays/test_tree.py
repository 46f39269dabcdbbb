import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.overlays import Tree, complete_tree, contract_tree, tree_from_parents

PARENTS = st.integers(1, 40).flatmap(
    lambda n: st.tuples(*[st.integers(0, max(v - 1, 0)) for v in range(n)]).map(lambda p: [-1, *p[1:]])
)


def ancestors(tree: Tree, node: int) -> set[int]:
    found = set()
    while node >= 0:
        found.add(node)
        node = int(tree.parent[node])
    return found


def test_a_complete_tree_has_its_levels_filled_but_the_last():
    tree = complete_tree(3, 3, fill=2)
    assert np.diff(tree.level_starts).tolist() == [1, 3, 9, 18]
    assert tree.child_count[4:13].tolist() == [2] * 9
    assert tree.height == 3


@pytest.mark.parametrize(("degree", "height", "fill"), [(0, 2, 1), (2, 0, 1), (2, 2, 3), (2, 2, 0)])
def test_shapes_that_make_no_tree_are_refused(degree, height, fill):
    with pytest.raises(InvalidInput, match="accepted"):
        complete_tree(degree, height, fill=fill)


@given(PARENTS)
def test_any_tree_is_renumbered_breadth_first_with_its_shape_kept(parents):
    tree = tree_from_parents(parents)
    assert tree.size == len(parents)
    depths = sorted(_depth(parents, v) for v in range(len(parents)))
    assert tree.depth.tolist() == depths
    assert sorted(tree.child_count) == sorted(parents.count(v) for v in range(len(parents)))


def _depth(parents: list[int], node: int) -> int:
    return 0 if parents[node] < 0 else 1 + _depth(parents, parents[node])


@given(PARENTS)
def test_subtrees_are_intervals_of_the_entry_numbers(parents):
    tree = tree_from_parents(parents)
    for v in range(tree.size):
        below = {w for w in range(tree.size) if v in ancestors(tree, w)}
        interval = range(int(tree.entry[v]), int(tree.entry[v] + tree.subtree_size[v]))
        assert {int(tree.entry[w]) for w in below} == set(interval)


@given(PARENTS)
def test_siblings_are_chained_from_the_first_to_the_last_child(parents):
    tree = tree_from_parents(parents)
    for v in range(tree.size):
        children = [w for w in range(tree.size) if tree.parent[w] == v]
        assert tree.last_child[v] == (children[-1] if children else -1)
        for before, after in zip([-1, *children], [*children, -1], strict=True):
            if before >= 0:
                assert tree.next_sibling[before] == after
            if after >= 0:
                assert tree.previous_sibling[after] == before


@given(PARENTS, st.data())
def test_contraction_hangs_each_chosen_node_under_its_nearest_chosen_ancestor(parents, data):
    tree = tree_from_parents(parents)
    chosen = data.draw(st.sets(st.integers(0, tree.size - 1), min_size=1))
    smaller, nodes = contract_tree(tree, np.array(sorted(chosen)))
    assert set(nodes.tolist()) == chosen
    for member in range(1, smaller.size):
        node, parent = int(nodes[member]), int(nodes[smaller.parent[member]])
        above = [a for a in ancestors(tree, node) - {node} if a in chosen]
        assert parent == (max(above, key=lambda a: tree.depth[a]) if above else int(nodes[0]))


def test_parents_with_a_cycle_or_two_roots_are_refused():
    with pytest.raises(InvalidInput, match="cycle"):
        tree_from_parents([-1, 2, 1])
    with pytest.raises(InvalidInput, match="one root"):
        tree_from_parents([-1, -1])
    with pytest.raises(InvalidInput, match="no node"):
        tree_from_parents([-1, 7])
