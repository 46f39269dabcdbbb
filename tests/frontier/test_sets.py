import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stablecast.frontier.sets import add, fill, has, is_full, join, remove, words


@given(st.integers(1, 200), st.data())
def test_a_set_of_bits_is_a_set(n, data):
    array, model = np.zeros(words(n) + 3, np.int32), set()
    for j in data.draw(st.lists(st.integers(0, n - 1), max_size=40)):
        if data.draw(st.booleans()):
            add(array, 2, j)
            model.add(j)
        else:
            remove(array, 2, j)
            model.discard(j)
    assert {j for j in range(n) if has(array, 2, j)} == model
    assert is_full(array, 2, n) == (len(model) == n)
    assert array[0] == array[1] == array[-1] == 0


@given(st.integers(1, 200))
def test_a_set_with_everyone_is_full_and_without_one_is_not(n):
    array = np.zeros(words(n), np.int32)
    for j in range(n):
        assert not is_full(array, 0, n)
        add(array, 0, j)
    assert is_full(array, 0, n)
    assert (array >= 0).all()


@given(st.integers(1, 200), st.data())
def test_joining_adds_what_the_other_has_and_tells_whether_any_of_it_was_new(n, data):
    members = st.sets(st.integers(0, n - 1), max_size=30)
    mine, theirs = data.draw(members), data.draw(members)
    array, other = np.zeros(words(n) + 2, np.int32), np.zeros(words(n) + 3, np.int32)
    for j in mine:
        add(array, 1, j)
    for j in theirs:
        add(other, 2, j)
    assert join(array, 1, other, 2, n) == bool(theirs - mine)
    assert {j for j in range(n) if has(array, 1, j)} == mine | theirs
    assert {j for j in range(n) if has(other, 2, j)} == theirs
    assert array[0] == array[-1] == other[0] == other[1] == other[-1] == 0


@given(st.integers(1, 200))
def test_a_filled_set_is_full_and_nothing_beside_it_is_touched(n):
    array = np.zeros(words(n) + 2, np.int32)
    fill(array, 1, n)
    assert is_full(array, 1, n)
    assert array[0] == array[-1] == 0
