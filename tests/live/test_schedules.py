"""Seeded fault schedules on the in-memory network; thousands run with `make soak`."""

import dataclasses
import re

import pytest

from stablecast.engine.choice import live_protocols
from stablecast.engine.engine import Engine
from stablecast.engine.in_view import InView
from stablecast.engine.streams import Stream
from stablecast.engine.tracker import Tracker
from tests.soak.run import main, run_schedule, run_seed
from tests.soak.schedules import KINDS, make_schedule

SCHEDULES = 60
BATCH = 10


@pytest.mark.parametrize("first", range(1, SCHEDULES + 1, BATCH))
def test_every_promise_is_kept_under_faults(first):
    outcomes = [run_seed(seed) for seed in range(first, first + BATCH)]
    failed = [f"{outcome.problem}\n  {outcome.replay}" for outcome in outcomes if outcome.problem]
    assert not failed, "\n".join(failed)


def test_schedules_cover_every_protocol_and_every_kind_of_fault():
    schedules = [make_schedule(seed) for seed in range(1, SCHEDULES + 1)]
    assert {schedule.protocol for schedule in schedules} == set(live_protocols())
    assert {fault.kind for schedule in schedules for fault in schedule.faults} == set(KINDS)
    assert {schedule.deliver for schedule in schedules} == {"received", "stable"}
    assert {schedule.members for schedule in schedules} == set(range(2, 8))
    assert {0, 70_000} <= {size for schedule in schedules for size in schedule.sizes}


def test_a_seed_gives_the_same_run_again():
    first, second = run_seed(8), run_seed(8)
    assert first == dataclasses.replace(second, cpu_s=first.cpu_s)
    assert first.messages > 0


def _calls_stable_too_early(patch):
    real = Tracker.take_stable
    patch.setattr(Tracker, "take_stable", lambda self, source, part: real(self, source, part + 1))


def _claims_a_cut_that_is_not_there(patch):
    patch.setattr(InView, "has_cut", lambda self: self.limit is not None)


def _delivers_twice(patch):
    real = Stream.messages_of

    def twice(self, run):
        seq, payloads = real(self, run)
        return (seq, [payloads[0], *payloads]) if len(payloads) > 1 else (seq, payloads)

    patch.setattr(Stream, "messages_of", twice)


def _says_that_all_have_what_survivors_have(patch):
    patch.setattr(Engine, "_survivors", lambda self, here: tuple(here.labels))


def _never_lets_go(patch):
    patch.setattr(InView, "sweep", lambda self, now: None)


def _gives_up_on_repairs(patch):
    patch.setattr(InView, "answer", lambda self, nak, rank, now: None)


@pytest.mark.parametrize(
    ("plant", "complaint"),
    [
        (_calls_stable_too_early, "lacks it"),
        (_claims_a_cut_that_is_not_there, "together|lacks it|begins after"),
        (_delivers_twice, "was delivered"),
        (_says_that_all_have_what_survivors_have, "lacks it"),
        (_never_lets_go, "not well"),
        (_gives_up_on_repairs, "not well"),
    ],
)
def test_the_checks_notice_an_engine_that(plant, complaint, monkeypatch):
    plant(monkeypatch)
    monkeypatch.setattr("tests.soak.run.CONVERGE_S", 20.0)
    problems = (run_seed(seed).problem for seed in range(1, 60))
    problem = next(problem for problem in problems if problem)
    assert re.search(complaint, problem), problem


def test_a_failed_schedule_prints_its_replay_line(monkeypatch, capsys):
    _never_lets_go(monkeypatch)
    monkeypatch.setattr("tests.soak.run.CONVERGE_S", 1.0)
    assert main(["--schedules", "1", "--first-seed", "8"]) == 1
    assert "python -m tests.soak --seed 8" in capsys.readouterr().out


def test_one_schedule_is_told_step_by_step(capsys):
    assert main(["--seed", "8", "--verbose"]) == 0
    told = capsys.readouterr().out
    assert "seed=8" in told
    assert "m0: ViewChanged" in told


def test_a_calm_schedule_keeps_everyone():
    schedule = dataclasses.replace(make_schedule(8), faults=(), loss=0.0, delay_s=(0.002, 0.02), members=6)
    lines = []
    assert run_schedule(schedule, say=lines.append).problem is None
    assert not [line for line in lines if "MemberFailed" in line]
