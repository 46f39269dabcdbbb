"""Files of positions analysed in one process: the summary, and which kinds go together."""

import json

import pytest

from stablecast.analysis.options import Options
from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis.analyze import analyze


def row(kind, member, source, seq, time_us):
    return {"group": "g", "kind": kind, "member": member, "source": source, "seq": seq, "time_us": time_us}


def analysed(folder, rows, **options):
    (folder / "log.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    return analyze([folder / "log.jsonl"], folder / "out", options=Options(**options)).summary


def test_a_source_is_counted_as_a_reader_only_if_it_has_positions(tmp_path):
    rows = [row("head", None, "p", 9, 1), row("head", None, "q", 5, 1), row("position", "a", "p", 4, 2)]
    rows.append(row("position", "q", "q", 5, 3))
    summary = analysed(tmp_path, rows)
    assert (summary["members"], summary["sources"]) == (2, 2)
    assert summary["positions"]
    assert summary["heads_missing"] == 0


def test_a_source_without_heads_is_counted(tmp_path):
    summary = analysed(tmp_path, [row("position", "a", "p", 4, 2), row("position", "b", "p", 7, 3)])
    assert (summary["heads_missing"], summary["messages"], summary["stable"]) == (1, 7, 4)


def test_messages_and_positions_in_one_log_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="both 'send' and 'position'"):
        analysed(tmp_path, [row("send", "a", "a", 1, 1), row("position", "b", "a", 1, 2)])
    assert not (tmp_path / "out").exists()
