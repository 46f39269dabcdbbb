"""A user's DataFrame on a session of theirs, classic or of Spark Connect, gives the tables of one process."""

import json
import os
import random
import subprocess
import sys

import pytest
from analysis_compare import differences, rows_of
from analysis_random_trace import random_trace

from stablecast.analysis.local import analyze_files
from stablecast.analysis.options import Options
from stablecast.analysis.reading.inputs import Input, Inputs, find_inputs
from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis import stability as module
from stablecast.pipeline.analysis.stability import stability_of_files
from stablecast.spark import stability

SEED = 1 if os.environ.get("CI") else random.randrange(1 << 32)
BLOCKED = 2642253570
"""Of a trace in which several buckets have sources that wait for somebody."""
POSITIONS = [
    ("orders", "head", "orders", "orders", 10, 1_000, None),
    ("orders", "position", "billing", "orders", 7, 2_000, None),
    ("orders", "position", "archive", "orders", 4, 2_500, None),
    ("orders", "head", "orders", "orders", 20, 3_000, None),
    ("orders", "position", "billing", "orders", 20, 4_000, None),
]
SCHEMA = "group string, kind string, member string, source string, seq long, time_us long, bytes int"


@pytest.fixture(scope="module", params=[SEED, BLOCKED], ids=["any", "blocked"])
def trace(request, tmp_path_factory):
    """A trace as a table, and its tables as one process makes them of files."""
    import pyarrow.parquet as pq

    table = random_trace(request.param, groups=2, members=6, sources=3, messages=300)
    file = tmp_path_factory.mktemp("trace") / "trace.parquet"
    pq.write_table(table, file)
    return table, analyze_files(find_inputs([str(file)]), Options()).tables


@pytest.mark.parametrize("where", ["at the driver", "in jobs", "in this process"])
def test_a_data_frame_gives_the_tables_of_one_process(spark, trace, monkeypatch, where):
    table, expected = trace
    if where == "in jobs":
        monkeypatch.setattr(module, "SMALL_EVENTS", 0)
        monkeypatch.setattr(module, "UNKNOWN_BUCKETS", 4)
    with stability(
        spark.createDataFrame(table).repartition(3), engine="local" if "process" in where else "spark"
    ) as tables:
        assert set(tables.names) == set(expected)
        for name, ours in expected.items():
            found = differences(getattr(tables, name).toArrow(), ours)
            assert not found, f"seeds {SEED}, {BLOCKED}; {name}: {found}"
        assert tables.summary["messages"] == expected["messages"].num_rows


def test_each_source_waits_for_those_that_lack_its_own_messages(spark, monkeypatch):
    """Every member sends to all, and its right neighbour does not get it."""
    monkeypatch.setattr(module, "SMALL_EVENTS", 0)
    monkeypatch.setattr(module, "UNKNOWN_BUCKETS", 4)
    members = "abcdef"
    after = dict(zip(members, members[1:] + members[0], strict=True))
    rows = [("g", "join", member, None, None, 0, None) for member in members]
    rows += [("g", "send", source, source, 1, 10, None) for source in members]
    rows += [
        ("g", "receive", member, source, 1, 20, None)
        for source in members
        for member in members
        if member not in (source, after[source])
    ]
    with stability(spark.createDataFrame(rows, SCHEMA)) as tables:
        found = tables.sources.toArrow().to_pylist()
    assert {row["source"]: row["waiting_for"] for row in found} == {one: [after[one]] for one in members}


@pytest.mark.parametrize("jobs", [False, True])
def test_positions_as_a_data_frame(spark, monkeypatch, jobs):
    if jobs:
        monkeypatch.setattr(module, "SMALL_EVENTS", 0)
        monkeypatch.setattr(module, "UNKNOWN_BUCKETS", 3)
    with stability(spark.createDataFrame(POSITIONS, SCHEMA)) as tables:
        [source] = tables.sources.toArrow().to_pylist()
        readers = {row["member"]: row for row in tables.readers.toArrow().to_pylist()}
        frontiers = sorted(rows_of(tables.frontiers.toArrow()))
        assert tables.summary["positions"]
    assert (source["stable_seq"], source["last_seq"], source["waiting_for"]) == (4, 20, ["archive"])
    assert {name: (row["lag"], row["without_seq"]) for name, row in readers.items()} == {
        "billing": (0, 4),
        "archive": (16, 20),
    }
    assert frontiers == [("orders", "orders", 2_500, 10, 4, "archive")]


@pytest.mark.parametrize("last", [{}, {"bytes": 5}, {"source": "b"}], ids=["none", "bytes", "source"])
def test_a_column_that_only_late_lines_have_is_found_where_only_spark_can_look(
    spark, monkeypatch, tmp_path, last
):
    """In many lines of joins nobody names a source; a send says at the end whether there is such a column."""
    monkeypatch.setattr(module, "can_open", lambda address: False)
    rows = [{"group": "g", "kind": "join", "member": f"m{k}", "time_us": k, "seq": 1} for k in range(40)]
    rows.append({"group": "g", "kind": "send", "member": "b", "time_us": 50, "seq": 1, **last})
    file = tmp_path / "late.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    inputs = Inputs((Input(f"file://{file}", file.name, "json", head=None),))
    if "source" not in last:
        with pytest.raises(InvalidInput, match=r"no column 'source' in 'late\.jsonl'"):
            stability_of_files(spark, inputs, Options())
        return
    with stability_of_files(spark, inputs, Options()) as tables:
        assert tables.summary["messages"] == 1


def test_a_log_in_other_words_is_mapped(spark):
    rows = [("orders", "p0", "commit", "billing", 3, 1.5), ("orders", "p0", "append", None, 4, 1.0)]
    frame = spark.createDataFrame(
        rows, "topic string, part string, what string, who string, n long, at double"
    )
    tables = stability(
        frame,
        columns={
            "group": "topic",
            "source": "part",
            "kind": "what",
            "member": "who",
            "seq": "n",
            "time_us": "at",
        },
        kinds={"commit": "position", "append": "head"},
        time_unit="s",
        next_offset=True,
    )
    [source] = tables.sources.toArrow().to_pylist()
    assert (source["stable_seq"], source["stable_us"]) == (2, 1_500_000)


def test_what_a_table_is_not_called_and_what_is_missing_are_told(spark):
    frame = spark.createDataFrame(POSITIONS, SCHEMA)
    with pytest.raises(AttributeError, match=r"this analysis has no table 'messages' \(it has "):
        _ = stability(frame).messages
    with pytest.raises(InvalidInput, match="seq"):
        stability(frame.drop("seq"))
    with pytest.raises(InvalidInput, match="1 row is bad: 1 × unknown kind"):
        stability(spark.createDataFrame([("g", "put", "a", "a", 1, 1, None)], SCHEMA))
    mixed = spark.createDataFrame([*POSITIONS, ("orders", "send", "a", "a", 1, 1, None)], SCHEMA)
    with pytest.raises(InvalidInput, match="has both 'send' and 'head'"):
        stability(mixed)


CONNECT = """
import sys
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from stablecast.pipeline.analysis import stability as module
from stablecast.pipeline.analysis.stability import stability_of_files
from stablecast.spark import read_tables, stability

events, out, java = sys.argv[1:]
builder = SparkSession.builder.remote("local[2]").config("spark.driver.extraJavaOptions", java)
spark = builder.config("spark.buffer.pageSize", "1m").config("spark.ui.enabled", "false").getOrCreate()
assert "connect" in type(spark).__module__
for jobs in (False, True):
    if jobs:
        module.SMALL_EVENTS, module.UNKNOWN_BUCKETS = 0, 4
    with stability(spark.createDataFrame(pq.read_table(events))) as tables:
        for name in tables.names:
            pq.write_table(getattr(tables, name).toArrow(), f"{out}/{name}-{jobs}.parquet")
    columns = "group string, kind string, member string, source string, seq long, time_us long"
    rows = [("g", "head", "s", "s", 5, 1), ("g", "position", "r", "s", 3, 2)]
    with stability(spark.createDataFrame(rows, columns)) as tables:
        assert tables.violations.count() == 0
        assert [row.stable_seq for row in tables.sources.collect()] == [3]
for kind in ("analysed", "watched"):
    tables = read_tables(spark, f"{out}/{kind}")
    for name in tables.names:
        pq.write_table(getattr(tables, name).toArrow(), f"{out}/{name}-{kind}.parquet")
spark.stop()
"""
"""A session of Spark Connect cannot be in a process with a classic one."""


@pytest.mark.parametrize("trace", [BLOCKED], ids=["blocked"], indirect=True)
def test_a_session_of_spark_connect_gives_the_same(trace, tmp_path):
    import pyarrow.parquet as pq
    from pyarrow import fs

    from stablecast.analysis.version import State
    from stablecast.pipeline.analysis.analyze import analyze
    from stablecast.pipeline.analysis.stream.versions import Versions
    from stablecast.pipeline.java import find_java, java_home
    from stablecast.pipeline.session import QUICK_JAVA, java_options

    table, expected = trace
    pq.write_table(table, tmp_path / "trace.parquet")
    analyze([tmp_path / "trace.parquet"], tmp_path / "analysed")
    versions = Versions(fs.LocalFileSystem(), str(tmp_path / "watched"))
    versions.begin()
    versions.publish(State(0), expected, {}, {})
    environment = os.environ | {
        "JAVA_HOME": str(java_home(find_java())),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_TESTING": "1",  # with it the server takes a port that is free
    }
    done = subprocess.run(
        [
            *(sys.executable, "-c", CONNECT, str(tmp_path / "trace.parquet"), str(tmp_path)),
            java_options(QUICK_JAVA),
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for way in (False, True, "analysed", "watched"):
        for name, ours in expected.items():
            found = pq.read_table(tmp_path / f"{name}-{way}.parquet")
            assert not differences(found.cast(ours.schema), ours), f"seed {SEED}, {name}, in jobs: {way}"


def test_nothing_that_connect_lacks_is_used():
    from pathlib import Path

    folder = Path(module.__file__).parent
    for file in (folder / "stability.py", folder / "stored.py", *(folder / "spread").glob("*.py")):
        text = file.read_text(encoding="utf-8")
        for word in ("sparkContext", "_jvm", ".rdd", "_jdf"):
            assert word not in text, f"{file.name} uses {word}"
