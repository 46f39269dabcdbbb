"""What binds is read from the clearest sign."""

import pytest

from stablecast.advisor import Question
from stablecast.advisor.binding import binding
from stablecast.advisor.candidates import Candidate
from tests.advisor.made import a_result

STEPS, NONE = Candidate("s_coord"), Candidate("explicit")


@pytest.mark.parametrize(
    ("question", "candidate", "result", "what"),
    [
        ({}, STEPS, {"processor": 0.9}, "the root's processor"),
        ({}, STEPS, {"processor": 0.9, "busiest": 3}, "a member's processor"),
        ({}, STEPS, {"link": 0.8, "processor": 0.7}, "the link"),
        ({"buffer_mib": 1}, STEPS, {"buffer_bytes": 900_000}, "the buffer"),
        ({}, STEPS, {"blocked": 1}, "the buffer"),
        ({"crashes": True}, STEPS, {}, "fail_after"),
        ({"rtt_ms": 9}, STEPS, {}, "the round trip"),
        ({"loss": 0.05}, STEPS, {"p99_ms": 50.0, "delivery_p99_ms": 40.0}, "losses"),
        ({}, STEPS, {}, "the step"),
        ({}, NONE, {}, "the ways"),
    ],
)
def test_what_binds(question, candidate, result, what):
    assert binding(Question(**question), candidate, [a_result(**result)] * 3).what == what


def test_of_shared_cores_it_is_the_processors_of_the_machine(tmp_path):
    file = tmp_path / "here.toml"
    file.write_text("[members]\ncores = 2\n")
    told = binding(Question(costs=str(file)), STEPS, [a_result(processor=0.9)])
    assert "2 cores" in told.why


def test_nothing_is_taken_for_more_than_all_of_the_time():
    told = binding(Question(), STEPS, [a_result(link=1.16)])
    assert (told.what, told.why) == ("the link", "the busiest one is taken for 100% of the time")
