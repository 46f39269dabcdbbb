"""``stablecast simulate live``: a table, JSON, and one line for what is not accepted."""

import json

import pytest
from wire_traces import rows_of

from stablecast.cli.main import main
from stablecast.trace.schema import WIRE_KINDS
from stablecast.trace.verdict import judge_files

SMALL = ["simulate", "live", "--members", "4", "--seconds", "1"]


def test_a_run_is_told_as_a_table_with_its_events(capsys):
    assert main([*SMALL, "--faults", "crash 3 at 200"]) == 0
    out = capsys.readouterr().out
    assert "time to stable p50 / p99 / most" in out
    assert "ViewChanged  3 members; failed m3" in out


def test_json_is_one_object_and_the_same_by_seed(capsys):
    found = []
    for _ in range(2):
        assert main([*SMALL, "--protocol", "s_coordp", "--seed", "3", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["digest"] == found[1]["digest"]
    assert found[0]["messages_stable"] == 40
    assert found[0]["told"][0]["kind"] == "ViewChanged"


def test_a_trace_is_written_in_the_common_schema(tmp_path, capsys):
    file = tmp_path / "trace.jsonl"
    assert main([*SMALL, "--trace", str(file)]) == 0
    first = json.loads(file.read_text().splitlines()[0])
    assert set(first) == {"group", "kind", "member", "source", "seq", "time_us", "bytes"}


def test_a_wire_trace_has_more_rows_and_is_analysed_alike(tmp_path, capsys):
    plain, wire = tmp_path / "plain.jsonl", tmp_path / "wire.jsonl"
    assert main([*SMALL, "--trace", str(plain)]) == 0
    assert main([*SMALL, "--trace", str(wire), "--wire"]) == 0
    rows = rows_of(wire)
    assert {row["kind"] for row in rows} >= set(WIRE_KINDS)
    assert len(rows) > len(rows_of(plain))
    assert judge_files([wire]) == judge_files([plain])


def test_what_is_not_stable_in_time_is_a_failure(capsys):
    assert main([*SMALL, "--rate-per-s", "500", "--settle-s", "0"]) == 1
    assert "are not stable after" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--protocol", "gsg"], "unknown protocol 'gsg'; did you mean 'gsgc'?"),
        (["--protocol", "bimodal"], "live groups cannot run it"),
        (["--memers", "8"], "No such option: --memers"),
        (["--faults", "sleep 1 at 2"], "'sleep 1 at 2' is not understood"),
        (["--link-loss", "2"], "link_loss 2.0 is not accepted"),
        (["--costs", "moon"], "unknown costs 'moon'"),
        (["--degree", "3"], "topology 'star' has no option --degree"),
        (["--protocol", "s_coordp", "--subgroup", "4"], "No such option: --subgroup"),
        (["--trace", "/nowhere/trace.jsonl"], "cannot write the trace"),
        (["--wire"], "--wire is about a trace, and none is kept (accepted: --wire with --trace FILE)"),
    ],
)
def test_bad_input_is_one_line(capsys, words, told):
    assert main(["simulate", "live", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
