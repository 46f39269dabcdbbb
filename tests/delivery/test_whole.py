"""The compiled computation gives what the independent one gives, on thousands of traces."""

import os
import random

import analysis_oracle
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from analysis_compare import differing_groups, places_of, smallest_of
from analysis_random_trace import random_trace
from analysis_traces import as_table, drawn, together

from stablecast.delivery.kinds import KINDS, SEND
from stablecast.delivery.whole import tables_of

SEED = 1 if os.environ.get("CI") else random.randrange(1 << 32)
LARGE = {
    "skewed": {"groups": 3, "members": 12, "sources": 4, "messages": 1200},
    "stream": {"groups": 1, "members": 4, "sources": 1, "messages": 10_000, "claims": 0.2},
}


def coded(table):
    """Return events with kinds as numbers; what a source sends, it sends."""
    kind = pc.index_in(table["kind"], pa.array(KINDS)).cast(pa.int8())
    member = pc.if_else(pc.equal(kind, SEND), table["source"], table["member"])
    return table.set_column(1, "kind", kind).set_column(2, "member", member)


def ours(table, first_seq):
    made = tables_of(coded(table), first_seq=first_seq)
    return {name: made[name] for name in analysis_oracle.TABLES}


@pytest.mark.parametrize("traces", [1000, pytest.param(10_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("first_seq", [1, "earliest"])
def test_small_traces_agree(first_seq, traces):
    small = drawn(traces, SEED)

    def theirs(table):
        return analysis_oracle.analyse(table, first_seq)

    table = as_table(together(small))
    places = places_of(differing_groups(ours(table, first_seq), theirs(table)))
    differing = [small[place] for place in places]
    found = differing and smallest_of(
        differing, lambda events: ours(as_table(events), first_seq), lambda events: theirs(as_table(events))
    )
    assert not found, f"seed {SEED}, left is ours\n{found}"


@pytest.mark.parametrize("name", LARGE)
def test_a_large_trace_agrees(name):
    table = random_trace(SEED, **LARGE[name])
    found = differing_groups(ours(table, 1), analysis_oracle.analyse(table))
    assert not found, f"seed {SEED}, left is ours\n{found}"


def test_nothing_gives_empty_tables():
    assert all(table.num_rows == 0 for table in tables_of(coded(as_table([]))).values())
