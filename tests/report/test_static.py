import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import matplotlib
import pytest
from report_sample import bars, two_panels

from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.static import arrangement, draw


@pytest.mark.parametrize("figure", [two_panels(), bars()], ids=lambda figure: figure.key)
def test_the_same_data_give_the_same_bytes(figure, tmp_path):
    first = [path.read_bytes() for path in draw(figure, tmp_path / "a")]
    again = [path.read_bytes() for path in draw(figure, tmp_path / "b")]
    assert first == again


def test_a_figure_becomes_an_svg_and_a_png_and_nothing_else(tmp_path):
    svg, png = draw(two_panels(), tmp_path)
    assert sorted(tmp_path.iterdir()) == [png, svg]
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    assert png.read_bytes().startswith(b"\x89PNG")


def test_other_data_give_another_picture(tmp_path):
    figure = bars()
    renamed = replace(figure, panels=(replace(figure.panels[0], title="other"),))
    assert draw(figure, tmp_path / "a")[0].read_bytes() != draw(renamed, tmp_path / "b")[0].read_bytes()


def test_settings_of_the_user_neither_change_the_picture_nor_are_changed(tmp_path):
    plain = draw(bars(), tmp_path / "a")[0].read_bytes()
    with matplotlib.rc_context({"axes.grid": True, "lines.linewidth": 9}):
        assert draw(bars(), tmp_path / "b")[0].read_bytes() == plain
        assert matplotlib.rcParams["lines.linewidth"] == 9


def test_drawing_leaves_the_global_interface_of_matplotlib_alone():
    code = "import sys, stablecast.report.static; print('matplotlib.pyplot' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


@pytest.mark.parametrize("style", ["line", "points", "bars", "steps"])
@pytest.mark.parametrize("log", [False, True])
def test_awkward_numbers_can_be_drawn(style, log, tmp_path):
    series = Series(
        name="a", x=(0.0, 1.0, 2.0), y=(0.0, float("nan"), 5.0), low=(0.0, 1.0, 5.1), high=(1.0, 1.0, 9.0)
    )
    panel = Panel(
        title="t", x=Axis("x", log=log), y=Axis("y", log=log), series=(replace(series, style=style),)
    )
    assert len(draw(Figure(key="k", title="t", caption="c", panels=(panel,)), tmp_path)) == 2


@pytest.mark.parametrize("style", ["line", "bars"])
def test_a_series_without_points_can_be_drawn(style, tmp_path):
    series = Series(name="a", x=(), y=(), style=style)
    panel = Panel(title="t", x=Axis("x", log=True), y=Axis("y", log=True), series=(series,))
    assert len(draw(Figure(key="k", title="t", caption="c", panels=(panel,)), tmp_path)) == 2


def test_panels_beside_each_other():
    assert [arrangement(n) for n in (1, 2, 3, 4, 5)] == [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3)]
