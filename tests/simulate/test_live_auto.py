"""Simulated live groups that decide at view changes which protocol they run."""

import pytest

from stablecast.engine.choice import read_options
from stablecast.errors import InvalidInput
from stablecast.pipeline.point import live_simulation
from stablecast.pipeline.tasks import Terms, run_point
from stablecast.simulate.live.options import live_setup
from stablecast.simulate.live.run import simulate_live

CRASH = {
    "protocol": "auto",
    "members": 4,
    "seconds": 5,
    "rate_per_s": 20,
    "fail_after": 1,
    "faults": "crash 3 at 500",
}


def chosen(result):
    """Return what each member told last of the protocol, after the beginning."""
    told = [event for event in result.told if event.kind == "ProtocolChosen" and event.time_us > 0]
    return {event.member: event.about for event in told}


def test_all_members_run_from_the_next_view_on_what_was_decided():
    result = simulate_live(live_setup(CRASH))
    assert result.completed
    assert result.protocol == "auto"
    told = chosen(result)
    assert set(told) == {"m0", "m1", "m2"}
    assert {about.split(",")[0] for about in told.values()} == {"explicit"}


def test_the_goal_decides_what_that_is():
    told = chosen(simulate_live(live_setup(CRASH | {"goal": "least-bytes"})))
    assert {about.split(",")[0] for about in told.values()} == {"s_coord"}


def test_a_point_of_a_sweep_gives_the_same_run():
    row = run_point(live_simulation(**CRASH), Terms())
    assert row["status"] == "done", row["error"]
    assert row["replay"].startswith("stablecast simulate live --protocol auto ")
    assert row["tts_p50_us"] == simulate_live(live_setup(CRASH)).tts_p50_us


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"goal": "nonsense"}, "unknown goal 'nonsense'"),
        ({"protocol": "gsgc", "goal": "least-bytes"}, "goal 'least-bytes' needs protocol 'auto'"),
        ({"subgroup": 3}, "unknown option 'subgroup'"),
    ],
)
def test_what_does_not_go_with_it_is_refused(given, words):
    with pytest.raises(InvalidInput, match=words):
        live_setup({"protocol": "auto", "members": 3} | given).options.choices  # noqa: B018


def test_it_has_no_options_that_a_member_could_be_given():
    assert read_options("auto", []) == {}
    with pytest.raises(InvalidInput, match="protocol 'auto' has no options"):
        read_options("auto", ["subgroup=3"])
