"""Questions: what is accepted, and which simulation they come to."""

import math

import pytest

from stablecast.advisor import Question
from stablecast.errors import InvalidInput
from stablecast.simulate.live.options import live_setup


def test_the_network_of_a_question_loses_and_takes_what_was_said_between_two_members():
    question = Question(loss=0.19, rtt_ms=20)
    assert question.lost_share == pytest.approx(0.19)
    assert question.trip_s == pytest.approx(0.02)
    setup = live_setup({**question.options(), "protocol": "s_coord"})
    assert setup.costs.propagation_us == 5000
    assert (1 - setup.costs.link_loss) ** 2 == pytest.approx(0.81)


def test_the_rate_is_that_of_the_whole_group_and_shared_by_its_senders():
    assert Question(members=8, rate_per_s=100).options()["rate_per_s"] == 12.5
    assert Question(members=8, senders=2, rate_per_s=100).options()["rate_per_s"] == 50


def test_a_run_is_long_enough_for_its_messages_and_for_some_round_trips():
    assert Question(rate_per_s=100).seconds == 1.0
    assert Question(rate_per_s=10_000).seconds == 0.3
    assert Question(rate_per_s=10_000, rtt_ms=100).seconds == 1.0
    assert Question(rate_per_s=0.1).seconds == 10.0


def test_with_crashes_another_member_crashes_in_each_run():
    question = Question(members=8, crashes=True)
    faults = {question.faults(seed) for seed in range(50)}
    assert len(faults) > 4
    for fault in faults:
        live_setup({**question.options(), "protocol": "s_coord", "faults": fault})
    assert Question(members=8).faults(1) == ""


def test_the_goal_is_no_part_of_what_is_simulated():
    one, other = Question(goal="soonest"), Question(goal="least-bytes")
    assert one.digest == other.digest != Question(members=9).digest


def test_times_that_are_longer_in_fact_lower_the_limit_that_is_aimed_at(tmp_path):
    file = tmp_path / "here.toml"
    file.write_text("[checks]\np99_low = 0.9\np99_mid = 2.0\np99_high = 9.0\n")
    question = Question(goal="p99-ms=100", costs=str(file))
    assert question.wanted.limit_ms == 100
    assert question.aimed.limit_ms == 50


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"members": 1}, "members 1 is not accepted"),
        ({"rate_per_s": 0.0}, "rate_per_s 0.0 is not accepted"),
        ({"rate_per_s": math.nan}, "rate_per_s nan is not accepted"),
        ({"rtt_ms": math.inf}, "rtt_ms inf is not accepted"),
        ({"loss": 0.9}, "loss 0.9 is not accepted"),
        ({"senders": 9}, "9 senders in a group of 8 members"),
        ({"members": 2, "crashes": True}, "no group after a crash"),
        ({"message_bytes": 1 << 20, "buffer_mib": 0.5}, "does not fit into 0.5 MiB"),
        ({"goal": "p99-ms=-3"}, "milliseconds above 0"),
        ({"goal": "soon"}, "goal 'soon' is not accepted"),
        ({"goal": "p99-ms"}, "goal 'p99-ms' is not accepted"),
        ({"goal": "soonest=3"}, "goal 'soonest=3' is not accepted"),
        ({"costs": "moon"}, "unknown costs 'moon'"),
        ({"costs": "nowhere.toml"}, "cannot be read"),
    ],
)
def test_nonsense_is_refused(fields, told):
    with pytest.raises(InvalidInput, match=told.replace("(", r"\(")):
        Question(**fields)


@pytest.mark.parametrize(
    ("figure", "told"),
    [
        ("link_loss = 1.0", "of all datagrams 1 are lost between two members"),
        ("link_loss = 0.4", "of all datagrams 0.64 are lost between two members"),
        ("propagation_us = 1e12", "a round trip takes 4e\\+09 ms"),
    ],
)
def test_costs_are_held_to_what_an_option_may_say_of_the_network(tmp_path, figure, told):
    file = tmp_path / "far.toml"
    file.write_text(f"[costs]\n{figure}\n")
    with pytest.raises(InvalidInput, match=told):
        Question(costs=str(file))
    assert Question(costs=str(file), loss=0.1, rtt_ms=5).lost_share == pytest.approx(0.1)
