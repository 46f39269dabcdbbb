"""A table of runs in a notebook: a card, a DataFrame, a picture."""

import pytest

from stablecast.errors import InvalidInput, StablecastError
from stablecast.notebook import read_runs
from stablecast.pipeline.point import live_simulation, simulation
from stablecast.pipeline.runs import Runs
from stablecast.pipeline.schema import table_of
from stablecast.pipeline.store import write_table
from stablecast.pipeline.tasks import Terms, run_point
from stablecast.report.plots.of_runs import panel_of_runs


@pytest.fixture(scope="module")
def rows():
    points = [
        simulation(protocol=name, topology="star", members=count, seed=seed)
        for name in ("coordp", "s_coordp")
        for count in (3, 6)
        for seed in (1, 2)
    ]
    return [run_point(point, Terms()) for point in points]


@pytest.fixture
def failed(rows):
    row = rows[0]
    empty = {name: None for name, value in row.items() if type(value) in (int, float)}
    return {**row, **empty, "hops": None, "key": "failed", "status": "failed", "error": "<it> broke"}


def test_a_card_shows_what_differs_and_what_was_measured(rows):
    html = Runs(rows)._repr_html_()
    assert "8 runs, 8 done" in html
    for column in ("protocol", "members", "seed", "last knows (ms)"):
        assert f">{column}</th>" in html
    assert ">topology</th>" not in html
    assert f">{rows[0]['rtt_last_us'] / 1e3:.4g}</td>" in html


def test_failed_runs_are_told_with_their_errors_escaped(rows, failed):
    html = Runs([*rows, failed])._repr_html_()
    assert "9 runs, 8 done" in html
    assert "&lt;it&gt; broke" in html


def test_no_runs_at_all_are_shown_too():
    assert "0 runs, 0 done" in Runs(())._repr_html_()
    assert len(Runs(()).to_pandas()) == 0
    with pytest.raises(InvalidInput, match="no run of this table has a result"):
        Runs(()).plot()


def test_pandas_has_every_run_and_column_and_messages_by_type(rows):
    frame = Runs(rows).to_pandas()
    assert list(frame.columns) == table_of(rows).column_names
    assert frame.groupby("protocol")["members"].max().to_dict() == {"coordp": 6, "s_coordp": 6}
    assert frame["hops"][0] == dict(rows[0]["hops"])


def test_runs_of_a_folder_are_read_and_what_is_none_is_refused_in_one_line(rows, tmp_path):
    write_table(tmp_path / "runs.parquet", table_of(rows))
    assert len(read_runs(tmp_path)) == len(read_runs(tmp_path / "runs.parquet")) == 8
    with pytest.raises(InvalidInput, match=r"is not there \(accepted: the folder of a sweep"):
        read_runs(tmp_path / "nothing")
    (tmp_path / "other.parquet").write_bytes(b"not parquet")
    with pytest.raises(StablecastError, match="is not a table of runs"):
        read_runs(tmp_path / "other.parquet")


def test_a_plot_has_a_line_for_each_protocol_over_the_first_option_that_differs(rows):
    [panel] = panel_of_runs(Runs(rows)).panels
    assert (panel.x.label, panel.y.label) == ("members", "rtt_last [ms]")
    assert [series.name for series in panel.series] == ["coordp", "s_coordp"]
    first = panel.series[0]
    assert first.x == (3.0, 6.0)
    both = [row["rtt_last_us"] / 1e3 for row in rows[:2]]
    assert (first.low[0], first.high[0]) == (min(both), max(both))


def test_a_plot_takes_other_columns_and_refuses_those_that_are_no_numbers(rows):
    [panel] = panel_of_runs(Runs(rows), x="seed", y="messages_sent").panels
    assert (panel.x.label, panel.y.label) == ("seed", "messages_sent")
    with pytest.raises(InvalidInput, match="unknown column 'nothing'"):
        panel_of_runs(Runs(rows), y="nothing")
    with pytest.raises(InvalidInput, match="has no numbers"):
        panel_of_runs(Runs(rows), y="topology")


def test_runs_of_live_groups_are_shown_and_drawn():
    points = [live_simulation(protocol="gsgc", members=count, seconds=0.2) for count in (2, 3)]
    runs = Runs([run_point(point, Terms()) for point in points])
    assert "to stable, p50 (ms)" in runs._repr_html_()
    [panel] = panel_of_runs(runs).panels
    assert (panel.x.label, panel.y.label) == ("members", "tts_p50 [ms]")
