"""At what rate a member is sent what it lacks."""

from math import inf

import pytest

from stablecast.multicast.answering import BURST, FIRST, LEAST, Answers

WHILE_S, TRIP_S = 0.02, 0.002


def play(runs, comes_through, seconds=20.0):
    """Send runs to a member that asks again for what is lost; return how many left, and when all came."""
    answers, missing, now, left = Answers(0.0, WHILE_S), set(range(runs)), 0.0, 0
    ask_at = 0.0
    while missing and now < seconds:
        if now >= ask_at:
            ask_at = now + 1.5 * WHILE_S
            answers.look(now)
            for part in sorted(missing):
                answers.ask((0, part), now, TRIP_S)
        answers.look(now)
        leaving = answers.leaving(now)
        left += len(leaving)
        missing -= {part for _, part in comes_through(leaving, now)}
        now = min(answers.next_at(), ask_at)
    return left, now


class Queue:
    """A path whose queue holds a few runs, and lets them pass one after the other."""

    def __init__(self, places, runs_per_s):
        self.places, self.each_s = places, 1 / runs_per_s
        self.free_at = 0.0

    def __call__(self, leaving, now):
        passed = []
        for name in leaving:
            self.free_at = max(self.free_at, now)
            if self.free_at - now < self.places * self.each_s:
                self.free_at += self.each_s
                passed.append(name)
        return passed


def test_a_few_runs_leave_at_once():
    answers = Answers(0.0, WHILE_S)
    assert all(answers.ask((3, part), 0.0, TRIP_S) for part in range(BURST))
    assert answers.leaving(0.0) == [(3, part) for part in range(BURST)]
    assert answers.next_at() == inf


def test_what_waits_and_what_is_on_its_way_is_not_sent_again():
    answers = Answers(0.0, WHILE_S)
    for part in range(BURST + 1):
        answers.ask((0, part), 0.0, TRIP_S)
    answers.leaving(0.0)
    assert not answers.ask((0, BURST), 0.001, TRIP_S)
    assert not answers.ask((0, 0), 0.001, TRIP_S)
    assert answers.ask((0, 0), 0.003, TRIP_S)
    assert list(answers.waiting) == [(0, BURST), (0, 0)]


def test_where_everything_comes_through_it_leaves_faster_and_faster():
    left, took = play(10_000, lambda leaving, now: leaving)
    assert left == 10_000
    assert took < 10 * WHILE_S


@pytest.mark.parametrize("runs_per_s", [500, 1_000, 10_000])
def test_a_short_queue_is_not_flooded_again_and_again(runs_per_s):
    left, took = play(1_000, Queue(8, runs_per_s))
    assert left < 2.5 * 1_000
    assert took < 3 * 1_000 / runs_per_s + 0.2


def test_the_rate_falls_to_what_came_through_and_not_to_nothing():
    answers = Answers(0.0, WHILE_S)
    now, sent = 0.0, 0
    for _ in range(50):
        answers.look(now)
        for part in range(100):
            answers.ask((0, part), now, TRIP_S)
        sent += len(answers.leaving(now))
        now += 1.1 * WHILE_S
    assert answers.most == LEAST < FIRST
    assert sent > 50 * 4


def test_a_few_losses_change_nothing():
    answers = Answers(0.0, WHILE_S)
    for part in range(20):
        answers.ask((0, part), 0.0, TRIP_S)
    answers.leaving(0.0)
    for part in range(3):
        answers.ask((0, part), 0.01, TRIP_S)
    answers.look(WHILE_S)
    assert answers.most == FIRST
