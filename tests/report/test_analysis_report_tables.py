import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from analysis_report_sample import SCHEMAS, message, write_analysis
from pyarrow import fs

from stablecast.analysis.version import State
from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis.stream.versions import Versions
from stablecast.report import analysis_tables
from stablecast.report.analysis_tables import NEEDED, Tables


@pytest.fixture
def analysis(tmp_path):
    rows = [message("alice", seq, 100 * seq, 100 * seq + 50) for seq in range(1, 11)]
    return write_analysis(tmp_path / "analysed", messages=rows)


def test_rows_come_in_batches_with_the_columns_asked_for(analysis, monkeypatch):
    monkeypatch.setattr(analysis_tables, "BATCH_ROWS", 4)
    found = list(Tables(analysis).batches("messages", ("seq", "source")))
    assert [batch.num_rows for batch in found] == [4, 4, 2]
    assert found[0].column_names == ["seq", "source"]
    assert Tables(analysis).rows("messages") == 10


def test_files_of_the_writers_own_are_not_read(analysis):
    part = analysis / "messages" / "part-00000.parquet"
    for name in (".part-00001.parquet", "_part-00002.parquet", "_temporary/part-00003.parquet"):
        (analysis / "messages" / name).parent.mkdir(exist_ok=True)
        shutil.copy(part, analysis / "messages" / name)
    assert Tables(analysis).rows("messages") == 10


def test_of_what_watch_keeps_current_all_tables_are_of_one_version(tmp_path):
    versions = Versions(fs.LocalFileSystem(), str(tmp_path))
    versions.begin()

    def publish(part):
        tables = {name: schema.empty_table() for name, schema in SCHEMAS.items()}
        rows = [message("alice", seq, 100, 150) for seq in range(part + 1)]
        tables["messages"] = pa.Table.from_pylist(rows, schema=SCHEMAS["messages"])
        versions.publish(State(part), tables, {}, {"parts": part + 1})

    publish(0)
    tables = Tables(tmp_path)
    publish(1)
    assert (tables.rows("messages"), tables.summary) == (1, {"parts": 1})
    assert (Tables(tmp_path).rows("messages"), Tables(tmp_path).summary) == (2, {"parts": 2})


def test_what_may_be_absent(analysis):
    tables = Tables(analysis)
    assert not tables.has("occupancy")
    assert not tables.has("sources")
    assert tables.summary == {}


def test_a_further_table_of_another_shape_counts_as_absent(analysis):
    (analysis / "sources").mkdir()
    pq.write_table(pa.table({"source": ["alice"]}), analysis / "sources" / "a.parquet")
    assert not Tables(analysis).has("sources")


def complaint(folder) -> str:
    with pytest.raises(InvalidInput) as caught:
        Tables(folder)
    return str(caught.value)


def test_what_is_not_an_analysis_is_told_in_a_line(analysis, tmp_path):
    accepted = "(accepted: a folder that 'stablecast analyze' or 'stablecast watch' wrote)"
    assert f"is not there {accepted}" in complaint(tmp_path / "no")
    (tmp_path / "file").touch()
    assert "is not a folder" in complaint(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    assert "it lacks messages, frontiers, buffers, laggards, violations" in complaint(tmp_path / "empty")
    shutil.rmtree(analysis / "laggards")
    assert "is not an analysis: it lacks laggards" in complaint(analysis)


@pytest.mark.parametrize(
    ("file", "words"),
    [("claims.parquet", "the papers' evaluations"), ("runs.parquet", "the runs of a sweep")],
)
def test_other_results_are_called_by_their_name(tmp_path, file, words):
    (tmp_path / file).touch()
    assert words in complaint(tmp_path)


def test_broken_tables_are_called_by_their_name(analysis):
    part = analysis / "messages" / "part-00000.parquet"
    pq.write_table(pq.read_table(part).drop_columns(["sent_us", "required"]), part)
    assert "table 'messages' of" in complaint(analysis)
    assert "lacks the columns sent_us, required" in complaint(analysis)
    wrong = pq.read_table(part)
    pq.write_table(
        wrong.append_column("sent_us", [["soon"] * 10]).append_column("required", [[4] * 10]), part
    )
    assert "has string in the column sent_us, where a number belongs" in complaint(analysis)
    part.write_bytes(b"PAR1 and no more")
    assert "cannot read table 'messages' of" in complaint(analysis)
    part.unlink()
    assert "has no Parquet file" in complaint(analysis)


def test_damage_in_a_file_is_found_when_it_is_read(analysis):
    part = analysis / "messages" / "part-00000.parquet"
    whole = part.read_bytes()
    part.write_bytes(whole[:4] + b"?" * 200 + whole[204:])
    tables = Tables(analysis)
    with pytest.raises(InvalidInput, match=r"cannot read table 'messages' of '.*': [^\n]+$"):
        list(tables.batches("messages", NEEDED["messages"]))


@pytest.mark.parametrize("text", ["{", "[1]", "\xff"])
def test_a_summary_that_cannot_be_read(analysis, text):
    (analysis / "summary.json").write_bytes(text.encode("latin-1"))
    assert "summary.json" in complaint(analysis)
