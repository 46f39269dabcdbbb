"""A group from its traces: frontiers against a plain computation, who lacks what, who came and went."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.observe.ledger import Ledger
from stablecast.observe.rows import Row, Tail
from stablecast.observe.traces import explain, now_us, seen

S = 1_000_000


def row(kind, member, source=None, seq=None, at_s=0.0, size=None, group="orders"):
    return Row(kind, member, group, source, seq, round(at_s * S), size)


def ledger_of(*rows):
    ledger = Ledger("orders")
    for one in rows:
        ledger.take(one)
    return ledger


def began(*names):
    return [row("join", name) for name in names]


def sent(source, *seqs, at_s=1.0):
    return [row("send", source, source, seq, at_s, 100) for seq in seqs]


def got(member, source, *seqs, at_s=1.1):
    return [row("receive", member, source, seq, at_s, 100) for seq in seqs]


MEMBERS = "abc"
STEPS = st.lists(st.tuples(st.sampled_from(MEMBERS), st.sampled_from(MEMBERS), st.booleans()), max_size=60)


@given(STEPS)
def test_the_frontier_is_what_every_member_has(steps):
    """Members take each source's messages in its order; a step is a sending, or a receipt of the next one."""
    last, has, rows = dict.fromkeys(MEMBERS, 0), {}, began(*MEMBERS)
    ledger = ledger_of(*rows)
    for k, (member, source, looks) in enumerate(steps):
        if member == source:
            last[source] += 1
            ledger.take(row("send", source, source, last[source], k, 10))
        elif has.get((member, source), 0) < last[source]:
            has[member, source] = has.get((member, source), 0) + 1
            ledger.take(row("receive", member, source, has[member, source], k, 10))
        if looks:
            frontiers = ledger.settle()
            for name, frontier in frontiers.items():
                others = [has.get((one, name), 0) for one in MEMBERS if one != name]
                assert frontier == min(last[name], *others)
    told = seen(ledger, 0)
    lacked = {(one.member, one.source): (one.first, one.messages) for one in told.holding}
    for source in MEMBERS:
        for member in MEMBERS:
            missing = last[source] - has.get((member, source), 0) if member != source else 0
            expected = (has.get((member, source), 0) + 1, missing) if missing else None
            assert lacked.get((member, source)) == expected


def test_who_lacks_what_since_when_and_how_much():
    ledger = ledger_of(*began("a", "b", "c"), *sent("a", 1, 2, 3), *got("b", "a", 1, 2, 3), *got("c", "a", 1))
    told = seen(ledger, 5 * S)
    assert told.time_us == 5 * S
    (one,) = told.holding
    assert (one.member, one.source, one.first, one.messages, one.bytes, one.since_s) == (
        "c",
        "a",
        2,
        2,
        200,
        4.0,
    )
    assert {member.name: member.state for member in told.members} == {"a": "ok", "b": "ok", "c": "behind"}
    (source,) = told.sources
    assert (source.received, source.stable, source.lacking, source.oldest_s) == (3, 1, ("c",), 4.0)
    assert (told.received_messages, told.stable_messages) == (3, 1)
    explained = explain(ledger, "a", 2, 5 * S)
    assert (explained.state, [lag.member for lag in explained.laggards]) == ("waiting", ["c"])
    assert explain(ledger, "a", 1, 5 * S).state == "stable"
    assert explain(ledger, "a", 4, 5 * S).state == explain(ledger, "z", 1, 5 * S).state == "unknown"


def test_who_joined_later_need_not_have_what_was_sent_before():
    ledger = ledger_of(*began("a", "b"), *sent("a", 1, at_s=1), *got("b", "a", 1))
    ledger.take(row("join", "c", at_s=2))
    for one in sent("a", 2, at_s=3):
        ledger.take(one)
    told = seen(ledger, 4 * S)
    assert {(one.member, one.first) for one in told.holding} == {("b", 2), ("c", 2)}


def test_who_is_gone_is_not_waited_for_and_is_told_of():
    ledger = ledger_of(*began("a", "b"), *sent("a", 1), row("fail", "b", at_s=3))
    told = seen(ledger, 5 * S)
    assert told.holding == ()
    assert told.stable_messages == 1
    assert [(one.name, one.state, one.since_s) for one in told.gone] == [("b", "failed", 2.0)]
    assert [note.text for note in ledger.notes] == ["joined: a", "joined: b", "failed: b"]


def test_a_departure_that_two_tell_of_is_noted_once():
    ledger = ledger_of(*began("a", "b"), row("leave", "b", at_s=2), row("leave", "b", at_s=3))
    assert [note.text for note in ledger.notes][2:] == ["left: b"]


def test_where_not_everyone_receives_a_source_only_its_audience_is_waited_for():
    apart = "orders/a"
    ledger = ledger_of(
        *(row("join", name, group=apart) for name in "ab"),
        *(row("join", name, group="orders/c") for name in "bc"),
        row("send", "a", "a", 1, 1.0, 100, group=apart),
    )
    assert {one.member for one in seen(ledger, 2 * S).holding} == {"b"}


def test_time_to_stable_and_what_is_kept():
    ledger = ledger_of(*began("a", "b"), *sent("a", 1, 2, at_s=1), *got("b", "a", 1, 2))
    ledger.take(row("stable", "a", "a", 2, 1.5))
    ledger.take(row("release", "a", "a", 1, 1.5, 100))
    told = seen(ledger, 2 * S)
    assert (told.own_stable, told.own_stable_s) == (2, 1.0)
    assert {one.name: one.kept_bytes for one in told.members} == {"a": 100, "b": 200}


def test_of_a_run_that_is_over_time_stands_still():
    ledger = ledger_of(*began("a"), *sent("a", 1, at_s=7))
    assert now_us(ledger, 10 * S) == 10 * S
    assert now_us(ledger, 10_000 * S) == 7 * S
    assert seen(ledger, 10_000 * S).state == "traces of before"


# Files


def lines(*rows):
    return "".join(json.dumps(msgspec.to_builtins(one)) + "\n" for one in rows)


def read(tail):
    return [one for rows in tail.new_rows() for one in rows]


def test_rows_are_read_once_and_only_whole_lines(tmp_path):
    file, tail = tmp_path / "a.jsonl", Tail(tmp_path)
    first, second = sent("a", 1, 2)
    text = lines(first, second)
    file.write_text(text[:-5])
    assert read(tail) == [first]
    file.write_text(text)
    assert read(tail) == [second]
    assert read(tail) == []


def test_a_file_that_was_made_anew_is_read_from_its_beginning(tmp_path):
    file, tail = tmp_path / "a.jsonl", Tail(tmp_path)
    file.write_text(lines(*sent("a", 1, 2)))
    assert len(read(tail)) == 2
    file.write_text(lines(*sent("a", 1)))
    assert len(read(tail)) == 1


def test_rows_of_the_wire_and_their_columns_are_skipped(tmp_path):
    wire = {"group": "orders", "kind": "transmit", "member": "a", "time_us": 5, "step": 1, "message": "DATA"}
    (tmp_path / "a.jsonl").write_text(json.dumps(wire) + "\n" + lines(*sent("a", 1)))
    ledger = ledger_of(*read(Tail(tmp_path)))
    assert ledger.sources["a"].last == 1
    assert list(ledger.members) == ["a"]


@pytest.mark.parametrize("text", ["not json\n", "[1]\n", '{"kind": 7}\n', "\xff\n"])
def test_a_file_of_something_else_is_one_line(tmp_path, text):
    (tmp_path / "a.jsonl").write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput, match=r"a\.jsonl.*after byte 0: no event of a trace"):
        read(Tail(tmp_path))
