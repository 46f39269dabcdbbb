import pytest

from stablecast.errors import InvalidInput
from stablecast.simulate import Setup, simulate, topology
from stablecast.simulate.faults import (
    CRASH,
    JOIN,
    LEAVE,
    MOVE,
    TELL,
    TELL_JOINED,
    Fault,
    read_schedule,
    with_detector,
)
from stablecast.simulate.options import Options

MS = 1_000_000_000


def test_a_schedule_is_read_in_the_order_of_time():
    text = "leave 4,7 at 6000; crash 0-1 at 5.5; join 2 at 9000; partition 2-3 from 1000 to 8000"
    schedule = read_schedule(text, 10)
    assert schedule.initial == 8
    assert schedule.faults[:2] == (Fault(5_500_000_000, CRASH, 0), Fault(5_500_000_000, CRASH, 1))
    assert [fault.member for fault in schedule.faults if fault.what == LEAVE] == [4, 7]
    assert [fault.member for fault in schedule.faults if fault.what == JOIN] == [8, 9]
    moves = [(fault.at_ps, fault.member, fault.side > 0) for fault in schedule.faults if fault.what == MOVE]
    assert moves == [
        (1000 * MS, 2, True),
        (1000 * MS, 3, True),
        (8000 * MS, 2, False),
        (8000 * MS, 3, False),
    ]


def test_no_text_is_no_fault():
    assert read_schedule("", 5).faults == ()
    assert read_schedule(" ; ", 5).initial == 5


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("crash", "is not understood"),
        ("crash x at 5", "is not understood"),
        ("crash 5 at 5", "no member [5]"),
        ("crash 1- at 5", "are not accepted"),
        ("crash 3-2 at 5", "no member"),
        ("crash 1 at 1.2.3", "milliseconds"),
        ("join 5 at 5", "cannot all join later"),
        ("join 0 at 5", "above 0"),
        ("partition 1 from 9 to 3", "ends before it begins"),
        ("explode 1 at 3", "accepted: 'crash M at MS'"),
    ],
)
def test_what_is_wrong_is_told(text, what):
    with pytest.raises(InvalidInput) as told:
        read_schedule(text, 5)
    assert what in str(told.value)


def told_of(text, members, kind, **more):
    """Return who is told of whom, and when in milliseconds."""
    schedule = with_detector(read_schedule(text, members), members, 50.0, **more)
    return {(f.member, f.side): f.at_ps / MS for f in schedule.faults if f.what == kind}


def test_all_others_are_told_of_crashes_and_joins_and_a_newcomer_of_what_was_before():
    text = "crash 1 at 100; join 1 at 500; join 1 at 700"
    assert told_of(text, 5, TELL) == {(0, 1): 150, (2, 1): 150, (3, 1): 500, (4, 1): 700}
    joined = {(0, 3): 550, (1, 3): 550, (2, 3): 550, (4, 3): 700}
    joined |= {(0, 4): 750, (1, 4): 750, (2, 4): 750, (3, 4): 750}
    assert told_of(text, 5, TELL_JOINED) == joined


def test_nobody_is_told_that_a_member_has_joined_that_it_knows_to_be_gone():
    text = "join 1 at 100; crash 3 at 100.5"
    joined, gone = (told_of(text, 4, kind, spread_ms=30.0, seed=0) for kind in (TELL_JOINED, TELL))
    assert 0 < len(joined) < 3
    assert all(at < gone[pair] for pair, at in joined.items())


def run(**options):
    base = {
        "protocol": "gsgc",
        "topology": "balanced",
        "members": 20,
        "senders": 3,
        "costs": "lan1997",
        "step_s": 0.1,
        "threshold_steps": 25,
    }
    return simulate(Options(**(base | options)).setup())


def test_a_crash_delays_stability_by_the_threshold_and_is_found_by_all():
    calm, struck = run(executions=1), run(executions=1, faults="crash 5 at 0")
    assert struck.completed
    assert struck.false_suspicions == 0
    threshold_us = 25 * 100_000
    step_us = 100_000
    assert threshold_us - step_us <= struck.tpr_us <= calm.tpr_us + 2 * threshold_us
    assert threshold_us - step_us <= struck.detection_first_us <= struck.detection_last_us <= 2 * threshold_us


def test_without_failure_detection_a_crash_stalls_the_group():
    stalled = run(executions=1, faults="crash 5 at 0", threshold_steps=None, until_ms=60_000.0)
    assert not stalled.completed
    assert stalled.tpr_us is None


def test_a_crash_stalls_a_protocol_with_a_coordinator_too():
    network = topology("tree", degree=2, height=2)
    setup = Setup(protocol="coordp", topology=network, faults="crash 3 at 0", detect_ms=-1)
    assert not simulate(setup).completed
    assert simulate(setup.replace(detect_ms=0.0)).completed
    assert not simulate(setup.replace(faults="crash 0 at 0")).completed
    assert simulate(setup.replace(detect_ms=0.0, faults="crash 0 at 0")).completed


def test_a_leaving_member_says_so_and_holds_nobody_up():
    left = run(executions=3, faults="leave 5 at 300")
    assert left.completed
    assert left.tpr_us < 25 * 100_000
    assert left.false_suspicions == 0


def test_those_who_join_are_served_what_the_group_has_and_take_part():
    joined = run(messages=30, rate_per_s=20.0, data_loss=0.05, faults="join 4 at 500")
    assert joined.completed
    assert joined.traffic.messages_stable == joined.traffic.messages == 90


def test_admission_control_spreads_a_stream_of_joins_over_rounds():
    joins = "; ".join(f"join 1 at {40 * k}" for k in range(1, 15))
    free, limited = (run(executions=1, faults=joins, admit_per_round=limit) for limit in (0, 1))
    assert free.completed
    assert limited.completed
    assert free.executions < 13 <= limited.executions


def test_execution_control_lets_rounds_wait_for_quiet_times():
    joins = "; ".join(f"join 1 at {60 * k}" for k in range(1, 15))
    free, waiting = (run(executions=1, faults=joins, quiet_steps=quiet) for quiet in (0, 6))
    assert free.completed
    assert waiting.completed
    assert waiting.executions < free.executions  # hardly a round ends while members keep coming
    assert waiting.hops_by_kind["STABLE"] < free.hops_by_kind["STABLE"]


def test_members_cannot_join_without_failure_detection():
    with pytest.raises(InvalidInput, match="cannot join later in gsgc"):
        run(executions=1, faults="join 1 at 5", threshold_steps=0)
    with pytest.raises(InvalidInput, match="cannot join later in coordp"):
        Setup(protocol="coordp", topology=topology("tree", degree=2, height=2), faults="join 1 at 5")
