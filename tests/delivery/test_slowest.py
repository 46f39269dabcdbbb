"""The slowest of readers that come, move and go, and what the next one has reached."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stablecast.delivery.positions.slowest import (
    ABSENT,
    begin_without_readers,
    change_reached,
    second_reached,
    slowest_reader,
)


@given(
    n=st.integers(1, 40),
    changes=st.lists(st.tuples(st.integers(0, 39), st.integers(-1, 6) | st.just(ABSENT))),
)
def test_the_slowest_two_are_those_of_the_plain_minimum(n, changes):
    reached, winner = np.full(n + 3, -7, np.int64), np.full(2 * n + 3, -7, np.int64)
    begin_without_readers(reached, winner, n)
    plain = [ABSENT] * n
    for k, number in changes:
        plain[k % n] = number
        change_reached(reached, winner, n, k % n, number)
        least = min(plain)
        assert slowest_reader(reached, winner, n) == (-1 if least == ABSENT else plain.index(least))
        assert second_reached(reached, winner, n) == sorted([*plain, ABSENT])[1]
    assert reached[:n].tolist() == plain
    assert (reached[n:] == -7).all()
    assert (winner[2 * n :] == -7).all()


def test_without_readers_nobody_is_the_slowest():
    nothing = np.zeros(0, np.int64)
    begin_without_readers(nothing, nothing, 0)
    assert slowest_reader(nothing, nothing, 0) == -1
