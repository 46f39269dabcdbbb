"""How a group is divided into local groups: by zones, by size, and the same wherever it is computed."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.engine.choice import choose
from stablecast.overlays.tree import tree_from_parents
from stablecast.protocols._local_groups import divide, group_count, local_size, part_count
from stablecast.protocols.contract import Surroundings


def placed(zones, *, seed=1, **options):
    """Return the sizes of a group and where its members are placed."""
    n = len(zones)
    sizes = choose("gsgc-local", options).sizes(n, 0.01, zones=zones)
    tree = tree_from_parents([-1] + [0] * (n - 1))
    return sizes, divide(Surroundings(tree, sizes, seed, lambda: np.zeros((n, n))))


def division(zones, *, seed=1, **options):
    """Return the local groups as lists of members, the controllers first."""
    sizes, places = placed(zones, seed=seed, **options)
    members, start = places["neighbours"]
    found = {}
    for member, group in enumerate(places["local_group"]):
        found[int(group)] = members[start[member] : start[member + 1]].tolist()
    assert group_count(sizes) == len(found)
    assert local_size(sizes) == max(map(len, found.values()))
    return [found[g] for g in range(len(found))]


def test_a_zone_is_a_local_group_and_a_large_one_is_cut_into_even_parts():
    zones = ["north"] * 7 + ["south"] * 2 + ["east"] * 3
    groups = division(zones, local_size=3, controllers=1)
    assert sorted(len(group) for group in groups) == [2, 2, 2, 3, 3]
    assert all(len({zones[member] for member in group}) == 1 for group in groups)


def test_members_without_a_zone_are_in_a_zone_of_their_own():
    groups = division(["north", "", "north", "", ""])
    assert sorted(sorted(group) for group in groups) == [[0, 2], [1, 3, 4]]


@pytest.mark.parametrize(
    ("members", "size", "sizes"),
    [(60, 50, [30, 30]), (50, 50, [50]), (200, 50, [50] * 4), (5, 2, [2, 2, 1]), (3, 9, [3])],
)
def test_without_zones_the_group_is_divided_by_size(members, size, sizes):
    groups = division([""] * members, local_size=size, controllers=1)
    assert sorted(map(len, groups), reverse=True) == sizes


@given(
    st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=1, max_size=40),
    st.integers(1, 12),
    st.integers(0, 1 << 62),
)
def test_every_member_is_in_one_local_group_of_its_zone_and_no_group_is_too_large(zones, size, seed):
    groups = division(zones, seed=seed, local_size=size, controllers=1)
    assert sorted(member for group in groups for member in group) == list(range(len(zones)))
    assert max(map(len, groups)) <= size
    assert all(len({zones[member] for member in group}) == 1 for group in groups)
    assert groups == division(zones, seed=seed, local_size=size, controllers=1)


def test_another_view_draws_other_controllers():
    zones = ["north"] * 10 + ["south"] * 10
    assert division(zones, seed=1) != division(zones, seed=2)


def of_each(places, name):
    """Return every member's list."""
    entries, start = places[name]
    return [entries[a:b].tolist() for a, b in itertools.pairwise(start)]


@given(st.integers(1, 90), st.integers(1, 6), st.integers(1, 3), st.integers(2, 4))
def test_controllers_of_each_level_form_groups_of_the_next_up_to_one_at_the_uppermost(n, size, few, levels):
    controllers = min(few, size)
    sizes, places = placed([""] * n, local_size=size, controllers=controllers, levels=levels)
    parts, counts, peers, starts = (
        of_each(places, name) for name in ("parts", "part_counts", "peers", "peers_from")
    )
    reach = places["reach"]
    assert reach.max() == levels - 1
    assert (reach > 0).sum() == sum(
        min(controllers, len(group))
        for group in division([""] * n, **{"local_size": size, "controllers": controllers})
    )
    below = {
        g: {m for m in range(n) if places["local_group"][m] == g and places["rank"][m] < controllers}
        for g in places["local_group"]
    }
    for row in range(levels - 1):
        here = [m for m in range(n) if reach[m] > row]
        groups = {tuple(peers[m][starts[m][row] : starts[m][row + 1]]) for m in here}
        assert sorted(member for group in groups for member in group) == here
        for group in groups:
            assert {counts[m][row] for m in group} == {len({parts[m][row] for m in group})}
            assert {parts[m][row] for m in group} == set(range(counts[group[0]][row]))
            assert counts[group[0]][row] <= part_count(sizes)
            upper = {m for m in group if reach[m] > row + 1}
            assert upper == (set(group[:controllers]) if row < levels - 2 else set())
        for together in below.values():
            assert (
                len({(parts[m][row], tuple(peers[m][starts[m][row] : starts[m][row + 1]])) for m in together})
                == 1
            )
        below = {group: set(group[:controllers]) for group in groups}
    assert len(groups) == 1
