"""Ranges of a set, and its highest members."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stablecast.frontier.sets import add, has, highest_in_both, keep_highest, ranges, words

SIZE = 100
MEMBERS = st.sets(st.integers(0, SIZE - 1))


def as_set(members):
    array = np.zeros(words(SIZE), np.int32)
    for j in members:
        add(array, j)
    return array


@given(MEMBERS, st.sets(st.integers(0, SIZE - 30), max_size=2))
def test_a_range_begins_at_each_member_whose_predecessor_is_not_in_the_set(members, starts):
    members |= {start + k for start in starts for k in range(30)}
    assert ranges(as_set(members)) == sum(j - 1 not in members for j in members)


@given(MEMBERS, st.integers(0, SIZE))
def test_the_highest_members_are_kept(members, most):
    array = as_set(members)
    kept = set(sorted(members, reverse=True)[:most])
    assert keep_highest(array, most) == len(kept)
    assert {j for j in range(SIZE) if has(array, j)} == kept


@given(one=MEMBERS, other=MEMBERS, first=st.integers(0, SIZE - 1), last=st.integers(0, SIZE - 1))
def test_the_highest_in_both_is_that_of_the_intersection_in_the_range(one, other, first, last):
    wanted = max((each for each in one & other if first <= each <= last), default=first - 1)
    assert highest_in_both(as_set(one), as_set(other), first, last) == wanted
