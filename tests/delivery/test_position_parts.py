"""The tables of positions are the same however their rows come, and in whatever parts."""

import os
import random
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from analysis_plain import Event as Delivery
from analysis_plain import analyse as analyse_deliveries
from positions_plain import Event
from positions_random import random_history
from test_positions import as_table, frontiers_of, in_order, rows_of

from stablecast.delivery.kinds import HEAD, POSITION
from stablecast.delivery.positions import tables as module
from stablecast.delivery.positions.sums import laggards, totals
from stablecast.delivery.positions.tables import position_tables, readers_membership, source_tables
from stablecast.delivery.scan import merged, scan_of
from stablecast.delivery.schema import NAME

SEED = 1 if os.environ.get("CI") else random.randrange(1 << 32)


@pytest.fixture(scope="module")
def events():
    print(f"seed {SEED}")
    return as_table([event for k in range(60) for event in random_history(SEED + k, f"g{k}")])


@pytest.fixture(scope="module")
def whole(events):
    return position_tables(events)


def same(ones, others):
    assert set(ones) == set(others)
    for name in ones:
        assert in_order(rows_of(ones[name])) == in_order(rows_of(others[name])), name


def test_sources_may_be_followed_apart(events, whole):
    membership = readers_membership(scan_of(events))
    codes = np.array([hash((row["group"], row["source"])) % 3 for row in events.to_pylist()])
    parts = [source_tables(events.filter(pa.array(codes == part)), membership) for part in range(3)]
    tables = {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}
    tables["laggards"] = laggards(tables["readers"])
    tables["totals"] = totals(tables["sources"], tables["readers"])
    same(tables, whole)


def test_scans_of_parts_give_the_tables_of_the_whole(events, whole):
    scan = merged(scan_of(events.slice(k, 31)) for k in range(0, len(events), 31))
    same(position_tables(events, scan=scan), whole)


def test_few_at_a_time_give_the_same_tables(events, whole, monkeypatch):
    monkeypatch.setattr(module, "AT_A_TIME", 40)
    found = position_tables(events)
    assert found["sources"]["source"].num_chunks > 10
    same(found, whole)


def test_names_may_be_plain_or_dictionaries_in_several_chunks(events, whole):
    plain = pa.schema([(f.name, pa.string() if f.type == NAME else f.type) for f in events.schema])
    same(position_tables(events.cast(plain)), whole)
    pieces = [events.slice(k, 97).cast(plain).cast(events.schema) for k in range(0, len(events), 97)]
    same(position_tables(pa.concat_tables(pieces)), whole)


def test_an_empty_history_gives_empty_tables(events):
    assert {name: len(table) for name, table in position_tables(events.slice(0, 0)).items()} == dict.fromkeys(
        ("frontiers", "sources", "readers", "laggards", "totals", "violations"), 0
    )


def one_stay_each(events):
    """Leave out what messages treat otherwise: more sources than one, and names that come back."""
    joined = set()
    for event in sorted(events, key=lambda event: event.time_us):
        if event.kind == "join":
            if event.member in joined:
                continue
            joined.add(event.member)
        if event.source in (None, "log"):
            yield event


def deliveries_of(events):
    """Return the sends and receipts that heads and positions of one source stand for."""
    have, largest = {}, max((e.seq for e in events if e.kind == "head"), default=0)
    for event in sorted(events, key=lambda event: event.time_us):
        if event.source is None:
            yield Delivery(event.group, event.kind, event.member, None, None, event.time_us)
            continue
        key = event.kind, event.member
        kind = "send" if event.kind == "head" else "receive"
        for seq in range(have.get(key, 0) + 1, min(event.seq, largest) + 1):
            yield Delivery(event.group, kind, event.member, "log", seq, event.time_us)
        have[key] = max(have.get(key, 0), event.seq)


@pytest.mark.parametrize("part", range(10))
def test_frontiers_are_those_of_the_messages_that_positions_stand_for(part):
    compared = 0
    for k in range(40):
        events = list(one_stay_each(random_history(SEED + 40 * part + k)))
        has_readers = any(e.kind == "join" for e in events) or all(
            any(d.kind == "receive" and d.member == e.member for d in deliveries_of(events))
            for e in events
            if e.kind == "position"
        )
        if has_readers and any(e.kind == "head" and e.seq > 0 for e in events):
            wanted = [row[2:] for row in analyse_deliveries(deliveries_of(events))["frontiers"]]
            assert [row[:3] for row in frontiers_of(events)] == wanted, f"seed {SEED + 40 * part + k}"
            compared += 1
    assert compared


def test_cost_is_that_of_rows_and_not_of_numbers():
    """200,000 rows over 10^15 numbers, with 3,000 readers of whom some come and go."""
    draw = np.random.default_rng(3)
    count, readers, sources = 200_000, 3_000, 20
    time_us = draw.integers(0, 10**9, count)
    is_head = draw.random(count) < 0.1
    seq = time_us * 50_000 - np.where(is_head, 0, draw.integers(0, 10**12, count))
    member = draw.integers(0, readers, count)
    source = draw.integers(0, sources, count)
    rows = pa.table(
        {
            "group": pa.array(["g"] * count),
            "kind": np.where(is_head, HEAD, POSITION).astype(np.int8),
            "member": [f"r{k}" for k in member.tolist()],
            "source": [f"s{k}" for k in source.tolist()],
            "seq": seq,
            "time_us": time_us,
        }
    )
    gone = as_table([Event("g", "leave", f"r{k}", None, None, 10**9) for k in range(0, readers, 2)])
    tables = position_tables(pa.concat_tables([rows, gone.cast(rows.schema)]))
    reached = {f"r{k}": {} for k in range(readers)}
    for s, r, q, head in zip(source.tolist(), member.tolist(), seq.tolist(), is_head.tolist(), strict=True):
        if not head:
            reached[f"r{r}"][f"s{s}"] = max(q, reached[f"r{r}"].get(f"s{s}", 0))
    for row in tables["sources"].to_pylist():
        left = [reached[f"r{k}"].get(row["source"], 0) for k in range(1, readers, 2)]
        assert (row["stable_seq"] or 0) == min(row["last_seq"], max(0, min(left)))
        assert row["waiting"] == sum(max(0, x) == (row["stable_seq"] or 0) for x in left)
    assert tables["frontiers"].nbytes + tables["readers"].nbytes < 200 * (count + readers * sources)


def test_kernels_need_no_compiler():
    """The same rows in a process without compilation give the same tables."""
    program = (
        "import test_position_parts as t\n"
        "tables = t.position_tables(t.as_table(t.random_history(7)))\n"
        "print({name: t.in_order(t.rows_of(table)) for name, table in tables.items()})"
    )
    path = os.pathsep.join(filter(None, sys.path))
    texts = {
        subprocess.run(
            [sys.executable, "-W", "error::RuntimeWarning", "-c", program],
            env=os.environ | {"NUMBA_DISABLE_JIT": is_off, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for is_off in ("0", "1")
    }
    assert len(texts) == 1
