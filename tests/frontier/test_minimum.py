import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stablecast.frontier import copy_into, exceeds, raise_to, take_minimum

ARRAYS = st.integers(1, 40).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(-(2**31), 2**31 - 1), min_size=n, max_size=n)] * 2)
)


@given(ARRAYS, st.sampled_from([np.int32, np.int64]))
def test_take_minimum_is_the_elementwise_minimum(pair, dtype):
    into, array = (np.array(values, dtype) for values in pair)
    expected = np.minimum(into, array)
    take_minimum(into, array)
    assert (into == expected).all()


@given(ARRAYS)
def test_raise_to_is_the_elementwise_maximum_and_exceeds_foretells_a_change(pair):
    into, array = (np.array(values, np.int64) for values in pair)
    before = into.copy()
    changes = exceeds(array, into)
    raise_to(into, array)
    assert (into == np.maximum(before, array)).all()
    assert changes == (into != before).any()


def test_copy_into_overwrites_and_keeps_the_source_apart():
    into, array = np.zeros(3, np.int64), np.array([1, 2, 3])
    copy_into(into, array)
    array[0] = 9
    assert into.tolist() == [1, 2, 3]
