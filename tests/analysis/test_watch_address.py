"""A stream whose folder and output are at addresses that only Spark knows."""

import json
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from analysis_compare import differences
from analysis_random_trace import random_trace
from spark_lake import lake_at

from stablecast.analysis.local import analyze_files
from stablecast.analysis.options import Options
from stablecast.analysis.output import CannotWrite
from stablecast.analysis.reading.inputs import find_inputs
from stablecast.analysis.stored import stored
from stablecast.analysis.version import MANIFESTS
from stablecast.delivery.stream.fold import Patience
from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis.stream.watch import Watch, Watching
from stablecast.spark import read_tables

SEED = 7
PARTS = 4
WATCHING = Watching(once=True, files_per_part=1, patience=Patience(20_000, 200_000))


class Lake:
    """A folder that only Spark gets to by its address, with a stream in it."""

    def __init__(self, spark, folder):
        self.spark, self.folder = spark, folder
        self.address = lake_at(spark, folder)
        self.told = []
        trace = random_trace(SEED, groups=1, members=4, sources=2, messages=150).sort_by("time_us")
        size = len(trace) // PARTS
        self.parts = [trace.slice(k * size, size if k < PARTS - 1 else None) for k in range(PARTS)]
        (folder / "in").mkdir()

    def arrive(self, number):
        """Let a part appear, in one of the formats, under a name that is hard on addresses."""
        name, part = f"{number} %20[é]", self.parts[number]
        if number % 2:
            text = "".join(json.dumps(row) + "\n" for row in part.to_pylist())
            with pa.CompressedOutputStream(str(self.folder / "in" / f"{name}.jsonl.gz"), "gzip") as out:
                out.write(text.encode())
        else:
            pq.write_table(part, self.folder / "in" / f"{name}.parquet")

    def watch(self, folder=None, out=None, watching=WATCHING):
        folder, out = folder or f"{self.address}/in", out or f"{self.address}/out"
        watch = Watch(folder, out, self.spark, watching, tell=self.told.append)
        watch.run(threading.Event())
        return watch.summary


@pytest.fixture
def lake(spark, tmp_path):
    return Lake(spark, tmp_path)


def test_parts_at_an_address_give_the_tables_of_the_whole(lake, spark, tmp_path):
    out = tmp_path / "out"
    for number in (0, 1):
        lake.arrive(number)
    lake.watch()
    newest = max((out / MANIFESTS).glob("*.json"))
    # As a run that was killed while it wrote the manifest leaves it, with Spark's note of the part missing.
    newest.write_bytes(newest.read_bytes()[:-1])
    newest.with_name(f".{newest.name}.crc").unlink()
    for note in (out / ".watch" / "checkpoint" / "commits").glob("*1*"):
        note.unlink()
    assert read_tables(spark, f"{lake.address}/out").summary["parts"] == 1
    for number in (2, 3):
        lake.arrive(number)
    told = lake.watch()
    assert [one["parts"] for one in lake.told] == [1, 2, 2, 3, 4]
    whole = analyze_files(find_inputs([str(tmp_path / "in")]), Options())
    assert told["events"] == whole.summary["events"] == sum(map(len, lake.parts))
    tables = read_tables(spark, f"{lake.address}/out")
    assert dict(tables.summary) == told
    assert sorted(tables.names) == sorted(whole.tables)
    for name, table in whole.tables.items():
        found = getattr(tables, name).toArrow()
        assert not differences(found.cast(table.schema), table), name
    # There are no names beside the versions, and Arrow reads the same from the folder behind the address.
    assert [file.name for file in out.iterdir()] == [".watch"]
    assert stored(out).summary == told


def test_what_is_refused_of_addresses(lake, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").touch()
    address = lake.address
    for folder, out, told in [
        (f"{address}/gone", None, f"the folder '{address}/gone' does not exist"),
        (None, f"{address}/other", f"the output folder '{address}/other' holds something else"),
        (None, f"{address}/other/x", f"the output '{address}/other/x' is a file"),
        (None, f"{address}/in/out", f"the output '{address}/in/out' is inside the folder that is watched"),
        (None, "nosuch://x/y", "Spark cannot open nosuch:// here"),
    ]:
        with pytest.raises(InvalidInput) as caught:
            lake.watch(folder, out)
        assert str(caught.value).startswith(told)
    for folder, out in ((None, str(tmp_path / "out")), (str(tmp_path / "in"), f"{address}/out")):
        with pytest.raises(InvalidInput, match=r"accepted with --follow: folders of this machine"):
            lake.watch(folder, out, Watching(follow=True))


def test_an_output_that_cannot_be_written_is_told_in_one_line(lake):
    elsewhere = lake.address.replace("/data", "/nothing")
    with pytest.raises(CannotWrite, match=f"^cannot write '{elsewhere}': [^\n]+$"):
        lake.watch(out=elsewhere)


def test_a_file_that_is_gone_when_all_is_computed_anew_is_told_in_one_line(lake, tmp_path):
    lake.arrive(2)
    lake.watch()
    lake.arrive(0)  # older than what is settled
    gone = next((tmp_path / "in").glob("2*"))
    gone.rename(tmp_path / "gone")
    with pytest.raises(InvalidInput) as caught:
        lake.watch()
    assert str(caught.value).startswith(
        "something came too late, and what was read before is not all there to be read again:"
        f" '{lake.address}/in/{gone.name}' does not exist"
    )


def test_folders_of_this_machine_may_be_given_as_addresses(lake, spark, tmp_path):
    lake.arrive(0)
    told = lake.watch(f"file://{tmp_path}/in", f"file://{tmp_path}/out")
    assert told["events"] == len(lake.parts[0])
    assert json.loads((tmp_path / "out" / "summary.json").read_bytes()) == told
    assert lake.watch(tmp_path / "in", tmp_path / "out") == told
    for out in (tmp_path / "out", f"file://{tmp_path}/out"):
        assert read_tables(spark, out).messages.count() == told["messages"]
