"""Protocols from files in sweeps: their paths, points' keys, what is shipped, and columns of results."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from outside_files import DOUBLING, another, complaint, example, variant

from stablecast.errors import InvalidInput
from stablecast.pipeline.point import protocol_files, simulation
from stablecast.pipeline.schema import further_columns_of
from stablecast.pipeline.spec import read_spec
from stablecast.pipeline.sweep import Where, sweep
from stablecast.pipeline.tasks import Terms, run_batch

GRID = """
[grid]
protocol = "mine.py"
topology = "balanced"
members = 5
fanout = [1, 2]
"""


@pytest.fixture
def spec(tmp_path):
    variant(tmp_path, "doubling:", "mine:")
    (tmp_path / "spec.toml").write_text(GRID, encoding="utf-8")
    return tmp_path / "spec.toml"


def test_a_path_is_relative_to_the_specification(spec, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    points = read_spec(spec).points
    assert [point.options["fanout"] for point in points] == [1, 2]
    assert {point.options["protocol"] for point in points} == {str(tmp_path / "mine.py")}
    assert points[1].replay == (
        f"stablecast simulate {tmp_path / 'mine.py'} --topology balanced --members 5 --fanout 2"
    )


def test_a_point_is_told_by_the_files_name_and_text(spec, tmp_path):
    before = [point.key for point in read_spec(spec).points]
    moved = tmp_path / "elsewhere"
    variant(moved, "doubling:", "mine:")
    (moved / "spec.toml").write_text(GRID, encoding="utf-8")
    assert [point.key for point in read_spec(moved / "spec.toml").points] == before
    variant(tmp_path, "doubling:", "edited:")
    assert not set(before) & {point.key for point in read_spec(spec).points}


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('"mine.py"', '"none.py"', "no protocol '"),
        ('"mine.py"', '["coordp", "mine.py"]', "coordp has no such option (accepted: resend_ms"),
        ("fanout", "fan_out", "unknown key 'fan_out'; did you mean 'fanout'?"),
        ("fanout = [1, 2]", 'fanout = "two"', "'two' is not accepted (accepted: a whole number)"),
    ],
)
def test_what_a_specification_gets_wrong_is_told_with_its_line(old, new, what, spec, capsys):
    spec.write_text(GRID.replace(old, new), encoding="utf-8")
    said = complaint(capsys, "sweep", str(spec), "--out", str(spec.parent / "out"), "--dry-run")
    assert said.startswith(f"{spec}, line ")
    assert what in said


def test_a_file_that_is_wrong_is_told_with_both_lines(spec, tmp_path, capsys):
    path, line = variant(tmp_path, "class State(Member):", "class State(Member:")
    said = complaint(capsys, "sweep", str(spec), "--out", str(tmp_path / "out"))
    assert said.startswith(f"{spec}, line 3: grid.protocol: {path}, line {line}: not Python")


@pytest.mark.parametrize("name", ["rounds", "status", "resend_ms"])
def test_a_parameter_with_the_name_of_another_column_is_refused(name, tmp_path):
    path, line = variant(tmp_path, '    "fanout", WHOLE', f'    "{name}", WHOLE')
    point = simulation(protocol=path, topology="balanced", members=3)
    with pytest.raises(InvalidInput, match=rf"mine\.py, line {line}: {name} is a column of results already"):
        further_columns_of([point])


def test_two_files_with_a_parameter_of_two_types_are_refused(tmp_path):
    first, _ = variant(tmp_path / "a", '    "fanout", WHOLE', '    "width", WHOLE')
    second, _ = variant(tmp_path / "b", '    "fanout", WHOLE, 1', '    "width", REAL, 1.0')
    text = (tmp_path / "b" / "mine.py").read_text(encoding="utf-8")
    (tmp_path / "b" / "mine.py").write_text(text.replace("    TIME,\n", "    REAL,\n    TIME,\n"), "utf-8")
    points = [simulation(protocol=path, topology="balanced", members=3) for path in (first, second)]
    with pytest.raises(InvalidInput, match="width is of type double, and of type int64"):
        further_columns_of(points)


def test_a_worker_needs_no_file_but_the_text_that_is_shipped(tmp_path):
    path = example(tmp_path)
    point = simulation(protocol=path, topology="balanced", members=4, fanout=2)
    files = protocol_files([point])
    Path(path).unlink()
    code = f"""
        from stablecast.pipeline.point import Point
        from stablecast.pipeline.tasks import Terms, run_batch

        point = Point({dict(point.options)!r}, source={point.source!r})
        (row,) = run_batch([(Terms(files={files!r}), [point])])
        print(row["status"], row["protocol"], row["fanout"], row["key"], row["error"])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.stdout.strip() == f"done doubling 2 {point.key} None", done.stderr


def test_an_error_of_the_file_is_a_row_with_its_line(tmp_path):
    sends = 'sends=lambda sizes: sizes.params["fanout"]'
    path, line = variant(tmp_path, sends, 'sends=lambda sizes: sizes.params["fan"]')
    point = simulation(protocol=path, topology="balanced", members=4)
    (row,) = run_batch([(Terms(files=protocol_files([point])), [point])])
    assert row["status"] == "failed"
    assert f"{path}, line {line}: KeyError: 'fan'" in row["error"]


def test_a_sweep_on_spark_has_typed_columns_and_runs_an_edited_file_anew(spec, tmp_path, spark):
    spec.write_text(GRID.replace("mine.py", DOUBLING.name), encoding="utf-8")
    example(tmp_path)
    points = [*read_spec(spec).points, simulation(protocol="coordp", topology="balanced", members=5)]
    swept = sweep(points, tmp_path / "out", where=Where())
    assert not swept.runs.failed
    table = pq.read_table(swept.file)
    assert table.schema.field("fanout").type == pa.int64()
    assert table.schema.field("step_ms").type == pa.float64()
    assert table.column("fanout").to_pylist() == [1, 2, None]
    assert table.column("protocol").to_pylist() == ["doubling", "doubling", "coordp"]
    assert sweep(points, tmp_path / "out").computed == 0
    another(tmp_path)
    edited = [*read_spec(spec).points, points[-1]]
    again = sweep(edited, tmp_path / "out")
    assert (again.computed, again.kept) == (2, 1)
    before, after = (swept.runs[points[0]].result, again.runs[edited[0]].result)
    assert after.rtt_last_us > before.rtt_last_us


def test_a_column_without_a_value_has_the_declared_type(tmp_path):
    from stablecast.pipeline.store import Store

    point = simulation(protocol=str(DOUBLING), topology="balanced", members=3)
    (row,) = run_batch([(Terms(files=protocol_files([point])), [point])])
    with Store(tmp_path) as store:
        store.expect(further_columns_of([point]))
        store.add([row])
        file = store.merge([point])
    assert pq.read_schema(file).field("fanout").type == pa.int64()
    with Store(tmp_path) as store:
        assert pq.read_schema(store.merge([point])).field("fanout").type == pa.int64()
        with pytest.raises(InvalidInput, match="has a column fanout of type int64, and not string"):
            store.expect({"fanout": pa.string()})
