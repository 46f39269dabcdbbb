import pytest

from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.label_places import Box, Choice, Segment, choose
from stablecast.report.static import _canvas, draw

PAGE = Box(0, 0, 10, 10)


def box(left, top, *, width=2.0, height=1.0):
    return Box(left, top, left + width, top + height)


def test_boxes_overlap_where_both_are():
    assert box(0, 0).overlap(box(1, 0.5)) == pytest.approx(0.5)
    assert box(0, 0).overlap(box(2, 0)) == 0
    assert box(0, 0.1 + 0.2, height=1.0).overlap(box(0, 1.3 - 1e-15)) == 0


@pytest.mark.parametrize(
    ("segment", "inside"),
    [
        (Segment(-1, 0.5, 5, 0.5), 2.0),
        (Segment(1, -3, 1, 0.5), 0.5),
        (Segment(0, 0, 2, 1), 5**0.5),
        (Segment(0, 2, 5, 2), 0.0),
        (Segment(3, -1, 3, 5), 0.0),
        (Segment(0, 3, 3, 0), 0.0),
    ],
)
def test_a_box_covers_the_part_of_a_line_inside_it(segment, inside):
    assert segment.inside(box(0, 0)) == pytest.approx(inside)


def test_a_text_takes_the_place_that_it_likes_best():
    assert choose([[Choice(box(5, 5), 1.0), Choice(box(1, 1), 0.0)]], [], [], PAGE) == [1]


def test_a_text_moves_off_a_line_and_off_another_text_and_stays_on_the_page():
    places = [Choice(box(x, 5), x / 100) for x in (-1, 1, 4, 7)]
    line = Segment(2, 0, 2, 10)
    assert choose([places], [line], [], PAGE) == [2]
    assert choose([places], [line], [box(4.5, 5)], PAGE) == [3]


def test_an_earlier_text_makes_room_for_one_that_has_no_choice():
    free = [Choice(box(1, 1), 0.0), Choice(box(5, 5), 0.5)]
    assert choose([free, [Choice(box(1, 1), 0.0)]], [], [], PAGE) == [1, 0]


def test_nothing_to_place():
    assert choose([], [], [], PAGE) == []


def test_names_beside_points_lie_on_no_mark_and_on_no_other_name(tmp_path):
    series = tuple(
        Series(name=f"protocol {k}", x=(1.0 + 0.02 * k,), y=(2.0 + 0.01 * (k % 3),), style="points")
        for k in range(6)
    )
    panel = Panel(title="crowded", x=Axis("x"), y=Axis("y"), series=series, named=True)
    figure = Figure(key="crowded", title="crowded", caption="", panels=(panel,))
    assert [path.suffix for path in draw(figure, tmp_path)] == [".svg", ".png"]
    canvas = _canvas(figure)
    canvas.draw_without_rendering()
    names = [text for text in canvas.axes[0].texts if text.get_text().startswith("protocol")]
    assert sorted(text.get_text() for text in names) == [one.name for one in series]
    boxes = [text.get_window_extent() for text in names]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
