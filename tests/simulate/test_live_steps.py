"""Simulated live groups that search for their step, that are in sites, and whose clocks differ."""

import pytest
from live_setups import live

from stablecast.engine.pace import STEP_PER_LEVEL_S, Pace, PaceOptions
from stablecast.errors import InvalidInput
from stablecast.simulate import costs, topology
from stablecast.simulate.live.driver import LiveDriver
from stablecast.simulate.live.options import live_setup
from stablecast.simulate.live.run import simulate_live

SLOW = {"bandwidth_bps": 400e3, "queue_limit": 64}
"""Links that a step of 0.6 ms for each member fills."""
TRAFFIC = {"members": 8, "senders": 2, "rate_per_s": 4.0, "data_bytes": 100}


def slow_group(*, seconds, seed=1, **told):
    return live(protocol="gsgc", changes=SLOW, told=told, seed=seed, seconds=seconds, **TRAFFIC)


def test_a_group_with_a_bad_step_finds_a_good_one_and_all_members_take_it(capsys):
    driver = LiveDriver(slow_group(seconds=120.0, adaptive=True))
    driver.begin()
    first = driver.seats[0].engine
    begun_with = Pace(PaceOptions(), TRAFFIC["members"]).step
    while driver.calendar.run(round(120e12), 2000) and first.in_view.pace.steering.window_s is None:
        pass
    found, settled_s = first.in_view.pace.steering, driver.now_s
    low, high = found.window_s
    driver.calendar.run(round((settled_s + 2.0) * 1e12), 1 << 30)
    steps = {round(seat.engine.in_view.pace.least, 4) for seat in driver.seats}
    assert steps == {round(found.step_s, 4)}
    bad, good, long = (
        simulate_live(slow_group(seconds=10.0, pace_step_s=step))
        for step in (begun_with, found.step_s, 4 * high)
    )
    with capsys.disabled():
        print(
            f"\nfrom {begun_with * 1e3:.0f} ms the search came to {found.step_s * 1e3:.0f} ms, window"
            f" {low * 1e3:.0f} to {high * 1e3:.0f} ms, after {settled_s:.0f} s; time to stable p50 with the"
            f" step by size {bad.tts_p50_us / 1e3:.0f} ms, found {good.tts_p50_us / 1e3:.0f} ms, four times"
            f" the window {long.tts_p50_us / 1e3:.0f} ms; dropped {bad.dropped}, {good.dropped},"
            f" {long.dropped}"
        )
    assert good.tts_p50_us < bad.tts_p50_us / 2
    assert good.tts_p50_us < long.tts_p50_us
    assert good.dropped < bad.dropped / 4


def test_a_group_that_is_not_asked_to_search_tells_no_step():
    result = simulate_live(live(seconds=1.0))
    assert result.step_us == pytest.approx(1e6 * STEP_PER_LEVEL_S)


def test_sites_are_far_apart_and_their_members_are_in_zones():
    shape = topology("sites", sites=3, members=9, delay_max_us=20_000.0)
    driver = LiveDriver(live(shape=shape, protocol="gsgc-local", params={"controllers": 1}))
    driver.begin()
    here = driver.seats[4].engine.in_view
    assert [member.zone for member in here.view.members] == [f"site{k // 3}" for k in range(9)]
    assert sorted(here.tracker.machine.me.neighbours.tolist()) == [3, 4, 5]
    result = simulate_live(live(shape=shape, protocol="gsgc-local", params={"controllers": 1}))
    assert result.completed
    assert result.delivery_p50_us > 40_000
    assert 0 < result.across_datagrams < result.datagrams


def test_datagrams_between_sites_are_counted_once_a_site_with_ip_multicast():
    shape = topology("sites", sites=3, members=9)
    one_by_one, together = (
        simulate_live(live(shape=shape, ip_multicast=multicast, senders=1)) for multicast in (False, True)
    )
    assert together.completed
    assert together.across_datagrams < one_by_one.across_datagrams


@pytest.mark.parametrize(("sites", "members"), [(0, 4), (5, 4)])
def test_sites_without_members_are_refused(sites, members):
    with pytest.raises(InvalidInput, match=f"{sites} sites for {members} members"):
        topology("sites", sites=sites, members=members)


def test_clocks_that_are_hours_apart_change_no_outcome_of_hybrid_stamps():
    alike, apart = (
        simulate_live(live(protocol="timestamp", params={"clock": "hybrid"}, clock_skew_ms=skew_ms))
        for skew_ms in (0.0, 7_200_000.0)
    )
    assert (alike.completed, apart.completed) == (True, True)
    assert apart.messages_stable == alike.messages_stable == alike.messages
    assert apart.digest != alike.digest


def test_a_star_and_sites_take_the_options_of_a_simulated_protocol():
    setup = live_setup({"protocol": "gsgc", "topology": "sites", "sites": 2, "members": 6, "seed": 3})
    assert setup.topology.sites == (0, 0, 0, 1, 1, 1)
    assert costs("lan") == setup.costs
