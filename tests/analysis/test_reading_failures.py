"""What only shows when Spark reads: lines that were cut, columns that no line has, files that are damaged."""

import gzip
import json
import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stablecast.analysis.reading.inputs import Input, Inputs
from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis.reading.events import (
    Foreign,
    classified_events,
    explain_bad_rows,
    find_inputs,
    readable_error,
)
from stablecast.trace.log import EventLog

GOOD = {"group": "g", "kind": "receive", "member": "b", "source": "a", "seq": 1, "time_us": 5, "bytes": 7}


def line(**changes):
    return json.dumps({name: value for name, value in (GOOD | changes).items() if value is not ...}) + "\n"


def problems(spark, *paths, foreign=None):
    frame = classified_events(spark, find_inputs([str(path) for path in paths]), foreign or Foreign())
    return Counter(row["problem"] for row in frame.collect())


def refusal(spark, *paths, foreign=None):
    with pytest.raises(InvalidInput) as caught:
        problems(spark, *paths, foreign=foreign)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def explained(spark, *paths, foreign=None, first_seq=1):
    inputs, foreign = find_inputs([str(path) for path in paths]), foreign or Foreign()
    rows = classified_events(spark, inputs, foreign, first_seq=first_seq).collect()
    bad = Counter(row["problem"] for row in rows if row["problem"] is not None)
    told = explain_bad_rows(spark, inputs, foreign, bad, first_seq=first_seq)
    assert "\n" not in told
    return told


def test_a_last_line_that_its_writer_did_not_finish_is_left_out(spark, tmp_path):
    folder = tmp_path / "a b+c%20é[x]"
    folder.mkdir()
    with EventLog(folder / "events-a.jsonl") as log:
        log.change("g", "join", "a", 1)
        log.send("g", "a", 1, 2, 10)
    whole = (folder / "events-a.jsonl").read_bytes()
    second = whole.index(b"\n") + 1
    (folder / "events-b.jsonl").write_bytes(whole[: second + 30])
    (folder / "events-c+{d}.jsonl").write_bytes(whole + '{"group":"é'.encode()[:-1])
    (folder / "events-d.jsonl").write_bytes(whole + b"\0" * 50)
    (folder / "events-e.jsonl").write_bytes(whole.rstrip())
    (folder / "events-f.jsonl").write_bytes(b"\n \n" + whole[:7])
    (folder / "events-g.jsonl").write_bytes(b"")
    assert find_inputs([str(folder)]).cut_lines == 4
    assert problems(spark, folder) == {None: 2 + 1 + 2 + 2 + 2}
    # The same text is a bad row where it is not a file's last line, or where its line has an end.
    (folder / "events-h.jsonl").write_bytes(whole[: second + 30] + b"\n" + whole)
    (folder / "events-i.jsonl").write_bytes(whole[: second + 30] + b"\n")
    assert problems(spark, folder) == {None: 9 + 3 + 1, "not JSON": 2}


def test_a_line_with_an_end_or_longer_than_any_event_is_not_taken_for_cut(tmp_path):
    (tmp_path / "a.jsonl").write_text(line() + "5")
    (tmp_path / "b.jsonl").write_text(line() + "null")
    (tmp_path / "c.jsonl").write_text(line() + '{"x": "' + "y" * (1 << 20))
    (tmp_path / "d.jsonl").write_text(line() + "{\n \t")
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress((line() + "{").encode()))
    assert find_inputs([str(tmp_path)]).cut_lines == 0


def test_a_column_that_no_line_has_is_missing_and_one_that_some_have_is_not(spark, tmp_path):
    join = line(kind="join", source=..., seq=..., bytes=...)
    file = tmp_path / "a.jsonl"
    # Longer than the part of the file that is looked at beforehand.
    file.write_text(join * 2000)
    told = refusal(spark, file, foreign=Foreign(columns={"member": "membr"}))
    assert told == (
        f"no columns 'membr' for 'member' (nearest: 'member'), 'source', 'seq' in '{file}' (has: group, kind,"
        " member, time_us); use --map member=member --map source=NAME --map seq=NAME, or --set for one value"
        " in all rows"
    )
    file.write_text(join * 2000 + line())
    assert problems(spark, file) == {None: 2001}
    file.write_text(join + line(seq=...) + line(source=...))
    other = tmp_path / "b.jsonl"
    other.write_text('\n{"x": 1}\n' + line())
    assert problems(spark, tmp_path) == {None: 2, "no seq": 1, "no source": 1, "no group": 1}


def test_names_that_differ_by_capitals_only_cannot_both_be_taken(spark, tmp_path):
    (tmp_path / "a.jsonl").write_text(line(Member="x"))
    told = refusal(spark, tmp_path, foreign=Foreign(columns={"source": "Member"}))
    assert told.startswith("two columns have names that differ by capitals only: ")


def test_lines_that_are_no_json_at_all_are_told_as_such(spark, tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text("group kind member\n" * 3)
    assert problems(spark, file) == {"not JSON": 3}
    assert explained(spark, file) == (
        f"3 rows are bad: 3 × not JSON; for example in '{file}': group kind member"
        " (--on-bad-rows count leaves them out)"
    )


def test_bad_rows_are_told_in_one_line_with_an_example(spark, tmp_path):
    odd = tmp_path / "b [1]+é.jsonl"
    odd.write_text(line(kind="produce", member="x" * 500) * 2 + line(seq=-1) + line(bytes=-1) + line())
    (tmp_path / "a.jsonl").write_text(line())
    told = explained(spark, tmp_path)
    assert told.startswith(
        f"4 rows are bad: 2 × unknown kind, 1 × negative bytes, 1 × seq below 1; for example in '{odd}': "
        '{"group":"g","kind":"produce","member":"xxxx'
    )
    assert told.endswith(
        "xx…; known kinds are send, receive, stable, release, join, leave, fail, and --kind says what others"
        " mean (--on-bad-rows count leaves them out)"
    )
    assert len(told) < 600
    table = tmp_path / "c.parquet"
    pq.write_table(pa.Table.from_pylist([GOOD | {"seq": 3}]), table)
    told = explained(spark, table, foreign=Foreign(constants={"kind": "send"}), first_seq=7)
    example = '{"group":"g","member":"b","source":"a","seq":3,"time_us":5,"bytes":7}'
    assert told == (
        f"1 row is bad: 1 × seq below 7; for example in '{table}': {example}"
        " (--on-bad-rows count leaves them out)"
    )
    lines = tmp_path / "d.csv"
    lines.write_text("member,group,kind,source,seq,time_us\nb,g,send,a\n")
    assert f"1 × wrong number of columns; for example in '{lines}': b,g,send,a (" in explained(spark, lines)


def failure(action):
    """Return the one line for what Spark says."""
    with pytest.raises(Exception) as caught:  # noqa: PT011
        action()
    told = readable_error(caught.value)
    assert told is None or "\n" not in told
    return told


def test_files_that_turn_out_damaged_are_told_in_one_line(spark, tmp_path):
    rng = random.Random(1)
    text = "".join(
        line(seq=rng.randrange(10**9), time_us=rng.randrange(10**9)) for _ in range(20_000)
    ).encode()
    cut, gone, damaged = tmp_path / "cut +é.jsonl.gz", tmp_path / "gone.jsonl", tmp_path / "damaged.parquet"
    cut.write_bytes(gzip.compress(text)[:-1000])
    gone.write_text(line())
    rows = pa.Table.from_pylist([GOOD | {"seq": rng.randrange(10**9)} for _ in range(10_000)])
    pq.write_table(rows, damaged, compression="snappy")
    content = bytearray(damaged.read_bytes())
    content[500:50_000] = bytes(1 for _ in range(49_500))
    damaged.write_bytes(content)

    def events(file):
        return classified_events(spark, find_inputs([str(file)]), Foreign())

    told = failure(lambda: events(cut).collect())
    assert told == f"cannot read '{cut}': Unexpected end of input stream (it is damaged or cut short)"
    told = failure(lambda: events(damaged).collect())
    assert told.startswith(f"cannot read '{damaged}': ")
    assert told.endswith(" (it is damaged or cut short)")
    frame = events(gone)
    gone.unlink()
    assert failure(frame.collect) == f"'{gone}' is gone: it was there at the start, and was removed since"
    assert failure(lambda: spark.sql("select nothing")) is None
    assert readable_error(ValueError("x")) is None


def elsewhere(path, format):
    """Return an input of which nothing is known before Spark looks, as of another file system."""
    return Inputs((Input(str(path), str(path), format, None),))


def test_what_is_not_on_this_machine_is_looked_at_by_spark(spark, tmp_path):
    def read(path, format, foreign=None):
        rows = classified_events(spark, elsewhere(path, format), foreign or Foreign()).collect()
        return [tuple(row) for row in rows]

    wanted = [(*GOOD.values(), None)]
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x.jsonl").write_text(line())
    assert read(tmp_path / "a", "json") == read(tmp_path / "a" / "b" / "*.jsonl", "json") == wanted
    (tmp_path / "x.csv").write_text("bytes;time_us;seq;source;member;kind;group\n7;5;1;a;b;receive;g\n")
    assert read(tmp_path / "x.csv", "csv") == wanted
    log = {**GOOD, "at": {"time": 5}, "time_us": None}
    pq.write_table(pa.Table.from_pylist([log]), tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet", "parquet", Foreign(columns={"time_us": "at.time"})) == wanted
    (tmp_path / "y.jsonl").write_text(line(seq=...))
    for path, format, told in [
        (tmp_path / "y.jsonl", "json", f"no column 'seq' in '{tmp_path}/y.jsonl' (has: group"),
        (
            tmp_path / "x.parquet",
            "parquet",
            f"column 'at' of '{tmp_path}/x.parquet' is struct, which cannot be",
        ),
        (tmp_path / "z.jsonl", "json", f"'{tmp_path}/z.jsonl' does not exist"),
        ("nosuch://host/x.parquet", "parquet", "Spark cannot open nosuch:// here: "),
        ("hdfs:///x.csv", "csv", "cannot open the input: Incomplete HDFS URI, no host: hdfs:///x.csv"),
    ]:
        with pytest.raises(InvalidInput) as caught:
            read(path, format, Foreign(columns={"time_us": "at"} if format == "parquet" else {}))
        assert str(caught.value).startswith(told)
        assert "\n" not in str(caught.value)


def test_the_demo_s_folder_can_be_read_as_it_is(spark, tmp_path):
    for member in ("a", "b"):
        with EventLog(tmp_path / f"events-{member}.jsonl") as log:
            log.change("demo", "join", member, 1)
    Path(tmp_path / "verdict.json").write_text('{\n "ok": true\n}\n')
    assert problems(spark, tmp_path) == {None: 2}
