"""Snapshots put together: blockers over logs, rates, times until full, limits, and what people read."""

import json
from dataclasses import replace

import pytest
from logs import log_of, snapshot_of

from stablecast.errors import InvalidInput
from stablecast.holdback.answer import Limits, answer_of, exceeded, is_gone
from stablecast.holdback.as_json import as_json
from stablecast.holdback.as_text import as_text
from stablecast.holdback.model import Amount, Rate, Reader, Room
from stablecast.holdback.rates import full, rate_between
from stablecast.holdback.units import amount_text, duration_text, parse_amount, parse_duration, size_text

NOW_US = 10**15
HOUR_US = 3_600_000_000


def named(log, source):
    return replace(log, source=source, group=f"here/{source}")


def since(log, **hours):
    readers = (
        replace(one, behind_since_us=NOW_US - hours[one.member] * HOUR_US) if one.member in hours else one
        for one in log.readers
    )
    return replace(log, readers=tuple(readers))


@pytest.fixture
def two_logs():
    one = since(
        named(log_of(100, {"archive": 20, "billing": 70, "search": 100}), "orders"), archive=3, billing=1
    )
    other = since(named(log_of(50, {"archive": 10, "billing": 10}), "events"), archive=5, billing=5)
    return answer_of([snapshot_of(one, other)])


def test_blockers_are_ranked_over_logs(two_logs):
    told = [
        (one.member, one.logs, one.held.items, one.frees.items, one.since_us) for one in two_logs.blockers
    ]
    assert told == [
        ("archive", 2, 120, 50, NOW_US - 5 * HOUR_US),
        ("billing", 1, 40, 0, NOW_US - 5 * HOUR_US),
    ]


def test_people_read_the_blocker_the_next_one_and_what_would_go_free(two_logs):
    assert as_text(two_logs).splitlines() == [
        "2 logs, 2 blockers",
        "  archive holds 120 entries, 1.2 kB in 2 logs, for 5 h 00 min",
        "  billing holds 40 entries, 400 B in 1 log, for 5 h 00 min",
        "",
        "here/orders: safe to delete up to 20 (20 entries, 200 B)",
        "  held back: 80 entries, 800 B, for 3 h 00 min, by archive",
        "  READER   HOLDS              BEHIND FOR  STATE           WITHOUT IT",
        "  archive  80 entries, 800 B  3 h 00 min  blocks          50 entries, 500 B go free;"
        " then billing is next",
        "  billing  30 entries, 300 B  1 h 00 min  behind",
        "  search   nothing                        has everything",
        "",
        "here/events: safe to delete up to 10 (10 entries, 100 B)",
        "  held back: 40 entries, 400 B, for 5 h 00 min, by archive, billing",
        "  READER   HOLDS              BEHIND FOR  STATE   WITHOUT IT",
        "  archive  40 entries, 400 B  5 h 00 min  blocks  nothing goes free: others are as far behind",
        "  billing  40 entries, 400 B  5 h 00 min  blocks  nothing goes free: others are as far behind",
    ]


def test_of_many_logs_those_that_hold_the_most_are_shown():
    logs = [named(log_of(100 + k, {"archive": 0}), f"s{k:02}") for k in range(30)]
    text = as_text(answer_of([snapshot_of(*logs)]), top=2)
    assert text.count("safe to delete") == 2
    assert "here/s29: safe" in text
    assert text.endswith("28 other logs; in 28 of them something is held back")


def test_names_are_those_of_the_tables_of_positions(two_logs):
    told = json.loads(json.dumps(as_json(two_logs)))
    orders = told["sources"][0]
    assert {
        name: orders[name] for name in ("stable_seq", "last_seq", "waiting_for", "waiting", "oldest_us")
    } == {
        "stable_seq": 20,
        "last_seq": 100,
        "waiting_for": ["archive"],
        "waiting": 1,
        "oldest_us": NOW_US - 3 * HOUR_US,
    }
    first = orders["readers"][0]
    names = ("member", "position", "lag", "without_seq", "blocks", "frees_bytes")
    assert [first[name] for name in names] == ["archive", 20, 80, 70, True, 500]


def test_the_rate_is_what_was_sent_between_two_snapshots():
    before, after = (replace(log_of(head, {}), sent=Amount(head)) for head in (100, 300))
    assert rate_between(before, after, 10.0) == Rate(20.0, 200.0, 10.0)
    assert rate_between(before, after, 0.1) is None
    assert rate_between(after, before, 10.0) is None  # the log was made anew


def test_a_log_is_full_when_the_room_is_used_up():
    end = full(Room(Amount(items=1000, bytes=1000), "writes are refused"), Rate(10.0, 100.0, 60.0))
    assert (end.in_s, end.over_s, end.then) == (10.0, 60.0, "writes are refused")
    assert full(None, Rate(1.0, 1.0)) is None
    assert full(Room(Amount(bytes=1), "x"), Rate(1.0, 0.0)) is None


def test_a_second_snapshot_gives_the_present_rate():
    room = Room(Amount(bytes=4000), "slot a is lost")
    before = replace(log_of(100, {"a": 0}, room=room), sent=Amount(bytes=1000))
    after = replace(before, sent=Amount(bytes=3000), rate=Rate(None, 1.0, 9.0))
    first, second = snapshot_of(before), replace(snapshot_of(after), time_us=NOW_US + 10_000_000)
    text = as_text(answer_of([second], before={first.server: first}))
    assert "full in 20 s at the rate of the last 10 s: then slot a is lost" in text
    assert "full in 1 h 06 min at the rate of the last 9 s" in as_text(answer_of([second]))


@pytest.mark.parametrize(
    ("reader", "gone"),
    [
        (Reader("a", 1, connected=False), True),
        (Reader("a", 1, connected=True, seen_us=0), False),
        (Reader("a", 1, seen_us=NOW_US - 299_000_000), False),
        (Reader("a", 1, seen_us=NOW_US - 301_000_000), True),
        (Reader("a", 1), False),
    ],
)
def test_a_reader_is_gone_if_nobody_is_connected_or_it_was_not_heard_of_for_long(reader, gone):
    assert is_gone(reader, NOW_US, 300.0) is gone


def test_limits_name_the_log_and_who_holds_it(two_logs):
    (line,) = exceeded(two_logs, Limits(held=Amount(bytes=500)))
    assert line == "orders of test://here has 800 B held back, more than 500 B (archive)"
    assert exceeded(two_logs, Limits(held=Amount(bytes=800))) == []
    assert len(exceeded(two_logs, Limits(held=Amount(items=39)))) == 2
    (line,) = exceeded(two_logs, Limits(age_s=4 * 3600))
    assert (
        line == "events of test://here is held back for 5 h 00 min, more than 4 h 00 min (archive, billing)"
    )


def test_a_limit_that_cannot_be_judged_is_told():
    log = replace(log_of(10, {"a": 0}), readers=(Reader("a", 0, behind=Amount(items=10)),))
    lines = exceeded(answer_of([snapshot_of(log)]), Limits(Amount(bytes=1), 1.0))
    assert ["cannot be judged" in line for line in lines] == [True, True]


def test_a_log_that_nobody_reads_is_not_called_safe():
    assert (
        as_text(answer_of([snapshot_of(log_of(10, {}))]))
        == "g/s: nobody reads it; it keeps 10 entries, 100 B"
    )


@pytest.mark.parametrize("width", [40, 60, 80])
def test_lines_are_no_wider_than_the_terminal(two_logs, width):
    whole, lines = as_text(two_logs), as_text(two_logs, width=width).splitlines()
    assert max(map(len, lines)) <= width
    names = {one.reader.member for row in two_logs.rows for one in row.frontier.standings}
    told = " ".join(lines)
    assert not [name for name in names if (name in whole) != (name in told)]
    assert as_text(two_logs, width=500) == whole


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("10GB", Amount(bytes=10**10)),
        ("1.5 kB", Amount(bytes=1500)),
        ("2GiB", Amount(bytes=1 << 31)),
        ("7", Amount(7)),
    ],
)
def test_limits_are_sizes_or_numbers_of_items(text, amount):
    assert parse_amount(text, "--max-held") == amount


@pytest.mark.parametrize("text", ["", "x", "10 potatoes", "-1GB", "1.5"])
def test_what_is_no_limit_is_refused(text):
    with pytest.raises(InvalidInput, match="--max-held"):
        parse_amount(text, "--max-held")


def test_times_are_read_and_written():
    assert [parse_duration(text, "x") for text in ("90", "5m", "1.5h", "7d", "2w")] == [
        90,
        300,
        5400,
        604800,
        1209600,
    ]
    assert [duration_text(s) for s in (59, 61, 7260, 200_000)] == [
        "59 s",
        "1 min 01 s",
        "2 h 01 min",
        "2 d 7 h",
    ]
    with pytest.raises(InvalidInput, match="--max-age"):
        parse_duration("soon", "--max-age")


def test_sizes_have_three_figures():
    assert [size_text(n) for n in (0, 999, 1000, 12_345, 123_456, 38 * 10**9, 2 * 10**15)] == [
        "0 B", "999 B", "1 kB", "12.3 kB", "123 kB", "38 GB", "2,000 TB"
    ]  # fmt: skip
    assert amount_text(Amount(1, None, True)) == "about 1 entry"
    assert amount_text(Amount()) == "an unknown amount"
