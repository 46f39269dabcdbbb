"""What members of a larger group know of each other, though each hears from its neighbours alone."""

import pytest
from live_setups import live

from stablecast.engine.explain import describe, explain
from stablecast.engine.results import MessageId
from stablecast.simulate.live.driver import LiveDriver
from stablecast.simulate.live.run import simulate_live

MEMBERS = 40
PS_PER_S = 10**12


def told_of(result, kind):
    return [event for event in result.told if event.kind == kind]


class Watched:
    """A simulated group that can be looked into while it runs."""

    def __init__(self, **fields):
        self.driver = LiveDriver(live(**fields))
        self.driver.begin()

    def run_until(self, seconds):
        while self.driver.calendar.run(round(seconds * PS_PER_S), 1 << 20):
            pass

    @property
    def engines(self):
        return [seat.engine for seat in self.driver.seats]


def test_a_loaded_group_without_faults_tells_of_no_laggards():
    """Links are slow, so that members get a message at different times, and it takes long to be stable.

    Long is more than the second after which a member is lagging that is not known to have a message.
    """
    slow = {"protocol": "gsgc", "changes": {"bandwidth_bps": 5e6}, "told": {"pace_step_s": 0.5}}
    result = simulate_live(live(members=80, senders=20, rate_per_s=2, seconds=2.0, **slow))
    assert result.completed
    assert result.tts_p50_us > 1e6
    assert [event.kind for event in result.told if event.kind != "ViewChanged"] == []


def test_a_crash_is_told_to_everyone_in_a_larger_group():
    result = simulate_live(live(members=MEMBERS, senders=4, rate_per_s=2, faults="crash 3 at 500"))
    assert result.completed
    assert result.members_at_end == MEMBERS - 1
    assert len(told_of(result, "MemberFailed")) == MEMBERS - 1


def test_everyone_in_a_larger_group_knows_who_holds_messages_back_and_when_it_no_longer_does():
    fields = {"members": MEMBERS, "senders": 1, "rate_per_s": 4, "seconds": 2.0}
    group = Watched(**fields, faults="pause 7 from 500 to 5500", told={"fail_after": 30.0})
    group.run_until(5.0)
    for number, engine in enumerate(group.engines):
        if number == 7:
            continue
        stats = describe(engine, group.driver.now_s)
        assert stats.held_by == ("m07",)
        [laggard] = explain(engine, MessageId("m00", 8), group.driver.now_s).laggards
        assert laggard.member == "m07"
    group.run_until(9.0)
    for engine in group.engines:
        assert describe(engine, group.driver.now_s).held_by == ()
        assert explain(engine, MessageId("m00", 8), group.driver.now_s).state == "stable"


def test_members_of_which_nothing_is_known_are_not_called_laggards():
    group = Watched(members=MEMBERS, senders=1, rate_per_s=4, seconds=1.0)
    group.run_until(1.0)
    first = group.engines[0]
    first.own.send(b"new", group.driver.now_s)
    first.flush(group.driver.now_s)
    laggards = explain(first, MessageId("m00", first.own.sent), group.driver.now_s).laggards
    assert 2 <= len(laggards) <= 8


def test_a_sign_of_life_of_an_idle_group_is_as_long_in_a_large_group_as_in_a_small_one():
    sizes = {}
    for members in (8, 128):
        group = Watched(members=members, senders=1, rate_per_s=1e-6, seconds=3.0)
        group.run_until(1.0)
        network = group.driver.network
        before = network.sent_bytes[0], network.sent[0]
        group.run_until(3.0)
        sizes[members] = (network.sent_bytes[0] - before[0]) / (network.sent[0] - before[1])
    assert sizes[128] == pytest.approx(sizes[8], abs=4)
