"""Late-join handlers, admission control, rounds that wait, and data as a sign of life, from outside.

Runs of the plain driver, whose members' states can be read between any two events; the keystone test demands
the same runs of the compiled simulator.
"""

from collections import Counter

import pytest

from stablecast.simulate import simulate
from stablecast.simulate.options import Options
from stablecast.simulate.prepare import place_members
from stablecast.simulate.state import KEPT
from stablecast.testing.reference.driver import _Driver

STEP_PS = 10**11
DATA = {"messages": 20, "senders": 3, "rate_per_s": 20.0}


def options(**given):
    base = {
        "protocol": "gsgc",
        "topology": "balanced",
        "members": 12,
        "costs": "lan1997",
        "step_s": 0.1,
        "threshold_steps": 20,
        "until_ms": 60_000.0,
    }
    return Options(**(base | given))


def watch(look, **given):
    """Run to the end; ``look(driver)`` is called after each event."""
    driver = _Driver(place_members(options(**given).setup()), wire_log=False)
    driver.open()
    while not driver.stopped and driver.calendar.step(driver.plan.until_ps):
        look(driver)
    return driver


def entries_of(**given):
    """Return when each member came in, with its state then, and the run."""
    found, before = [], {}

    def look(driver):
        for member, seat in enumerate(driver.seats):
            was, before[member] = before.get(member), seat.joining_at_ps
            if was is not None and seat.joining_at_ps is None:
                me = seat.machine.me
                lacks = int((me.stable - me.received).clip(0).sum())
                at_handler = driver.seats[0].machine.me
                found.append((driver.calendar.now_ps, int(at_handler.round), int(at_handler.round_at), lacks))

    return found, watch(look, **given)


def test_newcomers_are_sent_all_that_is_stable_and_nothing_is_sent_without_them():
    entries, driver = entries_of(**DATA, faults="join 2 at 3000")
    sent = [column.sent for column in driver.traffic.columns]
    assert driver.is_complete()
    assert sent == [20] * 3
    assert all(seat.machine.me.received.tolist() == sent for seat in driver.seats)
    assert [lacks for *_, lacks in entries] == [0, 0]
    # Everything was stable long before: each newcomer lacks all 60 messages, and each comes over a few links.
    lone = simulate(options(**DATA, faults="join 2 at 3000", link_loss=0.0).setup())
    assert lone.data_hops["KEPT"] >= 2 * 60
    assert lone.hops_by_kind["JOIN"] >= 2
    assert KEPT not in watch(lambda driver: None, **DATA).network.hops


def test_a_newcomer_that_was_left_without_its_sender_is_served_by_the_handlers():
    # Member 4 sends, everything becomes stable, and it crashes before the others come.
    entries, driver = entries_of(**DATA, faults="crash 4 at 3000; join 2 at 8000")
    assert driver.is_complete()
    assert len(entries) == 2
    assert all(seat.machine.me.received.tolist() == [20] * 3 for seat in driver.seats if seat.alive)


@pytest.mark.parametrize("gone", ["0", "0,1"])
def test_the_next_handler_answers_for_one_that_has_crashed(gone):
    entries, driver = entries_of(**DATA, faults=f"crash {gone} at 3000; join 2 at 8000")
    assert driver.is_complete()
    assert [lacks for *_, lacks in entries] == [0, 0]
    assert all(STEP_PS < took < 5 * STEP_PS for took in driver.join_times_ps)


def test_nobody_joins_when_all_handlers_are_gone():
    entries, driver = entries_of(executions=2, faults="crash 0-2 at 3000; join 2 at 8000", until_ms=20_000.0)
    assert entries == []
    assert not driver.is_complete()


def test_losses_only_delay_a_newcomer():
    entries, driver = entries_of(**DATA, faults="join 3 at 3000", link_loss=0.1)
    assert driver.is_complete()
    assert [lacks for *_, lacks in entries[:3]] == [0, 0, 0]


@pytest.mark.parametrize("limit", [1, 2])
def test_no_more_join_in_a_round_than_may(limit):
    stream = "; ".join(f"join 1 at {20 * k}" for k in range(1, 9))
    entries, driver = entries_of(executions=1, members=20, faults=stream, admit_per_round=limit)
    free, _ = entries_of(executions=1, members=20, faults=stream)
    assert driver.is_complete()
    assert len(entries) == len(free) == 8
    # The deciding handler's round; the news of its answer travels less than a step.
    assert max(Counter(number for _, number, *_ in entries).values()) == limit
    assert max(Counter(number for _, number, *_ in free).values()) > limit


def test_members_join_only_in_the_window_after_a_rounds_start():
    stream = "; ".join(f"join 1 at {35 * k}" for k in range(1, 13))
    window, way = 20 * 10**9, 10 * 10**9
    entries, driver = entries_of(executions=1, members=20, faults=stream, join_window_s=0.02)
    free, _ = entries_of(executions=1, members=20, faults=stream)
    assert driver.is_complete()
    assert len(entries) == 12
    assert all(0 <= at - round_at <= window + way for at, _, round_at, _ in entries)
    assert any(at - round_at > window + way for at, _, round_at, _ in free)


def starts_of(**given):
    """Return, for each round, who began it, how much it held, and how long it had rested."""
    found = []

    class Watching(_Driver):
        def note_begun_by_timers(self, execution):
            before = self.begun
            super().note_begun_by_timers(execution)
            if self.begun > before:
                for seat in self.seats:
                    if seat.machine.begun == execution:
                        me = seat.machine.me
                        held = int((me.received - me.stable).clip(0).sum())
                        found.append((held, int(me.rested), seat.timer is None))

    driver = Watching(place_members(options(**given).setup()), wire_log=False)
    driver.open()
    while driver.calendar.step(driver.plan.until_ps) and not driver.stopped:
        pass
    return found, driver


@pytest.mark.parametrize("threshold", [0, 20])
def test_a_round_starts_when_a_buffer_has_filled_up(threshold):
    filled = {"fill_messages": 12, "rest_steps": 15, "threshold_steps": threshold}
    data = {"messages": 40, "senders": 3, "rate_per_s": 10.0}
    starts, driver = starts_of(**data, **filled)
    assert driver.is_complete()
    assert all(held >= 12 or (held > 0 and rested >= 15) for held, rested, _ in starts)
    assert sum(held >= 12 for held, _, _ in starts) >= 4
    often = simulate(options(**data, threshold_steps=threshold).setup())
    seldom = simulate(options(**data, **filled).setup())
    assert seldom.executions < often.executions / 1.5
    assert seldom.hops_by_kind["GOSSIP"] < often.hops_by_kind["GOSSIP"] / 2
    assert seldom.traffic.held_max > often.traffic.held_max


def test_who_rests_is_silent_unless_failures_are_detected():
    given = {"messages": 1, "senders": 1, "fill_messages": 50, "rest_steps": 20}
    silent = simulate(options(**given, threshold_steps=0).setup())
    watched = simulate(options(**given).setup())
    assert silent.completed
    assert silent.traffic.tts_max_us >= 1.9e6
    assert silent.hops_by_kind["ALIVE"] == 0
    assert silent.tpr_us < 1e6
    assert watched.hops_by_kind["ALIVE"] > 500


def test_a_member_that_missed_the_result_gets_it_from_those_who_rest():
    # Of the multicasts of the results half are lost somewhere, and nobody gossips between rounds.
    given = {"fill_messages": 6, "rest_steps": 10, "threshold_steps": 0, "link_loss": 0.2, "messages": 20}
    for seed in range(5):
        result = simulate(options(**given, senders=2, rate_per_s=20.0, seed=seed).setup())
        assert result.completed
        assert result.traffic.messages_stable == 40


def test_a_round_with_execution_control_starts_in_a_calm_and_takes_no_longer():
    stream = "; ".join(f"join 1 at {60 * k}" for k in range(1, 15))
    given = {"executions": 4, "members": 30, "faults": stream}
    calm = [simulate(options(**given, quiet_steps=quiet).setup()) for quiet in (0, 8)]
    assert all(result.completed for result in calm)
    assert calm[1].tpr_us < 1.3 * calm[0].tpr_us
    starts, _ = starts_of(**given, quiet_steps=8)
    assert len(starts) >= 4


def test_messages_with_data_are_signs_of_life():
    rash = {"executions": None, "threshold_steps": 4, "subgroup": 1, "members": 16, "rest_steps": 0}
    busy = {"messages": 40, "rate_per_s": 20.0, "until_ms": 2000.0}
    idle = {"messages": 40, "rate_per_s": 0.1, "until_ms": 2000.0}
    heard, unheard = (simulate(options(**rash, **each).setup()) for each in (busy, idle))
    assert heard.false_suspicions == 0
    assert unheard.false_suspicions > 10
