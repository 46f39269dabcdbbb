"""Arrays that travel as their changed entries: what receivers put together, whatever is lost or overtaken."""

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from test_keystone import SPARSE, Case, busy_cases, compare, is_slow, run_fast, some

from stablecast.errors import SafetyViolation
from stablecast.protocols import coordp
from stablecast.protocols.contract import GROUP, Outbox, declare_stable, finish, kernel, send
from stablecast.simulate import simulate
from stablecast.simulate.state import WHOLE_EVERY
from stablecast.testing.reference.changes import Kept, Stream
from stablecast.testing.reference.driver import TooLong, run_plain

PROTOCOLS = ("coordp", "fulldist", "s_coordp", "s_train", "train")
WIDTH = 4
TO_ONE = 7

rises = st.lists(st.lists(st.integers(0, 3), min_size=WIDTH, max_size=WIDTH), min_size=1, max_size=40)


def sent_arrays(steps):
    """Return a stream of arrays in which every entry only rises."""
    return list(np.cumsum(np.array(steps), axis=0))


def kept():
    return Kept(np.zeros(WIDTH, np.int64))


@given(steps=rises, data=st.data())
def test_whatever_is_lost_repeated_or_overtaken_no_more_is_put_together_than_was_sent(steps, data):
    stream, receiver, under_way, has = Stream(WIDTH, may_miss=True), kept(), [], set()
    for execution, array in enumerate(sent_arrays(steps), start=1):
        learned = data.draw(st.integers(0, execution))
        entries = stream.changes(array, TO_ONE, execution, learned)
        under_way.append((execution, array, entries, stream.sent))
        for each in data.draw(st.lists(st.sampled_from(under_way), max_size=4)):
            number, told, came, _ = each
            got = receiver.take(came).copy()
            assert (got <= array).all(), "more than the newest array that was sent"
            assert all(got[place] >= entry for place, entry in came.items())
            if len(came) == WIDTH or number - 1 in has or number == 1:
                has.add(number)
                assert (got >= told).all(), "its receiver has what it was compared with"


@given(steps=rises)
def test_where_nothing_is_lost_exactly_what_was_sent_is_put_together(steps):
    stream, receiver, shorter = Stream(WIDTH, may_miss=False), kept(), 0
    for execution, array in enumerate(sent_arrays(steps), start=1):
        entries = stream.changes(array, GROUP, execution, execution - 1)
        shorter += len(entries) < WIDTH
        assert (receiver.take(entries) == array).all()
    assert shorter or all(min(step) > 0 for step in steps)


@given(steps=rises.filter(lambda steps: len(steps) > WHOLE_EVERY), lost=st.integers(1, 30))
def test_losses_are_made_good_by_the_next_whole_array(steps, lost):
    stream, receiver = Stream(WIDTH, may_miss=True), kept()
    for execution, array in enumerate(sent_arrays(steps), start=1):
        entries = stream.changes(array, GROUP, execution, execution - 1)
        if execution > lost:
            got = receiver.take(entries)
            if execution >= lost + WHOLE_EVERY:
                assert (got == array).all()


def test_an_array_travels_whole_where_its_receiver_may_not_have_the_one_before():
    array, last_rises = np.array([3, 4, 5, 6]), np.array([0, 0, 0, 1])

    def entries(*, dest=TO_ONE, execution=2, learned=1):
        stream = Stream(WIDTH, may_miss=False)
        stream.changes(array, TO_ONE, 1, 0)
        return len(stream.changes(array + last_rises, dest, execution, learned))

    assert entries() == 1
    assert entries(execution=1) == WIDTH, "a repetition"
    assert entries(dest=GROUP) == WIDTH, "for somebody else"
    assert entries(execution=3) == WIDTH, "an execution was left out"
    assert entries(learned=0) == WIDTH, "the result of the execution before is not known"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_but_for_sizes_a_run_is_the_same_with_changed_entries(protocol):
    traffic = {"messages": 8, "rate_per_s": 60.0}
    trigger = {"kind": "periodic", "period_ms": 20.0}
    case = Case(protocol, SPARSE, ("lan1997", {"entry_bytes": 0}), traffic, trigger)
    changed = dataclasses.replace(case, rest={"changed_only": True})
    assert run_fast(case.setup())[0] == run_fast(changed.setup())[0]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_with_losses_everything_becomes_stable_all_the_same(protocol):
    traffic = {"messages": 6, "rate_per_s": 50.0, "data_loss": 0.1}
    trigger = {"kind": "periodic", "period_ms": 20.0, "retry_ms": 300.0}
    rest = {"senders": 4, "seed": 3, "changed_only": True}
    run = compare(Case(protocol, SPARSE, ("lan1997", {"link_loss": 0.02}), traffic, trigger, rest))
    assert run.lost > 0
    assert run.completed


@pytest.mark.parametrize("protocol", ["coordp", "s_coordp", "s_train", "train"])
def test_with_retransmissions_results_are_those_of_whole_arrays(protocol):
    prices = ("lan1997", {"link_loss": 0.1, "duplicate": 0.1, "reorder": 0.1})
    rest = {"senders": 4, "seed": 2, "changed_only": True, "params": {"resend_ms": 30.0}}
    run = compare(Case(protocol, SPARSE, prices, {}, {"executions": 5}, rest))
    assert run.lost > 0
    assert run.completed


@pytest.mark.parametrize("spread_last", [False, True])
@pytest.mark.parametrize("protocol", ["coordp", "s_coordp", "s_train", "train"])
def test_no_array_goes_back_whatever_is_repeated(protocol, spread_last):
    """Seeds in which members had S of a result on their trains, or told their children less than before."""
    network = ("balanced", {"nodes": 29, "degree": 3, "members": 27, "seed": 5, "spread_last": spread_last})
    prices = ("lan1997", {"link_loss": 0.1, "duplicate": 0.05, "reorder": 0.3})
    for seed in range(5, 13):
        rest = {"senders": 3, "seed": seed, "changed_only": True, "params": {"resend_ms": 10.0}}
        case = Case(protocol, network, prices, {}, {"executions": 5}, rest | {"until_ms": 3000.0})
        rows, result = run_fast(case.setup())
        assert rows
        assert result.lost > 0


@st.composite
def faulty_cases(draw, protocol):
    """Draw a case in which messages are lost, come twice or late, and members crash."""
    case = draw(busy_cases(protocol))
    detours = draw(some(duplicate=(0.1, 0.5), reorder=(0.1, 0.5), detour_us=(10.0, 3000.0)))
    if "sender_groups" in case.traffic:
        detours.pop("duplicate", None)
    rest = {"until_ms": 20_000.0 if is_slow(*case.costs) else 400.0} | case.rest | {"changed_only": True}
    rest |= draw(some(params=({"resend_ms": 5.0}, {"resend_ms": 30.0}), faults=("crash 1 at 15",)))
    if case.setup().topology.member_count < 2:
        rest.pop("faults", None)
    return dataclasses.replace(case, costs=(case.costs[0], case.costs[1] | detours), rest=rest)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(
    max_examples=15,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_both_drivers_put_the_same_together_with_faults_of_every_kind(protocol, data):
    case = data.draw(faulty_cases(protocol))
    try:
        compare(case)
    except TooLong:
        return


def send_less_each_time(me: coordp.State, source: int, message: coordp.START, now: int, out: Outbox) -> None:
    me.execution = message.execution
    for column in range(me.S.size):
        me.S[column] = 10 - message.execution
    send(out, GROUP, coordp.INFO(message.execution, me.S))


def finish_without_a_result(
    me: coordp.State, source: int, message: coordp.INFO, now: int, out: Outbox
) -> None:
    for column in range(me.S.size):
        me.S[column] = 0
    declare_stable(me, out, message.execution, me.S)
    finish(out, message.execution)


def test_a_protocol_whose_arrays_go_back_is_refused_by_both_drivers():
    told = coordp.PROTOCOL.kernels
    lies = {coordp.START: kernel(send_less_each_time), coordp.INFO: kernel(finish_without_a_result)}
    falling = coordp.PROTOCOL.replace(kernels=dataclasses.replace(told, receive={**told.receive, **lies}))
    setup = Case("coordp", trigger={"executions": 3}, rest={"changed_only": True}).setup()
    setup = setup.replace(protocol=falling)
    for run in (run_plain, simulate):
        with pytest.raises(SafetyViolation, match="changed entries travel went back"):
            run(setup)
