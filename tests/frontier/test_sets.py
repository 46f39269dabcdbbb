import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stablecast.frontier.sets import (
    add,
    clear,
    fill,
    has,
    holds_more,
    holds_only,
    is_empty,
    is_full,
    join,
    keep_only,
    remove,
    words,
)

BESIDE = 7
"""What lies before and behind a set in memory, and must stay there."""


def room_for(n):
    """Return a set of ``n``, empty, and the array that it is a part of."""
    whole = np.full(words(n) + 2, BESIDE, np.int32)
    whole[1:-1] = 0
    return whole[1:-1], whole


def nothing_beside(whole):
    return whole[0] == whole[-1] == BESIDE


def members_of(array, n):
    return {j for j in range(n) if has(array, j)}


@given(st.integers(1, 200), st.data())
def test_a_set_of_bits_is_a_set(n, data):
    (array, whole), model = room_for(n), set()
    for j in data.draw(st.lists(st.integers(0, n - 1), max_size=40)):
        if data.draw(st.booleans()):
            add(array, j)
            model.add(j)
        else:
            remove(array, j)
            model.discard(j)
    assert members_of(array, n) == model
    assert is_full(array, n) == (len(model) == n)
    assert is_empty(array) == (not model)
    assert nothing_beside(whole)


@given(st.integers(1, 200))
def test_a_set_with_everyone_is_full_and_without_one_is_not(n):
    array = np.zeros(words(n), np.int32)
    for j in range(n):
        assert not is_full(array, n)
        add(array, j)
    assert is_full(array, n)
    assert (array >= 0).all()


@given(st.integers(1, 200), st.data())
def test_two_sets_are_joined_compared_and_cut(n, data):
    """Joining tells whether anything was new; ``holds_more`` foretells that."""
    members = st.sets(st.integers(0, n - 1), max_size=30)
    mine, theirs = data.draw(members), data.draw(members)
    (array, whole), (other, other_whole), (common, common_whole) = room_for(n), room_for(n), room_for(n)
    for j in mine:
        add(array, j)
        add(common, j)
    for j in theirs:
        add(other, j)
    assert holds_more(other, array) == bool(theirs - mine)
    assert join(array, other) == bool(theirs - mine)
    keep_only(common, other)
    assert members_of(array, n) == mine | theirs
    assert members_of(common, n) == mine & theirs
    assert members_of(other, n) == theirs
    assert nothing_beside(whole)
    assert nothing_beside(other_whole)
    assert nothing_beside(common_whole)


@given(st.integers(1, 200))
def test_a_filled_set_is_full_a_cleared_one_empty_and_nothing_beside_it_is_touched(n):
    array, whole = room_for(n)
    fill(array, n)
    assert is_full(array, n)
    assert members_of(array, n) == set(range(n))
    assert nothing_beside(whole)
    clear(array)
    assert is_empty(array)
    assert nothing_beside(whole)


@given(st.integers(1, 100), st.data())
def test_a_set_that_holds_only_one_holds_that_one_and_nobody_else(n, data):
    (array, _), one = room_for(n), data.draw(st.integers(0, n - 1))
    chosen = data.draw(st.one_of(st.just({one}), st.sets(st.integers(0, n - 1), max_size=3)))
    for j in chosen:
        add(array, j)
    assert holds_only(array, one) == (chosen == {one})
