"""A sweep that analyses its traces: one Spark application, each point a group, nothing done twice."""

import json

import pyarrow.parquet as pq
import pytest

from stablecast.cli.main import main
from stablecast.pipeline import sweep as sweep_module
from stablecast.pipeline.analysis import analyze as analyze_module
from stablecast.pipeline.point import simulation, task_point
from stablecast.pipeline.spec import read_spec
from stablecast.pipeline.store import read_rows
from stablecast.pipeline.sweep import Again, sweep
from stablecast.pipeline.tasks import writes_trace
from stablecast.simulate.options import Options

SPEC = """
[grid]
protocol = ["coordp", "s_coordp"]
degree = 2
height = 2
messages = [0, 3]
"""


def with_data(protocol, **more):
    return simulation(protocol=protocol, degree=2, height=2, messages=3, **more)


def test_each_point_with_data_is_a_group_of_the_analysis(spark, tmp_path, capsys, monkeypatch):
    spec, out = tmp_path / "spec.toml", tmp_path / "out"
    spec.write_text(SPEC)
    command = ["sweep", str(spec), "--out", str(out), "--analyze", "--json"]
    assert main(command) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["points"], told["computed"], told["analysis"]["traces"]) == (4, 4, 2)
    assert told["analysis"]["computed"]
    assert not any(told["analysis"]["violations"].values())
    groups = pq.read_table(out / "analysis" / "messages")["group"].value_counts().to_pylist()
    sent = {row["key"]: row["data_messages"] for row in read_rows(out / "runs.parquet")}
    assert {one["values"]: one["counts"] for one in groups} == {key: n for key, n in sent.items() if n}
    assert sum(n for n in sent.values() if n) == told["analysis"]["messages"] == 2 * 7 * 3

    def no_session(**asked):
        raise AssertionError("nothing is left to do for Spark")

    monkeypatch.setattr(sweep_module, "spark_session", no_session)
    assert main(command) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["analysis"] == told["analysis"] | {"computed": False}


@pytest.fixture
def analyses(monkeypatch):
    """What is given to the analysis, which is not made: its folder gets what marks one."""
    calls = []

    def note(paths, out, *, spark, replace, say):
        calls.append(sorted(path.name for path in paths))
        assert replace
        (out / "messages").mkdir(parents=True, exist_ok=True)
        summary = {"events": 500, "messages": 42, "unstable": 0, "violations": {"gap": 0}}
        (out / "summary.json").write_text(json.dumps(summary))
        (out / "traces.json").unlink(missing_ok=True)
        return analyze_module.Analysis(out, summary)

    monkeypatch.setattr(analyze_module, "analyze", note)
    return calls


def test_an_analysis_is_made_again_when_its_traces_are_others(spark, tmp_path, analyses):
    one, two = with_data("coordp"), with_data("train")
    first = sweep([one], tmp_path, analyze=True)
    assert (first.computed, first.analysed.computed, analyses) == (1, True, [["traces"]])
    assert not sweep([one], tmp_path, analyze=True).analysed.computed
    longer = sweep([one, two], tmp_path, analyze=True)
    assert (longer.computed, longer.analysed.traces, analyses[1:]) == (1, 2, [["traces"]])
    shorter = sweep([two], tmp_path, analyze=True)
    assert (shorter.computed, shorter.analysed.traces, analyses[2:]) == (0, 1, [[f"{two.key}.parquet"]])
    forced = sweep([two], tmp_path, analyze=True, again=Again(force=True))
    assert (forced.computed, forced.analysed.computed) == (1, True)
    assert sweep([two], tmp_path).analysed is None


def test_points_without_the_traces_that_they_should_have_are_run_again(spark, tmp_path, analyses):
    points = [with_data("coordp"), simulation(protocol="coordp", degree=2, height=2)]
    sweep(points, tmp_path)
    assert sweep(points, tmp_path, analyze=True).computed == 1
    assert sweep(points, tmp_path, traces=True).computed == 0
    # A trace belongs to its row: computed again without one, a point has none.
    sweep(points, tmp_path, again=Again(force=True))
    assert list((tmp_path / "traces").iterdir()) == []


def test_failed_points_and_interrupted_sweeps_are_not_analysed(spark, tmp_path, analyses, monkeypatch):
    failing = simulation(protocol="coordp", degree=2, height=2, messages=3, senders=100)
    swept = sweep([failing], tmp_path, analyze=True)
    assert (len(swept.runs.failed), swept.analysed, analyses) == (1, None, [])
    monkeypatch.setattr(sweep_module, "_compute", lambda *of: (0, True))
    assert sweep([with_data("coordp")], tmp_path, analyze=True).analysed is None
    assert analyses == []


def test_violations_are_told_and_make_the_exit_code_1(spark, tmp_path, analyses, capsys):
    spec, out = tmp_path / "spec.toml", tmp_path / "out"
    spec.write_text("analyze = true\n" + SPEC)
    assert read_spec(spec).analyze
    command = ["sweep", str(spec), "--out", str(out)]
    assert main(command) == 0
    assert "analysis of 2 traces: 42 messages, 0 not stable, no violations" in capsys.readouterr().out
    summary = json.loads((out / "analysis" / "summary.json").read_text())
    (out / "analysis" / "summary.json").write_text(json.dumps(summary | {"violations": {"gap": 3}}))
    assert main(command) == 1
    told = capsys.readouterr().out
    assert "analysis of 2 traces, as it was: 42 messages, 0 not stable, violations: 3 gap" in told


def test_a_sweep_with_nothing_to_analyse_is_refused_before_it_begins(tmp_path, capsys):
    spec, out = tmp_path / "spec.toml", tmp_path / "out"
    spec.write_text('[grid]\nprotocol = "coordp"\n')
    assert main(["sweep", str(spec), "--out", str(out), "--analyze"]) == 2
    assert "nothing to analyse: no point has data traffic" in capsys.readouterr().err
    assert not out.exists()


def test_a_folder_that_is_no_analysis_is_not_replaced(tmp_path, capsys):
    spec, out = tmp_path / "spec.toml", tmp_path / "out"
    spec.write_text(SPEC)
    (out / "analysis").mkdir(parents=True)
    (out / "analysis" / "mine").write_text("kept")
    assert main(["sweep", str(spec), "--out", str(out), "--analyze"]) == 2
    told = capsys.readouterr().err
    assert "holds something else" in told
    assert told.count("\n") == 1
    assert [file.name for file in out.iterdir()] == ["analysis"]


@pytest.mark.parametrize(
    "options",
    [
        {"protocol": "coordp"},
        {"protocol": "coordp", "messages": 2},
        {"protocol": "coordp", "messages": 2, "faults": "crash 3 at 5000", "resend_ms": 20.0},
        {"protocol": "coordp", "messages": 2, "faults": " "},
        {"protocol": "cubefulldist", "messages": 2, "fail_random": 1},
        {"protocol": "cubefulldist", "messages": 2, "fail_neighbours": 1},
        {"protocol": "gsgc", "messages": 2},
        {"protocol": "gsgc", "messages": 2, "threshold_steps": 5},
        {"protocol": "timestamp"},
        {"protocol": "timestamp", "receivers": 2},
        {"protocol": "bimodal", "messages": 2},
    ],
    ids=lambda options: " ".join(map(str, options.values())),
)
def test_whether_a_point_is_traced_is_told_by_its_options(options):
    setup = Options(**options, degree=2, height=2).setup()
    whole = setup.traffic.messages > 0 and not setup.faulty and not setup.audiences
    assert writes_trace(simulation(**options, degree=2, height=2)) == whole


def test_other_tasks_are_not_traced():
    assert not writes_trace(task_point("os:getcwd"))
