"""The analysis on Spark gives what the independent computation gives, on thousands of traces."""

import os
import random

import analysis_oracle
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from analysis_compare import differing_groups, places_of, smallest_of
from analysis_plain import TABLES
from analysis_random_trace import random_trace
from analysis_traces import as_table, drawn, together

from stablecast.analysis.options import Options
from stablecast.pipeline.analysis import stability
from stablecast.pipeline.analysis.analyze import analyze

SEED = 1 if os.environ.get("CI") else random.randrange(1 << 32)
LARGE = {
    "skewed": {"groups": 3, "members": 12, "sources": 4, "messages": 1200},
    "stream": {"groups": 1, "members": 4, "sources": 1, "messages": 6_000, "claims": 0.2},
}
"""About 40,000 events each."""


def spark_tables(spark, table, folder, first_seq=1):
    """Return the five tables that Spark makes of events, which it reads from files in a new folder."""
    events, out = folder / "events", folder / "out"
    events.mkdir(parents=True)
    half = len(table) // 2
    for number, part in enumerate((table.slice(half), table.slice(0, half))):
        pq.write_table(part, events / f"{number}.parquet")
    analyze([events], out, spark=spark, options=Options(first_seq=first_seq))
    return {name: pq.read_table(out / name) for name in TABLES}


class Compared:
    """Traces analysed by Spark and by the independent computation, all in one run of each."""

    def __init__(self, spark, folder, small, table, expected, first_seq=1):
        self.spark, self.folder, self.small, self.first_seq = spark, folder, small, first_seq
        self.runs = 0
        self.found = differing_groups(self._on_spark(table), expected)

    def differing(self, name):
        """Return the groups of a large trace that differ, and how the first of them does."""
        groups = sorted(group for group in self.found if group.startswith(name))
        return f"{groups} differ: {self.found[groups[0]]}" if groups else ""

    def smallest(self):
        """Return the smallest of the small traces that differ, with as few events as show it."""
        places = places_of(group for group in self.found if group[0].isdigit())
        if not places:
            return ""
        return smallest_of(
            [self.small[place] for place in places],
            lambda events: self._on_spark(as_table(events)),
            lambda events: self._in_sql(as_table(events)),
        )

    def _on_spark(self, table):
        self.runs += 1
        return spark_tables(self.spark, table, self.folder / str(self.runs), self.first_seq)

    def _in_sql(self, table):
        return analysis_oracle.analyse(table, self.first_seq)


def random_named(name):
    """Return a large trace with its groups named after it."""
    table = random_trace(SEED, **LARGE[name])
    groups = pa.array([f"{name} {group}" for group in table["group"].to_pylist()])
    return table.set_column(0, "group", groups)


@pytest.fixture(scope="module")
def traces():
    """Small traces, these and large ones as a table, and what the independent computation makes of it."""
    small = drawn(1000, SEED)
    table = pa.concat_tables([as_table(together(small)), *(random_named(name) for name in LARGE)])
    return small, table, analysis_oracle.analyse(table, 1)


@pytest.fixture(scope="module", params=["in jobs", "at the driver", "without Spark"])
def compared(request, spark, traces, tmp_path_factory):
    session = None if request.param == "without Spark" else spark
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "in jobs":
            patch.setattr(stability, "SMALL_EVENTS", 0)
        return Compared(session, tmp_path_factory.mktemp("agreement"), *traces)


def test_small_traces_agree(compared):
    found = compared.smallest()
    assert not found, f"seed {SEED}, left is Spark\n{found}"


@pytest.mark.parametrize("name", LARGE)
def test_a_large_trace_agrees(compared, name):
    found = compared.differing(name)
    assert not found, f"seed {SEED}, left is Spark\n{found}"


def test_traces_whose_sources_begin_with_any_number_agree(spark, tmp_path):
    small = drawn(500, SEED)
    table = as_table(together(small))
    expected = analysis_oracle.analyse(table, "earliest")
    found = Compared(spark, tmp_path, small, table, expected, first_seq="earliest").smallest()
    assert not found, f"seed {SEED}, left is Spark\n{found}"
