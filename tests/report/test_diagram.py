"""A space-time diagram refuses what cannot be drawn, and is a paper's figure like any other."""

from dataclasses import replace

import pytest

from stablecast.papers.page import write_figures, write_page
from stablecast.papers.paper import Paper, evaluate
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.diagram import Arrow, Diagram, Mark, Span
from stablecast.report.figure import Axis, Figure, Panel

DATA = Arrow(source=0, dest=1, sent=1, received=2, kind="data", label="m")
DIAGRAM = Diagram(
    key="figure3", title="A run", caption="c", time_label="time", processes=("s", "r"), messages=(DATA,)
)


def test_kinds_are_told_by_first_appearance():
    messages = (DATA, replace(DATA, kind="NULL"), replace(DATA, source=1, dest=0, kind="data"))
    assert replace(DIAGRAM, messages=messages).kinds == ("data", "NULL")


def test_a_message_without_a_receipt_is_lost_and_one_may_take_no_time():
    assert replace(DATA, received=None).lost
    assert not replace(DATA, received=1).lost


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"received": 0.5}, "received at 0.5, sent at 1"),
        ({"sent": float("nan")}, "nan is not a time"),
        ({"received": float("inf")}, "inf is not a time"),
        ({"dest": 0}, "process 0 sends it to itself"),
        ({"kind": ""}, "its kind has no name"),
    ],
)
def test_impossible_messages_are_refused(change, message):
    with pytest.raises(ValueError, match=f"message 'm': {message}"):
        replace(DATA, **change)


def test_a_span_of_no_time_and_a_mark_at_no_time_are_refused():
    with pytest.raises(ValueError, match="span 'x': from 2 to 2 no time passes"):
        Span(process=0, start=2, end=2, text="x")
    with pytest.raises(ValueError, match="mark 'x': nan is not a time"):
        Mark(process=0, time=float("nan"), text="x")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"messages": (replace(DATA, dest=2),)}, "message 'm': no process 2, they are 0 to 1"),
        ({"messages": (replace(DATA, source=-1),)}, "message 'm': no process -1"),
        ({"events": (Mark(process=5, time=1, text="x"),)}, "mark 'x': no process 5"),
        ({"spans": (Span(process=5, start=1, end=2, text="x"),)}, "span 'x': no process 5"),
        ({"processes": ("s", "s")}, "two processes have one name: s, s"),
        ({"processes": ()}, "it has no process"),
        ({"messages": ()}, "nothing happens in it"),
    ],
)
def test_impossible_diagrams_are_refused(change, message):
    with pytest.raises(ValueError, match=f"diagram figure3.*{message}"):
        replace(DIAGRAM, **change)


def paper() -> Paper:
    def missing(runs: Runs) -> Diagram:
        raise MissingRun("none")

    def lines(runs: Runs) -> Figure:
        panel = Panel(title="", x=Axis("x"), y=Axis("y"), series=())
        return Figure(key="lines", title="Lines", caption="c", panels=(panel,))

    return Paper(
        name="example",
        title="An example",
        question="Does it work?",
        points=lambda full: [],
        tables=(),
        claims=(),
        figures=(lambda runs: DIAGRAM, missing, lines),
    )


def test_a_paper_has_figures_and_diagrams_side_by_side_and_leaves_out_what_was_not_run():
    assert [one.key for one in evaluate(paper(), Runs([]), full=True).figures] == ["figure3", "lines"]


def test_a_diagram_is_drawn_into_the_report(tmp_path):
    evaluation = evaluate(paper(), Runs([]), full=True)
    drawn = write_figures([evaluation], tmp_path)
    names = [f"{key}.{kind}" for key in ("figure3", "lines") for kind in ("svg", "png")]
    assert drawn == [tmp_path / "example" / "figures" / name for name in names]
    text = write_page([evaluation], tmp_path, version="0", details={}).read_text(encoding="utf-8")
    assert 'id="example-figure3"' in text
    assert 'href="example/figures/figure3.svg"' in text
