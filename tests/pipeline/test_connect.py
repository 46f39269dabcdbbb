"""The analysis of DataFrames on a session of Spark Connect, in a process of its own."""

import os
import subprocess
import sys

import pytest

from stablecast.delivery import position_schemas, tables
from stablecast.pipeline.analysis.spread.jobs import frame_of

PROGRAM = """
from pyspark.sql import SparkSession

from stablecast.pipeline.analysis import stability as module
from stablecast.spark import stability

COLUMNS = "group string, kind string, member string, source string, seq long, time_us long"
POSITIONS = [("o", "position", name, "p", seq, 2) for name, seq in (("a", 3), ("b", 5))]
POSITIONS.append(("o", "head", None, "p", 9, 1))
EVENTS = [("o", "send", "a", "a", 1, 1), ("o", "receive", "b", "a", 1, 2), ("o", "send", "a", "a", 2, 3)]


def told(rows, *names):
    with stability(spark.createDataFrame(rows, COLUMNS)) as found:
        assert found.violations.count() == 0
        return [sorted(tuple(row) for row in found.frames[name].collect()) for name in names]


spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert "connect" in type(spark).__module__
both = []
for module.SMALL_EVENTS in (1_000, 0):
    found = told(POSITIONS, "sources", "readers", "frontiers", "totals", "laggards")
    found += told(EVENTS, "messages", "sources", "frontiers", "buffers", "occupancy", "laggards")
    both.append(found)
assert both[0] == both[1]
assert both[0][0][0][5] == 3, both[0][0]
spark.stop()
print("the same")
"""


@pytest.mark.xdist_group("spark")
def test_few_and_many_events_give_the_same_tables_on_spark_connect(tmp_path):
    pytest.importorskip("grpc")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("SPARK_REMOTE", None)
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert run.stdout.endswith("the same\n"), run.stderr[-3000:]


@pytest.mark.parametrize("schemas", [tables.SCHEMAS, position_schemas.SCHEMAS])
def test_an_empty_table_keeps_its_columns(spark, schemas):
    for schema in schemas.values():
        assert frame_of(spark, schema.empty_table()).schema.fieldNames() == schema.names
