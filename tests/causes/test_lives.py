"""What became of a message at every member."""

import pytest
from causes_runs import random_rows, run_from

from stablecast.causes import life


def plainly(rows, member, source, seq):
    """Return by looking at row after row when a member had, knew and released a message, and how it came."""
    received = known = released = how = origin = None
    for row in rows:
        if row["member"] != member:
            continue
        about = row.get("source") == source and row.get("seq") == seq
        if row["kind"] == "arrive" and about and row["message"] in ("DATA", "REPAIR") and received is None:
            how, origin = {"DATA": "copy", "REPAIR": "repaired"}[row["message"]], row["peer"]
        if row["kind"] == "send" and about:
            received, how = row["time_us"], "sent"
        if row["kind"] == "receive" and about:
            received = row["time_us"]
        if row["kind"] == "stable" and row["source"] == source and row["seq"] >= seq and known is None:
            known = row["time_us"]
        if row["kind"] == "release" and about:
            released = row["time_us"]
    return received, known, released, how, origin


@pytest.mark.parametrize("seed", range(8))
def test_a_life_is_what_the_rows_say(seed):
    rows = random_rows(seed, members=4)
    run = run_from(rows)
    ways = set()
    for sent in (row for row in rows if row["kind"] == "send"):
        told = life(run, sent["source"], sent["seq"])
        assert told.sent_us == sent["time_us"]
        assert len(told.members) == 4
        for each in told.members:
            found = (each.received_us, each.known_us, each.released_us, each.how, each.origin)
            assert found == plainly(rows, each.member, sent["source"], sent["seq"]), (seed, sent, each)
            ways.add(each.how)
        latest = max(each.received_us for each in told.members)
        assert told.stable_us == latest
        assert told.last_member == min(one.member for one in told.members if one.received_us == latest)
        assert sum(segment.length_us for segment in told.way) == latest - told.sent_us
    assert ways == {"sent", "copy", "repaired"}


def test_a_message_that_somebody_lacks_has_no_time_at_which_it_was_stable():
    rows = [
        *({"kind": "join", "member": name, "time_us": 0} for name in "ab"),
        {"kind": "send", "member": "a", "source": "a", "seq": 1, "time_us": 5, "bytes": 70},
    ]
    told = life(run_from(rows), "a", 1)
    assert (told.stable_us, told.last_member, told.bytes, told.way) == (None, "b", 70, ())
    assert [(each.member, each.how, each.received_us) for each in told.members] == [
        ("a", "sent", 5),
        ("b", "unknown", None),
    ]


def test_a_message_held_back_by_a_gap_came_before_it_was_handed_over():
    data = {"kind": "arrive", "member": "b", "peer": "a", "source": "a", "message": "DATA"}
    rows = [
        {"kind": "send", "member": "a", "source": "a", "seq": 1, "time_us": 5, "step": 1},
        {"kind": "send", "member": "a", "source": "a", "seq": 2, "time_us": 6, "step": 2},
        data | {"first_seq": 2, "seq": 2, "number": 2, "time_us": 20, "step": 1},
        data | {"first_seq": 1, "seq": 1, "number": 3, "time_us": 50, "step": 2, "message": "REPAIR"},
        {"kind": "receive", "member": "b", "source": "a", "seq": 1, "time_us": 50, "step": 2},
        {"kind": "receive", "member": "b", "source": "a", "seq": 2, "time_us": 50, "step": 2},
    ]
    run = run_from(rows)
    assert [life(run, "a", seq).members[1].how for seq in (1, 2)] == ["repaired", "copy"]
