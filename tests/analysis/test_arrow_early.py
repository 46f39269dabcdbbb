"""What the first rows of a log tell before anything starts."""

import pytest

from stablecast.analysis.reading.early import ALL_EARLY, NO_SENDS, check_early
from stablecast.analysis.reading.foreign import Foreign
from stablecast.analysis.reading.inputs import find_inputs
from stablecast.errors import InvalidInput

HEADER = "group,kind,member,source,seq,time_us\n"
SENT = "g,send,a,a,1,10\n"


def early(folder, *rows, foreign=None, header=HEADER, **options):
    (folder / "log.csv").write_text(header + "".join(rows))
    return check_early(find_inputs([str(folder)]), foreign or Foreign(), **options)


def refusal(folder, *rows, **options):
    with pytest.raises(InvalidInput) as caught:
        early(folder, *rows, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_good_log_has_no_warnings(tmp_path):
    assert early(tmp_path, SENT, "g,receive,b,a,1,20\n") == ()
    assert early(tmp_path) == ()


def test_missing_columns_are_told(tmp_path):
    assert refusal(tmp_path, header=HEADER.replace("seq", "offset")).startswith(
        "no column 'seq' (nearest: 'offset') in "
    )


def test_unknown_kinds_are_told_unless_bad_rows_are_counted(tmp_path):
    rows = [SENT, "g,produce,b,a,1,20\n", "g,commit,b,a,1,20\n"]
    assert refusal(tmp_path, *rows) == (
        f"unknown kinds 'commit', 'produce' in '{tmp_path}/log.csv'; known kinds are send, receive, stable,"
        " release, join, leave, fail, head, position, and --kind says what others mean"
        " (--on-bad-rows count leaves them out)"
    )
    assert early(tmp_path, *rows, on_bad_rows="count") == ()
    assert early(tmp_path, *rows, foreign=Foreign(kinds={"produce": "receive", "commit": "-"})) == ()
    assert refusal(tmp_path, *(f"g,k{n},b,a,1,1\n" for n in range(9))).startswith(
        "unknown kinds 'k0', 'k1', 'k2' and 6 more in "
    )


@pytest.mark.parametrize(
    ("unit", "time"),
    [("s", "1700000000"), ("s", "1700000000.5"), ("ms", "1700000000123"), ("ns", "1700000000123456789")],
)
def test_times_in_another_unit_are_told_with_the_option(tmp_path, unit, time):
    rows = [f"g,send,a,a,1,{time}\n", f"g,receive,b,a,1,{time}\n"]
    names = {"s": "seconds", "ms": "milliseconds", "ns": "nanoseconds"}
    assert refusal(tmp_path, *rows) == (
        f"times in '{tmp_path}/log.csv' look like {names[unit]} since 1970, not microseconds:"
        f" {time.split('.')[0]} would be 2023-11-14; use --time-unit {unit} (or --time-unit us if they are"
        " microseconds)"
    )
    assert early(tmp_path, *rows, foreign=Foreign(time_unit=unit)) == ()
    assert early(tmp_path, *rows, unit_given=True) == ()


@pytest.mark.parametrize("first", [0, 10, 1_000_000, 1_700_000_000_123_456, -5])
def test_clocks_that_begin_anywhere_else_are_accepted(tmp_path, first):
    rows = [f"g,send,a,a,1,{first}\n", f"g,receive,b,a,1,{first + 3_000_000_000}\n"]
    assert early(tmp_path, *rows) == ()


def test_a_log_without_sends_is_warned_about(tmp_path):
    assert early(tmp_path, "g,receive,b,a,1,20\n") == (NO_SENDS,)
    assert early(tmp_path, "g,position,b,a,1,20\n") == (NO_SENDS,)
    assert early(tmp_path, "g,position,b,a,1,20\n", "g,head,,a,1,20\n") == ()
    assert early(tmp_path, "g,join,b,,,20\n") == ()


def test_receipts_that_are_all_earlier_than_their_sends_are_warned_about(tmp_path):
    assert early(tmp_path, SENT, "g,receive,b,a,1,5\n") == (ALL_EARLY,)
    assert early(tmp_path, SENT, "g,receive,b,a,1,5\n", "g,receive,c,a,1,15\n") == ()
    assert early(tmp_path, SENT, "h,receive,b,a,1,5\n", "g,receive,b,a,2,5\n") == ()


def test_only_the_first_rows_are_looked_at(tmp_path):
    rows = [SENT] * 200_000
    assert early(tmp_path, *rows, "g,odd,b,a,1,5\n") == ()
