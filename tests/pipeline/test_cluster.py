"""A sweep on one core, on two, and on a standalone cluster that loses a worker; an analysis on one, too."""

import json
import subprocess
import sys
import time

import analysis_oracle
import pyarrow.parquet as pq
import pytest
from analysis_compare import differing_groups
from analysis_plain import TABLES
from analysis_random_trace import random_trace
from standalone import StandaloneCluster

from stablecast.cli.main import main
from stablecast.pipeline.schema import WALL_COLUMNS
from stablecast.pipeline.session import QUICK_JAVA, java_options
from stablecast.pipeline.store import read_rows

pytestmark = pytest.mark.xdist_group("spark")

SPEC = """
[[grid]]
protocol = ["coordp", "s_train"]
topology = "random-tree"
members = 150
degree = 3
height = 5
senders = 10
messages = 60
data_loss = 0.02
seed = { from = 0, to = 29 }

[[grid]]
protocol = ["s_coordp", "train"]
degree = [2, 3]
height = 4
link_loss = [0.0, 0.001]
retry_ms = 500
until_ms = 5000
"""
POINTS = 68
QUICK = [
    word
    for setting in (
        f"spark.driver.extraJavaOptions={java_options(QUICK_JAVA)}",
        f"spark.executor.extraJavaOptions={java_options(QUICK_JAVA)}",
        "spark.buffer.pageSize=1m",
    )
    for word in ("--conf", setting)
]


def sweep_command(spec, out, master):
    command = [sys.executable, "-m", "stablecast.cli.main", "sweep", str(spec), "--out", str(out)]
    return [
        *command,
        "--master",
        master,
        "--conf",
        f"spark.executor.extraJavaOptions={java_options(QUICK_JAVA)}",
    ]


def comparable(out):
    rows = read_rows(out / "runs.parquet")
    return [{name: value for name, value in row.items() if name not in WALL_COLUMNS} for row in rows]


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    file = tmp_path_factory.mktemp("spec") / "spec.toml"
    file.write_text(SPEC)
    return file


@pytest.fixture(scope="module")
def local_rows(spark, spec, tmp_path_factory):
    """What the command gives in the session of these tests, on two cores."""
    out = tmp_path_factory.mktemp("local")
    assert main(["sweep", str(spec), "--out", str(out)]) == 0
    return comparable(out)


def rows_on_disk(out):
    return sum(len(read_rows(file)) for file in (out / "journal").glob("*.parquet"))


@pytest.fixture
def cluster(tmp_path):
    """A master and two workers, of which one is going to be lost."""
    (tmp_path / "cluster").mkdir()
    with StandaloneCluster(tmp_path / "cluster") as cluster:
        yield cluster


def lose_worker(cluster, command, is_half_way):
    """Run a command, kill a worker of its cluster as soon as it is half way, and await its end."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not is_half_way():
            time.sleep(0.02)
        assert process.poll() is None, process.stderr.read()
        cluster.kill(cluster.workers[1])
        told = process.communicate()[1]
    applications = list((cluster.folder / "worker1").glob("app-*"))
    assert applications, "the worker that was killed had no executor"
    return process.returncode, told


def test_a_cluster_that_loses_a_worker_half_way_gives_the_table_of_one_machine(
    spec, local_rows, cluster, tmp_path
):
    out = tmp_path / "out"
    code, told = lose_worker(
        cluster, sweep_command(spec, out, cluster.master), lambda: 5 <= rows_on_disk(out) < POINTS
    )
    assert code == 0, told
    assert len(local_rows) == POINTS
    assert comparable(out) == local_rows


ANALYSIS = """
import sys, time
from pathlib import Path
from stablecast.pipeline.analysis import stability
from stablecast.pipeline.analysis.analyze import analyze
from stablecast.pipeline.analysis.spread import jobs
from stablecast.pipeline.session import data_conf, parse_conf, spark_session

events, out, master, *conf = sys.argv[1:]
stability.SMALL_EVENTS = 0
put_in_line = jobs.around

def half_way(*arguments):
    Path(out).with_name("half").touch()
    while not Path(out).with_name("go").exists():
        time.sleep(0.02)
    return put_in_line(*arguments)

jobs.around = half_way
with spark_session(master=master, conf=data_conf(parse_conf(conf))) as spark:
    analyze([events], Path(out), spark=spark)
"""


@pytest.mark.soak
def test_an_analysis_on_a_cluster_that_loses_a_worker_gives_the_tables_of_the_oracle(cluster, tmp_path):
    """The worker is lost when buckets have been judged, so that its share of them has to be judged again."""
    trace = random_trace(3, groups=2, members=6, sources=3, messages=4000)
    rows = "".join(json.dumps(row) + "\n" for row in trace.to_pylist())
    (tmp_path / "trace.jsonl").write_text(rows)
    out = tmp_path / "out"
    settings = [word for word in QUICK if word != "--conf"]
    command = [sys.executable, "-c", ANALYSIS, str(tmp_path / "trace.jsonl"), str(out), cluster.master]
    with subprocess.Popen([*command, *settings], stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (tmp_path / "half").exists():
            time.sleep(0.02)
        assert process.poll() is None, process.stderr.read()
        cluster.kill(cluster.workers[1])
        (tmp_path / "go").touch()
        told = process.communicate()[1]
    assert process.returncode == 0, told
    tables = {name: pq.read_table(out / name) for name in TABLES}
    assert not differing_groups(tables, analysis_oracle.analyse(trace))


@pytest.mark.soak
def test_one_core_gives_the_table_of_two(spec, local_rows, tmp_path):
    subprocess.run(sweep_command(spec, tmp_path, "local[1]"), check=True, capture_output=True)
    assert comparable(tmp_path) == local_rows
