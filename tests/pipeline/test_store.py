import errno
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stablecast.errors import InvalidInput
from stablecast.pipeline import store as store_module
from stablecast.pipeline.point import simulation
from stablecast.pipeline.schema import SCHEMA, VERSION_KEY
from stablecast.pipeline.store import CannotKeep, Store, read_rows, write_table
from stablecast.pipeline.tasks import Terms, run_point

POINTS = [simulation(protocol="coordp", degree=2, height=2, seed=seed) for seed in range(4)]


@pytest.fixture(scope="module")
def rows():
    return [run_point(point, Terms(sources="here")) for point in POINTS]


def test_rows_are_found_again_in_the_order_of_the_points(tmp_path, rows):
    with Store(tmp_path) as store:
        store.add(rows)
        store.merge(POINTS)
    assert [row["key"] for row in read_rows(tmp_path / "runs.parquet")] == [p.key for p in POINTS]
    with Store(tmp_path) as store:
        assert [row["seed"] for row in store.rows_of(reversed(POINTS))] == [3, 2, 1, 0]


def test_rows_of_other_points_are_put_aside_and_come_back(tmp_path, rows):
    with Store(tmp_path) as store:
        store.add(rows)
        store.merge(POINTS)
    with Store(tmp_path) as store:
        store.merge(POINTS[:1])
    assert len(read_rows(tmp_path / "runs.parquet")) == 1
    assert len(read_rows(tmp_path / "earlier.parquet")) == 3
    with Store(tmp_path) as store:
        assert len(store.rows_of(POINTS)) == 4
        store.merge(POINTS)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".lock", "runs.parquet"]


def test_what_a_killed_sweep_had_finished_is_found_in_the_journal(tmp_path, rows):
    with Store(tmp_path) as store:
        store.add(rows[:2])
        store.save()
        store.add(rows[2:3])
        store.save()
    assert not (tmp_path / "runs.parquet").exists()
    with Store(tmp_path) as store:
        assert len(store.rows_of(POINTS)) == 3
        store.add(rows[3:])
        store.merge(POINTS)
    assert len(read_rows(tmp_path / "runs.parquet")) == 4
    assert not (tmp_path / "journal").exists()


def test_a_full_disk_is_told_and_leaves_the_files_as_they_were(tmp_path, rows, monkeypatch):
    with Store(tmp_path) as store:
        store.add(rows[:2])
        store.merge(POINTS[:2])
    before = (tmp_path / "runs.parquet").read_bytes()

    def full(table, file, **options):
        file.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store_module.pq, "write_table", full)
    with Store(tmp_path) as store:
        store.add(rows)
        with pytest.raises(CannotKeep, match="No space left on device"):
            store.merge(POINTS)
    assert (tmp_path / "runs.parquet").read_bytes() == before
    assert not list(tmp_path.rglob("*.parquet.*"))


def test_a_table_of_another_version_is_refused(tmp_path, rows):
    other = pa.table({"key": ["x"]}).replace_schema_metadata({VERSION_KEY: b"0"})
    pq.write_table(other, tmp_path / "runs.parquet")
    with (
        pytest.raises(InvalidInput, match=r"version 0 with 1 columns \(accepted: version 1"),
        Store(tmp_path),
    ):
        pass
    write_table(tmp_path / "runs.parquet", SCHEMA.empty_table())
    with Store(tmp_path) as store:
        assert store.rows_of(POINTS) == []


def test_what_is_no_table_is_refused(tmp_path):
    (tmp_path / "runs.parquet").write_text("hello")
    with pytest.raises(InvalidInput, match="is not a table of runs"), Store(tmp_path):
        pass


def test_a_folder_has_one_writer_at_a_time(tmp_path):
    code = "import sys; from pathlib import Path; from stablecast.pipeline.store import Store\n"
    code += "with Store(Path(sys.argv[1])): print('in', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "in\n"
        with pytest.raises(InvalidInput, match="another sweep is writing"), Store(tmp_path):
            pass
        other.stdin.close()
    with Store(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot write to the folder"), Store(tmp_path / "file" / "x"):
        pass
