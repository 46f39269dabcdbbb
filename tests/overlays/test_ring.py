import pytest

from stablecast.overlays import back_and_forth, complete_tree, successor


def test_odd_levels_run_left_to_right_and_even_ones_right_to_left():
    assert back_and_forth(complete_tree(2, 2)).tolist() == [0, 1, 2, 6, 5, 4, 3]


@pytest.mark.parametrize(("degree", "height"), [(1, 4), (2, 3), (3, 3)])
def test_the_tour_visits_everyone_once_and_returns(degree, height):
    tree = complete_tree(degree, height)
    following = successor(back_and_forth(tree))
    seen, member = [], 0
    for _ in range(tree.size):
        seen.append(member)
        member = int(following[member])
    assert member == 0
    assert sorted(seen) == list(range(tree.size))
