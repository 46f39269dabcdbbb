import pytest

from stablecast.cli.main import main
from stablecast.errors import InvalidInput
from stablecast.simulate import simulate
from stablecast.simulate.options import Options

WAN = {"topology": "balanced", "senders": 50, "costs": "wan1997", "tracked": 4, "stop_at_first": True}


def gossip(**options):
    return simulate(Options(**({"protocol": "gsgc", "members": 200, **WAN} | options)).setup())


def test_the_size_of_a_message_is_that_of_the_paper():
    result = gossip(step_s=9.0, tracked=None, executions=1)
    sent = result.hops_by_kind
    stable = sent["STABLE"] * (32 + 4 * 50 + 4)
    assert result.hop_bytes == sent["GOSSIP"] * (236 + 200 // 8) + stable


def test_steps_are_the_time_of_a_round_over_the_step():
    result = gossip(step_s=9.0)
    assert result.steps == pytest.approx(result.tpr_us / 9e6)
    assert result.executions == 1


def test_tracking_fewer_numbers_changes_no_time():
    few, all_of_them = gossip(step_s=4.0, seed=3), gossip(step_s=4.0, seed=3, tracked=50)
    assert few.tpr_us == all_of_them.tpr_us
    assert few.hop_bytes == all_of_them.hop_bytes


@pytest.mark.parametrize("share", ["piggyback", "multicast", "both"])
def test_everyone_learns_the_result_however_it_spreads(share):
    result = gossip(step_s=4.0, share=share, executions=2, stop_at_first=False, members=50)
    assert result.completed
    assert (result.hops_by_kind["STABLE"] > 0) == (share != "piggyback")


def test_two_omissions_a_step_are_two_messages_less():
    result = gossip(step_s=4.0, omissions=2)
    whole_steps = int(result.steps)
    assert 2 * whole_steps - 1 <= result.lost <= 2 * (whole_steps + 1)


def test_seeds_give_different_runs_and_the_same_seed_the_same():
    first, again, other = gossip(step_s=4.0), gossip(step_s=4.0), gossip(step_s=4.0, seed=1)
    assert first.tpr_us == again.tpr_us != other.tpr_us


def test_a_controller_may_steer_the_step_of_a_running_group():
    told = []

    def steer(number, step_s, took_s):
        told.append((number, step_s, took_s))
        return 3.0 if number == 2 else None

    options = Options(protocol="gsgc", members=60, **WAN, step_s=9.0, executions=4)
    simulate(options.setup(), steer=steer)
    assert [number for number, _, _ in told] == [1, 2, 3]
    assert [step for _, step, _ in told] == [9.0, 9.0, 3.0]
    assert all(took > 0 for _, _, took in told)
    with pytest.raises(InvalidInput, match="coordp has no steps to steer"):
        simulate(Options(protocol="coordp", degree=2, height=2).setup(), steer=steer)


def test_local_gossip_covers_everyone_in_two_phases():
    phases = {"step_s": 1.0, "controller_step_s": 1.0, "local_size": 30}
    result = gossip(protocol="gsgc-local", members=120, stop_at_first=False, **phases)
    assert result.completed
    assert set(result.hops_by_kind) == {"LOCAL", "GLOBAL", "STABLE"}
    assert min(result.hops_by_kind.values()) > 0


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["gsgc", "--subgroup", "0"], "accepted: 1 to 32"),
        (["gsgc", "--subgroup", "33"], "accepted: 1 to 32"),
        (["gsgc", "--step-s", "0"], "seconds above 0"),
        (["gsgc", "--step-s", "nan"], "seconds above 0"),
        (["gsgc", "--share", "shout"], "unknown share 'shout'"),
        (["gsgc", "--threshold-steps", "-1"], "threshold_steps -1"),
        (["gsgc", "--quiet-steps", "3"], "quiet_steps above 0 is not accepted"),
        (["gsgc", "--trigger", "periodic"], "needs no trigger"),
        (["gsgc", "--omissions", "-2"], "omissions -2"),
        (["gsgc", "--admit-per-round", "-2"], "admit_per_round -2"),
        (["gsgc", "--admit-per-round", "2"], "admit_per_round above 0 is not accepted"),
        (["gsgc", "--join-window-s", "2"], "join_window_s above 0 is not accepted"),
        (["gsgc", "--handlers", "0"], "handlers 0 is not accepted (accepted: 1 to 32)"),
        (["gsgc", "--fill-messages", "5"], "fill_messages needs data traffic"),
        (["coordp", "--admit-per-round", "1"], "coordp has no option --admit-per-round"),
        (["gsgc", "--changed-only"], "leave changed_only out"),
        (["gsgc", "--local-size", "5"], "gsgc has no option --local-size"),
        (["gsgc", "--faults", "crash 900 at 1"], "no member [900]"),
        (["gsgc-local", "--controllers", "0"], "controllers 0"),
        (["gsgc-local", "--local-size", "0"], "local_size 0"),
        (["coordp", "--subgroup", "3"], "coordp has no option --subgroup"),
    ],
)
def test_wrong_gossip_options_get_one_line(capsys, arguments, what):
    assert main(["simulate", *arguments]) == 2
    captured = capsys.readouterr()
    assert what in captured.err
    assert len([line for line in captured.err.splitlines() if not line.startswith("#")]) == 1
