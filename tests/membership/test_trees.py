"""Trees along which members pass things on: everyone once, zones once, and only who is to have it."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from stablecast.membership.audiences import Audiences
from stablecast.membership.roster import roster_of, shared
from stablecast.membership.trees import Trees
from stablecast.membership.view import MemberInfo, View


def members_of(zones, receives=None):
    return tuple(
        MemberInfo(
            1_000 + k, f"m{k}", 1, "h", 7000 + k, zone, receives=("*",) if receives is None else receives[k]
        )
        for k, zone in enumerate(zones)
    )


def trees_of(members):
    return Trees([member.zone for member in members], Audiences(members))


def reached(trees, source, degree, **which):
    """Return how often each member is reached from a source, and the links that copies take."""
    links, waiting = [], [source]
    while waiting:
        rank = waiting.pop()
        below = trees.children(source, rank, degree, **which)
        links += [(rank, child) for child in below]
        waiting += below
    return links


zones = st.lists(st.sampled_from(("", "east", "west", "north")), min_size=1, max_size=70)


@given(zones, st.data(), st.integers(1, 12))
def test_everyone_is_reached_once_from_every_source(zones, data, degree):
    source = data.draw(st.integers(0, len(zones) - 1))
    links = reached(trees_of(members_of(zones)), source, degree)
    assert sorted(child for _, child in links) == [rank for rank in range(len(zones)) if rank != source]


@given(zones, st.data(), st.integers(1, 12))
def test_one_copy_comes_to_each_other_zone(zones, data, degree):
    source = data.draw(st.integers(0, len(zones) - 1))
    links = reached(trees_of(members_of(zones)), source, degree)
    assert sum(zones[one] != zones[other] for one, other in links) == len(set(zones)) - 1


@given(zones, st.data(), st.integers(1, 12))
def test_nobody_passes_on_more_than_the_degree_and_as_much_to_other_zones(zones, data, degree):
    source = data.draw(st.integers(0, len(zones) - 1))
    trees = trees_of(members_of(zones))
    for rank in range(len(zones)):
        below = trees.children(source, rank, degree)
        assert sum(zones[child] == zones[rank] for child in below) <= degree
        assert sum(zones[child] != zones[rank] for child in below) <= degree


@given(zones, st.data(), st.integers(1, 12))
def test_who_is_above_a_member_passes_on_to_it(zones, data, degree):
    source, rank = (data.draw(st.integers(0, len(zones) - 1)) for _ in range(2))
    trees = trees_of(members_of(zones))
    way = (rank, *trees.above(source, rank, degree))
    assert way[-1] == source
    for below, above in pairwise(way):
        assert below in trees.children(source, above, degree)


@given(st.data(), st.integers(1, 5))
def test_what_is_for_an_audience_reaches_it_and_nobody_else(data, degree):
    size = data.draw(st.integers(2, 30))
    zones = [data.draw(st.sampled_from(("", "east", "west"))) for _ in range(size)]
    source = data.draw(st.integers(0, size - 1))
    wants = [data.draw(st.booleans()) for _ in range(size)]
    members = members_of(zones, [(f"m{source}",) if wanted else ("nobody",) for wanted in wants])
    trees = trees_of(members)
    links = reached(trees, source, degree, audience=True)
    expected = [rank for rank in range(size) if wants[rank] and rank != source]
    assert sorted(child for _, child in links) == expected
    for rank in set(range(size)) - set(expected) - {source}:
        assert trees.children(source, rank, degree, audience=True) == ()
        assert trees.above(source, rank, degree, audience=True) == ()


def test_two_levels_are_enough_for_a_thousand_members_with_a_degree_of_32():
    trees = trees_of(members_of([""] * 1_000))
    assert max(len(trees.above(17, rank, 32)) for rank in range(1_000)) == 2


def test_different_sources_have_different_members_stand_for_a_zone():
    trees = trees_of(members_of(["east"] * 10 + ["west"] * 10))
    heads = {next(child for child in trees.children(s, s, 4) if child >= 10) for s in range(10)}
    assert len(heads) == 10


def test_equal_views_share_what_follows_from_them():
    one, other = (View(77, 1, members_of(["a", "b"]), "orders", {}) for _ in range(2))
    assert roster_of(one) is roster_of(other)
    assert shared(other) is roster_of(one).view
    assert roster_of(other).ranks == {1_000: 0, 1_001: 1}


def test_a_view_of_the_same_id_that_differs_is_not_taken_for_the_other():
    one, other = (View(78, 1, members_of(zones), "orders", {}) for zones in (["a", "b"], ["a", "b", "c"]))
    assert roster_of(one).size == 2
    assert roster_of(other).size == 3
    assert shared(one) == one
