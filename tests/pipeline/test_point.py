import json
import shlex

from hypothesis import given
from hypothesis import strategies as st

from stablecast.cli.main import main
from stablecast.pipeline import replay
from stablecast.pipeline.point import Point, simulation, task_point


def test_defaults_do_not_count_in_the_key():
    assert simulation(protocol="coordp").key == simulation(protocol="coordp", topology="tree", seed=0).key
    assert simulation(protocol="coordp").key != simulation(protocol="coordp", seed=1).key
    assert Point({"a": 1}).key != Point({"a": 1}, "other:task").key


@given(seed=st.integers(0, 2**63 - 1), bandwidth=st.floats(1, 1e12), changed=st.booleans())
def test_the_replay_command_says_exactly_the_options(seed, bandwidth, changed):
    point = simulation(protocol="coordp", seed=seed, bandwidth_bps=bandwidth, changed_only=changed)
    words = shlex.split(point.replay)
    assert words[:3] == ["stablecast", "simulate", "coordp"]
    assert str(seed) in words or seed == 0
    assert float(words[words.index("--bandwidth-bps") + 1]) == bandwidth
    assert ("--changed-only" in words) == changed


def test_the_replay_command_runs(capsys):
    point = simulation(protocol="train", degree=2, height=2, costs="links-only", propagation_us=1.5)
    assert main([*shlex.split(point.replay)[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["members"] == 7


def test_the_replay_of_another_task_runs_and_prints_its_row(capsys):
    task = "stablecast.papers.hierarchical.message_tables:run_by_role"
    point = task_point(task, protocol="train", degree=2, height=2, fill=2)
    words = shlex.split(point.replay)
    assert words[:3] == ["python", "-m", "stablecast.pipeline.replay"]
    assert replay.main(words[3:]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["key"] == point.key
    assert row["extra"]["member=4"] == 7


def test_a_replayed_point_that_fails_says_so(capsys):
    assert replay.main(["no.such:task", "{}"]) == 1
    assert "no task 'no.such:task'" in json.loads(capsys.readouterr().out)["error"]


def test_keys_of_points_stay_as_they_were():
    assert simulation(protocol="coordp", resend_ms=0.0, members=None).key == "5247655cd588f582358559a6"
    assert simulation(protocol="gsgc", step_s=1.0, threshold_steps=0).key == "3d55a72f11fb78055c74f536"
    assert (
        simulation(protocol="bimodal", no_push=True, send_omission=0.0, copies=6.0).key
        == "08e2d25336747b1ee3e4681f"
    )
