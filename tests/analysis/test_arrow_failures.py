"""What only shows when files are read: lines that were cut, columns that no line has, damaged files."""

import gzip
import json
import pickle
import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.analysis.reading.addresses import can_open
from stablecast.analysis.reading.classify import classify
from stablecast.analysis.reading.events import classified_piece, read_events
from stablecast.analysis.reading.files import pieces, raw_batches
from stablecast.analysis.reading.foreign import Foreign
from stablecast.analysis.reading.inputs import Input, Inputs, find_inputs
from stablecast.analysis.reading.line_blocks import line_blocks
from stablecast.delivery.kinds import KINDS
from stablecast.errors import InvalidInput
from stablecast.trace.log import EventLog

GOOD = {"group": "g", "kind": "receive", "member": "b", "source": "a", "seq": 1, "time_us": 5, "bytes": 7}


def line(**changes):
    return json.dumps({name: value for name, value in (GOOD | changes).items() if value is not ...}) + "\n"


def problems(*paths, foreign=None, inputs=None):
    """Return how many rows are bad for which reason, and how many are good."""
    inputs = inputs or find_inputs([str(path) for path in paths])
    told = Counter()
    for found in read_events(inputs, foreign or Foreign(), on_bad_rows="count"):
        told.update({None: found.events.num_rows})
        told.update(found.problems)
    return told


def refusal(*paths, foreign=None, first_seq=1, inputs=None):
    inputs = inputs or find_inputs([str(path) for path in paths])
    with pytest.raises(InvalidInput) as caught:
        list(read_events(inputs, foreign or Foreign(), first_seq=first_seq))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_last_line_that_its_writer_did_not_finish_is_left_out(tmp_path):
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
    assert sum(bool(file.head.cut) for file in find_inputs([str(folder)]).files) == 4
    assert problems(folder) == {None: 2 + 1 + 2 + 2 + 2}
    # The same text is a bad row where it is not a file's last line, or where its line has an end.
    (folder / "events-h.jsonl").write_bytes(whole[: second + 30] + b"\n" + whole)
    (folder / "events-i.jsonl").write_bytes(whole[: second + 30] + b"\n")
    assert problems(folder) == {None: 9 + 3 + 1, "not JSON": 2}


def test_a_line_with_an_end_or_longer_than_any_event_is_not_taken_for_cut(tmp_path):
    (tmp_path / "a.jsonl").write_text(line() + "5")
    (tmp_path / "b.jsonl").write_text(line() + "null")
    (tmp_path / "c.jsonl").write_text(line() + '{"x": "' + "y" * (1 << 20))
    (tmp_path / "d.jsonl").write_text(line() + "{\n \t")
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress((line() + "{").encode()))
    assert problems(tmp_path) == {None: 5, "not JSON": 5}


def test_a_column_that_no_line_has_is_missing_and_one_that_some_have_is_not(tmp_path):
    join = line(kind="join", source=..., seq=..., bytes=...)
    file = tmp_path / "a.jsonl"
    # Longer than the part of the file that is looked at beforehand.
    file.write_text(join * 2000)
    told = refusal(file, foreign=Foreign(columns={"member": "membr"}))
    assert told == (
        f"no columns 'membr' for 'member' (nearest: 'member'), 'source', 'seq' in '{file}' (has: group, kind,"
        " member, time_us); use --map member=member --map source=NAME --map seq=NAME, or --set for one value"
        " in all rows"
    )
    file.write_text(join * 2000 + line())
    assert problems(file) == {None: 2001}
    file.write_text(join + line(seq=...) + line(source=...))
    other = tmp_path / "b.jsonl"
    other.write_text('\n{"x": 1}\n' + line())
    assert problems(tmp_path) == {None: 2, "no seq": 1, "no source": 1, "no group": 1}


def test_names_that_differ_by_capitals_only_are_two(tmp_path):
    (tmp_path / "a.jsonl").write_text(line(Member="x"))
    assert problems(tmp_path, foreign=Foreign(columns={"source": "Member"})) == {None: 1}


def test_lines_that_are_no_json_at_all_are_told_as_such(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text("group kind member\n" * 3)
    assert problems(file) == {None: 0, "not JSON": 3}
    assert refusal(file) == (
        f"3 rows are bad: 3 × not JSON; for example in '{file}': group kind member"
        " (--on-bad-rows count leaves them out)"
    )


def test_bad_rows_are_told_in_one_line_with_an_example(tmp_path):
    odd = tmp_path / "b [1]+é.jsonl"
    odd.write_text(line(kind="produce", member="x" * 500) * 2 + line(seq=-1) + line(bytes=-1) + line())
    (tmp_path / "a.jsonl").write_text(line())
    told = refusal(tmp_path)
    assert told.startswith(
        f"4 rows are bad: 2 × unknown kind, 1 × negative bytes, 1 × seq below 1; for example in '{odd}': "
        '{"group":"g","kind":"produce","member":"xxxx'
    )
    assert told.endswith(
        "xx…; known kinds are send, receive, stable, release, join, leave, fail, head, position, and --kind"
        " says what others mean (--on-bad-rows count leaves them out)"
    )
    assert len(told) < 600
    table = tmp_path / "c.parquet"
    pq.write_table(pa.Table.from_pylist([GOOD | {"seq": 3}]), table)
    told = refusal(table, foreign=Foreign(constants={"kind": "send"}), first_seq=7)
    example = '{"group":"g","member":"b","source":"a","seq":3,"time_us":5,"bytes":7}'
    assert told == (
        f"1 row is bad: 1 × seq below 7; for example in '{table}': {example}"
        " (--on-bad-rows count leaves them out)"
    )
    lines = tmp_path / "d.csv"
    lines.write_text("member,group,kind,source,seq,time_us\nb,g,send,a\n")
    assert f"1 × wrong number of columns; for example in '{lines}': b,g,send,a (" in refusal(lines)
    lines.write_text("member,group,kind,source,seq,time_us\nb\x01\tc,g,odd,a,1,1\n")
    assert "b\ufffd c" in refusal(lines).replace("\\u0001\\t", "\ufffd ")


def test_files_that_turn_out_damaged_are_told_in_one_line(tmp_path):
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
    for file in (cut, damaged):
        told = refusal(file)
        assert told.startswith(f"cannot read '{file}': ")
        assert told.endswith(" (it is damaged or cut short)")
    found = find_inputs([str(gone)])
    planned = pieces(found, Foreign())
    gone.unlink()
    wanted = f"'{gone}' is gone: it was there at the start, and was removed since"
    assert refusal(inputs=found) == wanted
    with pytest.raises(InvalidInput, match="is gone: "):
        list(raw_batches(planned[0]))


def elsewhere(path, format):
    """Return an input of which nothing is known before it is opened, as of another file system."""
    return Inputs((Input(str(path), str(path), format, None),))


def test_what_is_not_on_this_machine_is_looked_at_by_arrow(tmp_path):
    def read(path, format, foreign=None):
        found = list(read_events(elsewhere(path, format), foreign or Foreign()))
        rows = [row for one in found for row in one.events.to_pylist()]
        return [row | {"kind": KINDS[row["kind"]]} for row in rows]

    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x.jsonl").write_text(line())
    (tmp_path / "a" / "b" / "_hidden.jsonl").write_text("hidden")
    assert read(tmp_path / "a", "json") == read(tmp_path / "a" / "b" / "*.jsonl", "json") == [GOOD]
    assert read(f"file://{tmp_path}/a/*/?.jsonl", "json") == [GOOD]
    (tmp_path / "x.csv").write_text("bytes;time_us;seq;source;member;kind;group\n7;5;1;a;b;receive;g\n")
    assert read(tmp_path / "x.csv", "csv") == [GOOD]
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress((tmp_path / "x.csv").read_bytes()))
    assert read(f"file://{tmp_path}/x.csv.gz", "csv") == [GOOD]
    log = {**GOOD, "at": {"time": 5}, "time_us": None}
    pq.write_table(pa.Table.from_pylist([log]), tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet", "parquet", Foreign(columns={"time_us": "at.time"})) == [GOOD]
    (tmp_path / "y.jsonl").write_text(line(seq=...))
    for path, format, told in [
        (tmp_path / "y.jsonl", "json", f"no column 'seq' in '{tmp_path}/y.jsonl' (has: group"),
        (
            tmp_path / "x.parquet",
            "parquet",
            f"column 'at' of '{tmp_path}/x.parquet' is struct, which cannot be",
        ),
        (tmp_path / "z.jsonl", "json", f"'{tmp_path}/z.jsonl' does not exist"),
        ("nosuch://host/x.parquet", "parquet", "cannot open 'nosuch://host/x.parquet': "),
    ]:
        with pytest.raises(InvalidInput) as caught:
            read(path, format, Foreign(columns={"time_us": "at"} if format == "parquet" else {}))
        assert str(caught.value).startswith(told)
        assert "\n" not in str(caught.value)


def test_arrow_says_what_it_can_open(tmp_path):
    (tmp_path / "x.jsonl").write_text(line())
    assert can_open(str(tmp_path))
    assert can_open(f"file://{tmp_path}/x.jsonl")
    assert can_open(f"{tmp_path}/*.jsonl")
    assert not can_open(f"{tmp_path}/*.csv")
    assert not can_open("nosuch://host/x.parquet")
    assert not can_open(f"file://{tmp_path}/gone")


def test_the_demo_s_folder_can_be_read_as_it_is(tmp_path):
    for member in ("a", "b"):
        with EventLog(tmp_path / f"events-{member}.jsonl") as log:
            log.change("demo", "join", member, 1)
    Path(tmp_path / "verdict.json").write_text('{\n "ok": true\n}\n')
    assert problems(tmp_path) == {None: 2}


class Bytes:
    """A file in memory that is read as those of Arrow are."""

    def __init__(self, data):
        self.data, self.place = data, 0

    def seek(self, place):
        self.place = place

    def read(self, count):
        found = self.data[self.place : self.place + count]
        self.place += len(found)
        return found


@given(
    st.lists(st.binary(max_size=12).map(lambda text: text.replace(b"\r", b"").replace(b"\xef", b""))),
    st.integers(1, 20),
    st.integers(1, 30),
)
def test_ranges_of_bytes_give_every_line_once(lines, step, size):
    data = b"\n".join(lines)
    starts = list(range(0, len(data), step)) or [0]
    found = []
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        blocks = list(line_blocks(Bytes(data), start, end, size=size))
        assert all(block.data.endswith(b"\n") or block.last for block in blocks)
        found += [block.data for block in blocks]
    assert b"".join(found) == data


def test_pieces_are_pickled_and_give_every_row_once(tmp_path):
    rows = [GOOD | {"seq": number} for number in range(1, 1001)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=90)
    (tmp_path / "b.jsonl").write_text("\ufeff" + "".join(line(seq=row["seq"]) for row in rows))
    text = "".join(",".join(map(str, row.values())) + "\n" for row in rows)
    (tmp_path / "c.csv").write_text("\n" + ",".join(GOOD) + "\n" + text)
    for name in ("a.parquet", "b.jsonl", "c.csv"):
        planned = pieces(find_inputs([str(tmp_path / name)]), Foreign(), rows=200, text_bytes=1000)
        assert len(planned) > 4
        found = []
        for piece in pickle.loads(pickle.dumps(planned)):
            for each in classified_piece(piece, Foreign(), 1):
                assert (each.file, each.problems) == (str(tmp_path / name), {})
                found += each.events.column("seq").to_pylist()
        assert found == list(range(1, 1001))
    every = list(read_events(find_inputs([str(tmp_path)]), Foreign(), readers=3))
    assert sum(each.events.num_rows for each in every) == 3000


def test_rows_as_spark_hands_them_over_are_classified_too(tmp_path):
    """Lines are text in nested columns, and those that are no rows have their text beside them."""
    (tmp_path / "a.jsonl").write_text(line(time_us=..., at={"ms": 5}))
    foreign = Foreign(columns={"time_us": "at.ms"}, time_unit="ms")
    part = pieces(find_inputs([str(tmp_path)]), foreign)[0].part
    names = {name: pa.array([str(GOOD[name])] * 2 + [None]) for name in GOOD if name != "time_us"}
    table = pa.table(
        names
        | {
            "at": pa.array([{"ms": "5"}, None, None], pa.struct([("ms", pa.string())])),
            "_stablecast_unread": pa.array([None, '{"at": 7}', "x"]),
        }
    )
    found = classify(table, part, foreign)
    assert found.events.column("time_us").to_pylist() == [5000]
    assert found.problems == {"no time_us": 1, "not JSON": 1}
    assert found.examples["not JSON"] == "x"
    halves = pa.concat_tables([table, table])
    assert classify(halves, part, foreign).problems == {"no time_us": 2, "not JSON": 2}
    assert classify(table.slice(0, 0), part, foreign).events.num_rows == 0
