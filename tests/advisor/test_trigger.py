"""The optimum of paper 000, section 6, in an answer."""

from stablecast.advisor import Question
from stablecast.advisor.candidates import Candidate
from stablecast.advisor.trigger import trigger_for
from stablecast.theory import simulate_trigger


def test_the_optimum_never_overflows_and_one_more_does():
    question = Question(members=4, rate_per_s=400, message_bytes=1000, buffer_mib=0.25)
    told = trigger_for(question, Candidate("s_coord"), 100.0)
    assert told.room == 65
    assert told.optimum == 65 - 9
    assert not simulate_trigger(told.room, 100, 0.1, 1, told.optimum, 5000).overflow
    assert simulate_trigger(told.room, 100, 0.1, 1, told.optimum + 1, 5000).overflow


def test_without_a_safe_number_there_is_none():
    question = Question(members=4, rate_per_s=400, message_bytes=1000, buffer_mib=0.0625)
    assert trigger_for(question, Candidate("s_coord"), 100.0).optimum is None
