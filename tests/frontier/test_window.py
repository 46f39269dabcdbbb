import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stablecast.frontier.window import BEYOND, DUPLICATE, NEW, accept


@given(st.lists(st.integers(1, 30), max_size=120), st.integers(1, 12))
def test_the_frontier_is_the_longest_prefix_of_what_was_taken(arrivals, size):
    received, ahead = np.zeros(1, np.int64), np.zeros((1, size), np.bool_)
    taken: set[int] = set()
    for seq in arrivals:
        front = int(received[0])
        outcome = accept(received, ahead, 0, seq)
        if seq in taken:
            assert outcome == DUPLICATE
        elif seq > front + size:
            assert outcome == BEYOND
        else:
            assert outcome == NEW
            taken.add(seq)
        prefix = 0
        while prefix + 1 in taken:
            prefix += 1
        assert received[0] == prefix


def test_a_gap_holds_the_frontier_until_it_is_filled():
    received, ahead = np.zeros(2, np.int64), np.zeros((2, 4), np.bool_)
    assert accept(received, ahead, 1, 2) == NEW
    assert accept(received, ahead, 1, 3) == NEW
    assert received.tolist() == [0, 0]
    assert accept(received, ahead, 1, 1) == NEW
    assert received.tolist() == [0, 3]
    assert not ahead.any()
