import json
import shlex

from hypothesis import given
from hypothesis import strategies as st

from stablecast.cli.main import main
from stablecast.pipeline import replay
from stablecast.pipeline.point import Point, simulation, task_point
from stablecast.simulate.options import Options


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
    task = "stablecast.pipeline.experiments.hierarchical.message_tables:run_by_role"
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


def test_options_of_the_command_line_are_the_fields_of_options():
    import inspect

    from stablecast.cli.simulate import simulate_command

    parameters = set(inspect.signature(simulate_command).parameters) - {"trace", "as_json"}
    assert parameters == set(Options.__dataclass_fields__)
