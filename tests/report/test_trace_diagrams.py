"""A trace in space and time, and its picture in a notebook."""

import base64
import json
import re

import pytest

from stablecast.errors import InvalidInput
from stablecast.notebook import diagram
from stablecast.report.diagram import Diagram

ROWS = [
    ("send", "ann", "ann", 1, 1000),
    ("receive", "bob", "ann", 1, 3000),
    ("send", "bob", "bob", 1, 3500),
    ("receive", "cyd", "ann", 1, 5000),
    ("receive", "ann", "bob", 1, 5500),
    ("send", "ann", "ann", 2, 6000),
    ("stable", "ann", "ann", 1, 8000),
    ("receive", "bob", "ann", 2, 9000),
    ("stable", "bob", "ann", 2, 11000),
]


@pytest.fixture
def trace(tmp_path):
    return write(tmp_path / "trace.jsonl", ROWS)


def write(file, rows):
    names = ("kind", "member", "source", "seq", "time_us")
    file.write_text(
        "".join(json.dumps({"group": "g"} | dict(zip(names, row, strict=True))) + "\n" for row in rows)
    )
    return file


def arrows(drawn: Diagram):
    name = drawn.processes
    return [(name[one.source], name[one.dest], one.sent, one.received, one.label) for one in drawn.messages]


def test_arrows_lead_from_sendings_to_receipts_in_milliseconds_since_the_first(trace):
    assert arrows(diagram(trace)) == [
        ("ann", "bob", 0.0, 2.0, "ann/1"),
        ("ann", "cyd", 0.0, 4.0, "ann/1"),
        ("bob", "ann", 2.5, 4.5, "bob/1"),
        ("ann", "bob", 5.0, 8.0, "ann/2"),
    ]
    assert diagram(trace).processes == ("ann", "bob", "cyd")


def test_marks_say_how_many_messages_a_member_learns_to_be_stable(trace):
    drawn = diagram(trace)
    marks = [(drawn.processes[one.process], one.time, one.text) for one in drawn.events]
    assert marks == [("ann", 7.0, "1 stable"), ("bob", 10.0, "2 stable")]


def test_of_one_message_there_is_who_has_it_when_who_knows_and_how_long_it_took(trace):
    drawn = diagram(trace, message="ann/1")
    assert [one[1] for one in arrows(drawn)] == ["bob", "cyd"]
    [span] = drawn.spans
    assert (span.start, span.end, span.text) == (0.0, 7.0, "7 ms until stable")
    assert [one.text for one in drawn.events] == ["stable", "stable"]
    assert drawn.title == "Message ann/1"


def test_members_without_a_receipt_are_named(trace):
    assert "Without a receipt in the trace: cyd." in diagram(trace, message="ann/2").caption
    assert "Without a receipt" not in diagram(trace, message="ann/1").caption


def test_a_stretch_of_time_and_some_members_are_a_part_of_it(trace):
    assert [one[4] for one in arrows(diagram(trace, start_us=5500))] == ["bob/1", "ann/2"]
    assert [one[4] for one in arrows(diagram(trace, end_us=5000))] == ["ann/1", "ann/1"]
    assert [one[1] for one in arrows(diagram(trace, members=["cyd"]))] == ["cyd"]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"message": "ann"}, r"message 'ann' is not accepted \(accepted: SOURCE/NUMBER"),
        ({"message": "ann/x"}, "message 'ann/x' is not accepted"),
        ({"message": "ann/9"}, "the trace has no sending of message 'ann/9'"),
        ({"members": ["dan"]}, r"unknown member 'dan'.* \(accepted: ann, bob, cyd\)"),
        ({"members": "ann"}, "members 'ann' is not accepted"),
        ({"members": []}, "members .* is not accepted"),
        ({"start_us": 5, "end_us": 4}, "start_us 5 is after end_us 4"),
        ({"start_us": 10**9}, "nothing to draw"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(trace, how, words):
    with pytest.raises(InvalidInput, match=words) as refused:
        diagram(trace, **how)
    assert "\n" not in str(refused.value)


def test_too_much_for_one_picture_is_refused(tmp_path):
    rows = [("send", "a", "a", 1, 0)] + [("receive", f"m{k}", "a", 1, k + 1) for k in range(300)]
    with pytest.raises(InvalidInput, match=r"300 receipts are too many for one diagram"):
        diagram(write(tmp_path / "many.jsonl", rows))
    with pytest.raises(InvalidInput, match=r"101 members are too many for one diagram"):
        diagram(write(tmp_path / "wide.jsonl", rows[:101]))


def test_the_picture_is_an_image_with_its_text_escaped(tmp_path):
    nasty = '<script>"$x_{^'
    file = write(tmp_path / "t.jsonl", [("send", nasty, nasty, 1, 0), ("receive", "b", nasty, 1, 9)])
    html = diagram(file, message=f"{nasty}/1")._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;&quot;$x_{^/1" in html
    [source] = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    assert b"</svg>" in base64.b64decode(source)
