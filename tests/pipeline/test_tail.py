"""Traces that grow are followed by whole lines: each once, in bounded steps, all files together in time."""

import logging
import os
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.pipeline.event_lines import read_pieces
from stablecast.pipeline.tail import LINE_MOST, Tail
from stablecast.trace.columns import read_columns
from stablecast.trace.log import EventLog
from stablecast.trace.schema import arrow_schema


def line(seq, *, member="a", time_us=None, size=10):
    time_us = 1_000 + seq if time_us is None else time_us
    return (
        f'{{"group":"g","kind":"receive","member":"{member}","source":"s","seq":{seq},'
        f'"time_us":{time_us},"bytes":{size}}}\n'
    ).encode()


def append(file, content):
    with file.open("ab") as opened:
        opened.write(content)


def rows(tail, start, end, *, on_bad="fail", most=1 << 20):
    batches = [
        batch for pieces in tail.pieces(start, end, most=most) for batch in read_pieces(pieces, on_bad=on_bad)
    ]
    return pa.Table.from_batches(batches, arrow_schema()).to_pylist()


def seqs(tail, start, end, **options):
    return [row["seq"] for row in rows(tail, start, end, **options)]


def test_what_a_member_logs_comes_out_as_it_went_in(tmp_path):
    with EventLog(tmp_path / "ann.jsonl") as log:
        log.change("g", "join", "ann", 5)
        log.send("g", "ann", 1, 10, 100)
        log.receive("g", "ann", 'b"ö\\b', 1, [7, 0], 11)
        log.stable("g", "ann", "ann", 1, 12)
        log.release("g", "ann", "ann", 1, 1, None, 13)
        log.change("g", "fail", "bob", 14)
    tail = Tail(tmp_path)
    found = rows(tail, {}, tail.ends())
    assert [tuple(row.values()) for row in found] == [
        ("g", "join", "ann", None, None, 5, None),
        ("g", "send", "ann", "ann", 1, 10, 100),
        ("g", "receive", "ann", 'b"ö\\b', 1, 11, 7),
        ("g", "receive", "ann", 'b"ö\\b', 2, 11, 0),
        ("g", "stable", "ann", "ann", 1, 12, None),
        ("g", "release", "ann", "ann", 1, 13, None),
        ("g", "fail", "bob", None, None, 14, None),
    ]
    assert len(read_columns([tmp_path / "ann.jsonl"])) == len(found)


def test_a_half_written_line_is_read_when_it_is_whole(tmp_path):
    file, tail = tmp_path / "a.jsonl", Tail(tmp_path)
    append(file, line(1) + line(2)[:20])
    first = tail.latest({})
    assert seqs(tail, {}, first) == [1]
    append(file, line(2)[20:-1])
    assert tail.latest(first) == first
    append(file, b"\n" + line(3)[:1])
    second = tail.latest(first)
    assert seqs(tail, first, second) == [2]
    assert seqs(tail, {}, first) == [1]


def test_files_appear_later_and_others_are_not_traces(tmp_path):
    tail = Tail(tmp_path)
    assert tail.latest({}) == {}
    append(tmp_path / "b.jsonl", line(1))
    append(tmp_path / "empty.jsonl", b"")
    append(tmp_path / ".hidden.jsonl", b"x\n")
    append(tmp_path / "notes.txt", b"x\n")
    (tmp_path / "folder.jsonl").mkdir()
    first = tail.latest({})
    assert first == {"b.jsonl": len(line(1))}
    append(tmp_path / "a.jsonl", line(7))
    second = tail.latest(first)
    assert list(second) == ["a.jsonl", "b.jsonl"]
    assert seqs(tail, first, second) == [7]


def test_a_target_is_not_passed(tmp_path):
    tail = Tail(tmp_path)
    append(tmp_path / "a.jsonl", line(1))
    target = tail.ends()
    append(tmp_path / "a.jsonl", line(2))
    append(tmp_path / "b.jsonl", line(3))
    assert tail.latest({}, target=target) == target
    assert tail.latest(target, target=target) == target


@given(
    files=st.lists(st.lists(st.integers(0, 10**6), max_size=20), min_size=1, max_size=3),
    bytes_most=st.integers(1, 3_000),
    piece_most=st.integers(1, 2_000),
    cuts=st.lists(st.integers(1, 400), min_size=1, max_size=10),
)
@settings(max_examples=30)
def test_every_line_is_read_once_in_bounded_steps(tmp_path_factory, files, bytes_most, piece_most, cuts):
    folder = tmp_path_factory.mktemp("traces")
    lines = {
        f"{k}.jsonl": [line(seq, member=str(k), time_us=time_us) for seq, time_us in enumerate(times)]
        for k, times in enumerate(files)
    }
    waiting = {name: b"".join(some) for name, some in lines.items()}
    tail, position, found, turn = Tail(folder), {}, [], 0
    while True:
        for name, rest in waiting.items():
            cut = cuts[turn % len(cuts)]
            append(folder / name, rest[:cut])
            waiting[name] = rest[cut:]
        turn += 1
        following = tail.latest(position, bytes_most=bytes_most)
        step = sum(following.values()) - sum(position.values())
        if following == position and not any(waiting.values()):
            break
        here = rows(tail, position, following, most=piece_most)
        assert step <= bytes_most or len(here) == 1
        assert here == rows(tail, position, following)
        found += here
        position = following
    expected = {name: list(range(len(some))) for name, some in lines.items()}
    assert {
        name: [row["seq"] for row in found if f"{row['member']}.jsonl" == name] for name in lines
    } == expected


def test_files_advance_together_in_time(tmp_path):
    gaps_us = {"quick": 10, "slow": 70, "late": 25}
    begins_us = {"quick": 0, "slow": 0, "late": 30_000}
    for name, gap in gaps_us.items():
        count = (100_000 - begins_us[name]) // gap
        append(
            tmp_path / f"{name}.jsonl",
            b"".join(line(k, member=name, time_us=begins_us[name] + k * gap) for k in range(count)),
        )
    tail, position, steps = Tail(tmp_path), {}, 0
    reached = dict(begins_us)
    while (following := tail.latest(position, bytes_most=100_000)) != position:
        here = rows(tail, position, following)
        assert min(row["time_us"] for row in here) >= min(reached.values()) - 1
        reached |= {row["member"]: row["time_us"] for row in here}
        begun = [reached[name] for name in gaps_us if reached[name] > begins_us[name]]
        assert max(begun) - min(begun) < 3_000
        assert reached["quick"] > 30_000 or reached["late"] == 30_000
        position, steps = following, steps + 1
    assert steps <= 1 + sum(position.values()) // 99_000  # a step ends with a line, so it lacks a little


def test_lines_of_one_time_or_of_none_are_shared_evenly(tmp_path):
    for name in ("a", "b"):
        append(tmp_path / f"{name}.jsonl", b"".join(line(k, time_us=5) for k in range(100)))
    append(tmp_path / "c.jsonl", b"no event\n" * 1_000)
    reached = Tail(tmp_path).latest({}, bytes_most=10_000)
    assert sum(reached.values()) <= 10_000
    assert all(2_500 < end < 4_000 for end in reached.values())
    assert len(reached) == 3


def test_a_line_longer_than_the_limit_is_read_all_the_same(tmp_path):
    append(tmp_path / "a.jsonl", line(1) + line(2))
    append(tmp_path / "b.jsonl", line(3, time_us=1))
    tail = Tail(tmp_path)
    first = tail.latest({}, bytes_most=1)
    assert seqs(tail, {}, first) == [3]
    second = tail.latest(first, bytes_most=1)
    assert seqs(tail, first, second) == [1]


def test_a_file_that_vanishes_is_refused(tmp_path):
    tail = Tail(tmp_path)
    append(tmp_path / "a.jsonl", line(1))
    first = tail.latest({})
    (tmp_path / "a.jsonl").unlink()
    with pytest.raises(InvalidInput, match=r"a\.jsonl' has vanished, of which \d+ bytes were read"):
        tail.latest(first)
    with pytest.raises(InvalidInput, match="has vanished"):
        tail.pieces(first, {})
    with pytest.raises(InvalidInput, match=r"cannot read the trace .*a\.jsonl': No such file"):
        rows(tail, {}, first)


def test_a_file_that_is_truncated_or_replaced_is_refused(tmp_path):
    tail, file = Tail(tmp_path), tmp_path / "a.jsonl"
    append(file, line(1) + line(2))
    first = tail.latest({})
    os.truncate(file, len(line(1)))
    with pytest.raises(InvalidInput, match="was truncated or replaced: "):
        tail.latest(first)
    with pytest.raises(InvalidInput, match="was truncated or replaced: no line ends at byte"):
        rows(tail, {}, first)
    file.unlink()
    append(file, line(1_000_000) * 3)
    with pytest.raises(InvalidInput, match=f"no line ends at byte {first['a.jsonl']}"):
        rows(tail, first, tail.latest(first))


def test_what_has_no_lines_is_refused(tmp_path):
    append(tmp_path / "a.jsonl", line(1) + b"x" * (LINE_MOST + 1))
    with pytest.raises(InvalidInput, match=f"no end of a line .* from byte {len(line(1))} on"):
        Tail(tmp_path).ends()


BAD = {
    b"nonsense": "malformed",
    b"[]": "Expected `object`",
    b'{"group":"g","kind":"zap","member":"a","time_us":1}': "Invalid value 'zap'",
    b'{"kind":"join","member":"a","time_us":1}': "missing required field `group`",
    b'{"group":"g","kind":"receive","member":"a","source":null,"seq":1,"time_us":1}': "Expected `str`",
    b'{"group":"g","kind":"send","member":"a","source":"a","seq":-1,"time_us":1}': ">= 0",
    b'{"group":"g","kind":"join","member":"a","time_us":1.5}': "Expected `int`",
    b'{"group":"g","kind":"join","member":"a","time_us":1,"colour":1}': "unknown field `colour`",
    b'{"group":"\xff","kind":"join","member":"a","time_us":1}': "utf-8",
    line(8)[:-1] + line(9)[:-1]: "malformed",
    line(8)[:20] + b"\n" + line(8)[20:-1]: "truncated",
}


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_a_bad_line_is_refused_with_its_place(tmp_path, bad):
    append(tmp_path / "a.jsonl", line(1) + b"\n" + bad + b"\n" + line(2))
    tail = Tail(tmp_path)
    with pytest.raises(InvalidInput) as refused:
        rows(tail, {}, tail.ends())
    assert f"a.jsonl' is no event, at byte {len(line(1)) + 1}: " in str(refused.value)
    assert BAD[bad].lower() in str(refused.value).lower()


def test_bad_lines_can_be_left_out_and_are_counted(tmp_path, caplog):
    append(tmp_path / "a.jsonl", line(1) + b"zip\n" + line(2) + b"zap\n" + line(3))
    tail = Tail(tmp_path)
    with caplog.at_level(logging.WARNING):
        assert seqs(tail, {}, tail.ends(), on_bad="count") == [1, 2, 3]
    (record,) = caplog.records
    assert record.getMessage().startswith("2 bad lines were left out")
    assert f"the first: byte {len(line(1))}:" in record.getMessage()


def test_small_files_share_a_task_and_large_ones_are_cut(tmp_path):
    for k in range(20):
        append(tmp_path / f"small{k:02}.jsonl", line(k))
    append(tmp_path / "large.jsonl", b"".join(line(k) for k in range(100)))
    tail = Tail(tmp_path)
    tasks = tail.pieces({}, tail.ends(), most=2_500)
    of = Counter(len(pieces) for pieces in tasks)
    assert len(tasks) < 10
    assert max(of) > 10
    assert all(sum(piece.size for piece in pieces) <= 2_500 + len(line(99)) for pieces in tasks)
    assert sum(piece.size for pieces in tasks for piece in pieces) == sum(tail.ends().values())
