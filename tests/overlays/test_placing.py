"""Placing an overlay by distances: everyone has one place, and the links are short."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.overlays import complete_tree, star_tree, tree_links
from stablecast.overlays.hypercube import hypercube
from stablecast.overlays.placing import link_lengths, placed_by_distance


def on_a_plane(members, seed=0):
    """Return distances of members that are somewhere in a square."""
    places = np.random.default_rng(seed).uniform(0, 1000, (members, 2))
    return np.linalg.norm(places[:, None] - places, axis=2)


def cube_links(members):
    cube = hypercube(members)
    return cube.neighbours, cube.start


def star_links(members):
    return tree_links(star_tree(members))


@pytest.mark.parametrize("links", [cube_links, star_links])
@given(members=st.integers(1, 40), seed=st.integers(0, 5))
def test_every_place_has_one_member(links, members, seed):
    placed = placed_by_distance(*links(members), on_a_plane(members), seed=seed)
    assert sorted(placed.tolist()) == list(range(members))


@pytest.mark.parametrize("links", [cube_links(100), tree_links(complete_tree(4, 3))])
def test_links_are_much_shorter_than_at_random(links):
    distances = on_a_plane(links[1].size - 1)
    near = link_lengths(*links, distances, placed_by_distance(*links, distances, seed=1))
    anyhow = link_lengths(*links, distances, np.arange(links[1].size - 1))
    assert near.mean() < 0.6 * anyhow.mean()


def test_no_exchange_of_two_members_is_left_that_would_shorten_the_links():
    links, distances = cube_links(13), on_a_plane(13)
    placed = placed_by_distance(*links, distances, seed=2)
    least = link_lengths(*links, distances, placed).sum()
    for p in range(13):
        for q in range(p):
            tried = placed.copy()
            tried[[p, q]] = tried[[q, p]]
            assert link_lengths(*links, distances, tried).sum() >= least - 1e-5


def test_the_middle_of_a_star_is_the_member_that_is_nearest_to_all():
    distances = on_a_plane(31)
    assert placed_by_distance(*star_links(31), distances, seed=0)[0] == distances.sum(axis=0).argmin()


def test_the_seed_decides_and_nothing_else():
    links, distances = cube_links(50), on_a_plane(50)
    once, again = (placed_by_distance(*links, distances, seed=7) for _ in range(2))
    other = placed_by_distance(*links, distances, seed=8)
    assert once.tolist() == again.tolist()
    assert once.tolist() != other.tolist()


def test_a_search_that_is_cut_short_leaves_a_permutation(monkeypatch):
    monkeypatch.setattr("stablecast.overlays.placing.TRIALS_MAX", 10)
    distances = on_a_plane(64)
    placed = placed_by_distance(*cube_links(64), distances, seed=0)
    assert sorted(placed.tolist()) == list(range(64))


def test_a_trees_links_are_its_parents_and_children():
    neighbours, start = tree_links(complete_tree(2, 2))
    assert [sorted(neighbours[a:b].tolist()) for a, b in pairwise(start)] == [
        [1, 2],
        [0, 3, 4],
        [0, 5, 6],
        *([1], [1], [2], [2]),
    ]
