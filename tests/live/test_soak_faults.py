"""The soak's own tools: faults do what they say, clocks and keys as well, and runs are told truly."""

import dataclasses
import itertools
from collections import Counter

import pytest

from stablecast.live.injection import Faults
from stablecast.testing import Network
from stablecast.testing.clock import VirtualClock
from tests.soak.clocks import OwnClock
from tests.soak.command import main
from tests.soak.coverage import Coverage
from tests.soak.crowds import CHURN_LEAST_S, crowd
from tests.soak.faults import BEGIN_S, HOWS, Fault
from tests.soak.links import Links, links_of
from tests.soak.run import Outcome, Run
from tests.soak.schedules import START_EVERY_S, make_schedule
from tests.soak.shrink import cause, keep, shrink

PLACES = [(f"10.0.0.{k}", 7000) for k in range(1, 6)]


def fault(kind, how="", **fields):
    return Fault(at_s=1.0, kind=kind, who=7, how=how, **fields)


# Links


@pytest.mark.parametrize("how", HOWS["one-way"])
def test_a_one_way_link_is_open_the_other_way(how):
    links = set(links_of(fault("one-way", how), PLACES))
    assert links
    assert not links & {(to, sender) for sender, to in links}


def test_a_bridge_hears_both_sides_which_do_not_hear_each_other():
    links = set(links_of(fault("bridge"), PLACES))
    cut = {place for link in links for place in link}
    assert len(cut) == len(PLACES) - 1
    assert all((to, sender) in links for sender, to in links)


def test_a_link_is_down_while_any_fault_keeps_it_down():
    network = Network(seed=1, scheduler=VirtualClock())
    links, link = Links(network), (PLACES[0], PLACES[1])
    links.take_down([link])
    links.take_down([link])
    links.bring_up([link])
    assert network.links[link].loss == 1.0
    links.bring_up([link])
    assert network.links.get(link, Faults()).loss == 0.0


# Clocks


def test_a_clock_of_ones_own_drifts_and_its_timers_with_it():
    real, fired = VirtualClock(), []
    own = OwnClock(real, rate=1.1)
    own.call_at(11.0, lambda: fired.append((real.now, own.time())))
    real.run_until(20.0)
    assert fired == [(pytest.approx(10.0), pytest.approx(11.0))]
    assert own.time() == pytest.approx(22.0)


def test_timers_that_a_jump_passes_fire_in_order_and_others_come_sooner():
    real, fired = VirtualClock(), []
    own = OwnClock(real)
    for when in (5.0, 3.0, 12.0):
        own.call_at(when, lambda when=when: fired.append((when, real.now)))
    own.call_at(4.0, lambda: fired.append("cancelled")).cancel()
    real.run_until(1.0)
    own.jump(9.0)
    real.run_until(20.0)
    assert fired == [(3.0, 1.0), (5.0, 1.0), (12.0, 3.0)]


def test_a_timer_never_seems_early_to_a_clock_that_drifts():
    real = VirtualClock()
    own = OwnClock(real, rate=0.9377)
    late = []
    for k in range(1, 2_000):
        own.call_at(k / 7, lambda when=k / 7: late.append(own.time() - when))
    real.run_until(400.0)
    assert len(late) == 1_999
    assert min(late) >= 0.0


# Keys and strangers


def small_run(**changes):
    schedule = dataclasses.replace(
        make_schedule(8), members=3, is_together=False, is_keyed=True, supervisor_s=None, drift=0.0, **changes
    )
    run = Run(schedule, lambda _: None)
    run._start_members()
    return run


def test_a_new_key_is_everywhere_before_the_old_one_goes():
    run = small_run(faults=())
    run.clock.run_until(1.0)
    run.rotation.begin(0.3, seed=1)
    rings = []
    while not run.rotation.is_done:
        run.clock.run_until(run.clock.now + 0.005)
        rings.append({tuple(key.number for key in player.ring.keys) for player in run.living})
    seen = set().union(*rings)
    assert seen == {(1,), (1, 2), (2, 1), (2,)}
    assert not any({(1,), (2, 1)} <= ring or {(1, 2), (2,)} <= ring for ring in rings)
    run._converge()


def test_what_a_stranger_replays_is_refused():
    run = small_run(faults=(fault("replay", "again", for_s=0.5),))
    run.clock.run_until(1.0)
    run.trouble.befall(run.schedule.faults[0])
    run.clock.run_until(2.0)
    assert run.stranger.replayed > 100
    assert sum(player.engine.mail.seal.refused["replay"] for player in run.living) > 10


# What is told


def test_shrinking_leaves_only_faults_that_it_takes_to_fail(monkeypatch):
    guilty = ("crash", "jump")

    def pretend(schedule):
        kinds = [fault.kind for fault in schedule.faults]
        problem = "m1 at 2.3 s: frontier 7 went back" if all(kind in kinds for kind in guilty) else None
        return Outcome(1, problem, 0.0, 0.0, 0, 0, 0, 0)

    monkeypatch.setattr("tests.soak.shrink.run_schedule", pretend)
    faults = tuple(map(fault, ("pause", "crash", "leave", "jump", "join")))
    schedule, kept = shrink(dataclasses.replace(make_schedule(1), faults=faults))
    assert kept == [1, 3]
    assert [fault.kind for fault in schedule.faults] == list(guilty)
    assert keep(schedule, []).faults == ()


def test_a_cause_has_neither_names_nor_numbers():
    one = cause("m1 at 2.38 s: message 7 of m3#2 was delivered, and not the next one")
    other = cause("j12 at 1.1 s: message 31 of m4 was delivered, and not the next one")
    assert one == other
    assert one != cause("j12 at 1.1 s: message 31 of m4 was delivered with another content")


def test_only_schedules_with_what_is_asked_for_are_run(monkeypatch, capsys):
    ran = []

    def pretend(seed, members):
        ran.append(seed)
        return Outcome(seed, None, 0.0, 0.0, 0, 0, 0, 0, happened=frozenset({"flap"}), crowd=members)

    monkeypatch.setattr("tests.soak.command.run_seed", pretend)
    assert main(["--schedules", "5", "--only", "flap"]) == 0
    assert len(ran) == 5
    assert all("flap" in make_schedule(seed).traits for seed in ran)
    assert "  flap                       5       0" in capsys.readouterr().out


@pytest.mark.parametrize("seed", range(1, 6))
def test_in_a_crowd_one_in_a_hundred_is_replaced_each_second(seed):
    schedule, plain = crowd(seed, 256), make_schedule(seed)
    kinds = Counter(fault.kind for fault in schedule.faults) - Counter(fault.kind for fault in plain.faults)
    ended = kinds["crash"] + kinds["leave"] + kinds["restart"]
    begins_s = BEGIN_S + (0 if schedule.is_together else START_EVERY_S * 256)
    lasts_s = max(
        CHURN_LEAST_S, max(fault.ends_at_s for fault in plain.faults) - BEGIN_S if plain.faults else 0
    )
    assert ended == pytest.approx(2.56 * lasts_s, abs=1)
    assert kinds["join"] + kinds["restart"] == ended
    assert all(fault.at_s >= begins_s for fault in schedule.faults)
    assert schedule.members == 256


def test_a_crowd_that_failed_is_told_with_its_size():
    outcome = Outcome(7, "broken", 0.0, 0.0, 0, 0, 0, 0, crowd=64)
    assert outcome.replay == "python -m tests.soak --seed 7 --members 64"
    assert outcome.schedule == crowd(7, 64)


def test_the_table_counts_what_schedules_had():
    coverage = Coverage()
    for seed in range(1, 21):
        coverage.add(make_schedule(seed), Outcome(seed, "broken" if seed == 3 else None, 1, 0.5, 1, 1, 1, 1))
    told = str(coverage).splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in told}
    assert "20 schedules" in told[-1]
    assert "1 failed" in told[-1]
    assert sum(int(rows[size][0]) for size in ("2-7", "8-16", "30-60")) == 20
    assert rows[make_schedule(3).protocol][1] == "1"


def test_a_plan_tells_every_fault_in_one_line():
    plans = (make_schedule(seed) for seed in itertools.count(1))
    schedule = next(schedule for schedule in plans if len(schedule.faults) > 4)
    assert "\n" not in schedule.plan
    assert all(f"{fault.kind} " in f"{schedule.plan};".replace(";", " ") for fault in schedule.faults)
