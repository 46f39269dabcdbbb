"""What decided when a message was known to be stable: chains whose lengths sum exactly, and phases."""

from itertools import pairwise

import pytest
from causes_runs import random_rows, run_from

from stablecast.causes import critical_path, slowest
from stablecast.causes.segments import CALL, HOP, REPAIR, UNDERWAY, UNTOLD, WAIT, duration
from stablecast.errors import InvalidInput

SEEDS = range(20)


def transmit(member, time_us, step, number, message, peer=None, **more):
    at = {"kind": "transmit", "member": member, "time_us": time_us, "step": step, "peer": peer}
    return at | {"number": number, "message": message, **more}


def arrive(member, time_us, step, peer, number, message, **more):
    at = {"kind": "arrive", "member": member, "time_us": time_us, "step": step, "peer": peer}
    return at | {"number": number, "message": message, **more}


def event(kind, member, time_us, step, source="a", seq=1):
    return {"kind": kind, "member": member, "time_us": time_us, "step": step, "source": source, "seq": seq}


def lost_copy():
    """Return a run of a, b and c by hand: c misses a/1, and execution 1 passes it before it has a/1."""
    data, one, two = {"source": "a", "first_seq": 1, "seq": 1}, {"execution": 1}, {"execution": 2}
    return [
        transmit("a", 900, 1, 1, "START", **one),
        event("send", "a", 1_000, 2),
        transmit("a", 1_000, 2, 2, "DATA", **data),
        arrive("b", 1_100, 1, "a", 1, "START", **one),
        transmit("b", 1_100, 1, 1, "ACK", "a", **one),
        arrive("c", 1_100, 1, "a", 1, "START", **one),
        transmit("c", 1_100, 1, 1, "ACK", "a", **one),
        arrive("b", 1_200, 2, "a", 2, "DATA", queue_us=50, service_us=100, **data),
        event("receive", "b", 1_200, 2),
        arrive("a", 1_300, 3, "b", 1, "ACK", **one),
        arrive("a", 1_300, 4, "c", 1, "ACK", **one),
        {"kind": "timer", "member": "c", "time_us": 1_600, "step": 2, "message": "nak", "since_us": 1_100},
        transmit("c", 1_600, 2, 2, "NAK", "a", **data),
        arrive("a", 1_800, 5, "c", 2, "NAK", **data),
        transmit("a", 1_800, 5, 3, "REPAIR", "c", **data),
        arrive("c", 2_000, 3, "a", 3, "REPAIR", **data),
        event("receive", "c", 2_000, 3),
        {"kind": "timer", "member": "a", "time_us": 3_300, "step": 6, "message": "round", "since_us": 1_300},
        transmit("a", 3_300, 6, 4, "START", **two),
        arrive("b", 3_400, 3, "a", 4, "START", **two),
        transmit("b", 3_400, 3, 2, "ACK", "a", **two),
        arrive("c", 3_500, 4, "a", 4, "START", **two),
        transmit("c", 3_500, 4, 3, "ACK", "a", **two),
        arrive("a", 3_600, 7, "b", 2, "ACK", **two),
        arrive("a", 3_750, 8, "c", 3, "ACK", queue_us=20, service_us=30, **two),
        event("stable", "a", 3_750, 8),
        transmit("a", 3_750, 8, 5, "INFO", **two),
        arrive("b", 3_850, 4, "a", 5, "INFO", **two),
        event("stable", "b", 3_850, 4),
    ]


def check(path):
    assert sum(segment.length_us for segment in path.segments) == path.length_us
    assert sum(phase.length_us for phase in path.phases) == path.length_us
    for parts in (path.segments, path.phases):
        assert all(one.end_us == other.begin_us for one, other in pairwise(parts))
    for segment in path.segments:
        told = (segment.queue_us, segment.service_us, segment.propagation_us)
        assert None in told or (min(told) >= 0 and sum(told) == segment.length_us)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("at", [None, "first", "last"])
def test_segments_and_phases_sum_exactly_to_the_time_to_stable(seed, at):
    run = run_from(random_rows(seed, members=2 + seed % 5))
    found = slowest(run, 1000, at=at)
    assert len(found) == 12
    for slow in found:
        path = critical_path(run, slow.source, slow.seq, at=at)
        check(path)
        assert (path.member, path.sent_us, path.detected_us) == (slow.member, slow.sent_us, slow.detected_us)
        assert 3 <= len(path.lines()) <= 6


def test_a_lost_copy_and_the_execution_that_passed_are_told():
    path = critical_path(run_from(lost_copy()), "a", 1)
    check(path)
    assert path.lines() == [
        "a knew a/1 to be stable 2.75 ms after its sending.",
        "1 ms: Everyone had it when c had it: the first copy did not come there,"
        " and a transmitted it again, after 500 µs of waiting.",
        "1.3 ms: The group waited for execution 2, because execution 1 passed c 900 µs before c had it.",
        "450 µs: Execution 2 ran, and what it found came to a; the longest part:"
        " ACK of execution 2 from c to a (250 µs).",
    ]
    assert [(one.kind, one.length_us, one.text) for one in path.segments] == [
        (UNDERWAY, 100, "START of execution 1 from a to c, which had begun 100 µs before the sending"),
        (HOP, 200, "ACK of execution 1 from c to a"),
        (WAIT, 2_000, "a waits for its timer (round)"),
        (HOP, 200, "START of execution 2 from a to c"),
        (HOP, 250, "ACK of execution 2 from c to a"),
    ]
    last = path.segments[-1]
    assert (last.queue_us, last.service_us, last.propagation_us) == (20, 30, 200)


def test_the_way_to_the_last_member_goes_by_its_repair():
    path = critical_path(run_from(lost_copy()), "a", 1, at="b")
    assert path.last_member == "c"
    assert [(one.kind, one.length_us) for one in path.way] == [
        (UNDERWAY, 100),
        (REPAIR, 500),
        (REPAIR, 200),
        (REPAIR, 200),
    ]
    assert path.way[1].text == "c waits before it asks for what it lacks"


@pytest.mark.parametrize(("at", "member"), [(None, "a"), ("first", "a"), ("last", "b"), ("b", "b")])
def test_a_member_is_chosen_by_name_or_by_when_it_knew(at, member):
    assert critical_path(run_from(lost_copy()), "a", 1, at=at).member == member


@pytest.mark.parametrize(
    ("source", "seq", "at", "line"),
    [
        ("z", 1, None, "unknown member 'z'"),
        ("a", 7, None, r"does not tell of the sending of a/7 \(accepted: a/1 to a/1\)"),
        ("b", 1, None, r"does not tell of the sending of b/1 \(accepted: messages of a\)"),
        ("a", 1, "z", "unknown member 'z'"),
        ("a", 1, "c", r"c never knew a/1 to be stable \(accepted: a, b, first, last\)"),
    ],
)
def test_what_is_not_in_the_trace_is_said_in_one_line(source, seq, at, line):
    with pytest.raises(InvalidInput, match=line):
        critical_path(run_from(lost_copy()), source, seq, at=at)


def test_a_message_that_nobody_knew_to_be_stable_is_said_in_one_line():
    rows = [row for row in lost_copy() if row["kind"] != "stable"]
    with pytest.raises(InvalidInput, match="nobody knew a/1 to be stable"):
        critical_path(run_from(rows), "a", 1)
    assert slowest(run_from(rows)) == ()


def test_a_chain_that_ends_in_a_call_waited_for_the_application():
    rows = [
        event("send", "a", 1_000, 1),
        event("send", "b", 5_000, 1, source="b"),
        transmit("b", 5_000, 1, 1, "DATA", source="b", first_seq=1, seq=1),
        arrive("a", 5_300, 2, "b", 1, "DATA", source="b", first_seq=1, seq=1),
        event("stable", "a", 5_300, 2),
    ]
    path = critical_path(run_from(rows), "a", 1)
    check(path)
    told = [(one.kind, one.length_us, one.text) for one in path.segments]
    assert told == [
        (CALL, 4_000, "until the application at b sent b/1"),
        (HOP, 300, "DATA b/1 from b to a"),
    ]


def test_an_arrival_of_unknown_origin_ends_the_chain():
    rows = [
        event("send", "a", 1_000, 1),
        arrive("a", 1_400, 2, "gone", 5, "ACK"),
        event("stable", "a", 1_400, 2),
    ]
    path = critical_path(run_from(rows), "a", 1)
    check(path)
    assert [one.kind for one in path.segments] == [UNTOLD]
    assert any("not in the trace" in line for line in path.lines())


def test_rows_that_a_member_writes_later_in_a_step_count():
    rows = [
        event("send", "a", 1_004, 1),
        transmit("a", 1_007, 1, 1, "DATA", source="a", first_seq=1, seq=1),
        arrive("b", 1_100, 1, "a", 1, "DATA", source="a", first_seq=1, seq=1),
        transmit("b", 1_102, 1, 1, "ACK", "a"),
        arrive("a", 1_200, 2, "b", 1, "ACK"),
        event("stable", "a", 1_209, 2),
    ]
    path = critical_path(run_from(rows), "a", 1)
    check(path)
    assert [one.length_us for one in path.segments] == [96, 100, 9]


def test_without_transmissions_the_path_goes_as_far_as_the_trace():
    rows = [row for row in lost_copy() if row["kind"] not in ("transmit", "arrive", "timer")]
    for row in rows:
        row["step"] = None
    path = critical_path(run_from(rows), "a", 1)
    check(path)
    assert [(one.kind, one.length_us) for one in path.segments] == [(HOP, 1_000), (UNTOLD, 1_750)]
    assert path.lines()[-1] == "The trace has no transmissions (they are written with --wire)."


def test_a_control_message_that_was_lost_is_told_from_one_that_was_not():
    rows = [
        event("send", "a", 1_000, 1),
        transmit("a", 1_000, 1, 1, "START", "b", execution=1),
        {"kind": "timer", "member": "a", "time_us": 4_000, "step": 2, "message": "retry", "since_us": 1_000},
        transmit("a", 4_000, 2, 2, "START", "b", execution=1),
        arrive("b", 4_100, 1, "a", 2, "START", execution=1),
        transmit("b", 4_100, 1, 1, "ACK", "a", execution=1),
        arrive("a", 4_200, 3, "b", 1, "ACK", execution=1),
        event("stable", "a", 4_200, 3),
    ]
    path = critical_path(run_from(rows), "a", 1)
    assert [(one.kind, one.text) for one in path.segments] == [
        (REPAIR, "a waits before it transmits START again"),
        (REPAIR, "START of execution 1 from a to b, transmitted again"),
        (HOP, "ACK of execution 1 from b to a"),
    ]


def test_a_member_that_was_gone_is_not_waited_for():
    rows = [
        *({"kind": "join", "member": name, "time_us": 0, "step": 0} for name in "abc"),
        event("send", "a", 1_000, 1),
        transmit("a", 1_000, 1, 1, "DATA", source="a", first_seq=1, seq=1),
        arrive("b", 1_100, 1, "a", 1, "DATA", source="a", first_seq=1, seq=1),
        event("receive", "b", 1_100, 1),
        {"kind": "timer", "member": "a", "time_us": 3_000, "step": 2, "since_us": 1_000},
        {"kind": "fail", "member": "c", "time_us": 2_500, "step": 1},
        event("stable", "a", 3_000, 2),
    ]
    path = critical_path(run_from(rows), "a", 1)
    assert path.last_member == "c"
    assert path.phases[0].length_us == 1_500
    assert path.phases[0].text == "Everyone had it, or was gone: c, which lacked it, was gone last."


def test_what_was_called_stable_too_early_is_said():
    rows = [event("send", "a", 50, 1), event("stable", "a", 60, 2), event("receive", "b", 90, 1)]
    path = critical_path(run_from(rows), "a", 1)
    assert path.phases[0].text == "b had it only 30 µs after a knew."
    rows[1]["time_us"] = 40
    with pytest.raises(InvalidInput, match="called a/1 stable 10 µs before its sending"):
        critical_path(run_from([rows[1], rows[0], rows[2]]), "a", 1)


@pytest.mark.parametrize(
    ("us", "text"),
    [(0, "0 µs"), (999, "999 µs"), (1_250, "1.25 ms"), (3_500_000, "3.5 s"), (2_000_000_000, "2,000 s")],
)
def test_times_are_said_as_people_say_them(us, text):
    assert duration(us) == text


def test_a_datagram_with_several_frames_is_one_hop_with_all_their_names():
    data = {"source": "a", "first_seq": 3, "seq": 5}
    rows = [
        event("send", "a", 1_000, 1),
        *(transmit("a", 1_000, 1, 1, name, "b") for name in ("INFO", "START", "DATA")),
        arrive("b", 1_100, 1, "a", 1, "DATA", **data),
        arrive("b", 1_100, 1, "a", 1, "INFO", execution=4),
        arrive("b", 1_100, 1, "a", 1, "START", execution=5),
        arrive("b", 1_100, 1, "a", 1, "ALIVE"),
        event("stable", "b", 1_100, 1),
    ]
    (hop,) = critical_path(run_from(rows), "a", 1).segments
    assert hop.text == "DATA a/3-5 and INFO of execution 4 and START of execution 5 and 1 more from a to b"
    assert (hop.message, hop.execution) == ("DATA and INFO and START and ALIVE", 4)


def test_what_others_tell_of_a_member_stands_among_its_rows_by_time():
    rows = [
        event("send", "a", 1_000, 1),
        transmit("a", 1_000, 1, 1, "DATA", source="a", first_seq=1, seq=1),
        arrive("b", 1_100, 1, "a", 1, "DATA", source="a", first_seq=1, seq=1),
        transmit("b", 1_105, 1, 1, "ACK", "a"),
        arrive("a", 1_300, 2, "b", 1, "ACK"),
        event("stable", "a", 1_300, 2),
        *({"kind": "join", "member": name, "time_us": 10} for name in "ab"),
        {"kind": "fail", "member": "b", "time_us": 1_102},
    ]
    run = run_from(rows)
    check(critical_path(run, "a", 1))
    assert [(run.members[k], t) for k, t in zip(run.graph.member, run.graph.time_us, strict=True)] == [
        ("a", 10),
        ("a", 1_000),
        ("a", 1_300),
        ("b", 10),
        ("b", 1_100),
        ("b", 1_102),
    ]
