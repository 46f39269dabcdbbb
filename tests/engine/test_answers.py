"""Strangers are answered out of a budget that each address has for itself."""

from stablecast.engine import answers as answering
from stablecast.engine.answers import AT_ONCE, PER_S, Answers

HERE, THERE = ("10.0.0.1", 7000), ("10.0.0.2", 7000)


def answered(answers, address, now, count):
    return sum(answers.may_answer(address, now) for _ in range(count))


def test_an_address_gets_some_answers_at_once_and_then_so_many_a_second():
    answers = Answers()
    assert answered(answers, HERE, 5.0, 1000) == AT_ONCE
    assert answered(answers, HERE, 6.0, 1000) == PER_S
    assert answered(answers, HERE, 6.0 + 0.5 / PER_S, 1) == 0
    assert answered(answers, HERE, 1000.0, 1000) == AT_ONCE


def test_one_address_takes_nothing_from_another():
    answers = Answers()
    answered(answers, HERE, 5.0, 1000)
    assert answered(answers, THERE, 5.0, 1000) == AT_ONCE
    assert answered(answers, (HERE[0], 7001), 5.0, 1) == 1


def test_a_clock_that_begins_anew_takes_no_answers_away():
    answers = Answers()
    assert answered(answers, HERE, 500.0, 1) == 1
    assert answered(answers, HERE, 2.0, 1000) == AT_ONCE - 1


def test_addresses_that_are_remembered_are_bounded_and_the_oldest_go(monkeypatch):
    monkeypatch.setattr(answering, "ADDRESSES_MAX", 10)
    answers = Answers()
    for port in range(1, 20):
        answered(answers, ("10.0.0.1", port), 5.0, 1000)
    assert answered(answers, ("10.0.0.1", 19), 5.0, 1) == 0
    assert answered(answers, ("10.0.0.1", 1), 5.0, 1) == 1
