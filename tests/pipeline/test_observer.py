"""A process that reads a group is a member like others, and writes down what it sees."""

import json

import pytest
from loopback_members import DEADLINE_S, loopback_members

from stablecast.errors import InvalidInput
from stablecast.pipeline import observer as observer_module
from stablecast.pipeline.observer import Membership, Observer, SpoolLog
from stablecast.trace.log import CannotTrace


@pytest.fixture
def members():
    with loopback_members() as members:
        yield members


def events_of(spool):
    return [json.loads(line) for file in sorted(spool.glob("*.jsonl")) for line in file.open()]


def told(spool, kind, **values):
    events = [event for event in events_of(spool) if event["kind"] == kind]
    return [event for event in events if all(event[name] == value for name, value in values.items())]


def observing(group, spool, **settings):
    return Observer(Membership("orders", (group.address,), {"member": "reader"} | settings), spool)


def test_it_sees_receipts_stability_and_who_comes_and_goes(members, tmp_path):
    ann = members.join("ann")
    observer = observing(ann, tmp_path)
    observer.start()
    try:
        members.until(lambda: ann.members == ("ann", "reader"))
        bob = members.join("bob")
        receipt = members.do(bob.send(b"one pizza"))
        members.do(receipt.stable(timeout=DEADLINE_S))
        members.until(lambda: told(tmp_path, "release", source="bob", seq=1))
        members.do(bob.close())
        members.until(lambda: told(tmp_path, "leave", member="bob"))
    finally:
        observer.stop()
    members.until(lambda: ann.members == ("ann",))
    (receipt,) = told(tmp_path, "receive")
    assert (receipt["member"], receipt["source"], receipt["bytes"]) == ("reader", "bob", 9)
    assert told(tmp_path, "stable", member="reader", source="bob", seq=1)
    assert [event["member"] for event in told(tmp_path, "join")] == ["ann", "reader", "bob"]
    assert [event["member"] for event in told(tmp_path, "leave")] == ["bob", "reader"]
    assert not told(tmp_path, "send")


def test_changes_are_noted_once_also_where_this_member_leads(tmp_path):
    with SpoolLog(tmp_path / "a.jsonl") as log:
        log.changes("g", "join", ["a", "b"], 1)
        log.change("g", "join", "c", 2)
        log.changes("g", "join", ["a", "b", "c"], 3)
        log.change("g", "fail", "b", 4)
        log.changes("g", "leave", ["b"], 5)
        log.changes("other", "join", ["a"], 6)
    told = [
        (event["group"], event["kind"], event["member"], event["time_us"]) for event in events_of(tmp_path)
    ]
    assert told == [
        ("g", "join", "a", 1),
        ("g", "join", "b", 1),
        ("g", "join", "c", 2),
        ("g", "fail", "b", 4),
        ("other", "join", "a", 6),
    ]


def test_who_cannot_join_leaves_no_file(members, tmp_path):
    ann = members.join("ann")
    with pytest.raises(InvalidInput, match="name 'two words' is not accepted"):
        observing(ann, tmp_path, member="two words").start()
    assert not list(tmp_path.glob("*.jsonl"))


def test_two_do_not_share_a_spool(members, tmp_path, monkeypatch):
    monkeypatch.setattr(observer_module, "LOCK_S", 0.0)
    ann = members.join("ann")
    first, second = observing(ann, tmp_path), observing(ann, tmp_path, member="other")
    first.start()
    try:
        with pytest.raises(InvalidInput, match="is in use by another query"):
            second.start()
    finally:
        first.stop()
    third = observing(ann, tmp_path, member="third")
    third.start()
    third.stop()
    assert len(list(tmp_path.glob("*.jsonl"))) == 2


def test_a_full_disk_is_told(members, tmp_path, monkeypatch):
    ann = members.join("ann")
    observer = observing(ann, tmp_path)
    observer.start()

    def fail(log):
        raise CannotTrace("cannot write the trace: No space left on device")

    monkeypatch.setattr(SpoolLog, "flush", fail)
    members.do(ann.send(b"x"))

    def is_told():
        try:
            observer.check()
        except CannotTrace:
            return True
        return False

    members.until(is_told)
    observer.stop()
