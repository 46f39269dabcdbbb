"""The log of a live member: its lines, its speed of writing them together, and what a kill leaves."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from stablecast.errors import InvalidInput
from stablecast.trace import COLUMNS
from stablecast.trace.columns import read_columns
from stablecast.trace.log import CannotTrace, EventLog
from stablecast.trace.schema import KINDS, WIRE_COLUMNS
from stablecast.trace.wire_event import WireEvent


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_kind_of_event_has_the_columns_of_the_schema(tmp_path):
    with EventLog(tmp_path / "a.jsonl") as log:
        log.change("g", "join", "a", 1)
        log.send("g", "a", 1, 2, 100)
        log.receive("g", "a", "b", 5, [10, 20], 3)
        log.stable("g", "a", "b", 6, 4)
        log.release("g", "a", "b", 5, 6, [10, 20], 5)
        log.release("g", "a", "b", 7, 8, None, 5)
        log.change("g", "fail", "b", 6)
        log.change("g", "leave", "a", 7)
    found = lines(tmp_path / "a.jsonl")
    assert all(tuple(line) == COLUMNS for line in found)
    assert {line["kind"] for line in found} == set(KINDS)
    assert [tuple(line.values()) for line in found if line["kind"] in ("receive", "release")] == [
        ("g", "receive", "a", "b", 5, 3, 10),
        ("g", "receive", "a", "b", 6, 3, 20),
        ("g", "release", "a", "b", 5, 5, 10),
        ("g", "release", "a", "b", 6, 5, 20),
        ("g", "release", "a", "b", 7, 5, None),
        ("g", "release", "a", "b", 8, 5, None),
    ]
    assert tuple(found[0].values()) == ("g", "join", "a", None, None, 1, None)
    assert tuple(found[1].values()) == ("g", "send", "a", "a", 1, 2, 100)
    assert log.events == len(found) == 11


def test_names_with_quotes_and_other_letters_come_back_as_they_were(tmp_path):
    group, member, source = 'or"ders\\', "ä\n#2", "日本"
    with EventLog(tmp_path / "a.jsonl") as log:
        log.receive(group, member, source, 1, [7], 9)
    columns = read_columns([tmp_path / "a.jsonl"])
    assert columns.groups == [group]
    assert set(columns.members) == {member, source}


def test_events_are_gathered_until_there_are_enough_or_a_flush(tmp_path):
    log = EventLog(tmp_path / "a.jsonl", flush_every=3)
    log.send("g", "a", 1, 1, 0)
    log.send("g", "a", 2, 1, 0)
    assert lines(tmp_path / "a.jsonl") == []
    log.send("g", "a", 3, 1, 0)
    assert len(lines(tmp_path / "a.jsonl")) == 3
    log.send("g", "a", 4, 1, 0)
    log.flush()
    log.flush()
    assert len(lines(tmp_path / "a.jsonl")) == 4
    log.close()


def test_a_closed_log_takes_no_notice(tmp_path):
    log = EventLog(tmp_path / "a.jsonl")
    log.send("g", "a", 1, 1, 0)
    log.close()
    log.close()
    log.send("g", "a", 2, 1, 0)
    log.flush()
    assert log.closed
    assert len(lines(tmp_path / "a.jsonl")) == 1


def test_a_file_that_holds_something_is_refused_and_left_as_it_is(tmp_path):
    (tmp_path / "a.jsonl").write_text("mine\n")
    with pytest.raises(InvalidInput, match="it holds something"):
        EventLog(tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_text() == "mine\n"


def test_an_empty_file_is_taken(tmp_path):
    (tmp_path / "a.jsonl").touch()
    EventLog(tmp_path / "a.jsonl").close()


@pytest.mark.parametrize("where", ["no/such/a.jsonl", "."])
def test_a_place_that_cannot_be_written_is_refused(tmp_path, where):
    with pytest.raises(InvalidInput, match="cannot write the trace"):
        EventLog(tmp_path / where)


def test_wrong_arguments_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="flush_every"):
        EventLog(tmp_path / "a.jsonl", flush_every=0)
    with EventLog(tmp_path / "a.jsonl") as log, pytest.raises(InvalidInput, match="join, leave, fail"):
        log.change("g", "send", "a", 1)


def test_a_full_disk_is_told_in_one_line():
    log = EventLog("/dev/full")
    log.send("g", "a", 1, 1, 0)
    with pytest.raises(CannotTrace, match="No space left"):
        log.flush()
    log.close()


KILLED = """
    import os, signal, sys
    from stablecast.trace.log import EventLog

    log = EventLog(sys.argv[1], flush_every=7)
    for seq in range(1, 10_000):
        log.send("group", "member", seq, seq, 100)
        if seq == 5_003:
            log.flush()
            log.send("group", "member", 5_004, 1, 100)
            os.kill(os.getpid(), signal.SIGKILL)
"""


def test_everything_up_to_the_last_flush_survives_a_kill(tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path / "a.jsonl")]
    assert subprocess.run(command, timeout=60).returncode == -signal.SIGKILL
    assert [line["seq"] for line in lines(tmp_path / "a.jsonl")] == list(range(1, 5_004))


def test_a_last_line_that_was_being_written_is_left_out_by_the_reader(tmp_path):
    with EventLog(tmp_path / "a.jsonl") as log:
        log.send("g", "a", 1, 1, 0)
        log.send("g", "a", 2, 1, 0)
    size = (tmp_path / "a.jsonl").stat().st_size
    os.truncate(tmp_path / "a.jsonl", size - 9)
    assert read_columns([tmp_path / "a.jsonl"]).seq.tolist() == [1]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("not json\n", "not in the event schema"),
        ('{"group":"g"}\n', "event schema"),
        (
            '{"group":"g","kind":"hop","member":"a","source":"a","seq":1,"time_us":1,"bytes":1}\n',
            "kind 'hop'",
        ),
        ('{"group":"g","kind":"send","member":"a","source":"a","time_us":1}\n', "no source or no seq"),
        ('{"group":"g","kind":"send","member":"a","source":"a","seq":"x","time_us":1}\n', "event schema"),
        ('{"group":"g","kind":"send","member":"a","source":"a","seq":1,"at":1}\n', "event schema"),
    ],
)
def test_files_in_another_form_are_refused(tmp_path, text, why):
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(InvalidInput, match=why):
        read_columns([tmp_path / "a.jsonl"])


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidInput, match=r"none\.jsonl"):
        read_columns([tmp_path / "none.jsonl"])


def test_no_events_at_all_are_no_error(tmp_path):
    (tmp_path / "a.jsonl").touch()
    assert len(read_columns([tmp_path / "a.jsonl"])) == 0
    assert len(read_columns([])) == 0


def test_a_wire_trace_has_all_columns_in_every_row(tmp_path):
    with EventLog(tmp_path / "a.jsonl", wire=True) as log:
        log.send("g", "a", 1, 2, 100)
        log.step(7)
        log.receive("g", "a", "b", 5, [10, 20], 3)
        log.stable("g", "a", "b", 6, 4)
        log.release("g", "a", "b", 5, 5, None, 5)
        came = {"kind": "arrive", "peer": "b\"'", "message": "ACK", "number": 3}
        log.wire_event(WireEvent(group="g", member="a", time_us=6, step=8, **came))
        log.step(None)
        log.change("g", "fail", "b", 6)
    found = lines(tmp_path / "a.jsonl")
    assert {tuple(line) for line in found} == {COLUMNS + WIRE_COLUMNS}
    assert [line["step"] for line in found] == [None, 7, 7, 7, 7, 8, None]
    told = {name: value for name, value in found[5].items() if value is not None}
    assert told == {"group": "g", "member": "a", "time_us": 6, "step": 8, **came}
    assert log.events == len(found) == 7


def test_a_trace_that_is_no_wire_trace_has_no_rows_of_it(tmp_path):
    with EventLog(tmp_path / "a.jsonl") as log:
        log.step(7)
        log.wire_event(WireEvent(kind="timer", group="g", member="a", time_us=6, step=7, message="alive"))
        log.send("g", "a", 1, 2, 100)
    [line] = lines(tmp_path / "a.jsonl")
    assert tuple(line) == COLUMNS
