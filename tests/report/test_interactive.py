import json
from dataclasses import replace

from report_sample import bars, two_panels

from stablecast.report.interactive import plot


def traces(figure, name):
    return [trace for trace in plot(figure)["data"] if trace["name"] == name]


def test_a_name_is_in_the_legend_once_and_toggles_in_all_panels():
    both = traces(two_panels(), "coordp")
    assert [trace["showlegend"] for trace in both] == [True, False]
    assert {trace["legendgroup"] for trace in both} == {"coordp"}
    assert [trace["xaxis"] for trace in both] == ["x", "x2"]


def test_axes_follow_the_figure():
    layout = plot(two_panels())["layout"]
    assert layout["yaxis2"]["type"] == "log"
    assert layout["yaxis2"]["title"]["text"] == "round-trip time [ms]"
    assert plot(bars())["layout"]["xaxis"]["tickvals"] == [2.0, 3.0, 4.0]


def test_hovering_shows_name_numbers_units_and_the_line_about_the_point():
    label = traces(two_panels(), "coordp")[0]["hovertext"][1].split("<br>")
    assert label == ["<b>coordp</b>", "members n: 100", "round-trip time: 39.8107 ms", "tree 3/4"]


def test_hovering_shows_the_ends_of_error_bars():
    assert "from 3.6 to 4.8" in traces(bars(), "train")[0]["hovertext"][0]


def test_error_bars_are_distances_from_the_point():
    errors = traces(bars(), "train")[0]["error_y"]
    assert [round(value, 6) for value in errors["array"]] == [0.8, 1.6, 2.4]
    assert [round(value, 6) for value in errors["arrayminus"]] == [0.4, 0.8, 1.2]


def test_companions_lie_under_their_lines_and_come_last_in_the_legend():
    data = [trace for trace in plot(two_panels())["data"] if trace["xaxis"] == "x2"]
    assert [trace["name"] for trace in data] == ["coordp, random trees", "coordp", "s_coordp"]
    assert data[0]["legendrank"] > data[1]["legendrank"]
    assert data[0]["mode"] == "markers"


def test_what_is_not_a_number_becomes_a_gap():
    figure = bars()
    series = replace(figure.panels[0].series[0], y=(1.0, float("nan"), float("inf")), low=(), high=())
    odd = replace(figure, panels=(replace(figure.panels[0], series=(series,)),))
    [trace] = plot(odd)["data"]
    assert trace["y"] == [1.0, None, None]
    json.dumps(plot(odd), allow_nan=False)


def test_names_are_text_not_markup():
    figure = two_panels()
    series = replace(figure.panels[0].series[0], name="a < b")
    odd = replace(figure, panels=(replace(figure.panels[0], series=(series,)),))
    assert plot(odd)["data"][0]["name"] == "a &lt; b"
