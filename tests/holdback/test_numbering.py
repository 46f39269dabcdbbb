"""Numbers as systems write them, and as files of positions have them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.holdback.numbering import LARGEST, Numbering, parse_lsn, parse_stream_id

WORDS = st.integers(0, (1 << 64) - 1)


@given(WORDS, WORDS)
def test_the_name_of_an_entry_is_read_back(time, counter):
    seq = parse_stream_id(f"{time}-{counter}")
    assert Numbering.STREAM_ID.text(seq) == f"{time}-{counter}"


@given(WORDS)
def test_a_position_in_the_log_of_postgresql_is_read_back(byte):
    assert parse_lsn(Numbering.BYTE.text(byte)) == byte


@given(st.lists(st.tuples(st.integers(0, 1 << 42), st.integers(0, 1 << 18)), min_size=2, max_size=2))
def test_names_of_entries_keep_their_order_in_files(names):
    one, other = (parse_stream_id(f"{time}-{counter}") for time, counter in names)
    narrow = Numbering.STREAM_ID.narrow
    if narrow(one) is not None and narrow(other) is not None:
        assert (narrow(one) < narrow(other)) == (one < other)
        assert max(narrow(one), narrow(other)) <= LARGEST


@pytest.mark.parametrize("name", ["1-1", "1700000000000-0", f"{(1 << 42) - 1}-{(1 << 18) - 2}"])
def test_the_number_before_an_entry_is_before_it_in_files_and_after_the_entry_before(name):
    seq, narrow = parse_stream_id(name), Numbering.STREAM_ID.narrow
    assert narrow(seq - 1) < narrow(seq)
    before = parse_stream_id(f"{(seq >> 64) - 1}-7")
    assert narrow(before) < narrow(seq - 1)


@pytest.mark.parametrize("name", [f"5-{1 << 18}", f"{1 << 42}-0", f"{(1 << 64) - 1}-3"])
def test_a_name_that_has_no_place_in_files_is_not_cut_off(name):
    assert Numbering.STREAM_ID.narrow(parse_stream_id(name)) is None
