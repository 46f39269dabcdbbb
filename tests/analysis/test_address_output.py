"""Tables at an address: what is there is kept unless it is to be replaced, and a summary comes last."""

import json

import pyarrow.parquet as pq
import pytest
from spark_lake import lake_at

from stablecast.analysis.output import CannotWrite
from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis import analyze as module
from stablecast.pipeline.analysis.analyze import analyze
from stablecast.spark import read_tables


@pytest.fixture
def log(tmp_path):
    row = {"group": "g", "kind": "position", "member": "a", "source": "p", "seq": 4, "time_us": 1}
    file = tmp_path / "log.jsonl"
    file.write_text(json.dumps(row) + "\n")
    return file


def test_an_address_is_written_once_and_replaced_only_if_asked_for(spark, log, tmp_path, monkeypatch):
    address, out = f"{lake_at(spark, tmp_path)}/out", tmp_path / "out"
    analyze([log], address, spark=spark)
    assert json.loads((out / "summary.json").read_bytes())["stable"] == 4
    assert pq.read_table(out / "readers")["position"].to_pylist() == [4]
    with pytest.raises(InvalidInput, match="holds something"):
        analyze([log], address, spark=spark)

    write = module._write

    def fails_at_readers(frame, path):
        if path.endswith("readers"):
            raise OSError("disk full")
        write(frame, path)

    monkeypatch.setattr(module, "_write", fails_at_readers)
    with pytest.raises(OSError, match="disk full"):
        analyze([log], address, spark=spark, replace=True)
    assert not (out / "summary.json").exists(), "an analysis that is not whole has a summary"
    with pytest.raises(InvalidInput, match="has no tables that are whole"):
        read_tables(spark, address)
    monkeypatch.setattr(module, "_write", write)
    analyze([log], address, spark=spark, replace=True)
    tables = read_tables(spark, address)
    assert tables.summary["stable"] == 4
    assert [row.position for row in tables.readers.collect()] == [4]


def test_nothing_of_an_earlier_analysis_of_the_other_form_stays(spark, log, tmp_path):
    address, out = f"{lake_at(spark, tmp_path)}/out", tmp_path / "out"
    analyze([log], address, spark=spark)
    log.write_text(log.read_text().replace('"position"', '"send"').replace('"p"', '"a"'))
    analyze([log], address, spark=spark, replace=True)
    assert (out / "messages").is_dir()
    assert not (out / "readers").exists()
    assert read_tables(spark, address).messages.count() == 1


def test_events_come_from_an_address_that_only_spark_knows(spark, log, tmp_path):
    lake = lake_at(spark, tmp_path)
    found = analyze([f"{lake}/*.jsonl"], f"{lake}/out", spark=spark)
    assert (found.summary["stable"], found.out) == (4, f"{lake}/out")


def test_what_cannot_be_an_output_is_refused(spark, log, tmp_path):
    lake = lake_at(spark, tmp_path)
    with pytest.raises(InvalidInput, match=r"log\.jsonl' is a file"):
        analyze([log], f"{lake}/log.jsonl", spark=spark)
    (tmp_path / "watched" / ".watch").mkdir(parents=True)
    with pytest.raises(InvalidInput, match="is kept current by watch"):
        analyze([log], f"{lake}/watched", spark=spark, replace=True)
    with pytest.raises(InvalidInput, match="which only Spark can write to"):
        analyze([log], f"{lake}/out")


def test_a_folder_of_this_machine_may_be_given_as_an_address(spark, log, tmp_path):
    analyze([f"file://{log}"], f"file://{tmp_path}/out", spark=spark)
    for out in (tmp_path / "out", f"file://{tmp_path}/out/"):
        tables = read_tables(spark, out)
        assert (tables.summary["stable"], tables.sources.count()) == (4, 1)
    assert not list(tmp_path.glob(".out*"))


def test_a_store_that_refuses_the_summary_is_told_in_one_line(spark, log, tmp_path, monkeypatch):
    address = f"{lake_at(spark, tmp_path)}/out"
    write = module._write

    def and_spoils(frame, path):
        write(frame, path)
        (tmp_path / "out" / "summary.json").mkdir(exist_ok=True)

    monkeypatch.setattr(module, "_write", and_spoils)
    with pytest.raises(CannotWrite, match=f"^cannot write '{address}': [^\n]+$"):
        analyze([log], address, spark=spark)
