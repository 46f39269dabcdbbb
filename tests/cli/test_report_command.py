import json
import sys
from pathlib import Path

import pytest

from stablecast.cli.main import main

sys.path.append(str(Path(__file__).parent.parent / "report"))
from analysis_report_sample import message, violation, write_analysis, write_positions


@pytest.fixture
def analysis(tmp_path):
    rows = [message("alice", 1, 1000, 1500), message("alice", 2, 2000, None)]
    frontiers = [{"group": "g", "source": "alice", "time_us": 1500, "sent": 1, "stable": 1}]
    found = [violation("early_release", "bob", "alice", 2, 2500)]
    return write_analysis(tmp_path / "a", messages=rows, frontiers=frontiers, violations=found)


def test_the_page_is_written_and_the_facts_are_told(analysis, capsys):
    assert main(["report", str(analysis)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split(maxsplit=1) == ["stable", "1 of 2, 50 % of the messages; 1 source"]
    assert out[-1] == f"report: {analysis / 'report' / 'index.html'}"
    assert "early release" in (analysis / "report" / "index.html").read_text()
    assert (analysis / "report" / "figures" / "frontiers.svg").exists()


def test_json_is_one_object(analysis, capsys):
    assert main(["report", str(analysis), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["messages"], told["stable"], told["unstable"], told["safe_to_delete"]) == (2, 1, 1, 1)
    assert told["violations"] == {"early_release": 1}
    assert Path(told["report"]).exists()
    assert all(Path(path).exists() for path in told["figures"])


def test_positions_have_a_page_of_their_own(tmp_path, capsys):
    sent = {"group": "g", "sources": 1, "sent": 9, "stable": 4, "retained": 5, "blocker": "bob"}
    one = {"group": "g", "source": "a", "messages": 9, "first_seq": 1, "last_seq": 9, "stable_seq": 4}
    waits = {"stable_us": 5, "waiting_for": ["bob"], "waiting": 1, "oldest_us": 6, "heads_missing": False}
    folder = write_positions(tmp_path / "p", {"last_us": 9}, totals=[sent], sources=[{**one, **waits}])
    assert main(["report", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["messages"], told["stable"], told["unstable"], told["safe_to_delete"]) == (9, 4, 5, 4)
    assert "Analysis of positions" in Path(told["report"]).read_text()


def test_the_page_may_go_elsewhere(analysis, tmp_path, capsys):
    page = tmp_path / "new" / "trace.html"
    assert main(["report", str(analysis), "--out", str(page)]) == 0
    assert page.exists()
    assert (page.parent / "trace-figures" / "kept.png").exists()
    assert not (analysis / "report").exists()


def complaint(capsys, *arguments: str) -> str:
    assert main(["report", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("stablecast: ")
    assert printed.err.count("\n") == 1
    return printed.err


def test_wrong_usage_is_told_in_one_line(analysis, tmp_path, capsys):
    assert "is not there" in complaint(capsys, str(tmp_path / "missing"))
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "claims.parquet").touch()
    assert "holds the papers' evaluations" in complaint(capsys, str(tmp_path / "papers"))
    (tmp_path / "empty").mkdir()
    assert "it lacks messages, frontiers" in complaint(capsys, str(tmp_path / "empty"))
    assert list((tmp_path / "empty").iterdir()) == []
    assert "is a folder" in complaint(capsys, str(analysis), "--out", str(tmp_path))
    told = complaint(capsys, "nosuch://host/x")
    assert "the page cannot be written to the address 'nosuch://host/x' (accepted: --out FILE)" in told
    assert "cannot open 'nosuch://host/x': " in complaint(capsys, "nosuch://host/x", "--out", "page.html")
    (tmp_path / "file").touch()
    assert "cannot write" in complaint(capsys, str(analysis), "--out", str(tmp_path / "file" / "a.html"))


def test_a_full_disk_is_told_in_one_line_and_leaves_the_old_page(analysis, capsys, monkeypatch):
    (analysis / "report").mkdir()
    (analysis / "report" / "index.html").write_text("old")

    def full(file, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("stablecast.report.static.write_whole", full)
    assert main(["report", str(analysis)]) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert (analysis / "report" / "index.html").read_text() == "old"
