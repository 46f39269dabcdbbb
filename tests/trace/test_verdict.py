"""The verdict on traces made by hand: clean ones pass, and every kind of violation is found."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.simulate import Setup, Traffic, Trigger, topology
from stablecast.simulate.tracing import simulate_with_trace
from stablecast.trace.columns import Event
from stablecast.trace.log import EventLog
from stablecast.trace.verdict import Peak, judge, judge_files


def join(member, time=0, group="g"):
    return Event(group, "join", member, None, None, time)


def gone(kind, member, time, group="g"):
    return Event(group, kind, member, None, None, time)


def send(source, seq, time, size=10, group="g"):
    return Event(group, "send", source, source, seq, time, size)


def receive(member, source, seq, time, size=10, group="g"):
    return Event(group, "receive", member, source, seq, time, size)


def stable(member, source, seq, time, group="g"):
    return Event(group, "stable", member, source, seq, time)


def release(member, source, seq, time, group="g"):
    return Event(group, "release", member, source, seq, time)


JOINED = [join("a"), join("b"), join("c")]
ONE = [send("a", 1, 10), receive("b", "a", 1, 20), receive("c", "a", 1, 30)]


def only(verdict, kind, count=1):
    """Assert that this is the only kind of violation, and return the first one."""
    assert {name: n for name, n in verdict.counts.items() if n} == {kind: count}
    assert not verdict.ok
    return verdict.violations[0]


def test_a_clean_trace_passes():
    verdict = judge(
        [
            *JOINED,
            *ONE,
            stable("c", "a", 1, 30),
            stable("a", "a", 1, 40),
            *[release(member, "a", 1, 50) for member in "abc"],
        ]
    )
    assert verdict.ok
    assert verdict.delivered
    assert verdict.safe
    assert (verdict.messages, verdict.deliveries) == (1, 2)
    assert verdict.members == ("a", "b", "c")
    assert verdict.departed == ()
    assert verdict.time_to_stable.p50_ms == pytest.approx(0.03)
    assert verdict.time_to_truth.max_ms == pytest.approx(0.02)
    assert verdict.undetected == 0
    assert verdict.peaks == dict.fromkeys("abc", Peak(1, 10))
    assert verdict.violations == ()


def test_no_events_give_a_clean_verdict_of_nothing():
    verdict = judge([])
    assert verdict.ok
    assert verdict.messages == 0
    assert verdict.time_to_stable.p50_ms is None


def test_without_joins_all_that_send_or_receive_are_members():
    assert judge(ONE).ok
    late = judge([*ONE[:2], send("c", 1, 5), receive("a", "c", 1, 6), receive("b", "c", 1, 6)])
    assert late.counts["undelivered"] == 1


def test_a_message_that_a_member_never_received_is_undelivered_and_breaks_all_or_none():
    verdict = judge([*JOINED, *ONE[:2]])
    assert not verdict.delivered
    assert verdict.counts["undelivered"] == verdict.counts["all_or_none"] == 1
    first = verdict.violations[0]
    assert (first.member, first.source, first.seq) == ("c", "a", 1)


def test_a_message_of_a_failed_sender_that_only_some_survivors_have_breaks_all_or_none():
    verdict = judge([*JOINED, *ONE[:2], gone("fail", "a", 50)])
    found = only(verdict, "all_or_none")
    assert (found.member, found.source, found.seq) == ("c", "a", 1)
    assert verdict.delivered
    assert verdict.departed == ("a",)


def test_a_message_of_a_failed_sender_that_no_survivor_has_is_no_violation():
    assert judge([*JOINED, send("a", 1, 10), gone("fail", "a", 50)]).ok


def test_what_only_a_failed_member_had_is_no_violation():
    assert judge([*JOINED, *ONE[:2], gone("fail", "a", 50), gone("fail", "b", 60)]).ok


def test_a_failed_member_need_not_receive():
    assert judge([*JOINED, *ONE[:2], gone("fail", "c", 50)]).ok


def test_a_failed_senders_last_message_may_be_missing_in_its_log():
    told = [receive("b", "a", 1, 20), receive("c", "a", 1, 30), gone("fail", "a", 50)]
    verdict = judge([*JOINED, *told])
    assert verdict.ok
    assert verdict.time_to_truth.count == 0
    assert only(judge([*JOINED, told[0], told[2]]), "all_or_none").member == "c"


def test_a_receipt_of_what_a_member_that_stayed_never_sent_is_unknown():
    verdict = judge([*JOINED, *ONE[1:]])
    assert only(verdict, "unknown", 2).source == "a"


def test_a_newcomer_owes_nothing_that_was_sent_before_it_joined():
    later = [join("d", 35), send("a", 2, 40), *[receive(m, "a", 2, 50) for m in "bcd"]]
    assert judge([*JOINED, *ONE, *later]).ok
    verdict = judge([*JOINED, *ONE, *later[:-1]])
    assert verdict.violations[0].member == "d"


def test_a_newcomer_that_begins_too_late_breaks_the_order():
    later = [join("d", 35)]
    for seq in (2, 3):
        later += [send("a", seq, 40), *[receive(m, "a", seq, 50) for m in "bc"]]
    verdict = judge([*JOINED, *ONE, *later, receive("d", "a", 3, 50)])
    assert verdict.counts["order"] == 1
    assert {v.kind for v in verdict.violations} == {"order", "undelivered", "all_or_none"}


def two_messages(*at_c):
    return [
        *JOINED,
        send("a", 1, 10),
        send("a", 2, 11),
        receive("b", "a", 1, 20),
        receive("b", "a", 2, 20),
        *at_c,
    ]


def test_receipts_out_of_order_are_found():
    verdict = judge(two_messages(receive("c", "a", 2, 20), receive("c", "a", 1, 20)))
    assert only(verdict, "order", 2).why == "1 was next"


def test_a_gap_is_found_also_at_a_member_that_fails_later():
    gap = judge([*two_messages(receive("c", "a", 2, 20)), gone("fail", "c", 90)])
    found = only(gap, "order")
    assert (found.member, found.seq, found.why) == ("c", 2, "1 was next")


def test_a_second_receipt_is_a_duplicate():
    verdict = judge([*JOINED, *ONE, receive("c", "a", 1, 31)])
    found = only(verdict, "duplicate")
    assert (found.member, found.time_us) == ("c", 31)
    assert verdict.deliveries == 2


def test_a_number_used_again_is_found():
    assert only(judge([*JOINED, *ONE, send("a", 1, 60)]), "sent_again").time_us == 60


def test_a_sender_may_receive_its_own_message_once():
    own = receive("a", "a", 1, 12)
    assert judge([*JOINED, *ONE, own]).ok
    assert only(judge([*JOINED, *ONE, own, own]), "duplicate").member == "a"


def test_a_receipt_after_departure_is_found_and_does_not_count():
    verdict = judge([*JOINED, *ONE[:2], gone("leave", "c", 25), receive("c", "a", 1, 30)])
    assert only(verdict, "receive_after_departure").why == "it was gone at 25"
    assert not verdict.safe
    assert verdict.deliveries == 1


def test_a_receipt_at_the_moment_of_departure_counts():
    assert judge([*JOINED, *ONE, gone("leave", "c", 30)]).ok


def test_the_earliest_word_of_a_departure_counts():
    told = [gone("fail", "c", 45), gone("fail", "c", 25)]
    assert judge([*JOINED, *ONE[:2], *told, stable("a", "a", 1, 25)]).ok


def test_stable_before_the_last_receipt_is_early():
    verdict = judge([*JOINED, *ONE, stable("b", "a", 1, 29)])
    found = only(verdict, "early_stable")
    assert (found.member, found.why) == ("b", "it was everywhere at 30")
    assert not verdict.safe


def test_stable_covers_everything_before_it():
    late = [*two_messages(receive("c", "a", 1, 90), receive("c", "a", 2, 20)), stable("b", "a", 2, 50)]
    assert only(judge(late), "early_stable").seq == 2


def test_stable_without_a_receipt_of_a_member_is_early_until_the_member_is_gone():
    told = [*JOINED, *ONE[:2], gone("fail", "c", 40)]
    assert judge([*told, stable("a", "a", 1, 40)]).ok
    assert only(judge([*told, stable("a", "a", 1, 39)]), "early_stable").why == "it was everywhere at 40"


def test_stable_of_what_was_never_sent_is_early():
    assert only(judge([*JOINED, *ONE, stable("b", "a", 2, 99)]), "early_stable").seq == 2


def test_a_release_before_the_truth_is_early():
    verdict = judge([*JOINED, *ONE, release("a", "a", 1, 29), release("b", "a", 1, 30)])
    assert only(verdict, "early_release").member == "a"


def test_time_to_stable_is_told_by_the_senders_own_claims():
    verdict = judge([*two_messages(), stable("b", "a", 2, 25), stable("a", "a", 1, 110)])
    assert verdict.time_to_stable.count == 1
    assert verdict.time_to_stable.max_ms == pytest.approx(0.1)
    assert verdict.undetected == 1


def test_the_peak_is_the_most_held_at_a_time():
    events = [
        *JOINED[:2],
        send("a", 1, 1, 100),
        receive("b", "a", 1, 2, 100),
        send("a", 2, 3, 30),
        release("a", "a", 1, 4),
        receive("b", "a", 2, 4, 30),
        send("a", 3, 5, 40),
        receive("a", "a", 3, 6, 40),
        release("b", "a", 1, 6),
        receive("b", "a", 3, 7, 40),
    ]
    assert judge(events).peaks == {"a": Peak(2, 130), "b": Peak(2, 130)}


def test_groups_are_judged_apart():
    other = [event._replace(group="g~1") for event in [*JOINED[:2], *ONE[:2]]]
    verdict = judge([*JOINED, *ONE, *other])
    assert verdict.ok
    assert (verdict.messages, verdict.deliveries) == (2, 3)


def test_numbers_may_go_on_under_another_groups_name():
    line = [join("a", 0, "g~1"), join("b", 0, "g~1"), send("a", 7, 5, group="g~1")]
    line += [
        receive("b", "a", 7, 6, group="g~1"),
        stable("a", "a", 6, 1, "g~1"),
        stable("b", "b", 9, 1, "g~1"),
    ]
    assert judge(line).ok


def test_the_verdict_is_json():
    verdict = judge([*JOINED, *ONE, stable("b", "a", 1, 29)])
    told = json.loads(json.dumps(verdict.to_dict()))
    assert told["ok"] is False
    assert told["counts"]["early_stable"] == 1
    assert told["violations"][0]["member"] == "b"
    assert told["peaks"]["a"] == dataclasses.asdict(Peak(1, 10))


def test_only_the_earliest_violations_are_shown_and_all_are_counted():
    again = [receive("c", "a", 1, 31 + k) for k in range(50)]
    verdict = judge([*JOINED, *ONE, *again])
    assert verdict.counts["duplicate"] == 50
    assert [v.time_us for v in verdict.violations] == list(range(31, 51))


def test_a_log_of_each_member_is_judged_together(tmp_path):
    with EventLog(tmp_path / "a.jsonl") as log:
        log.change("g", "join", "a", 0)
        log.change("g", "join", "b", 0)
        log.send("g", "a", 1, 10, 5)
        log.stable("g", "a", "a", 1, 30)
        log.release("g", "a", "a", 1, 1, [5], 30)
    with EventLog(tmp_path / "b.jsonl") as log:
        log.receive("g", "b", "a", 1, [5], 20)
    assert judge_files([tmp_path / "a.jsonl", tmp_path / "b.jsonl"]).ok
    assert not judge_files([tmp_path / "a.jsonl"]).ok


def test_the_trace_of_a_simulated_run_is_clean(tmp_path):
    setup = Setup(
        protocol="s_coordp",
        topology=topology("tree", degree=2, height=2),
        senders=3,
        traffic=Traffic(messages=20, rate_per_s=50, data_bytes=100),
        trigger=Trigger(kind="periodic", period_ms=40),
    )
    simulate_with_trace(setup, tmp_path / "events.parquet")
    verdict = judge_files([tmp_path / "events.parquet"])
    assert verdict.ok, verdict.violations
    assert (verdict.messages, verdict.deliveries) == (60, 60 * 6)


MEMBERS = "abcd"


@st.composite
def runs(draw):
    """Events of a small group in which anything may be missing or early, with one member that may fail."""
    events = [join(member, draw(st.integers(0, 20))) for member in MEMBERS]
    for source in "ab":
        for seq in range(1, draw(st.integers(0, 3)) + 1):
            events.append(send(source, seq, 10 * seq))
            for member in MEMBERS:
                if member != source and draw(st.booleans()):
                    events.append(receive(member, source, seq, draw(st.integers(10 * seq, 60))))
            if draw(st.booleans()):
                events.append(stable(draw(st.sampled_from(MEMBERS)), source, seq, draw(st.integers(0, 70))))
                events.append(release(draw(st.sampled_from(MEMBERS)), source, seq, draw(st.integers(0, 70))))
    if draw(st.booleans()):
        events.append(gone("fail", draw(st.sampled_from(MEMBERS)), draw(st.integers(20, 70))))
    return events


def truths_read_plainly(events):
    """Read the schema's definition word for word."""
    joined = {e.member: e.time_us for e in events if e.kind == "join"}
    departed = {e.member: e.time_us for e in events if e.kind == "fail"}
    truths = {}
    for sent in (e for e in events if e.kind == "send"):
        settled = []
        for member in joined:
            required = joined[member] <= sent.time_us < departed.get(member, 10**9)
            if not required and member != sent.source:
                continue
            times = [
                e.time_us
                for e in events
                if e.kind == "receive"
                and (e.member, e.source, e.seq) == (member, sent.source, sent.seq)
                and e.time_us <= departed.get(member, 10**9)
            ]
            if member == sent.source:
                times.append(sent.time_us)
            settled.append(min([*times, departed.get(member, 10**9)]))
        truths[sent.source, sent.seq] = max(settled)
    return truths


@given(runs())
def test_early_claims_agree_with_a_plain_reading_of_the_schema(events):
    truths = truths_read_plainly(events)
    claims = [e for e in events if e.kind == "stable"]
    releases = [e for e in events if e.kind == "release"]
    early = sum(any(truths[e.source, seq] > e.time_us for seq in range(1, e.seq + 1)) for e in claims)
    verdict = judge(events)
    assert verdict.counts["early_stable"] == early
    assert verdict.counts["early_release"] == sum(truths[e.source, e.seq] > e.time_us for e in releases)
