import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stablecast.cli.main import main
from stablecast.pipeline import sweep as sweep_module
from stablecast.pipeline.point import simulation, task_point
from stablecast.pipeline.schema import WALL_COLUMNS
from stablecast.pipeline.store import CannotKeep, Store, read_rows
from stablecast.pipeline.sweep import Again, Silent, sweep
from stablecast.pipeline.tasks import Terms, run_point

PROTOCOLS = ("coordp", "fulldist", "train", "s_coordp", "s_train")
POINTS = [
    simulation(protocol=protocol, topology="random-tree", members=40, degree=3, height=3, seed=seed, **more)
    for protocol in PROTOCOLS
    for seed in range(4)
    for more in ({}, {"messages": 2, "data_loss": 0.05})
]


class Listener(Silent):
    def __init__(self):
        self.lines, self.total, self.kept, self.done = [], None, None, 0

    def say(self, line):
        self.lines.append(line)

    def begin(self, total, kept):
        self.total, self.kept = total, kept

    def update(self, done, failed, seconds_left):
        assert done >= self.done
        assert seconds_left >= 0
        self.done = done


def comparable(rows):
    return [{key: value for key, value in row.items() if key not in WALL_COLUMNS} for row in rows]


def test_every_point_becomes_a_row_equal_to_a_run_of_its_own(spark, tmp_path):
    swept = sweep(POINTS, tmp_path)
    assert (swept.computed, swept.kept, swept.missing) == (len(POINTS), 0, 0)
    from stablecast.compiling import sources_digest
    from stablecast.pipeline.schema import table_of

    alone = table_of([run_point(point, Terms(sources=sources_digest())) for point in POINTS]).to_pylist()
    assert comparable(read_rows(swept.file)) == comparable(alone)


def test_a_rerun_computes_nothing_and_a_longer_list_only_what_is_missing(spark, tmp_path):
    first = sweep(POINTS[:10], tmp_path)
    listener = Listener()
    second = sweep(POINTS, tmp_path, watcher=listener)
    assert (second.computed, second.kept) == (len(POINTS) - 10, 10)
    assert (listener.total, listener.kept, listener.done) == (len(POINTS), 10, len(POINTS) - 10)
    before = {row["key"]: row["finished_at"] for row in (run.row for run in first.runs)}
    after = {row["key"]: row["finished_at"] for row in read_rows(second.file)}
    assert all(after[key] == finished for key, finished in before.items())
    assert sweep(POINTS, tmp_path).computed == 0
    forced = sweep(POINTS[:10], tmp_path, again=Again(force=True))
    assert forced.computed == 10
    assert len(read_rows(tmp_path / "earlier.parquet")) == len(POINTS) - 10


def test_rows_of_other_sources_are_computed_again_unless_they_are_kept(spark, tmp_path, monkeypatch):
    sweep(POINTS[:3], tmp_path)
    rows = read_rows(tmp_path / "runs.parquet")
    with Store(tmp_path) as store:
        store.add([row | {"sources": "older"} for row in rows])
        store.merge(POINTS[:3])
    assert sweep(POINTS[:3], tmp_path, again=Again(other_sources=False)).computed == 0
    listener = Listener()
    assert sweep(POINTS[:3], tmp_path, watcher=listener).computed == 3
    assert any("3 points again" in line for line in listener.lines)


def test_a_point_that_fails_or_kills_its_worker_is_a_row_and_the_rest_goes_on(spark, tmp_path):
    bad = [
        simulation(protocol="coordp", degree=2, height=2, senders=100),
        task_point("os:_exit", status=3),
        task_point("no.such:task"),
    ]
    swept = sweep([*POINTS[:5], *bad, *POINTS[5:10]], tmp_path, time_limit_s=60)
    assert swept.computed == 13
    failed = {run.row["key"]: run.row for run in swept.runs.failed}
    assert set(failed) == {point.key for point in bad}
    assert "100 senders" in failed[bad[0].key]["error"]
    assert "its worker failed" in failed[bad[1].key]["error"]
    assert all(failed[point.key]["replay"] == point.replay for point in bad)
    again = sweep([*POINTS[:10], *bad[:1]], tmp_path)
    assert again.computed == 0
    assert sweep([*POINTS[:10], *bad[:1]], tmp_path, again=Again(failed=True)).computed == 1


def test_a_full_disk_ends_the_sweep_with_what_was_written_intact(spark, tmp_path, monkeypatch):
    sweep(POINTS[:2], tmp_path)
    before = (tmp_path / "runs.parquet").read_bytes()

    def full(self, rows):
        raise CannotKeep("cannot write 'x': No space left on device")

    monkeypatch.setattr(sweep_module.Store, "add", full)
    with pytest.raises(CannotKeep):
        sweep(POINTS[:8], tmp_path)
    assert [row["key"] for row in read_rows(tmp_path / "runs.parquet")] == [p.key for p in POINTS[:2]]
    assert before


def test_the_command_tells_what_it_did_and_exits_1_for_a_failed_point(spark, tmp_path, capsys):
    spec = tmp_path / "spec.toml"
    spec.write_text('[grid]\nprotocol = "coordp"\ndegree = 2\nheight = 2\nsenders = [3, 4, 100]\n')
    command = ["sweep", str(spec), "--out", str(tmp_path / "out"), "--json"]
    assert main(command) == 1
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert (told["points"], told["computed"], told["failed"]) == (3, 3, 1)
    assert "replay: stablecast simulate coordp --degree 2 --height 2 --senders 100" in captured.err
    assert "# starting Spark" in captured.err
    assert main(command) == 1
    assert json.loads(capsys.readouterr().out)["computed"] == 0


def test_a_sweep_of_the_command_line_equals_simulate(spark, tmp_path, capsys):
    spec = tmp_path / "spec.toml"
    spec.write_text('[grid]\nprotocol = "s_train"\ndegree = 3\nheight = 3\nmessages = 2\nseed = 7\n')
    assert main(["sweep", str(spec), "--out", str(tmp_path / "out")]) == 0
    (row,) = read_rows(tmp_path / "out" / "runs.parquet")
    capsys.readouterr()
    assert main([*row["replay"].split()[1:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    for name, value in told.items():
        if name not in ("wall_s", "traffic"):
            assert (dict(row[name]) if isinstance(value, dict) else row[name]) == value, name
    for name, value in told["traffic"].items():
        assert row["data_messages" if name == "messages" else name] == value, name


SCRIPT = """
import sys
from pathlib import Path
from stablecast.pipeline.point import task_point
from stablecast.pipeline.sweep import Where, sweep
points = [task_point("counted:note", file=sys.argv[2], number=n, seconds=0.03) for n in range(120)]
swept = sweep(points, Path(sys.argv[1]), where=Where(master="local[2]"))
print(swept.computed, swept.kept, swept.interrupted)
"""


def test_an_interrupted_sweep_goes_on_where_it_was_and_computes_no_point_twice(spark, tmp_path):
    """An interrupt ends a process of its own; the session of these tests goes on with what it left."""
    notes, out = tmp_path / "notes", tmp_path / "out"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", SCRIPT, str(out), str(notes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        while process.poll() is None and (not notes.exists() or notes.read_text().count("\n") < 10):
            signal.sigtimedwait([], 0.02)
        process.send_signal(signal.SIGINT)
        computed, kept, interrupted = process.communicate()[0].split()
    assert (kept, interrupted) == ("0", "True")
    assert 10 <= int(computed) < 120
    spark.sparkContext.addPyFile(str(Path(__file__).with_name("counted.py")))
    points = [task_point("counted:note", file=str(notes), number=n, seconds=0.03) for n in range(120)]
    again = sweep(points, out)
    assert (again.computed, again.kept, again.interrupted) == (120 - int(computed), int(computed), False)
    assert sorted(map(int, notes.read_text().split())) == list(range(120))
    assert [row["extra"] for row in read_rows(out / "runs.parquet")] == [
        [("number", float(n))] for n in range(120)
    ]
