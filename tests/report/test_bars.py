import pytest

from stablecast.report.bars import bar_places
from stablecast.report.figure import Axis, Panel, Series


def panel(*, log: bool) -> Panel:
    series = tuple(Series(name=name, x=(1.0, 10.0, 100.0), y=(1.0, 2.0, 3.0), style="bars") for name in "ab")
    return Panel(title="", x=Axis("x", log=log), y=Axis("y"), series=series)


@pytest.mark.parametrize("log", [False, True])
def test_bars_stand_beside_each_other_around_their_place(log):
    places = bar_places(panel(log=log))
    for x, left, right in zip((1, 10, 100), places["a"], places["b"], strict=True):
        assert left.left < left.middle < left.right <= right.left < right.middle < right.right
        assert left.right == pytest.approx(x)


def test_bars_on_a_log_axis_are_equally_wide_to_the_eye():
    ratios = [bar.right / bar.left for bar in bar_places(panel(log=True))["a"]]
    assert ratios == pytest.approx([ratios[0]] * 3)


def test_a_panel_without_bars_has_no_places():
    line = Series(name="a", x=(1.0,), y=(1.0,))
    assert bar_places(Panel(title="", x=Axis("x"), y=Axis("y"), series=(line,))) == {}
