"""Live engines on the simulated network: the same by seed, through losses, crashes, queues and costs."""

import itertools

import pytest
from live_setups import live, run

from stablecast.engine.choice import live_protocols
from stablecast.errors import InvalidInput
from stablecast.simulate import topology
from stablecast.simulate.live.run import simulate_live
from stablecast.trace.verdict import judge_files

CRASH = {"changes": {"link_loss": 0.1}, "faults": "crash 3 at 500"}


def told_of(result, kind):
    return [event for event in result.told if event.kind == kind]


def test_the_same_seed_gives_the_same_run_and_another_one_another():
    first = run(seed=7, **CRASH)
    assert run(seed=7, **CRASH).to_dict() | {"wall_s": 0} == first.to_dict() | {"wall_s": 0}
    assert run(seed=8, **CRASH).digest != first.digest


def test_a_crash_with_losses_is_survived_and_what_survivors_sent_becomes_stable():
    result = run(seed=1, **CRASH)
    assert result.completed
    assert result.lost > 0
    assert result.repairs_sent > 0
    assert result.members_at_end == 7
    assert result.messages_in_smaller_view > 0
    failed = told_of(result, "MemberFailed")
    assert {event.about for event in failed} == {"m3"}
    assert len(failed) == 7


def test_everyone_gets_everything_without_faults():
    result = run(members=5, senders=2, rate_per_s=20)
    assert result.completed
    assert result.messages == result.messages_stable == 2 * 2 * 20
    assert result.deliveries == result.messages * 4
    assert result.messages_in_smaller_view == result.repairs_asked == result.lost == 0


def test_members_that_pass_on_what_goes_to_all_deliver_the_same_a_little_later():
    direct, relayed = (
        run(members=12, senders=2, rate_per_s=20, told={"fan_out": told}) for told in ("direct", "3")
    )
    for result in (direct, relayed):
        assert result.completed
        assert result.deliveries == result.messages * 11
        assert result.repairs_asked == 0
    assert direct.delivery_p50_us < relayed.delivery_p50_us < 4 * direct.delivery_p50_us


def test_members_that_pass_on_what_goes_to_all_send_less_to_other_sites():
    sites = topology("sites", sites=3, members=12)
    direct, relayed = (
        run(shape=sites, senders=2, rate_per_s=20, told={"fan_out": told}) for told in ("direct", "3")
    )
    assert direct.completed
    assert relayed.completed
    assert relayed.across_datagrams < direct.across_datagrams


@pytest.mark.parametrize("told", [{"fan_out": "1"}, {"fan_out": "3", "policy": "two-buffers"}])
def test_relays_that_crash_and_lose_hold_nobody_up_for_long(told):
    result = run(members=10, seed=2, told=told, **CRASH)
    assert result.completed
    assert result.repairs_sent > 0
    assert result.members_at_end == 9


@pytest.mark.parametrize("protocol", live_protocols())
def test_every_protocol_of_live_groups_runs(protocol):
    result = run(protocol=protocol, members=4, seconds=0.5)
    assert result.completed
    assert result.messages == 20


def test_a_queue_that_overflows_at_a_shared_link_is_survived():
    """Ten bursts a second of seven senders meet at one slow link, whose queue holds few packets."""
    shape = topology("tree", degree=2, height=2)
    slow = {"bandwidth_bps": 2e6, "queue_limit": 8}
    result = run(shape=shape, changes=slow, rate_per_s=20, data_bytes=4000)
    assert result.dropped > 0
    assert result.repairs_sent > 0
    assert result.completed
    assert result.messages_in_smaller_view == 0


def test_slower_hosts_and_longer_ways_take_longer_to_stability():
    usual = run(members=4)
    slow_hosts = run(members=4, changes={"send_us": 300})
    long_ways = run(members=4, changes={"propagation_us": 20_000})
    assert usual.delivery_p50_us < slow_hosts.delivery_p50_us
    assert usual.delivery_p50_us < long_ways.delivery_p50_us
    assert usual.tts_p50_us < slow_hosts.tts_p50_us
    assert usual.tts_p50_us < long_ways.tts_p50_us


def test_one_datagram_on_the_multicast_tree_does_for_all():
    each, one = (run(members=6, ip_multicast=cast) for cast in (False, True))
    assert one.completed
    assert one.deliveries == each.deliveries
    assert one.hop_bytes < each.hop_bytes


def test_sealed_datagrams_change_nothing():
    plain, sealed = (run(members=3, seconds=0.5, encrypted=encrypted) for encrypted in (False, True))
    assert plain.digest == sealed.digest
    assert plain.sent_bytes == sealed.sent_bytes


def test_members_that_join_one_by_one_end_in_one_view_before_they_send():
    result = run(members=4, start="joining", seconds=1)
    assert result.completed
    assert result.members_at_end == 4
    assert result.messages_stable == result.messages == 40
    assert result.messages_in_smaller_view == 0


def test_members_join_leave_and_pause_at_given_times():
    result = run(members=6, faults="join 1 at 300; leave 2 at 900; pause 1 from 1200 to 1500", seconds=3)
    assert result.completed
    assert result.members_at_end == 5
    views = [event.about for event in told_of(result, "ViewChanged") if event.member == "m0"]
    assert [view.partition(" (")[0] for view in views] == [
        "5 members; joined 5 of them",
        "6 members; joined m5",
        "5 members; left m2",
    ]


def test_a_partition_heals():
    result = run(members=5, faults="partition 3-4 from 500 to 6000", seconds=8, rate_per_s=5)
    assert result.views_at_end == 1
    assert result.members_at_end == 5
    assert {event.member for event in told_of(result, "Settled")} == {"m3", "m4"}


@pytest.mark.parametrize("faults", ["", "crash 3 at 700"])
def test_the_trace_is_clean(tmp_path, faults):
    file = tmp_path / "trace.jsonl"
    setup = live(changes={"link_loss": 0.05}, faults=faults)
    result = simulate_live(setup, trace=file)
    verdict = judge_files([file])
    assert verdict.ok, verdict.violations
    assert verdict.messages == result.messages
    assert [path.name for path in tmp_path.iterdir()] == ["trace.jsonl"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"senders": 9}, "9 senders in a group of 8 members"),
        ({"faults": "crash 8 at 1"}, "no member"),
        ({"faults": "sleep 1 at 1"}, "pause M from MS to MS"),
        ({"seconds": 0}, "seconds 0 is not accepted"),
        ({"cores": -1}, "cores -1 is not accepted"),
        ({"cores": 2, "changes": {"host_model": "delay"}}, "cores 2 are not accepted"),
        ({"start": "later"}, "unknown start 'later'"),
        ({"protocol": "bimodal"}, "live groups cannot run it"),
        ({"params": {"nothing": 1}}, "nothing"),
        ({"told": {"fail_after": 0.1}}, "fail_after 0.1 s is too short"),
    ],
)
def test_bad_input_is_refused_with_what_is_accepted(fields, words):
    with pytest.raises(InvalidInput, match=words):
        live(**fields)


def test_event_loops_that_wait_in_whole_milliseconds_make_stability_later():
    exact, coarse = (run(members=4, timer_us=us) for us in (0, 5000))
    assert coarse.completed
    assert exact.tts_p50_us < coarse.tts_p50_us
    assert coarse.deliveries == exact.deliveries


def test_members_that_share_cores_wait_for_each_other():
    alone, many, few = (run(members=6, seconds=2.0, cores=cores) for cores in (0, 6, 1))
    assert few.completed
    assert few.deliveries == alone.deliveries
    assert alone.delivery_p50_us <= many.delivery_p50_us < few.delivery_p50_us
    assert alone.tts_p50_us < few.tts_p50_us
    assert run(members=6, seconds=2.0, cores=1).digest == few.digest


BIMODAL = {"told": {"delivery": "bimodal"}, "changes": {"link_loss": 0.025}}


def test_bimodal_delivery_is_the_same_by_seed_and_settles_everything():
    first = run(seed=3, **BIMODAL)
    assert run(seed=3, **BIMODAL).to_dict() | {"wall_s": 0} == first.to_dict() | {"wall_s": 0}
    assert first.completed
    assert first.protocol == "bimodal"
    assert first.repairs_sent > 0
    assert first.deliveries + first.deliveries_given_up == first.messages * 7


def test_bimodal_delivery_survives_a_crash_a_leave_and_a_join():
    result = run(seed=4, seconds=6.0, faults="crash 3 at 500; join 1 at 1500; leave 5 at 2500", **BIMODAL)
    assert result.completed
    assert result.members_at_end == 6
    assert result.views_at_end == 1
    assert result.messages_in_smaller_view > 0


def test_what_few_copies_and_rounds_lose_is_counted():
    told = {"delivery": "bimodal:copies=1,keep_rounds=3,short_rounds=1"}
    result = run(seed=5, told=told, changes={"link_loss": 0.1})
    assert result.deliveries_given_up >= result.messages_given_up > 0
    lost = told_of(result, "MessagesLost")
    assert len(lost) > 0
    assert result.deliveries + result.deliveries_given_up <= result.messages * 7


def test_a_simulated_group_with_a_delivery_that_does_not_exist_is_refused():
    with pytest.raises(InvalidInput, match="delivery 'fast' is not accepted"):
        run(told={"delivery": "fast"})


def test_a_group_that_takes_too_much_memory_ends_with_one_line(monkeypatch):
    growing = itertools.count(0, 1 << 20)
    monkeypatch.setattr("stablecast.simulate.live.run.resident_bytes", lambda: next(growing))
    monkeypatch.setattr("stablecast.simulate.live.run.allowed_bytes", lambda: 3 << 20)
    with pytest.raises(InvalidInput, match=r"more than 3 MiB after .* simulated seconds"):
        run(members=20, senders=20, rate_per_s=20, seconds=5.0)
