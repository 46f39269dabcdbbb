"""A file of costs from what was measured; a real group of two."""

import math

import pytest

from stablecast.advisor import Question
from stablecast.advisor.calibration.calibrate import Calibration
from stablecast.advisor.calibration.checks import Check, ratios
from stablecast.advisor.calibration.machine import Machine
from stablecast.advisor.calibration.network import Seen
from stablecast.advisor.calibration.real_group import RealGroup, p50_ms, run_group
from stablecast.simulate.cost_file import read_cost_file

MACHINE = Machine(send_us=40.0, receive_factor=0.9, way_us=60.0, timer_us=1000.0, cores=2)


def test_a_real_group_measures_its_messages_and_its_processor():
    found = run_group(
        RealGroup(members=2, rate_per_s=200, message_bytes=100, senders=1, warm_s=0.2, seconds=0.5)
    )
    assert [each.members for each in found] == [2, 2]
    assert 0 < p50_ms(found) < 1000
    assert not found[1].times_s
    assert found[1].received_per_s > 50
    assert found[1].processor_s > 0


def test_groups_of_one_machine_share_its_cores_and_have_no_link(tmp_path):
    checks = tuple(Check("s_coord", 4, 0.0, real, 2 * real, 10.0, 20.0) for real in (10.0, 11.0, 12.0))
    file = tmp_path / "here.toml"
    Calibration(machine=MACHINE, peers=(), checks=checks).write(file)
    read = read_cost_file(file)
    assert read.costs.propagation_us == 30
    assert dict(read.members) == {"timer_us": 1000.0, "cores": 2}
    assert Question(costs=str(file)).cores == 2
    assert read.checks["p50_low"] < 1.1 < read.checks["p50_high"]


def test_with_peers_the_network_is_theirs(tmp_path):
    peers = (
        Seen("10.0.0.1:7100", rtt_ms=2.0, rtt_p95_ms=3.0, lost_share=0.02, bandwidth_bps=1e8),
        Seen("10.0.0.2:7100", rtt_ms=4.0, rtt_p95_ms=5.0, lost_share=0.0, bandwidth_bps=5e7),
    )
    file = tmp_path / "there.toml"
    Calibration(machine=MACHINE, peers=peers, checks=()).write(file)
    question = Question(costs=str(file))
    assert question.trip_s == pytest.approx(0.003)
    assert question.lost_share == pytest.approx(0.01, rel=1e-4)
    assert question.figures.bandwidth_bps == 5e7
    assert question.cores == 0


def test_ratios_say_how_far_off_a_further_group_will_be():
    checks = [Check("s_coord", 4, 0.0, 10 * ratio, 10, 10, 10) for ratio in (0.8, 1.0, 1.25)]
    found = ratios(checks)
    assert found["p50_mid"] == pytest.approx(1.0)
    assert found["p50_low"] == pytest.approx(1 / found["p50_high"], rel=0.01)
    assert found["p50_high"] > 1.25
    assert found["p99_low"] == pytest.approx(1.0, rel=1e-6)
    assert math.isfinite(found["p99_high"])
