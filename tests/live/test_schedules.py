"""Seeded fault schedules on the in-memory network; thousands run with `make soak`."""

import dataclasses
import re

import msgspec
import pytest

from stablecast.engine.choice import live_protocols
from stablecast.engine.history import Archive
from stablecast.engine.host import Host
from stablecast.engine.rows import StableRow
from stablecast.engine.seal import Seal, _Window
from stablecast.engine.tracing import Tracing
from stablecast.engine.tracker import Tracker
from stablecast.multicast.data_plane import DataPlane
from stablecast.multicast.streams import Stream
from tests.soak.command import main
from tests.soak.faults import KINDS
from tests.soak.players import Player
from tests.soak.run import run_schedule, run_seed
from tests.soak.schedules import LARGEST, SIZES, make_schedule

# fmt: off
SEEDS = (
    7, 8, 12, 16, 19, 22, 25, 26, 27, 28, 31, 35, 37, 42, 47, 48, 52, 59, 60, 62, 63, 64, 65, 66,
    67, 86, 93, 103, 105, 110, 111, 113, 114, 115, 119, 125, 128, 133, 136,
)
# fmt: on
"""Quick schedules that together have every kind of fault, every protocol and every size."""
BATCH = 8


@pytest.mark.parametrize("first", range(0, len(SEEDS), BATCH))
def test_every_promise_is_kept_under_faults(first):
    outcomes = [run_seed(seed) for seed in SEEDS[first : first + BATCH]]
    failed = [f"{outcome.problem}\n  {outcome.replay}" for outcome in outcomes if outcome.problem]
    assert not failed, "\n".join(failed)


def test_schedules_cover_every_protocol_and_every_kind_of_fault():
    schedules = [make_schedule(seed) for seed in SEEDS]
    traits = {trait for schedule in schedules for trait in schedule.traits}
    assert {schedule.protocol for schedule in schedules} == set(live_protocols())
    assert set(KINDS) <= traits
    assert {schedule.size for schedule in schedules} == set(SIZES)
    assert {"queues", "shared-links"} <= traits
    assert {"drift", "supervised", "two-buffers", "history", "options", "mixed-datagrams"} <= traits
    assert {schedule.deliver for schedule in schedules} == {"received", "stable", "nothing"}
    assert {0, 70_000, LARGEST} <= {size for schedule in schedules for size in schedule.sizes}


def test_a_seed_gives_the_same_run_again():
    first, second = run_seed(8), run_seed(8)
    assert first == dataclasses.replace(second, cpu_s=first.cpu_s)
    assert first.messages > 0


def _calls_stable_too_early(patch):
    real = Tracker.take_stable
    patch.setattr(Tracker, "take_stable", lambda self, source, part: real(self, source, part + 1))


def _claims_a_cut_that_is_not_there(patch):
    patch.setattr(DataPlane, "has_cut", lambda self: self.limit is not None)


def _delivers_twice(patch):
    real = Stream.messages_of

    def twice(self, run):
        seq, payloads = real(self, run)
        return (seq, [payloads[0], *payloads]) if len(payloads) > 1 else (seq, payloads)

    patch.setattr(Stream, "messages_of", twice)


def _says_that_all_have_what_survivors_have(patch):
    patch.setattr(Host, "_survivors", lambda self, here: tuple(here.labels))


def _never_lets_go(patch):
    patch.setattr(DataPlane, "sweep", lambda self, now: None)


def _gives_up_on_repairs(patch):
    patch.setattr(DataPlane, "answer", lambda self, nak, rank, now: None)


def _opens_replays(patch):
    patch.setattr(_Window, "has", lambda self, counter: False)


def _delivers_what_is_not_stable(patch):
    took, released = Host.took, Host.released

    def too_early(self, source, stream, run, now):
        took(self, source, stream, run, now)
        if self._options.deliver == "stable" and self._is_delivered(source):
            self._backlog.deliver(stream, run, self._own.outcomes.label)

    def without_delivering(self, source, stream, runs, now):
        released(self, source, stream, [kept._replace(run=None) for kept in runs], now)

    patch.setattr(Host, "took", too_early)
    patch.setattr(Host, "released", without_delivering)


def _takes_stability_back(patch):
    real = Tracing.released

    def released(self, here, source, runs, now):
        real(self, here, source, runs, now)
        if here.data.streams[source].stable_seq > 1:
            row = StableRow(here.view.line, here.me, here.labels[source], 1, self.time_us(now))
            self.rows.append(row)

    patch.setattr(Tracing, "released", released)


def _writes_times_that_go_back(patch):
    patch.setattr(Tracing, "time_us", lambda self, now: round(1e9 - now * 1e6))


def _tells_newcomers_something_else(patch):
    real = Archive._answer

    def answer(self, ask):
        told = real(self, ask)
        return msgspec.structs.replace(told, payloads=[b"else" for _ in told.payloads])

    patch.setattr(Archive, "_answer", answer)


def _keeps_an_old_key(patch):
    real = Seal.rotate
    patch.setattr(Seal, "rotate", lambda self, ring: real(self, ring) if self.session % 2 else None)


def _stops_when_all_is_well(patch):
    real = Player.send_one_more

    def send_one_more(self):
        _never_lets_go(patch)
        real(self)

    patch.setattr(Player, "send_one_more", send_one_more)


@pytest.mark.parametrize(
    ("plant", "complaint"),
    [
        (_calls_stable_too_early, "lacks it"),
        (_claims_a_cut_that_is_not_there, "together|lacks it|begins after"),
        (_delivers_twice, "was delivered"),
        (_says_that_all_have_what_survivors_have, "lacks it"),
        (_never_lets_go, "not well"),
        (_gives_up_on_repairs, "not well"),
        (_opens_replays, "opened twice"),
        (_delivers_what_is_not_stable, "delivered as stable, and .* lacks it"),
        (_takes_stability_back, "went back"),
        (_writes_times_that_go_back, "goes back in time"),
        (_tells_newcomers_something_else, "in its history"),
        (_keeps_an_old_key, "not well"),
        (_stops_when_all_is_well, "not well"),
    ],
)
def test_the_checks_notice_an_engine_that(plant, complaint, monkeypatch):
    plant(monkeypatch)
    monkeypatch.setattr("tests.soak.run.CONVERGE_S", 20.0)
    problems = (run_seed(seed).problem for seed in SEEDS)
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
