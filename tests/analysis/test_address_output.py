"""Tables at an address: what is there is kept unless it is to be replaced, and a summary comes last."""

import json

import pyarrow.parquet as pq
import pytest

from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis import analyze as module
from stablecast.pipeline.analysis.analyze import analyze


def summary_at(folder):
    texts = [file.read_text() for file in (folder / "summary.json").glob("part-*")]
    return json.loads("".join(texts) or "null")


@pytest.fixture
def log(tmp_path):
    row = {"group": "g", "kind": "position", "member": "a", "source": "p", "seq": 4, "time_us": 1}
    file = tmp_path / "log.jsonl"
    file.write_text(json.dumps(row) + "\n")
    return file


def test_an_address_is_written_once_and_replaced_only_if_asked_for(spark, log, tmp_path, monkeypatch):
    out, address = tmp_path / "out", f"file://{tmp_path}/out"
    analyze([log], address, spark=spark)
    assert summary_at(out)["stable"] == 4
    assert pq.read_table(out / "readers")["position"].to_pylist() == [4]
    with pytest.raises(InvalidInput, match="holds something"):
        analyze([log], address, spark=spark)

    write = module._write

    def fails_at_readers(frame, path, *, mode):
        if path.endswith("readers"):
            raise OSError("disk full")
        write(frame, path, mode=mode)

    monkeypatch.setattr(module, "_write", fails_at_readers)
    with pytest.raises(OSError, match="disk full"):
        analyze([log], address, spark=spark, replace=True)
    assert summary_at(out) is None, "an analysis that is not whole has a summary"
    monkeypatch.setattr(module, "_write", write)
    analyze([log], address, spark=spark, replace=True)
    assert summary_at(out)["stable"] == 4
