"""Collections: whole files whenever a collection is killed, and the same answer as ``analyze``."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from threading import Event

import psycopg
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from logs import log_of, logs, snapshot_of
from redis import Redis
from servers import redis_server

from stablecast.analysis.local import analyze_files
from stablecast.analysis.options import Options
from stablecast.analysis.reading.inputs import find_inputs
from stablecast.cli.main import main
from stablecast.errors import InvalidInput
from stablecast.holdback.audit import Event as Told
from stablecast.holdback.collecting import journal as journal_module
from stablecast.holdback.collecting.history import add
from stablecast.holdback.collecting.journal import Journal
from stablecast.holdback.collecting.reading import read_events
from stablecast.holdback.collecting.run import Collecting, collect
from stablecast.holdback.frontier import frontier_of
from stablecast.holdback.sources import open_source


def analysed(out):
    inputs = find_inputs([str(out / "positions")])
    return {
        name: table.to_pylist()
        for name, table in analyze_files(inputs, Options(first_seq="earliest")).tables.items()
    }


def see(journal, *some, time_us):
    added = add(journal.known, replace(snapshot_of(*some), time_us=time_us))
    journal.add(added)
    return added.rows


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(log=logs())
def test_a_collection_is_analysed_as_the_snapshot_says(tmp_path_factory, log):
    out = tmp_path_factory.mktemp("out")
    journal = Journal(out)
    see(journal, log, time_us=1000)
    journal.rotate()
    journal.close()
    compare(analysed(out), frontier_of(log))


def compare(tables, found):
    """Compare what the tables say at their end with what a snapshot says."""
    (source,) = [row for row in tables["sources"] if row["source"] == found.log.source]
    narrow = found.log.numbering.narrow
    begun = narrow(found.stable_seq) if found.stable_seq >= source["first_seq"] else None
    assert (source["stable_seq"] or begun) == narrow(found.stable_seq)
    assert (source["waiting_for"] or []) == list(found.waiting_for)
    readers = {row["member"]: row for row in tables["readers"] if row["source"] == found.log.source}
    for one in found.standings:
        if not one.reader.holds:
            continue
        row = readers[one.reader.member]
        assert row["blocks"] == one.blocks
        assert row["without_seq"] in (None, narrow(one.without_seq))


def test_a_redis_that_runs_is_analysed_as_holdback_says(redis, tmp_path):
    for number in range(1, 101):
        redis.xadd("orders", {"a": "x"}, id=f"{number}-0")
    for group, count in (("archive", 40), ("billing", 70), ("search", 100)):
        redis.xgroup_create("orders", group, "0")
        redis.xreadgroup(group, "c", {"orders": ">"}, count=count)
        redis.xack("orders", group, *[f"{k}-0" for k in range(1, count + 1)])
    redis.xgroup_create("orders", "never", "0")
    assert main(["collect", redis.url, "--out", str(tmp_path / "out"), "--once"]) == 0
    with open_source(redis.url) as source:
        (log,) = source.take().logs
    compare(analysed(tmp_path / "out"), frontier_of(log))


class Killed(BaseException):
    """Ends a run at once: nothing of the program's own catches it."""


class Counting:
    """Counts the calls that change anything on disk, and ends the run at one of them."""

    def __init__(self, monkeypatch, at, torn):
        self.calls, self.at, self.torn = 0, at, torn
        for name in ("write", "fdatasync", "fsync", "open"):
            monkeypatch.setattr(os, name, self.counted(getattr(os, name)))
        for name in ("rename", "replace", "unlink"):
            monkeypatch.setattr(Path, name, self.counted(getattr(Path, name)))

    def counted(self, call):
        def counted(*words, **more):
            self.calls += 1
            if self.calls == self.at:
                if self.torn and call.__name__ == "write":
                    call(words[0], words[1][: len(words[1]) // 2])
                raise Killed
            return call(*words, **more)

        return counted


def collect_steps(out):
    """Collect the same twelve snapshots, from where an earlier run was ended."""
    journal = Journal(out)
    begun = max((one.head for one in journal.known.values()), default=0)
    for step in range(begun + 1, 13):
        see(journal, log_of(step, {"a": step // 2, "b": step}), time_us=step)
        if step % 4 == 0:
            journal.rotate()
    journal.rotate()
    journal.close()


@pytest.mark.parametrize("torn", [False, True])
def test_a_collection_that_is_killed_at_any_call_goes_on_without_a_wrong_row(tmp_path, torn):
    with pytest.MonkeyPatch.context() as patched:
        calls = Counting(patched, -1, torn)
        collect_steps(tmp_path / "whole")
    whole = read_events(tmp_path / "whole")
    assert calls.calls > 30
    for at in range(1, calls.calls + 1):
        out = tmp_path / f"at{at}"
        with pytest.MonkeyPatch.context() as patched:
            Counting(patched, at, torn)
            with pytest.raises(Killed):
                collect_steps(out)
        for file in out.rglob("[!.]*.parquet"):
            assert pq.read_table(file).num_rows
        collect_steps(out)
        assert read_events(out) == whole, f"killed at call {at}"


def test_files_that_are_there_are_not_written_with_other_rows(tmp_path, monkeypatch):
    """A kill after the files and before the next journal: what comes next goes into the next files."""
    journal = Journal(tmp_path)
    see(journal, log_of(5, {"a": 3}), time_us=1)
    monkeypatch.setattr(journal, "_begin", lambda number: None)
    journal.rotate()
    journal.close()
    before = pq.read_table(tmp_path / "positions" / "positions-000001.parquet")
    again = Journal(tmp_path)
    see(again, log_of(6, {"a": 3}), time_us=2)
    again.rotate()
    assert pq.read_table(tmp_path / "positions" / "positions-000001.parquet") == before
    assert pq.read_table(tmp_path / "positions" / "positions-000002.parquet").num_rows == 1


def test_a_folder_of_something_else_is_refused(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["collect", "stablecast://127.0.0.1:1", "--out", str(tmp_path), "--once"]) == 2
    assert "holds something else" in capsys.readouterr().err


def test_a_full_disk_is_one_line_and_nothing_is_torn(tmp_path, monkeypatch):
    journal = Journal(tmp_path)
    see(journal, log_of(5, {"a": 3}), time_us=1)
    write = os.write

    def full(file, data):
        return write(file, data[: len(data) // 2])

    monkeypatch.setattr(journal_module.os, "write", full)
    with pytest.raises(journal_module.CannotCollect, match="No space left"):
        see(journal, log_of(6, {"a": 3}), time_us=2)
    monkeypatch.undo()
    journal.close()
    assert [row[:2] for row in Journal(tmp_path)._lines[0]["rows"]]


def test_two_collections_into_one_folder_are_refused(redis, tmp_path):
    stopped, second = Event(), []

    def say(_):
        pass

    class Stopping(Event):
        def wait(self, timeout=None):
            with pytest.raises(InvalidInput, match="in use") as raised:
                collect([redis.url], tmp_path, Collecting(once=True), stopped=stopped, say=say)
            second.append(raised.value)
            return True

    collect([redis.url], tmp_path, Collecting(), stopped=Stopping(), say=say)
    assert second


def test_a_system_that_goes_and_comes_is_told_and_collected_again(tmp_path):
    said, out = [], tmp_path / "out"
    folder = tmp_path / "data"
    folder.mkdir()
    options = ["--appendonly", "yes"]

    class Steps(Event):
        """Between snapshots the server ends, and begins again with its data."""

        def __init__(self):
            super().__init__()
            self.count = 0
            self.context = redis_server(folder, *options)
            self.process = self.context.__enter__()

        def wait(self, timeout=None):
            self.count += 1
            if self.count == 1:
                self.process.kill()
                self.process.wait()
            elif self.count == 2:
                again = subprocess.Popen(
                    self.process.args, stdout=subprocess.PIPE, text=True
                )  # the same port
                for line in again.stdout:
                    if "Ready to accept" in line:
                        break
                self.again = again
                with Redis(port=self.process.port) as client:
                    client.xadd("s", {"a": 2}, id="2-0")
            else:
                self.again.terminate()
                self.again.wait()
                self.again.stdout.close()
                self.context.__exit__(None, None, None)
                return True
            return False

    steps = Steps()
    with Redis(port=steps.process.port) as client:
        client.xadd("s", {"a": 1}, id="1-0")
        client.xgroup_create("s", "g", "0")
    taken = collect([steps.process.url], out, Collecting(every_s=0.01), stopped=steps, say=said.append)
    assert taken == 2
    assert ["cannot ask" in line for line in said] == [True, True]
    assert said[1].startswith("no longer: ")
    kinds = [(row.kind, row.seq) for row in read_events(out)]
    assert kinds == [("join", None), ("head", 1 << 18), ("position", (1 << 18) - 1), ("head", 2 << 18)]


def test_killed_while_it_collects_a_running_redis_every_file_is_whole(redis, tmp_path):
    out = tmp_path / "out"
    words = ["-m", "stablecast.cli.main", "collect", redis.url, "--out", str(out), "--every-s", "0.001"]
    redis.xadd("s", {"a": 1}, id="1-0")
    redis.xgroup_create("s", "g", "0")
    for round_ in range(2):
        process = subprocess.Popen([sys.executable, *words, "--rotate-s", "0.01"])
        wanted, number = round_ + 2, 1
        while len(list((out / "positions").glob("[!.]*.parquet")) if out.exists() else []) < wanted:
            number += 1
            redis.xadd("s", {"a": 1}, id=f"{round_ + 1}-{number}")
            assert process.poll() is None
            time.sleep(0)
        process.send_signal(signal.SIGKILL)
        process.wait()
    events = read_events(out)
    heads = [row.seq for row in events if row.kind == "head"]
    assert heads == sorted(set(heads))
    assert {type(row) for row in events} == {Told}
    assert [row.kind for row in events].count("join") == 1


def test_an_audit_of_a_correct_run_finds_nothing(tmp_path, capsys):
    journal = Journal(tmp_path / "out")
    see(journal, log_of(100, {"a": 20}), time_us=1)
    see(journal, log_of(100, {"a": 80}, first_seq=51), time_us=2)
    journal.rotate()
    journal.close()
    assert main(["audit", str(tmp_path / "out")]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "1 deletion, 1 reader: 0 losses"
    assert second.startswith("undecided 1 time: ")
    assert main(["audit", str(tmp_path)]) == 2
    assert "is no collection" in capsys.readouterr().err


def test_an_audit_writes_control_characters_of_names_out(tmp_path, capsys):
    journal = Journal(tmp_path / "out")
    for time_us, first_seq in ((1, 1), (2, 51)):
        see(journal, log_of(100, {"a\x1b[2J\nb": 20}, first_seq=first_seq), time_us=time_us)
    journal.rotate()
    journal.close()
    assert main(["audit", str(tmp_path / "out")]) == 1
    line, _ = capsys.readouterr().out.splitlines()
    assert line.startswith("a\\x1b[2J\\nb lost 21 up to 50 of g")


def test_an_audit_that_has_nothing_to_judge_says_so(tmp_path, capsys):
    (tmp_path / "positions").mkdir()
    assert main(["audit", str(tmp_path)]) == 2
    assert "nothing was there to judge" in capsys.readouterr().err


def test_a_folder_that_is_refused_is_left_as_it_was(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["collect", "stablecast://127.0.0.1:1", "--out", str(tmp_path), "--once"]) == 2
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    "line", ["garbage", "[]", "{}", '{"known":{"a":[1]}}', '{"known":{},"rows":[]}', "\udcff"]
)
def test_a_journal_that_is_damaged_is_one_line(tmp_path, capsys, line):
    journal = Journal(tmp_path)
    see(journal, log_of(5, {"a": 3}), time_us=1)
    journal.close()
    with (tmp_path / ".journal-000001.jsonl").open("ab") as file:
        file.write(line.encode(errors="surrogateescape") + b"\n")
    assert main(["collect", "stablecast://127.0.0.1:1", "--out", str(tmp_path), "--once"]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith(f"stablecast: line 3 of '{tmp_path}/.journal-000001.jsonl' is damaged")


def test_a_file_that_only_looks_like_a_journal_is_no_collection(tmp_path):
    (tmp_path / ".journal-mine.jsonl").write_text("x")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="holds something else"):
        Journal(tmp_path)


@pytest.mark.parametrize("option", ["--every-s", "--rotate-s", "--timeout-s"])
def test_a_time_that_cannot_be_waited_for_is_one_line(tmp_path, capsys, option):
    words = ["collect", "stablecast://127.0.0.1:1", "--out", str(tmp_path / "out"), option, "1e12"]
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(f"stablecast: {option} 1e+12 (accepted")


@pytest.mark.xdist_group("postgres")
def test_an_audit_finds_a_slot_of_postgresql_that_is_lost(postgres_process, tmp_path, capsys):
    url, out = postgres_process.url, str(tmp_path / "out")
    with psycopg.connect(url, autocommit=True) as server:
        for (name,) in server.execute("SELECT slot_name FROM pg_replication_slots").fetchall():
            server.execute("SELECT pg_drop_replication_slot(%s)", [name])
        server.execute("SELECT pg_create_physical_replication_slot('slow', true)")
        server.execute("CREATE TABLE IF NOT EXISTS orders (id int, payload text)")
        server.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
        try:
            server.execute("INSERT INTO orders SELECT g, 'x' FROM generate_series(1, 100) g")
            assert main(["collect", url, "--out", out, "--once"]) == 0
            server.execute("SELECT pg_reload_conf()")
            for _ in range(3):
                server.execute("INSERT INTO orders SELECT g, 'x' FROM generate_series(1, 100) g")
                server.execute("SELECT pg_switch_wal()")
            server.execute("CHECKPOINT")
            assert main(["collect", url, "--out", out, "--once"]) == 0
        finally:
            server.execute("ALTER SYSTEM RESET max_slot_wal_keep_size")
            server.execute("SELECT pg_reload_conf()")
            server.execute("SELECT pg_drop_replication_slot('slow')")
    assert main(["audit", out]) == 1
    assert "slow lost " in capsys.readouterr().out
