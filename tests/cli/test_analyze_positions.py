"""A log of commits: what is safe to delete, who stands in the way, by the command line."""

import json

import pyarrow.parquet as pq
import pytest

from stablecast.cli.main import main

LOG = """ts_ms,event,partition,consumer,offset
1000,produce,orders-0,,3
1000,produce,orders-1,,2
1200,commit,orders-0,billing,3
1300,commit,orders-0,search,1
1400,commit,orders-0,archive,2
1500,commit,orders-0,search,2
1550,commit,orders-0,billing,0
1250,commit,orders-1,billing,2
1450,commit,orders-1,archive,0
"""
MAPPED = [
    *("--map", "group=partition", "--map", "source=partition", "--map", "member=consumer"),
    *("--map", "seq=offset", "--map", "kind=event", "--map", "time_us=ts_ms", "--time-unit", "ms"),
]
AS_POSITIONS = ["--kind", "produce=head", "--kind", "commit=position"]
AS_MESSAGES = ["--kind", "produce=send", "--kind", "commit=receive", "--cumulative"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text(LOG)
    return tmp_path


def analyse(*words):
    return main(["analyze", "log.csv", "--first-seq", "0", "--engine", "local", *MAPPED, *words])


def sources(out):
    rows = pq.read_table(out / "sources").to_pylist()
    return {row["source"]: (row["stable_seq"], row["last_seq"], row["waiting_for"]) for row in rows}


@pytest.mark.parametrize("kinds", [AS_POSITIONS, AS_MESSAGES])
def test_what_may_be_deleted_and_who_stands_in_the_way(here, capsys, kinds):
    assert analyse("--out", "out", *kinds) == 0
    assert sources(here / "out") == {
        "orders-0": (2, 3, ["archive", "search"]),
        "orders-1": (0, 2, ["archive"]),
    }
    told = capsys.readouterr().out.splitlines()
    assert told[0] == ("9 rows of 5 readers of 2 sources in 2 groups: 7 numbers, 4 safe to delete, 3 not")
    readers = {(row["source"], row["member"]): row for row in pq.read_table("out/readers").to_pylist()}
    assert readers["orders-1", "archive"]["without_seq"] == 2


def test_kafka_commits_the_next_offset(here):
    assert analyse("--out", "out", *AS_POSITIONS, "--next-offset") == 0
    assert sources(here / "out")["orders-0"][0] == 1


def test_a_log_without_sends_is_answered_and_says_so(here, capsys):
    rows = [line for line in LOG.splitlines() if "produce" not in line]
    (here / "log.csv").write_text("\n".join(rows) + "\n")
    assert analyse("--out", "out", *AS_POSITIONS, "--json") == 0
    told = capsys.readouterr()
    summary = json.loads(told.out)
    assert summary["heads_missing"] == 2
    assert "sends are missing" in told.err
    assert sources(here / "out")["orders-1"] == (0, 2, ["archive"])


def test_a_watched_log_of_commits_is_that_of_the_whole(here, spark, capsys):
    lines = LOG.splitlines(keepends=True)
    (here / "in").mkdir()
    for number, part in enumerate((lines[1:5], lines[5:])):
        (here / "in" / f"{number}.csv").write_text(lines[0] + "".join(part))
    words = ["watch", "in", "--out", "watched", "--once", "--max-files", "1", "--first-seq", "0", *MAPPED]
    assert main([*words, *AS_POSITIONS]) == 0
    assert analyse("--out", "out", *AS_POSITIONS) == 0
    for table in ("sources", "frontiers", "readers", "laggards", "totals"):
        ours, whole = (
            sorted(map(str, pq.read_table(f"{out}/{table}").to_pylist())) for out in ("watched", "out")
        )
        assert ours == whole, table
