"""Trees of ranges: everyone is in them once, and they are as flat as their degree allows."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.overlays.ranges import answers_for, children, parent

SIZES = st.integers(1, 400)
DEGREES = st.integers(1, 12)


@given(SIZES, DEGREES)
def test_every_place_is_the_child_of_one_parent(size: int, degree: int) -> None:
    found = [child for place in range(size) for child in children(place, size, degree)]
    assert sorted(found) == list(range(1, size))
    for place in range(size):
        assert len(children(place, size, degree)) <= degree
        for child in children(place, size, degree):
            assert parent(child, size, degree) == place
    assert parent(0, size, degree) == -1


@given(SIZES, DEGREES, st.data())
def test_a_place_answers_for_itself_and_for_all_below_it(size: int, degree: int, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, size - 1))
    below = [place]
    for one in below:
        below.extend(children(one, size, degree))
    assert sorted(below) == list(answers_for(place, size, degree))


@given(SIZES, st.integers(2, 12), st.data())
def test_the_way_from_the_root_is_short(size: int, degree: int, data: st.DataObject) -> None:
    place, hops = data.draw(st.integers(0, size - 1)), 0
    while place:
        place, hops = parent(place, size, degree), hops + 1
    assert hops <= math.ceil(math.log(size + 1, degree)) + 1


def test_neighbours_in_the_order_are_neighbours_in_the_tree() -> None:
    zones = [place // 100 for place in range(1000)]
    between = [
        (place, child)
        for place in range(1000)
        for child in children(place, 1000, 8)
        if zones[place] != zones[child]
    ]
    assert len(between) < 1000 / 10


@pytest.mark.parametrize(("place", "size", "degree"), [(-1, 3, 2), (3, 3, 2), (0, 0, 2), (0, 3, 0)])
def test_a_place_that_is_not_there_is_refused(place: int, size: int, degree: int) -> None:
    with pytest.raises(ValueError, match="is in no tree"):
        children(place, size, degree)
