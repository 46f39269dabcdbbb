"""A session is trusted when it has shown that it speaks now."""

import pytest

from stablecast.engine.trust import STEP_S, Trust
from stablecast.engine.wire import Hello, Thanks, Welcome
from stablecast.errors import InvalidInput

A, B, C = 11, 22, 33


def process(session, *, run=1):
    return Trust(session, bytes([run]) * 31 + bytes([session]))


def greet(first, second, now=0.0):
    """Let the first say hello to the second; return all three frames."""
    hello = first.hello(now)
    [welcome] = second.receive(hello, first._session, now)
    [thanks] = first.receive(welcome, second._session, now)
    assert second.receive(thanks, first._session, now) == []
    return hello, welcome, thanks


def test_three_frames_make_two_processes_trust_each_other():
    first, second = process(A), process(B)
    greet(first, second)
    assert first.trusted(B)
    assert second.trusted(A)
    assert not first.trusted(C)


def test_who_said_hello_is_not_trusted_before_it_answers():
    first, second = process(A), process(B)
    second.receive(first.hello(0.0), A, 0.0)
    assert not second.trusted(A)


def test_one_hello_may_be_answered_by_several():
    first, others = process(A), [process(B), process(C)]
    hello = first.hello(0.0)
    for session, other in zip((B, C), others, strict=True):
        [welcome] = other.receive(hello, A, 0.0)
        assert first.receive(welcome, session, 0.0) == [Thanks(welcome.challenge)]
        assert first.trusted(session)


def test_frames_of_an_earlier_run_are_worth_nothing():
    recorded = greet(process(A), process(B))
    first, second = process(A, run=2), process(B, run=2)
    first.hello(0.0)
    hello, welcome, thanks = recorded
    assert first.receive(welcome, B, 0.0) == []
    assert second.receive(thanks, A, 0.0) == []
    [answer] = second.receive(hello, A, 0.0)
    assert answer.challenge != welcome.challenge
    assert not first.trusted(B)
    assert not second.trusted(A)


def test_thanks_count_for_the_session_they_were_asked_of_only():
    first, second = process(A), process(B)
    *_, thanks = greet(first, second)
    second.receive(thanks, C, 0.0)
    assert not second.trusted(C)


def test_a_hello_does_not_give_away_an_answer_to_another_challenge():
    first, second = process(A), process(B)
    [welcome] = second.receive(first.hello(0.0), A, 0.0)
    assert second.receive(Welcome(welcome.challenge, 5), A, 0.0) == []
    assert second.receive(Thanks(second.hello(0.0).challenge), A, 0.0) == []
    assert not second.trusted(A)


@pytest.mark.parametrize(("delay", "accepted"), [(STEP_S, True), (2 * STEP_S, False)])
def test_answers_are_taken_for_one_to_two_steps(delay, accepted):
    first, second = process(A), process(B)
    [welcome] = second.receive(first.hello(3.0), A, 3.0)
    first.receive(welcome, B, 3.0 + delay)
    second.receive(Thanks(welcome.challenge), A, 3.0 + delay)
    assert first.trusted(B) is accepted
    assert second.trusted(A) is accepted


def test_a_session_that_was_given_up_has_to_answer_anew():
    first, second = process(A), process(B)
    _, welcome, thanks = greet(first, second)
    first.distrust(B)
    second.distrust(A)
    assert first.receive(welcome, B, 0.0) == []
    second.receive(thanks, A, 0.0)
    assert not first.trusted(B)
    assert not second.trusted(A)
    greet(first, second)
    assert first.trusted(B)
    assert second.trusted(A)


def test_giving_up_a_session_that_was_not_trusted_spoils_no_challenge():
    first, second = process(A), process(B)
    [welcome] = second.receive(first.hello(0.0), A, 0.0)
    first.distrust(C)
    assert first.receive(welcome, B, 0.0) == [Thanks(welcome.challenge)]


def test_who_is_trusted_already_is_thanked_again():
    first, second = process(A), process(B)
    first.trust(B)
    [welcome] = second.receive(Hello(7), A, 0.0)
    assert first.receive(welcome, B, 0.0) == [Thanks(welcome.challenge)]


def test_ones_own_session_is_neither_answered_nor_trusted():
    first = process(A)
    first.trust(A)
    assert first.receive(first.hello(0.0), A, 0.0) == []
    assert not first.trusted(A)


@pytest.mark.parametrize("size", [0, 15, 33])
def test_a_secret_of_a_wrong_size_is_refused(size):
    with pytest.raises(InvalidInput, match="accepted"):
        Trust(A, bytes(size))
