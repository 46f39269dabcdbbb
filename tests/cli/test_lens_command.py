"""The command on small traces: what it writes, what it says, and one line for what it cannot do."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from stablecast.cli.main import main
from stablecast.report.lens.pack import unpack
from tests.report.lens_traces import Group, deliveries_only, write_lines

NAMES = ["ann", "bob", "cat", "dan"]


@pytest.fixture(scope="module")
def rows():
    return Group(NAMES, seed=3, loss=0.15).run(12).rows


@pytest.fixture
def trace(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return str(write_lines(rows, tmp_path / "run.jsonl"))


def header_of(page):
    data = page.read_text("utf-8").split('id="data">')[1].split("<")[0]
    return unpack(data)[0]


def test_a_run_becomes_a_page_and_its_slowest_messages_a_table(trace, tmp_path, capsys):
    assert main(["lens", trace]) == 0
    said = capsys.readouterr().out
    assert "4 members, 12 messages" in said
    assert said.endswith("page: lens.html\n")
    header = header_of(tmp_path / "lens.html")
    assert header["open"] is None
    assert len(header["paths"]) == 12


def test_a_message_is_told_in_pieces_that_sum_to_its_time(trace, tmp_path, capsys):
    assert main(["lens", trace, "--message", "ann/2", "--out", "a/page.html"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("ann/2: ")
    pieces = said.split("critical path")[1].split("\n")[1:]
    shown = [
        line.rsplit(maxsplit=2) for line in pieces[: [line.startswith("sum") for line in pieces].index(True)]
    ]
    total = next(line for line in pieces if line.startswith("sum")).split()[1]
    assert sum(round(1000 * float(parts[1].replace(",", ""))) for parts in shown) == round(
        1000 * float(total)
    )
    assert f"ann/2: {total} ms" in said
    assert header_of(tmp_path / "a" / "page.html")["open"] == "ann/2"


def test_json_says_the_same(trace, capsys):
    assert main(["lens", trace, "--message", "ann/2", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    path = said["path"]
    assert path["message"] == "ann/2"
    assert sum(one["length_us"] for one in path["segments"]) == path["length_us"]
    assert sum(one["length_us"] for one in path["phases"]) == path["length_us"]
    assert path["length_us"] == path["detected_us"] - path["sent_us"]
    assert len(said["slowest"]) == 12


def test_the_time_can_end_at_another_member(trace, capsys):
    lengths = {}
    for at in ("first", "last", "bob"):
        assert main(["lens", trace, "--message", "ann/2", "--at", at, "--json"]) == 0
        path = json.loads(capsys.readouterr().out)["path"]
        lengths[at] = path["length_us"]
        assert at in ("first", "last") or path["member"] == at
    assert lengths["first"] <= lengths["bob"] <= lengths["last"]


def test_a_page_made_twice_is_replaced_whole(trace, tmp_path):
    main(["lens", trace, "--message", "ann/1"])
    main(["lens", trace, "--message", "ann/2"])
    assert header_of(tmp_path / "lens.html")["open"] == "ann/2"
    assert {file.name for file in tmp_path.iterdir()} == {"lens.html", "run.jsonl"}


def test_a_picture_and_a_log_for_shiviz(trace, tmp_path):
    assert main(["lens", trace, "--message", "ann/2", "--svg", "a.svg", "--shiviz", "a.log"]) == 0
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag.endswith("svg")
    assert "(?<host>" in (tmp_path / "a.log").read_text("utf-8")


def test_a_window_limits_page_and_picture(trace, tmp_path, capsys):
    assert main(["lens", trace, "--from-us", "5000", "--to-us", "12000", "--svg", "w.svg", "--json"]) == 0
    part = json.loads(capsys.readouterr().out)
    main(["lens", trace, "--json"])
    whole = json.loads(capsys.readouterr().out)
    assert 0 < part["transmissions"] < whole["transmissions"]
    assert (header_of(tmp_path / "lens.html")["from"], (tmp_path / "w.svg").is_file()) == (0, True)


def test_logs_of_members_in_a_folder_are_one_run(rows, tmp_path, capsys):
    for name in NAMES:
        write_lines([row for row in rows if row["member"] == name], tmp_path / f"{name}.jsonl")
    assert main(["lens", str(tmp_path), "--out", str(tmp_path / "page.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["members"] == 4


def test_a_trace_without_transmissions_goes_as_far_as_it_does(rows, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_lines(deliveries_only(rows), tmp_path / "plain.jsonl")
    assert main(["lens", "plain.jsonl"]) == 0
    assert "does not tell of transmissions (one made with --wire does)" in capsys.readouterr().out


def test_a_log_from_elsewhere_with_names_of_its_own(rows, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [
        {
            "type": row["kind"],
            "at": row["member"],
            "from": row["source"],
            "n": row["seq"],
            "ts": row["time_us"],
        }
        for row in deliveries_only(rows)
        if row["kind"] in ("send", "receive")
    ]
    write_lines(lines, tmp_path / "log.jsonl")
    names = ("kind=type", "member=at", "source=from", "seq=n", "time_us=ts")
    options = [word for name in names for word in ("--map", name)]
    assert main(["lens", "log.jsonl", *options, "--set", "group=g", "--message", "ann/2"]) == 0
    said = capsys.readouterr().out
    assert "had it, the last member" in said
    assert "No member tells in this trace that it knew" in said


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--message", "ann/99"], "ann/99 (accepted: ann/1 to ann/3)"),
        (["--message", "zoe/1"], "unknown member 'zoe'"),
        (["--message", "ann"], "--message 'ann' is no message (accepted: a member and a number, as m0/3)"),
        (["--message", "ann/2", "--at", "zoe"], "unknown member 'zoe'"),
        (["--from-us", "9", "--to-us", "9"], "--from-us 9 is not before --to-us 9"),
        (["--svg", "a.svg"], "--svg needs something to draw"),
        (["--out", "."], "is a folder (accepted: the name of a file)"),
        (["--svg", "same", "--out", "same", "--message", "ann/1"], "name the same file"),
        (["--group", "other"], "other"),
    ],
)
def test_wrong_usage_is_one_line_and_writes_nothing(trace, tmp_path, capsys, arguments, line):
    assert main(["lens", trace, *arguments]) == 2
    said = [one for one in capsys.readouterr().err.splitlines() if not one.startswith("# ")]
    assert len(said) == 1
    assert line in said[0]
    assert [file.name for file in tmp_path.iterdir()] == ["run.jsonl"]


@pytest.mark.parametrize(
    ("content", "line"),
    [(None, "does not exist"), ("", "empty"), ("{hello\n", "not JSON"), ('{"a": 1}\n', "run.jsonl")],
    ids=["absent", "empty", "no JSON", "other columns"],
)
def test_a_trace_that_cannot_be_read_is_one_line(tmp_path, capsys, monkeypatch, content, line):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "run.jsonl").write_text(content)
    assert main(["lens", "run.jsonl"]) == 2
    said = [one for one in capsys.readouterr().err.splitlines() if not one.startswith("# ")]
    assert len(said) == 1
    assert line in said[0]
    assert not (tmp_path / "lens.html").exists()
