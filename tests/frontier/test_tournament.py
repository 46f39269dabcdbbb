"""The least of numbers that rise one by one."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stablecast.frontier.tournament import least_of, number_of, raise_number, tournament_size


@given(
    count=st.integers(1, 40),
    start=st.integers(0, 5),
    raises=st.lists(st.tuples(st.integers(0, 39), st.integers(0, 100))),
)
def test_the_least_is_that_of_the_plain_minimum(count, start, raises):
    whole = np.full(start + tournament_size(count) + 3, -7, np.int64)
    tree = whole[start : start + tournament_size(count)]
    tree[:] = 0
    plain = [0] * count
    for k, value in raises:
        k %= count
        plain[k] = max(plain[k], value)
        steps = raise_number(tree, k, value)
        assert least_of(tree) == min(plain)
        assert number_of(tree, k) == plain[k]
        assert steps <= 2 + math.ceil(math.log2(count))
    assert (whole[:start] == -7).all()
    assert (whole[start + tournament_size(count) :] == -7).all()
