"""Closed forms: what they refuse is impossible, and what they cut is not the best."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablecast.advisor import Question
from stablecast.advisor.bounds import (
    Impossible,
    candidate_floor_ms,
    cut,
    floor_ms,
    floor_p99_ms,
    refuse_impossible,
)
from stablecast.advisor.candidates import Candidate, candidates, default_candidate
from stablecast.advisor.measuring import measure, run_of


@pytest.mark.parametrize(
    ("fields", "binds"),
    [
        ({"bandwidth_bps": 1e5}, "binds: the link"),
        ({"rate_per_s": 1e6, "bandwidth_bps": 1e12}, "binds: the processor"),
        ({"rtt_ms": 20, "goal": "p99-ms=10"}, "binds: the round trip"),
        ({"rtt_ms": 20, "loss": 0.05, "goal": "p99-ms=30"}, "binds: the round trip"),
        ({"crashes": True, "goal": "p99-ms=200"}, "binds: fail_after"),
        ({"buffer_mib": 0.0625, "rtt_ms": 1000, "senders": 1, "rate_per_s": 1000}, "binds: the buffer"),
    ],
)
def test_what_nothing_can_do_is_refused_with_what_binds(fields, binds):
    with pytest.raises(Impossible, match=binds):
        refuse_impossible(Question(**fields))


def test_what_may_be_done_is_not_refused():
    refuse_impossible(Question(members=64, rate_per_s=200, loss=0.01, rtt_ms=20, goal="p99-ms=200"))


PROTOCOLS = sorted({each.protocol for each in candidates(Question(members=6))})


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("senders", [None, 1])
def test_no_simulated_group_is_quicker_than_its_floor(protocol, senders):
    question = Question(members=6, rate_per_s=300, rtt_ms=30, senders=senders)
    candidate = Candidate(protocol, steps=0.5)
    found = measure(run_of(question, candidate, 5))
    assert found.p50_ms >= candidate_floor_ms(question, candidate)
    assert found.p50_ms >= floor_ms(question)


def test_with_losses_no_simulated_99th_percentile_is_below_its_floor():
    question = Question(members=6, rate_per_s=200, rtt_ms=30, loss=0.05)
    for protocol in ("explicit", "vector", "s_coord"):
        assert measure(run_of(question, Candidate(protocol), 5)).p99_ms >= floor_p99_ms(question)


@settings(max_examples=15)
@given(
    members=st.integers(2, 60),
    rtt_ms=st.floats(0, 200),
    rate_per_s=st.floats(1, 2000),
    goal=st.sampled_from(["soonest", "least-bytes", "least-buffer", "p99-ms=500"]),
)
def test_something_is_always_left(members, rtt_ms, rate_per_s, goal):
    question = Question(members=members, rtt_ms=rtt_ms, rate_per_s=rate_per_s, goal=goal)
    everything = candidates(question)
    left = cut(question, everything)
    assert left
    assert set(left) <= set(everything)


def test_trains_are_cut_where_ways_are_long_and_acknowledgements_are_cheap():
    question = Question(members=16, rtt_ms=40, rate_per_s=50)
    left = {each.protocol for each in cut(question, candidates(question))}
    assert "train" not in left
    assert "explicit" in left
    assert default_candidate().protocol in left
