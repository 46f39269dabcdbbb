"""What only an analysis draws: filled steps, bars across with names, words beside points."""

from dataclasses import replace

import pytest

from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.interactive import plot
from stablecast.report.palette import Look, dash_of, needs_legend
from stablecast.report.static import draw
from stablecast.report.view import FigureView, table_view

NAMES = Axis("member", names=("_bob", "<alice>", "$c_{"))


def across() -> Figure:
    bars = Series(name="held back", x=(1.0, 2.0, 3.0), y=(0.0, 1.0, 2.0), style="across")
    panels = tuple(Panel(title=title, x=Axis("held [B·s]"), y=NAMES, series=(bars,)) for title in "ab")
    return Figure(key="across", title="t", caption="c", panels=panels)


def spans() -> Figure:
    waited = (
        Series(name="_bob", x=(2.0, 5.0), y=(0.0, 1.0), start=(1.0, 4.0), style="across"),
        Series(name="<alice>", x=(4.0,), y=(1.0,), start=(0.0,), style="across"),
    )
    panel = Panel(title="t", x=Axis("time [h]"), y=NAMES, series=waited)
    return Figure(key="spans", title="t", caption="c", panels=(panel,))


def area() -> Figure:
    filled = Series(name="_stable", x=(1.0, 10.0, 100.0), y=(1.0, 5.0, 0.0), style="area")
    points = Series(name="$p_", x=(2.0, 20.0), y=(1.0, 2.0), style="points", beside=("p50 <2>", "p99"))
    panel = Panel(title="t", x=Axis("time [ms]", log=True), y=Axis("messages [%]"), series=(filled, points))
    return Figure(key="area", title="t", caption="c", panels=(panel,))


def test_bars_across_have_names_for_ticks_which_are_text():
    drawn = plot(across())
    assert [trace["orientation"] for trace in drawn["data"]] == ["h", "h"]
    assert drawn["layout"]["yaxis"]["ticktext"] == ["_bob", "&lt;alice&gt;", "$c_{"]
    assert drawn["data"][0]["hovertext"][1].split("<br>")[-1] == "member: &lt;alice&gt;"


def test_spans_begin_where_they_begin_and_share_a_line():
    drawn = plot(spans())
    assert drawn["layout"]["barmode"] == "overlay"
    assert plot(across())["layout"]["barmode"] == "group"
    bob = drawn["data"][0]
    assert (bob["base"], bob["x"], bob["y"]) == ([1.0, 4.0], [1.0, 1.0], [0.0, 1.0])
    assert {trace["width"] for trace in drawn["data"]} == {0.8}
    assert bob["hovertext"][0].split("<br>")[1:] == ["from 1 to 2 h", "member: _bob"]


def test_spans_of_one_name_alone_have_a_legend():
    whole = spans()
    [panel] = whole.panels
    one = replace(whole, panels=(replace(panel, series=panel.series[:1]),))
    for figure in (whole, one):
        assert needs_legend(figure)
        drawn = plot(figure)
        assert "legend" in drawn["layout"]
        assert all(trace["showlegend"] for trace in drawn["data"])


def test_an_axis_of_names_cannot_be_log():
    assert FigureView("a", across(), "f", {}).scales == ["x"]
    assert FigureView("a", area(), "f", {}).scales == ["x", "y"]


def test_bars_with_names_need_no_legend():
    assert not needs_legend(across())
    assert plot(across())["layout"]["showlegend"] is False
    assert needs_legend(area())
    assert "legend" in plot(area())["layout"]


def test_an_area_is_filled_and_points_have_words_beside_them():
    filled, points = plot(area())["data"]
    assert filled["fill"] == "tozeroy"
    assert filled["fillcolor"].startswith("rgba(")
    assert points["text"] == ["p50 &lt;2&gt;", "p99"]
    assert points["mode"] == "markers+text"


@pytest.mark.parametrize("figure", [across(), spans(), area()], ids=lambda figure: figure.key)
def test_both_can_be_printed_whatever_the_names(figure, tmp_path, recwarn):
    svg, png = draw(figure, tmp_path)
    assert png.stat().st_size > 10_000
    other = replace(figure, panels=(replace(figure.panels[0], title="日本"), *figure.panels[1:]))
    assert draw(other, tmp_path / "b")[0].read_bytes() != svg.read_bytes()
    assert [str(one.message) for one in recwarn if "Glyph" in str(one.message)] == []


def test_many_steps_are_not_dashed():
    look = Look("#0072B2", "circle", "dot")
    few = Series(name="a", x=(1.0,) * 40, y=(1.0,) * 40, style="steps")
    many = Series(name="a", x=(1.0,) * 41, y=(1.0,) * 41, style="steps")
    assert [dash_of(one, look) for one in (few, many, replace(many, style="line"))] == ["dot", "solid", "dot"]


def test_words_beside_points_are_as_many_as_points():
    with pytest.raises(ValueError, match="1 values for 2 points"):
        Series(name="a", x=(1.0, 2.0), y=(1.0, 2.0), beside=("one",))


def test_cells_may_say_more_than_their_value():
    from stablecast.report.table import Table
    from stablecast.report.view import Cell

    rows = (
        (Cell("b…", title="bob"), Cell("3 ms", number=True), 1),
        (Cell("c"), Cell("–", number=True), None),
    )
    shown = table_view("t", Table(key="t", title="t", columns=("a", "b", "c"), rows=rows))
    assert shown.numeric == [False, True, True]
    assert [cell.text for cell in shown.rows[1]] == ["c", "–", "–"]
