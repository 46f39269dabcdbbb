"""The output of a stream whose writer is stopped at any step: readers see one version or the next."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stablecast.delivery.tables import TABLES
from stablecast.pipeline.analysis.stream import versions
from stablecast.pipeline.analysis.stream.versions import GROWING, State, Versions

PARTS = 6
KEPT = ("events", "line")
STEPS = (
    *((Path, name) for name in ("rename", "replace", "symlink_to", "unlink", "mkdir", "write_text")),
    *((os, "link"), (shutil, "rmtree")),
)


class Stopped(BaseException):
    """Nothing that anybody handles."""


class Steps:
    """Counts what is done to files, and stops before one of the steps."""

    def __init__(self, monkeypatch):
        self.done, self.last = 0, None
        for place, name in STEPS:
            monkeypatch.setattr(place, name, self._counted(getattr(place, name)))

    def _counted(self, call):
        def counted(*arguments, **more):
            if self.last is not None and self.done >= self.last:
                raise Stopped
            self.done += 1
            return call(*arguments, **more)

        return counted

    def stop_after(self, steps):
        self.done, self.last = 0, steps


def table_with(value):
    return pa.table({"value": [value]})


def fold(out, part):
    """Do one part of a stream as far as files go: what is final grows by a row, the rest is written anew."""
    kept = Versions(out)
    before = kept.latest(below=part) or State(part)
    kept.begin(part)
    files = {
        table: kept.add_final(part, table, table_with(part), before.files.get(table, ())) for table in GROWING
    }
    tables = {table: table_with(-part) for table in TABLES}
    state = {name: table_with(part) for name in KEPT}
    kept.publish(replace(before, part=part, files=files), tables, state, {"part": part})


def values(folder):
    return sorted(pq.read_table(folder)["value"].to_pylist())


def shown(out):
    """Return the part whose tables are shown, having checked that all of them are of it."""
    if not (out / "summary.json").exists():
        return None
    part = json.loads((out / "summary.json").read_text())["part"]
    for table in TABLES:
        # Of a version that is shown the first time not all names may be there yet.
        if part or (out / table).exists():
            final = range(part + 1) if table in GROWING else ()
            assert values(out / table) == sorted([-part, *final]), table
    return part


@pytest.fixture
def steps(monkeypatch):
    monkeypatch.setattr(versions, "MOST_FILES", 3)
    return Steps(monkeypatch)


def test_all_parts_in_order_give_all_rows_in_few_files(tmp_path, steps):
    for part in range(PARTS):
        fold(tmp_path, part)
        assert shown(tmp_path) == part
        for name in KEPT:
            assert values(tmp_path / ".watch" / "state" / f"{part:09d}" / f"{name}.parquet") == [part]
    assert len(list((tmp_path / "messages").iterdir())) <= 5
    assert len(list((tmp_path / ".watch" / "versions").iterdir())) == 2


@pytest.mark.parametrize("part", [0, 4])
def test_stopped_before_any_step_the_next_run_ends_with_the_same(tmp_path, steps, part):
    steps.stop_after(10**9)
    beginning = tmp_path / "beginning"
    for earlier in range(part):
        fold(beginning, earlier)
    beginning.mkdir(exist_ok=True)
    stopped, last = 0, None
    while last != stopped:
        out = tmp_path / f"out-{stopped}"
        steps.stop_after(10**9)
        shutil.copytree(beginning, out, symlinks=True)
        steps.stop_after(stopped)
        try:
            fold(out, part)
        except Stopped:
            stopped += 1
        else:
            last = stopped
        steps.stop_after(10**9)
        assert shown(out) in (part, part - 1 if part else None)
        # What a new run does: it shows what counts, and does what does not count again.
        state = Versions(out).latest()
        if state is not None:
            Versions(out).show(state)
        if state is None or state.part < part:
            fold(out, part)
        fold(out, part + 1)
        assert shown(out) == part + 1
        shutil.rmtree(out)
    assert stopped > 20
