"""Heads and positions followed by the kernels give what going through every number gives."""

import os
import random
from decimal import Decimal

import pyarrow as pa
import pytest
from positions_plain import TABLES, analyse
from positions_random import random_history

from stablecast.delivery.position_schemas import SCHEMAS
from stablecast.delivery.position_tables import position_tables

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
SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("group", "kind", "member", "source")]
    + [("seq", pa.int64()), ("time_us", pa.int64())]
)


def as_table(events):
    return pa.Table.from_pylist([event._asdict() for event in events], schema=SCHEMA)


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
