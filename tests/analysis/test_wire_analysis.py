"""Traces with and without --wire are analysed alike, by every reader; other logs are refused as they were."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stablecast.analysis.local import analyze_files
from stablecast.analysis.options import Options as Asked
from stablecast.analysis.reading.early import check_early
from stablecast.analysis.reading.foreign import Foreign
from stablecast.analysis.reading.inputs import find_inputs
from stablecast.errors import InvalidInput
from stablecast.pipeline.event_lines import read_pieces
from stablecast.pipeline.tail import Tail
from stablecast.simulate.options import Options
from stablecast.simulate.tracing import simulate_with_trace
from stablecast.trace.columns import read_columns
from stablecast.trace.schema import COLUMNS, WIRE_KINDS, arrow_schema
from stablecast.trace.verdict import judge_files

RUN = {
    "protocol": "s_coordp",
    "topology": "tree",
    "degree": 2,
    "height": 2,
    "senders": 3,
    "messages": 10,
    "rate_per_s": 50.0,
    "data_loss": 0.1,
    "period_ms": 30.0,
    "piggyback_ms": 5.0,
    "seed": 2,
}


def write_lines(file, rows):
    file.write_text("".join(f"{json.dumps(row, separators=(',', ':'))}\n" for row in rows))


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """Write one run with and without --wire, as Parquet and as JSON lines."""
    folder = tmp_path_factory.mktemp("traces")
    files = {}
    for name, wire in (("plain", False), ("wire", True)):
        file = folder / name / "events.parquet"
        lines = folder / f"{name}-lines" / "events.jsonl"
        file.parent.mkdir()
        lines.parent.mkdir()
        simulate_with_trace(Options(**RUN).setup(), file, wire=wire)
        write_lines(lines, pq.read_table(file).to_pylist())
        files |= {name: file, f"{name}-lines": lines}
    return files


def analysed(*files):
    inputs = find_inputs([str(file) for file in files])
    warnings = check_early(inputs, Foreign())
    found = analyze_files(inputs, Asked())
    return {name: table.to_pylist() for name, table in found.tables.items()}, found.summary, warnings


@pytest.mark.parametrize("form", ["wire", "wire-lines"])
def test_the_analysis_is_the_same(traces, form):
    assert {row["kind"] for row in pq.read_table(traces["wire"]).to_pylist()} >= set(WIRE_KINDS)
    tables, summary, warnings = analysed(traces[form])
    assert (tables, summary, warnings) == analysed(traces["plain"])
    assert summary["bad_rows"] == 0
    assert len(tables["messages"]) == 30


@pytest.mark.parametrize("names", [("plain", "wire"), ("plain-lines", "wire-lines"), ("plain", "wire-lines")])
def test_files_of_both_sorts_stand_beside_each_other(traces, tmp_path, names):
    """One file has all members' events but one's, the other one that member's."""
    files = []
    for name, of_one in zip(names, (False, True), strict=True):
        rows = pq.read_table(traces[name.removesuffix("-lines")])
        chosen = rows.filter(pa.compute.equal(rows["member"], "m3"))
        if not of_one:
            chosen = rows.filter(pa.compute.not_equal(rows["member"], "m3"))
        files.append(tmp_path / f"{name}.{'jsonl' if name.endswith('lines') else 'parquet'}")
        if files[-1].suffix == ".jsonl":
            write_lines(files[-1], chosen.to_pylist())
        else:
            pq.write_table(chosen, files[-1])
    tables, summary, _ = analysed(*files)
    expected, of_whole, _ = analysed(traces["plain"])
    assert (tables, summary["kinds"]) == (expected, of_whole["kinds"])


@pytest.mark.parametrize("form", ["wire", "wire-lines"])
def test_the_verdict_is_the_same(traces, form):
    assert judge_files([traces[form]]) == judge_files([traces["plain"]])
    assert len(read_columns([traces[form]])) == len(read_columns([traces["plain"]]))


def test_the_event_source_has_the_same_events(traces):
    def events(name):
        tail = Tail(traces[name].parent)
        pieces = tail.pieces({}, tail.ends())
        batches = [batch for some in pieces for batch in read_pieces(some, on_bad="fail")]
        return pa.Table.from_batches(batches, arrow_schema())

    assert events("wire-lines").equals(events("plain-lines"))


LINE = {"group": "g", "kind": "arrive", "member": "a", "source": None, "seq": None, "time_us": 5, "bytes": 9}
STEP = {"step": 3, "peer": "b", "message": "ACK", "number": 4}


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (LINE, "arrive"),
        (LINE | STEP | {"colour": 1}, "unknown field `colour`"),
        (LINE | STEP | {"number": "four"}, "Expected `int | null`"),
        (LINE | STEP | {"kind": "depart"}, "Invalid value 'depart'"),
    ],
)
def test_a_line_that_no_wire_trace_has_is_refused(tmp_path, bad, complaint):
    write_lines(tmp_path / "a.jsonl", [bad])
    tail = Tail(tmp_path)
    with pytest.raises(InvalidInput, match="is no event") as refused:
        [batch for some in tail.pieces({}, tail.ends()) for batch in read_pieces(some, on_bad="fail")]
    assert complaint in str(refused.value)


def test_another_log_that_calls_a_kind_so_is_refused_unless_it_is_told_what_that_means(tmp_path):
    rows = [{name: value for name, value in LINE.items() if name != "bytes"} | {"source": "b", "seq": 1}]
    write_lines(tmp_path / "log.jsonl", rows)
    inputs = find_inputs([str(tmp_path / "log.jsonl")])
    with pytest.raises(InvalidInput, match="unknown kind 'arrive'"):
        check_early(inputs, Foreign())
    with pytest.raises(InvalidInput, match="1 × unknown kind"):
        analyze_files(inputs, Asked())
    found = analyze_files(inputs, Asked(foreign=Foreign(kinds={"arrive": "receive"})))
    assert found.summary["kinds"] == {"receive": 1}


def test_a_meaning_that_is_given_counts_in_a_wire_trace_too(tmp_path):
    write_lines(tmp_path / "log.jsonl", [LINE | STEP | {"source": "b", "seq": 1}])
    inputs = find_inputs([str(tmp_path / "log.jsonl")])
    found = analyze_files(inputs, Asked(foreign=Foreign(kinds={"arrive": "receive"})))
    assert found.summary["kinds"] == {"receive": 1}


def test_names_of_columns_are_those_of_the_schema():
    assert tuple(arrow_schema().names) == COLUMNS
    assert tuple(arrow_schema(wire=True).names)[: len(COLUMNS)] == COLUMNS
