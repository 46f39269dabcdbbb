from dataclasses import replace

import pytest

from stablecast.report.analysis_trace import Trace
from stablecast.report.analysis_units import (
    clean,
    clock,
    duration,
    listed,
    message_time,
    name_cell,
    names,
    percent,
    prefixed,
    prefixed_unit,
    short,
    time_unit,
    utc,
)


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0 µs"),
        (999, "999 µs"),
        (999.9, "1 ms"),
        (3100, "3.1 ms"),
        (999_990, "1 s"),
        (42_000_000, "42 s"),
        (119_990_000, "2 min"),
        (5_400_000_000, "90 min"),
        (9_000_000_000, "2.5 h"),
        (3 * 86_400_000_000, "3 days"),
        (-3100, "-3.1 ms"),
    ],
)
def test_durations_have_three_digits_and_the_unit_that_suits(us, text):
    assert duration(us) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B·s"), (999, "999 B·s"), (999.9, "1 kB·s"), (4.2e9, "4.2 GB·s"), (0.0025, "0.0025 B·s")],
)
def test_bytes_times_time_have_a_decimal_prefix(value, text):
    assert prefixed(value, "B·s") == text


def test_axes_have_units_in_which_their_numbers_are_neither_tiny_nor_huge():
    assert [time_unit(us).name for us in (10, 5e5, 9e7, 3.6e9, 8.64e10, 1e13)] == [
        *("µs", "ms", "s", "min", "h", "days")
    ]
    unit = prefixed_unit(4.2e9, "B")
    assert (unit.name, unit.of(4.2e9)) == ("GB", 4.2)


def test_messages_times_time():
    assert message_time(1_230_000_000) == "1,230 message·s"


def test_a_share_is_all_or_nothing_only_if_it_is():
    assert [percent(part, 10_000) for part in (0, 1, 1234, 9999, 10_000)] == [
        *("0 %", "< 0.1 %", "12.3 %", "> 99.9 %", "100 %")
    ]
    assert percent(0, 0) == "–"


def test_moments_are_told_to_the_microsecond():
    assert clock(1_500_001) == "1.500001 s"
    assert clock(-20) == "−0.000020 s"
    assert clock(3_723_000_004) == "1:02:03.000004"


def test_a_moment_in_a_sentence_is_a_date_or_how_far_in_it_is():
    begin, dated = 1_700_000_000_000_000, "2023-11-14 22:13:20 UTC"
    log = Trace(first_us=5, last_us=9_000_000, groups=1, members=2, sources=1)
    assert [log.dated(us) for us in (5, 1_500_005)] == ["the first row", "1.5 s after the first row"]
    assert replace(log, first_us=begin).dated(begin) == dated
    assert log.until_end(5).title == "since the first row (time_us 5)"


def test_only_times_of_our_days_are_dates():
    assert utc(1_700_000_000_000_000) == "2023-11-14 22:13:20 UTC"
    assert utc(8_190_000) is None


def test_names_keep_their_beginning_and_end_and_break_no_line():
    assert short("bob") == "bob"
    long = "kafka-consumer-group-of-the-orders-17"
    assert len(short(long)) == 24
    assert short(long).startswith("kafka-con")
    assert short(long).endswith("ers-17")
    assert clean("a\nb\u202ec\u2028d") == "a�b�c�d"
    assert clean("") == "“”"


def test_a_shortened_name_has_the_whole_one_beside_it():
    assert name_cell("bob").title == ""
    assert name_cell("x" * 40).title == "x" * 40
    assert name_cell(None).text == "–"


def test_names_of_a_picture_are_all_different():
    pairs = [("g", "x" * 30 + "1" + "y" * 30), ("g", "x" * 30 + "2" + "y" * 30), ("h", "bob")]
    assert len(set(names(pairs, groups=False))) == 3
    assert names([("g", "bob"), ("h", "bob")], groups=True) == ["g / bob", "h / bob"]


def test_words_in_a_sentence():
    assert [listed(list(words)) for words in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]
    assert listed("abcdef", 4, "kinds") == "a, b, c and 3 more kinds"
