"""The space: every candidate is one that a group of the size can run."""

import pytest

from stablecast.advisor import Question
from stablecast.advisor.candidates import candidates, default_candidate
from stablecast.simulate.live.options import live_setup

GOALS = ("soonest", "p99-ms=100", "least-bytes", "least-buffer")


@pytest.mark.parametrize("members", [2, 3, 9, 16, 30, 100])
@pytest.mark.parametrize("goal", GOALS)
def test_a_group_can_run_every_candidate(members, goal):
    question = Question(members=members, goal=goal)
    found = candidates(question)
    assert default_candidate() in found
    assert len(found) == len(set(found))
    for each in found:
        setup = live_setup({**question.options(), **each.options(members), "seed": 1})
        assert setup.options.choice is not None


def test_trees_that_all_members_fit_below_are_there_once():
    degrees = {dict(each.params).get("tree_degree", 8) for each in candidates(Question(members=6))}
    assert degrees == {2, 4, 8}


def test_a_protocol_that_attaches_numbers_is_left_out_where_they_do_not_fit():
    assert "transitive" in {each.protocol for each in candidates(Question(members=50))}
    assert "transitive" not in {each.protocol for each in candidates(Question(members=200))}


def test_options_at_their_defaults_are_left_out():
    assert default_candidate().options(8) == {"protocol": "s_coord"}
    assert default_candidate().label == "s_coord"
