import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.patches import Polygon
from report_sample import exchange

from stablecast.report.diagram import Arrow, Diagram
from stablecast.report.diagram_static import diagram_canvas, draw_diagram
from stablecast.report.palette import MESSAGES


@pytest.fixture(scope="module")
def canvas():
    return diagram_canvas(exchange())


def rendered(canvas):
    """Draw it, so that every text knows its place."""
    agg = FigureCanvasAgg(canvas)
    agg.draw()
    return agg.get_renderer()


def lines(axes, **wanted):
    return [
        line
        for line in axes.lines
        if all(getattr(line, f"get_{name}")() == value for name, value in wanted.items())
    ]


def test_a_diagram_becomes_an_svg_and_a_png_and_nothing_else(tmp_path):
    svg, png = draw_diagram(exchange(), tmp_path)
    assert sorted(tmp_path.iterdir()) == [png, svg]
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    assert png.read_bytes().startswith(b"\x89PNG")


def test_the_same_diagram_gives_the_same_bytes(tmp_path):
    first = [path.read_bytes() for path in draw_diagram(exchange(), tmp_path / "a")]
    assert first == [path.read_bytes() for path in draw_diagram(exchange(), tmp_path / "b")]


def test_every_message_has_a_start_and_a_head_or_a_cross(canvas):
    [axes] = canvas.axes
    assert len(lines(axes, marker="o")) == 6
    assert len(lines(axes, marker="x")) == 1
    kinds = {MESSAGES[kind].colour.lower() for kind in exchange().kinds}
    heads = [one for one in axes.patches if isinstance(one, Polygon)]
    assert len([one for one in heads if to_hex(one.get_facecolor()) in kinds]) == 5


def test_processes_time_labels_marks_and_spans_are_written(canvas):
    [axes] = canvas.axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["s1", "s2", "r1", "r<2>"]
    assert axes.get_xlabel() == "time [units]"
    written = sorted(text.get_text() for text in axes.texts)
    assert written == sorted(
        ["m & n", "ack 1", "ack 2", "stable", "clock 3", "7 units until stable", "2 units"]
    )


def test_the_legend_names_every_kind_once(canvas):
    [legend] = canvas.legends
    assert [text.get_text() for text in legend.get_texts()] == ["data", "NULL", "acknowledgement"]
    assert [line.get_linestyle() for line in legend.get_lines()] == ["-", "-.", "--"]


def test_texts_are_inside_the_picture(canvas):
    width, height = canvas.bbox.width, canvas.bbox.height
    renderer = rendered(canvas)
    texts = [*canvas.axes[0].texts, *canvas.axes[0].get_yticklabels(), *canvas.legends[0].get_texts()]
    for text in texts:
        box = text.get_window_extent(renderer)
        assert min(box.x0, box.y0) >= 0, text
        assert box.x1 <= width, text
        assert box.y1 <= height, text


def test_dollars_are_text_not_formulas(tmp_path):
    odd = replace(exchange().messages[0], label="$x^2$ costs $5", kind="a kind")
    diagram = replace(exchange(), messages=(odd,))
    [axes] = diagram_canvas(diagram).axes
    assert "$x^2$ costs $5" in [text.get_text() for text in axes.texts if not text.get_parse_math()]


@pytest.mark.parametrize("kinds", [1, 5, 14])
def test_legends_of_any_length_fit(kinds, tmp_path):
    messages = tuple(
        Arrow(source=0, dest=1, sent=k, received=k, kind=f"a rather long name of a kind, {k}")
        for k in range(kinds)
    )
    diagram = Diagram(
        key="d", title="t", caption="c", time_label="t", processes=("a", "b"), messages=messages
    )
    canvas = diagram_canvas(diagram)
    renderer = rendered(canvas)
    box = canvas.legends[0].get_window_extent(renderer)
    assert box.x0 >= 0
    assert box.x1 <= canvas.bbox.width
    label = canvas.axes[0].xaxis.label.get_window_extent(renderer)
    assert box.y1 <= label.y0 + 1
