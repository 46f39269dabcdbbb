from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from report_sample import exchange

from stablecast.report.diagram import Arrow, Diagram, Mark, Span
from stablecast.report.diagram_layout import GAP, Layout, _box, lay_out


def diagram(*messages: Arrow, **more) -> Diagram:
    return Diagram(
        key="d", title="", caption="", time_label="t", processes=("a", "b", "c"), messages=messages, **more
    )


def arrow(source=0, dest=1, sent=0.0, received: float | None = 1.0, **more) -> Arrow:
    return Arrow(source=source, dest=dest, sent=sent, received=received, **{"kind": "data", **more})


def boxes(layout: Layout):
    places = (*layout.labels, *layout.marks, *(one.text for one in layout.dimensions))
    return [_box(place, layout) for place in places]


def test_time_runs_to_the_right_and_everything_is_within_it():
    layout = lay_out(exchange(), 50)
    times = [time for one in layout.strokes for time in (one.message.sent, one.end)]
    assert layout.start < min(times)
    assert max(times) < layout.end
    assert layout.x(layout.start) == 0
    assert layout.x(layout.end) == pytest.approx(50)


def test_processes_are_in_their_order_with_more_room_above_one_with_spans():
    plain = lay_out(diagram(arrow()), 50)
    assert [b - a for a, b in pairwise(plain.rows)] == pytest.approx([GAP, GAP])
    spanned = lay_out(diagram(arrow(), spans=(Span(process=1, start=0, end=1, text="x"),)), 50)
    assert spanned.rows[1] - spanned.rows[0] > GAP
    assert spanned.rows[0] < spanned.dimensions[0].y < spanned.rows[1]


def test_spans_that_overlap_are_not_on_one_line():
    long, short = lay_out(exchange(), 50).dimensions
    assert long.y != short.y
    after = (Span(process=0, start=0, end=4, text="x"), Span(process=0, start=4, end=8, text="y"))
    first, second = lay_out(diagram(arrow(), spans=after), 50).dimensions
    assert first.y == second.y


def test_what_is_sent_to_several_at_once_is_labelled_once():
    assert [one.text for one in lay_out(exchange(), 50).labels] == ["m & n", "ack 1", "ack 2"]


def test_a_label_stands_at_the_start_on_the_side_where_the_arrow_does_not_go():
    layout = lay_out(diagram(arrow(1, 2, label="down"), arrow(1, 0, sent=5, received=6, label="up")), 50)
    down, up = layout.labels
    assert (down.time, up.time) == (0, 5)
    assert down.y < layout.rows[1] < up.y


def test_a_lost_message_ends_halfway_of_what_others_take_on_its_way():
    lost = arrow(0, 2, sent=4, received=None)
    layout = lay_out(diagram(arrow(0, 2, received=2), arrow(0, 1, received=9), lost), 50)
    stroke = layout.strokes[2]
    assert stroke.end == 5
    assert stroke.y1 == pytest.approx((layout.rows[0] + layout.rows[2]) / 2)
    assert lay_out(diagram(replace(lost, kind="x")), 50).strokes[0].end == 4.5


@pytest.mark.parametrize("width", [40, 47, 60, 100])
def test_no_text_lies_on_another_or_beyond_the_edge(width):
    layout = lay_out(exchange(), width)
    for a, b in combinations(boxes(layout), 2):
        assert a.overlap(b) == 0
    assert all(box.top >= 0 and box.bottom <= layout.height for box in boxes(layout))


def test_many_messages_from_one_process_leave_room_for_their_labels():
    many = [arrow(0, dest, sent=k, received=k + 3, label=str(k)) for k in range(15) for dest in (1, 2)]
    layout = lay_out(diagram(*many), 50)
    assert len(layout.labels) == 15
    assert all(a.overlap(b) == 0 for a, b in combinations(boxes(layout), 2))


def test_a_mark_far_from_its_process_is_led_to_by_a_line():
    marks = tuple(Mark(process=1, time=1, text=text) for text in ("one", "two", "three", "four", "five"))
    layout = lay_out(diagram(arrow(0, 2, received=9), events=marks), 50)
    far = [place for place in layout.marks if place.leader(layout.rows[1])]
    assert 0 < len(far) < 5
    assert all(a.overlap(b) == 0 for a, b in combinations(boxes(layout), 2))


def test_an_instant_is_enough():
    layout = lay_out(diagram(events=(Mark(process=0, time=3, text="now"),)), 50)
    assert layout.start < 3 < layout.end
