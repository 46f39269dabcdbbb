"""Sweeps of simulated live groups: the rows of Spark are those of runs of their own."""

import json

import pytest

from stablecast.cli.main import main
from stablecast.errors import InvalidInput
from stablecast.pipeline.point import live_simulation
from stablecast.pipeline.spec import read_spec
from stablecast.pipeline.store import read_rows
from stablecast.pipeline.sweep import sweep
from stablecast.pipeline.tasks import Terms, run_point, sources_of

GRID = """
[[grid]]
live = true
protocol = ["gsgc", "s_coordp"]
members = 8
link_loss = 0.1
faults = "crash 3 at 500"
seconds = 1
seed = { from = 1, to = 2 }
"""


def spec_of(tmp_path, text):
    file = tmp_path / "spec.toml"
    file.write_text(text)
    return read_spec(file)


def test_spark_gives_the_deliveries_outcomes_and_events_of_runs_alone(spark, tmp_path):
    points = spec_of(tmp_path, GRID).points
    assert len(points) == 4
    swept = {row["key"]: row for row in read_rows(sweep(points, tmp_path / "out").file)}
    for point in points:
        alone, row = run_point(point, Terms()), swept[point.key]
        assert row["status"] == "done", row["error"]
        assert dict(row["extra"]) == alone["extra"]
        assert row["completed"]
        assert row["members"] == 8
        assert row["data_messages"] == alone["data_messages"] > 0
        assert row["tts_p50_us"] == alone["tts_p50_us"]
        assert row["sources"] == sources_of("simulate live", row["sources"].split()[0])
    assert len({dict(row["extra"])["digest"] for row in swept.values()}) == 4


def test_the_replay_command_of_a_row_runs_the_same(capsys):
    point = live_simulation(protocol="gsgc", members=3, seconds=0.5, ip_multicast=True, seed=4)
    row = run_point(point, Terms())
    assert row["replay"].startswith("stablecast simulate live --protocol gsgc ")
    assert main([*row["replay"].split()[1:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["tts_p99_us"] == row["tts_p99_us"]
    assert float(int(told["digest"][:12], 16)) == row["extra"]["digest"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("live = 1", "grid.live: 1 is not accepted"),
        ("live = true\nexecutions = 2", "no protocol of this grid has such an option"),
        ("live = true\nsettle_s = -1", "settle_s -1.0 is not accepted"),
    ],
)
def test_what_live_groups_do_not_have_is_refused(tmp_path, line, words):
    with pytest.raises(InvalidInput, match=words):
        spec_of(tmp_path, f'[[grid]]\nprotocol = "gsgc"\n{line}\n')
