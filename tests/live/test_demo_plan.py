"""What a demo draws from its seed, and how it checks what applications get."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.engine.results import Delivery
from stablecast.errors import InvalidInput
from stablecast.live.demo.member import Deliveries
from stablecast.live.demo.plan import LAST_KILL, DemoOptions, make_plan, payload_of
from stablecast.live.demo.table import frontier_text

options = st.integers(2, 64).flatmap(
    lambda members: st.builds(
        DemoOptions,
        members=st.just(members),
        messages=st.integers(1, 5000),
        kill=st.integers(0, members // 2),
        seed=st.integers(0, 2**32),
    )
)


@given(options)
def test_every_message_has_a_sender_and_every_kill_a_member_of_its_own(wanted):
    plan = make_plan(wanted)
    assert sum(plan.shares.values()) == wanted.messages
    assert len(plan.shares) == wanted.members
    killed = [kill.member for kill in plan.kills]
    assert len(set(killed)) == len(killed) == wanted.kill
    assert set(plan.survivors) == set(plan.names) - set(killed)
    shares = [kill.share for kill in plan.kills]
    assert shares == sorted(shares)
    assert all(0.5 <= share <= LAST_KILL for share in shares)
    assert make_plan(wanted) == plan


@given(options)
def test_senders_may_always_send_enough_for_the_next_kill(wanted):
    plan = make_plan(wanted)
    living = set(plan.names)
    for done, kill in enumerate(plan.kills):
        allowed = sum(plan.allowance(name, done) for name in living)
        assert allowed >= kill.share * sum(plan.shares[name] for name in living)
        living.remove(kill.member)
    assert all(plan.allowance(name, len(plan.kills)) == plan.shares[name] for name in living)


def test_faults_differ_between_members_and_come_from_the_seed():
    plan = make_plan(DemoOptions(members=4, loss=0.2, seed=5))
    seeds = {plan.injection(name).seed for name in plan.names}
    assert len(seeds) == 4
    assert plan.injection("m1").loss == 0.2
    assert plan.injection("m1") == make_plan(DemoOptions(members=4, loss=0.2, seed=5)).injection("m1")


def test_the_replay_line_names_whatever_is_not_the_default():
    words = shlex.split(DemoOptions(members=3, kill=0, seed=9, reorder=0.25).command())
    assert words[:2] == ["stablecast", "demo"]
    told = dict(zip(words[2::2], words[3::2], strict=True))
    assert told == {
        "--members": "3",
        "--messages": "2000",
        "--kill": "0",
        "--protocol": "s_coord",
        "--seed": "9",
        "--reorder": "0.25",
    }


def test_zones_are_told_again_and_members_are_spread_over_them():
    options = DemoOptions(members=5, zones=2, adaptive=True, protocol="gsgc-local")
    assert "--zones 2 --adaptive" in options.command()
    plan = make_plan(options)
    assert [plan.zone(name) for name in plan.names] == ["zone1", "zone1", "zone1", "zone2", "zone2"]
    assert make_plan(DemoOptions(members=5)).zone("m1") == ""
    with pytest.raises(InvalidInput, match="--zones 6 is not accepted"):
        DemoOptions(members=5, zones=6)


def test_the_fan_out_is_told_again_and_checked():
    assert "--fan-out 3" in DemoOptions(fan_out="3").command()
    with pytest.raises(InvalidInput, match="fan_out 'x' is not accepted"):
        DemoOptions(fan_out="x")


@pytest.mark.parametrize("size", [0, 1, 10, 1000])
def test_payloads_have_their_size(size):
    assert len(payload_of("m1", 7, size)) == size


def delivery(seq, source="m1", payload=None):
    return Delivery(source, seq, payload_of(source, seq, 20) if payload is None else payload, "m0")


def wrong(*batch, from_the_start=True):
    deliveries = Deliveries(20)
    deliveries.take(list(batch), from_the_start=from_the_start)
    return deliveries.wrong


def test_deliveries_in_order_are_right():
    assert wrong(delivery(1), delivery(1, "m2"), delivery(2)) == 0


def test_gaps_repeats_late_beginnings_and_changed_bytes_are_wrong():
    assert wrong(delivery(1), delivery(3)) == 1
    assert wrong(delivery(1), delivery(1)) == 1
    assert wrong(delivery(2)) == 1
    assert wrong(delivery(1, payload=payload_of("m1", 2, 20))) == 1


def test_who_came_back_may_begin_anywhere():
    assert wrong(delivery(5), delivery(6), from_the_start=False) == 0
    assert wrong(delivery(1, "m1#2", payload_of("m1", 9, 20))) == 0


def test_a_frontier_of_many_sources_is_shown_by_its_ends():
    assert frontier_text([3, 4]) == "3 4"
    assert frontier_text(list(range(20))) == "0 to 19"
