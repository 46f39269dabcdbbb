from pathlib import Path

import pyarrow.parquet as pq
import pytest

from stablecast.pipeline.point import simulation, task_point
from stablecast.pipeline.schema import COLUMNS, SCHEMA, WALL_COLUMNS, result_of, table_of
from stablecast.pipeline.store import read_rows, write_table
from stablecast.pipeline.tasks import Outcome, Terms, run_point
from stablecast.simulate import simulate
from stablecast.simulate.options import Options

TERMS = Terms(sources="abc")


def fail(**options):
    raise RuntimeError("a\nlong story\nof two lines")


def wait_for_ever():
    while True:
        pass


def measure(x):
    return Outcome(extra={"square": x * x})


def test_a_row_has_the_columns_of_the_schema_and_gives_the_result_back():
    options = Options(protocol="coordp", degree=2, height=3, messages=3)
    row = run_point(simulation(options), TERMS)
    assert list(row) == list(COLUMNS)
    (back,) = table_of([row]).to_pylist()
    again = simulate(options.setup())
    result = result_of(back)
    assert result.traffic == again.traffic
    assert result.hops == again.hops
    assert (result.rtt_root_us, result.simulated_us) == (again.rtt_root_us, again.simulated_us)


def test_options_of_a_protocol_from_outside_are_typed_columns_behind_all_others(tmp_path):
    file = tmp_path / "calm_coordp.py"
    file.write_text(OUTSIDE)
    calm, default = (
        run_point(simulation(protocol=str(file), degree=2, height=2, **more), TERMS)
        for more in ({"calm_ms": 3}, {})
    )
    table = table_of([calm, run_point(simulation(protocol="coordp", degree=2, height=2), TERMS), default])
    assert table.column_names == [*COLUMNS, "calm_ms"]
    assert str(table.schema.field("calm_ms").type) == "double"
    assert table["calm_ms"].to_pylist() == [3.0, None, None]
    write_table(tmp_path / "runs.parquet", table)
    assert [row["calm_ms"] for row in read_rows(tmp_path / "runs.parquet")] == [3.0, None, None]


# The kernels, and so the compiled loop, are those of coordp.
OUTSIDE = """
from stablecast.protocols import coordp
from stablecast.protocols.contract.parameters import TIME, Parameter
CALM = Parameter("resend", TIME, 1.0, "How long to be calm.", unit="ms", option="calm_ms", above=0)
OTHERS = [each for each in coordp.PROTOCOL.parameters if each.name != CALM.name]
PROTOCOL = coordp.PROTOCOL.replace(about="calm_coordp: an example.", parameters=(CALM, *OTHERS))
"""


def test_a_point_gives_the_same_row_twice_up_to_the_wall_clock():
    point = simulation(protocol="s_train", degree=3, height=3, seed=4, messages=2, data_loss=0.1)
    first, second = (run_point(point, TERMS) for _ in range(2))
    for name in WALL_COLUMNS:
        assert first.pop(name) is not None
        second.pop(name)
    assert first == second


def test_a_task_of_ones_own_fills_extra():
    row = run_point(task_point(f"{__name__}:measure", x=3.0), TERMS)
    assert (row["status"], row["extra"]) == ("done", {"square": 9.0})
    assert result_of(row) is None


def test_a_point_that_raises_is_a_row_with_its_error_on_one_line_and_its_replay():
    point = task_point(f"{__name__}:fail", x=1)
    row = run_point(point, TERMS)
    assert row["status"] == "failed"
    assert row["error"] == "RuntimeError: a long story of two lines"
    assert row["replay"] == point.replay
    table_of([row])


def test_a_point_that_cannot_be_set_up_is_a_row_too():
    row = run_point(simulation(protocol="coordp", degree=2, height=2, senders=8), TERMS)
    assert "8 senders in a group of 7 members" in row["error"]
    assert row["replay"] == "stablecast simulate coordp --degree 2 --height 2 --senders 8"


@pytest.mark.parametrize(
    "point",
    [
        task_point(f"{__name__}:wait_for_ever"),
        simulation(protocol="coordp", degree=4, height=5, executions=100_000),
    ],
    ids=["python", "compiled"],
)
def test_a_point_that_takes_too_long_is_ended(point):
    row = run_point(point, Terms(time_limit_s=0.5))
    assert row["status"] == "timeout"
    assert row["error"] == "took longer than 0.5 s"


def test_traces_are_written_for_points_with_data(tmp_path):
    point = simulation(protocol="coordp", degree=2, height=2, messages=2)
    terms = Terms(traces=str(tmp_path / "traces"))
    assert run_point(point, terms)["status"] == "done"
    assert run_point(simulation(protocol="coordp", degree=2, height=2), terms)["status"] == "done"
    (file,) = (tmp_path / "traces").iterdir()
    assert file.name == f"{point.key}.parquet"
    assert set(pq.read_table(file)["group"].to_pylist()) == {point.key}


def test_every_column_has_a_type():
    assert len(SCHEMA) == len(COLUMNS)
    assert SCHEMA.field("hops").type.item_type == "int64"
    assert SCHEMA.field("rtt_root_us").type == "double"
    assert SCHEMA.field("messages").type == SCHEMA.field("data_messages").type == "int64"


def test_every_column_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "sweep.md").read_text()
    assert [name for name in COLUMNS if f"`{name}`" not in page] == []
