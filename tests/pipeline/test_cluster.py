"""The same sweep on one core, on two, and on a standalone cluster that loses a worker half-way."""

import subprocess
import sys
import time

import pytest
from standalone import StandaloneCluster

from stablecast.pipeline.schema import WALL_COLUMNS
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


def sweep_command(spec, out, master):
    command = [sys.executable, "-m", "stablecast.cli.main", "sweep", str(spec), "--out", str(out)]
    return [*command, "--master", master]


def comparable(out):
    rows = read_rows(out / "runs.parquet")
    return [{name: value for name, value in row.items() if name not in WALL_COLUMNS} for row in rows]


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    file = tmp_path_factory.mktemp("spec") / "spec.toml"
    file.write_text(SPEC)
    return file


@pytest.fixture(scope="module")
def local_rows(spec, tmp_path_factory):
    out = tmp_path_factory.mktemp("local")
    subprocess.run(sweep_command(spec, out, "local[2]"), check=True, capture_output=True)
    return comparable(out)


def rows_on_disk(out):
    return sum(len(read_rows(file)) for file in (out / "journal").glob("*.parquet"))


def test_a_cluster_that_loses_a_worker_half_way_gives_the_table_of_one_machine(spec, local_rows, tmp_path):
    out = tmp_path / "out"
    (tmp_path / "cluster").mkdir()
    with StandaloneCluster(tmp_path / "cluster") as cluster:
        with subprocess.Popen(
            sweep_command(spec, out, cluster.master), stderr=subprocess.PIPE, text=True
        ) as process:
            while process.poll() is None and rows_on_disk(out) < 5:
                time.sleep(0.02)
            assert process.poll() is None, process.stderr.read()
            cluster.kill(cluster.workers[1])
            assert rows_on_disk(out) < POINTS
            told = process.communicate()[1]
        assert process.returncode == 0, told
        applications = list((tmp_path / "cluster" / "worker1").glob("app-*"))
    assert applications, "the worker that was killed had no executor"
    assert len(local_rows) == POINTS
    assert comparable(out) == local_rows


def test_one_core_gives_the_table_of_two(spec, local_rows, tmp_path):
    subprocess.run(sweep_command(spec, tmp_path, "local[1]"), check=True, capture_output=True)
    assert comparable(tmp_path) == local_rows
