import json
from dataclasses import replace

from report_sample import exchange

from stablecast.report.diagram_interactive import STEPS, plot_diagram
from stablecast.report.palette import MESSAGES


def traces(diagram=None, **wanted):
    data = plot_diagram(diagram or exchange())["data"]
    return [trace for trace in data if all(trace.get(name) == value for name, value in wanted.items())]


def arrows(diagram=None):
    """All traces of messages with their heads."""
    return [trace for trace in traces(diagram, mode="lines+markers") if "hovertext" in trace]


def test_every_message_is_a_line_with_a_head_unless_it_is_lost():
    heads = [size for trace in arrows() for size in trace["marker"]["size"] if size]
    assert len(heads) == 5
    assert sum(trace["x"].count(None) for trace in arrows()) == 6
    crosses = [trace["marker"]["symbol"].count("x") for trace in traces(mode="markers", hoverinfo="skip")]
    assert sum(crosses) == 1


def test_points_all_along_a_message_show_its_label():
    [data] = [trace for trace in arrows() if trace["name"] == "data"]
    label = "<b>data m &amp; n</b><br>s1 → r1<br>sent: 1 units<br>received: 3 units, 2 later<br>the first"
    assert data["hovertext"][: STEPS + 1] == [label] * (STEPS + 1)
    assert len(data["hovertext"]) == len(data["x"]) == len(data["marker"]["size"])
    assert any(text.endswith("lost") for trace in arrows() for text in trace["hovertext"])


def test_the_legend_has_every_kind_once_with_its_colour_and_dashes():
    shown = traces(showlegend=True)
    assert [trace["name"] for trace in shown] == ["data", "NULL", "acknowledgement"]
    for trace in shown:
        look = MESSAGES[trace["name"]]
        assert (trace["line"]["color"], trace["line"]["dash"]) == (look.colour, look.dash)


def test_everything_about_a_kind_of_message_is_one_group_of_the_legend():
    group = traces(legendgroup="acknowledgement")
    assert sorted(text for trace in group for text in trace.get("text", ())) == ["ack 1", "ack 2"]
    assert len([trace for trace in group if trace["mode"] == "lines+markers"]) == 2  # one of them is pale


def test_pale_messages_are_under_the_others():
    opacities = [trace["opacity"] for trace in arrows()]
    assert opacities == sorted(opacities)
    assert opacities[0] < 1


def test_a_kind_of_pale_messages_alone_is_pale_in_the_legend():
    faint = tuple(replace(message, pale=True) for message in exchange().messages)
    assert all(trace["opacity"] < 1 for trace in traces(replace(exchange(), messages=faint), showlegend=True))


def test_processes_are_the_ticks_of_an_axis_that_goes_down():
    layout = plot_diagram(exchange())["layout"]
    assert layout["yaxis"]["ticktext"] == ["<b>s1</b>", "<b>s2</b>", "<b>r1</b>", "<b>r&lt;2&gt;</b>"]
    assert layout["yaxis"]["tickvals"] == sorted(layout["yaxis"]["tickvals"])
    assert layout["yaxis"]["range"][0] > layout["yaxis"]["range"][1]
    assert layout["xaxis"]["title"]["text"] == "time [units]"


def test_marks_and_spans_are_written():
    texts = [text for trace in traces(mode="text") for text in trace["text"]]
    assert {"stable", "clock 3", "7 units until stable", "2 units", "m &amp; n"} <= set(texts)
    [points] = [trace for trace in traces(mode="markers") if "hovertext" in trace]
    assert points["hovertext"][0] == "<b>stable</b><br>s1<br>time: 8 units"


def test_a_plot_is_the_same_every_time_and_can_be_json():
    assert plot_diagram(exchange()) == plot_diagram(exchange())
    json.dumps(plot_diagram(exchange()), allow_nan=False)
