"""Heads and positions followed by the kernels give what going through every number gives."""

import os
import random
from decimal import Decimal

import pyarrow as pa
import pytest
from positions_plain import TABLES, Event, analyse
from positions_random import random_history

from stablecast.delivery.kinds import KINDS
from stablecast.delivery.positions.schemas import SCHEMAS
from stablecast.delivery.positions.tables import position_tables
from stablecast.delivery.schema import EVENTS

SEED = 1 if os.environ.get("CI") else random.randrange(1 << 32)
HISTORIES = 1000
AT_ONCE = 50
OPTIONS = (
    {},
    {"first_seq": 0, "next_offset": True},
    {"first_seq": "earliest", "bytes_are_numbers": True},
    {"first_seq": "earliest", "next_offset": True},
    {"first_seq": 3},
)
SCHEMA = pa.schema([field for field in EVENTS if field.name != "bytes"])


def as_table(events):
    """Return events as reading gives them, kinds as numbers."""
    rows = [event._asdict() | {"kind": KINDS.index(event.kind)} for event in events]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def rows_of(table):
    return [tuple(row.values()) for row in table.to_pylist()]


def in_order(rows):
    return sorted(rows, key=repr)


def differences(events, **options):
    """Return the tables in which the kernels and the plain loops differ, with the rows that do."""
    found, wanted = position_tables(as_table(events), **options), analyse(events, **options)
    assert set(found) == set(TABLES)
    different = {}
    for name in TABLES:
        assert found[name].schema == SCHEMAS[name]
        ours = [tuple(int(x) if isinstance(x, Decimal) else x for x in row) for row in rows_of(found[name])]
        theirs = wanted[name]
        if in_order(ours) != in_order(theirs):
            different[name] = (
                [row for row in ours if row not in theirs],
                [row for row in theirs if row not in ours],
            )
    return different


@pytest.mark.parametrize("part", range(HISTORIES // AT_ONCE))
def test_random_histories_give_what_going_through_every_number_gives(part):
    seeds = [SEED + part * AT_ONCE + k for k in range(AT_ONCE)]
    events = [event for seed in seeds for event in random_history(seed, f"g{seed}")]
    options = OPTIONS[part % len(OPTIONS)]
    different = differences(events, **options)
    assert not different, f"seed {SEED}, part {part}, {options}: found and wanted in {different}"


def ev(kind, who, time_us, seq=None, source="log", group="g"):
    """Return a head of a source, a position of a member, or a join or departure."""
    if kind == "head":
        return Event(group, kind, source, source, seq, time_us)
    return Event(group, kind, who, source if kind == "position" else None, seq, time_us)


def found_in(events, **options):
    return {name: table.to_pylist() for name, table in position_tables(as_table(events), **options).items()}


def frontiers_of(events, **options):
    rows = found_in(events, **options)["frontiers"]
    return [(row["time_us"], row["sent"], row["stable"], row["blocker"]) for row in rows]


TWO_READERS = [
    ev("head", None, 10, 100),
    ev("position", "a", 20, 60),
    ev("position", "b", 30, 80),
    ev("position", "a", 50, 100),
    ev("head", None, 60, 150),
]


def test_the_prefix_ends_where_the_slowest_reader_is():
    assert frontiers_of(TWO_READERS) == [(30, 100, 60, "b"), (50, 100, 80, "a")]
    (source,) = found_in(TWO_READERS, bytes_are_numbers=True)["sources"]
    assert source == {
        "group": "g",
        "source": "log",
        "messages": 150,
        "first_seq": 1,
        "last_seq": 150,
        "stable_seq": 80,
        "stable_us": 50,
        "waiting_for": ["b"],
        "waiting": 1,
        "oldest_us": 10,
        "heads_missing": False,
        "retained_bytes": 70,
    }


def test_the_price_of_a_reader_is_what_it_alone_held_back():
    """Both lack all from 10 on; b alone lacks 60 from 20, a alone 20 from 30, and b alone 20 from 50."""
    tables = found_in(TWO_READERS)
    a, b = tables["readers"]
    assert (a["alone_us"], int(a["alone_numbers_us"]), a["without_seq"]) == (20, 20 * 20, 80)
    assert (b["alone_us"], int(b["alone_numbers_us"]), b["without_seq"]) == (20, 10 * 60 + 10 * 20, 100)
    assert (a["lag"], a["behind_since_us"], b["lag"], b["behind_since_us"]) == (50, 60, 70, 10)
    assert [(row["member"], row["completed_last"], int(row["held_us"])) for row in tables["laggards"]] == [
        ("a", 20, 400),
        ("b", 60, 800),
    ]
    assert tables["totals"] == [
        {
            "group": "g",
            "sources": 1,
            "sent": 150,
            "stable": 80,
            "retained": 70,
            "oldest_frontier_us": 50,
            "oldest_us": 10,
            "blocker": "b",
        }
    ]


JOINS = [ev("join", "a", 0), ev("head", None, 10, 5)]
EXAMPLES = {
    "who joins at the sending must receive it": (
        [*JOINS, ev("join", "b", 10), ev("position", "a", 20, 5)],
        [],
    ),
    "who joins after the sending need not": (
        [*JOINS, ev("join", "b", 11), ev("position", "a", 20, 5)],
        [(20, 5, 5, "a")],
    ),
    "who leaves at the sending need not": (
        [*JOINS, ev("join", "b", 0), ev("leave", "b", 10), ev("position", "a", 20, 5)],
        [(20, 5, 5, "a")],
    ),
    "who leaves later is waited for until then": (
        [*JOINS, ev("join", "b", 0), ev("position", "a", 20, 5), ev("fail", "b", 30)],
        [(30, 5, 5, "b")],
    ),
    "who comes back has what it had": (
        [
            *JOINS,
            ev("position", "a", 20, 7),
            ev("leave", "a", 30),
            ev("join", "a", 40),
            ev("head", None, 50, 9),
        ],
        [(20, 5, 5, "a"), (50, 9, 7, None)],
    ),
    "who has left and is not back is not waited for": (
        [*JOINS, ev("leave", "a", 30), ev("head", None, 40, 6), ev("join", "a", 50), ev("head", None, 60, 7)],
        [(30, 5, 5, "a"), (40, 6, 6, None)],
    ),
    "who never joined does not count": ([*JOINS, ev("position", "b", 20, 5)], []),
    "rows that go back or repeat add nothing": (
        [
            ev("head", None, 1, 5),
            ev("position", "a", 2, 3),
            ev("position", "a", 3, 1),
            ev("head", None, 4, 2),
        ],
        [(2, 5, 3, "a")],
    ),
    "rows of one time act together": (
        [
            ev("position", "a", 1, 3),
            ev("head", None, 1, 5),
            ev("position", "a", 1, 5),
            ev("head", None, 1, 4),
        ],
        [(1, 5, 5, None)],
    ),
    "the source is not waited for": (
        [*JOINS, ev("join", "log", 0), ev("position", "a", 20, 5)],
        [(20, 5, 5, "a")],
    ),
    "the source is waited for if it has positions of its own": (
        [*JOINS, ev("join", "log", 0), ev("position", "a", 20, 5), ev("position", "log", 30, 2)],
        [(30, 5, 2, "log")],
    ),
    "without readers all is stable": (
        [ev("head", None, 1, 5), ev("head", None, 3, 6)],
        [(1, 5, 5, None), (3, 6, 6, None)],
    ),
    "without heads the frontier is that among readers": (
        [ev("position", "a", 1, 5), ev("position", "b", 2, 3), ev("position", "b", 4, 9)],
        [(2, 5, 3, "b"), (4, 9, 5, "b")],
    ),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_frontiers_of_examples(example):
    events, wanted = EXAMPLES[example]
    assert frontiers_of(events) == wanted
    assert not differences(events)


def test_commits_of_the_next_offset_begin_with_nothing_read():
    events = [ev("head", None, 1, 3), ev("position", "a", 2, 0), ev("position", "a", 3, 4)]
    assert frontiers_of(events, first_seq=0, next_offset=True) == [(3, 3, 3, "a")]
    (reader,) = found_in(events[:2], first_seq=0, next_offset=True)["readers"]
    assert (reader["position"], reader["lag"]) == (None, 4)


def test_a_log_whose_beginning_is_gone_starts_with_its_smallest_number():
    events = [ev("head", None, 1, 1000), ev("position", "a", 2, 990), ev("head", None, 3, 1005)]
    assert frontiers_of(events, first_seq="earliest") == [(2, 1000, 990, "a")]
    (source,) = found_in(events, first_seq="earliest")["sources"]
    assert (source["messages"], source["first_seq"], source["stable_seq"]) == (16, 990, 990)


def test_a_position_beyond_the_head_is_told_once():
    events = [
        ev("head", None, 1, 5),
        ev("position", "a", 2, 7),
        ev("position", "a", 2, 8),
        ev("position", "a", 3, 9),
        ev("position", "b", 1, 5),
    ]
    (row,) = found_in(events)["violations"]
    assert (row["kind"], row["member"], row["seq"], row["time_us"]) == ("position_beyond_head", "a", 8, 2)


def test_only_ten_of_those_waited_for_are_named():
    names = [f"r{k:02}" for k in range(13)]
    events = [ev("head", None, 5, 1), *(ev("join", name, 1) for name in reversed(names))]
    (source,) = found_in(events)["sources"]
    assert (source["waiting_for"], source["waiting"]) == (names[:10], 13)


def test_sums_beyond_64_bits_are_exact():
    far = 1 << 60
    events = [ev("join", "a", -far, source=s) for s in ("x", "y")]
    events += [ev("head", None, -far, far - 7, source=s) for s in ("x", "y")]
    events += [ev("head", None, far - 3, 1, source="x")]
    tables = found_in(events, bytes_are_numbers=True)
    each = (far - 7) * (2 * far - 3)
    assert [int(row["alone_numbers_us"]) for row in tables["readers"]] == [each, each]
    assert [int(row["held_bytes_us"]) for row in tables["laggards"]] == [2 * each]
    assert tables["totals"][0]["sent"] == 2 * (far - 7)


def test_sums_of_numbers_stop_at_the_largest_that_fits():
    events = [ev("head", None, 1, 1 << 60, source=f"s{k}") for k in range(9)]
    (row,) = found_in(events)["totals"]
    assert (row["sent"], row["stable"], row["retained"]) == (2**63 - 1, 2**63 - 1, 0)
