"""The output of a stream whose writer is stopped at any step: readers see one version or the next."""

import errno
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs
from stepped_files import SteppedFiles, Steps, Stopped

from stablecast.analysis.stored import stored
from stablecast.analysis.version import FILES, MANIFESTS, State, newest_version, version_of
from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis.stream import versions as module
from stablecast.pipeline.analysis.stream.links import show
from stablecast.pipeline.analysis.stream.versions import Versions

PARTS = 6
TABLES, GROWING = ("messages", "sources"), ("messages",)
KEPT = ("events", "line")
LINKING = (
    *((Path, name) for name in ("replace", "symlink_to", "unlink", "mkdir", "write_text")),
    *((os, "link"), (shutil, "rmtree")),
)


def below(out, system=None):
    return fs.SubTreeFileSystem(str(out), system or fs.LocalFileSystem())


def table_with(value):
    return pa.table({"value": [value]})


def values(table):
    return sorted(table["value"].to_pylist())


class Stream:
    """The parts of a stream as far as files go: what is final grows by a row, the rest is written anew."""

    def __init__(self, out, system=None):
        self.out = out
        self.versions = Versions(system or fs.LocalFileSystem(), str(out))
        self.version = self.versions.begin()
        if self.version is not None:
            show(out, self.version)

    def fold(self, part):
        before = State(part) if self.version is None else self.version.state
        kept = self.versions.kept(self.version)
        assert {name: values(table) for name, table in kept.items()} == (
            {} if self.version is None else {name: [before.part] for name in KEPT}
        )
        final = {
            table: self.versions.add_final(part, table, table_with(part), before.final.get(table, ()))
            for table in GROWING
        }
        tables = {table: table_with(-part) for table in TABLES}
        state = replace(before, part=part, final=final)
        self.version = self.versions.publish(
            state, tables, dict.fromkeys(KEPT, table_with(part)), {"part": part}
        )
        show(self.out, self.version)


def rows_of(part):
    return {table: sorted([-part, *(range(part + 1) if table in GROWING else ())]) for table in TABLES}


def read(out):
    """Return the part that readers find, having checked that all tables are of it."""
    if newest_version(below(out)) is None:
        return None
    found = stored(out)
    part = found.summary["part"]
    assert {table: values(found.dataset(table).to_table()) for table in found.names} == rows_of(part)
    return part


def linked(out):
    """Return the part that names of the folder lead to, having checked that all of them lead to it."""
    if not (out / "summary.json").exists():
        return None
    part = json.loads((out / "summary.json").read_text())["part"]
    # Of a version that is shown the first time not all names may be there yet.
    there = [table for table in TABLES if part or (out / table).exists()]
    for table in there:
        assert values(pq.read_table(out / table)) == rows_of(part)[table], table
    return part


def named(out):
    """Return the files that whole manifests name, having checked that they are there."""
    manifests = [version_of(file.read_bytes()) for file in (out / MANIFESTS).glob("*.json")]
    files = {file for version in manifests if version is not None for file in version.files}
    assert all((out / file).is_file() for file in files)
    return files


@pytest.fixture
def few_files(monkeypatch):
    monkeypatch.setattr(module, "MOST_FILES", 3)


def test_all_parts_in_order_give_all_rows_in_few_files(tmp_path, few_files):
    stream = Stream(tmp_path)
    for part in range(PARTS):
        stream.fold(part)
        assert read(tmp_path) == linked(tmp_path) == part
    assert len(stored(tmp_path).files("messages")) <= 4
    assert len(list((tmp_path / MANIFESTS).iterdir())) == 2
    assert {f"{FILES}/{file.name}" for file in (tmp_path / FILES).iterdir()} == named(tmp_path)


@pytest.mark.parametrize("part", [0, 4])
def test_stopped_before_any_step_the_next_run_ends_with_the_same(tmp_path, few_files, monkeypatch, part):
    steps = Steps()
    for place, name in LINKING:
        monkeypatch.setattr(place, name, steps.counted(getattr(place, name)))
    beginning = tmp_path / "beginning"
    beginning.mkdir()
    stream = Stream(beginning)
    for earlier in range(part):
        stream.fold(earlier)
    before = part - 1 if part else None
    seen, stopped, done = set(), 0, False
    while not done:
        out = tmp_path / f"out-{stopped}"
        shutil.copytree(beginning, out, symlinks=True)
        steps.stop_after(stopped)
        try:
            Stream(out, fs.PyFileSystem(SteppedFiles(steps))).fold(part)
            done = True
        except Stopped:
            stopped += 1
        steps.stop_after(None)
        named(out)
        seen.add((read(out), linked(out)))
        # What a new run does: it shows what counts, and does what does not count again.
        stream = Stream(out)
        if stream.version is None or stream.version.part < part:
            stream.fold(part)
        assert read(out) == linked(out) == part
        stream.fold(part + 1)
        assert read(out) == linked(out) == part + 1
        assert {f"{FILES}/{file.name}" for file in (out / FILES).iterdir()} == named(out)
        shutil.rmtree(out)
    assert stopped > 25
    assert seen == {(before, before), (part, before), (part, part)}


def test_a_manifest_of_which_the_end_is_missing_does_not_count(tmp_path):
    stream = Stream(tmp_path)
    for part in range(3):
        stream.fold(part)
    manifest = tmp_path / MANIFESTS / "000000002.json"
    whole = manifest.read_bytes()
    for length in range(len(whole)):
        manifest.write_bytes(whole[:length])
        assert newest_version(below(tmp_path)).part == 1, length
    manifest.write_bytes(whole)
    assert newest_version(below(tmp_path)).part == 2
    manifest.write_bytes(whole[:-1])
    assert read(tmp_path) == 1
    stream = Stream(tmp_path)
    assert read(tmp_path) == linked(tmp_path) == 1
    assert not manifest.exists()
    stream.fold(2)
    assert read(tmp_path) == linked(tmp_path) == 2


def test_a_reader_keeps_the_version_that_it_found(tmp_path):
    stream = Stream(tmp_path)
    stream.fold(0)
    found = stored(tmp_path)
    stream.fold(1)
    assert {table: values(found.dataset(table).to_table()) for table in found.names} == rows_of(0)
    assert found.summary == {"part": 0}
    assert read(tmp_path) == 1


class Late(SteppedFiles):
    """Lets something happen after a folder has been listed for the first time."""

    def __init__(self, happens):
        super().__init__(Steps())
        self.happens = [happens]

    def get_file_info_selector(self, selector):
        found = super().get_file_info_selector(selector)
        while self.happens:
            self.happens.pop()()
        return found


def test_a_manifest_that_vanishes_after_it_was_listed_is_looked_for_anew(tmp_path):
    stream = Stream(tmp_path)
    stream.fold(0)

    def three_more():
        for part in (1, 2, 3):
            stream.fold(part)

    assert newest_version(below(tmp_path, fs.PyFileSystem(Late(three_more)))).part == 3


def test_an_output_without_a_version_says_so(tmp_path):
    Stream(tmp_path)
    with pytest.raises(InvalidInput, match="has no tables yet: 'stablecast watch' has not finished a part"):
        stored(tmp_path)


def test_a_manifest_of_another_kind_is_refused(tmp_path):
    Stream(tmp_path).fold(0)
    (tmp_path / MANIFESTS / "000000000.json").write_text('{"tables": {}}')
    with pytest.raises(InvalidInput, match="is not one of this version of stablecast"):
        stored(tmp_path)


def test_names_of_the_folder_are_made_anew_from_the_manifest(tmp_path):
    stream = Stream(tmp_path)
    for part in range(3):
        stream.fold(part)
    shutil.rmtree(tmp_path / ".watch" / "shown")
    (tmp_path / "messages").unlink()
    Stream(tmp_path)
    assert linked(tmp_path) == 2


def test_a_folder_without_links_has_its_versions(tmp_path, monkeypatch):
    def refuses(*arguments):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuses)
    stream = Stream(tmp_path)
    stream.fold(0)
    stream.fold(1)
    assert read(tmp_path) == 1
    assert [file.name for file in tmp_path.iterdir()] == [".watch"]
