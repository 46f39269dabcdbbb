"""Invented evaluations, small but with everything that a report can show."""

from __future__ import annotations

from dataclasses import replace

from stablecast.papers.paper import Claim, Evaluation, Judgement, Paper, Verdict
from stablecast.papers.reading import Choice, Reading
from stablecast.pipeline.runs import Runs
from stablecast.report.diagram import Arrow, Diagram, Mark, Span
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table

MEMBERS = Axis("members n", log=True)
TIME = Axis("round-trip time [ms]", log=True)


def line(name: str, factor: float, **more) -> Series:
    x = (10.0, 100.0, 1000.0)
    return Series(name=name, x=x, y=tuple(factor * n**0.8 for n in x), **more)


def two_panels() -> Figure:
    """Lines on log axes, with pale points in the second panel."""
    lines = (line("coordp", 1.0, hover=("tree 3/2", "tree 3/4", "tree 3/6")), line("s_coordp", 0.1))
    points = line("coordp, random trees", 1.3, style="points", like="coordp")
    return Figure(
        key="figure9",
        title="Round-trip times",
        caption="Lines are trees & dots are random trees.",
        panels=(
            Panel(title="height 5", x=MEMBERS, y=TIME, series=lines),
            Panel(title="height 7", x=MEMBERS, y=TIME, series=(*lines, points)),
        ),
    )


def bars() -> Figure:
    """Bars with error bars."""
    degrees = Axis("degree")
    series = tuple(
        Series(
            name=name,
            x=(2.0, 3.0, 4.0),
            y=tuple(base * k for k in (1.0, 2.0, 3.0)),
            low=tuple(base * k * 0.9 for k in (1.0, 2.0, 3.0)),
            high=tuple(base * k * 1.2 for k in (1.0, 2.0, 3.0)),
            style="bars",
        )
        for name, base in (("train", 4.0), ("s_train", 3.0))
    )
    panel = Panel(title="queues", x=degrees, y=Axis("longest queue [messages]"), series=series)
    return Figure(key="queues", title="Queues", caption="Means of ten runs.", panels=(panel,))


def exchange() -> Diagram:
    """Four processes: data to two, one acknowledgement lost and one pale, marks and spans that overlap."""
    return Diagram(
        key="exchange",
        title="One exchange",
        caption="Data go to both receivers; an acknowledgement is lost.",
        time_label="time [units]",
        processes=("s1", "s2", "r1", "r<2>"),
        messages=(
            Arrow(source=0, dest=2, sent=1, received=3, kind="data", label="m & n", hover="the first"),
            Arrow(source=0, dest=3, sent=1, received=4, kind="data", label="m & n"),
            Arrow(source=1, dest=3, sent=2, received=4, kind="NULL"),
            Arrow(source=2, dest=0, sent=4, received=8, kind="acknowledgement", label="ack 1"),
            Arrow(source=3, dest=0, sent=5, received=None, kind="acknowledgement", label="ack 2"),
            Arrow(source=3, dest=1, sent=5, received=7, kind="acknowledgement", pale=True),
        ),
        events=(Mark(process=0, time=8, text="stable"), Mark(process=2, time=3, text="clock 3")),
        spans=(
            Span(process=0, start=1, end=8, text="7 units until stable"),
            Span(process=0, start=1, end=3, text="2 units"),
        ),
    )


def tables() -> list[Table]:
    """A short table and one that is long enough to be folded."""
    return [
        Table(
            key="sizes",
            title="Sizes",
            columns=("network", "members", "gain"),
            rows=(("3/5", 364, 12.5), ("4/5 </script>", 1365, None)),
            note="Trees by degree and height.",
        ),
        Table(key="hops", title="Hops", columns=("n", "hops"), rows=tuple((n, n * 1000) for n in range(20))),
    ]


def verdict(name: str, *, holds: bool = True, kind: str = "exact", why: str = "It is equal.") -> Verdict:
    judgement = Judgement(paper="1,365", measured="1,365" if holds else "1,300", holds=holds, why=why)
    claim = Claim(id=name, kind=kind, text=f"What {name} says, 2 < 3.", judge=lambda runs: judgement)
    return Verdict(claim=claim, judgement=judgement)


MAIN, OTHER = "main reading", "other reading"


def readings() -> tuple[Reading, ...]:
    """Two readings, one of them with a choice."""
    choice = Choice("hosts take time", "Section 4 speaks of loaded nodes.")
    return (
        Reading(name=MAIN, about="As the paper's page has it.", choices=()),
        Reading(name=OTHER, about="With hosts.", choices=(choice,)),
    )


def under(name: str, *, main: bool, other: bool | None, ours: bool = False, undecided: str = "") -> Verdict:
    """A trend that was judged under both readings; None for one that was not run."""
    found = verdict(name, holds=main, kind="trend")
    there = replace(found.judgement, holds=bool(other), measurable=other is not None, undecided=undecided)
    claim = replace(found.claim, ours=ours)
    return replace(found, claim=claim, under={MAIN: found.judgement, OTHER: there})


def with_readings() -> Evaluation:
    """A paper with two readings: two claims that exclude each other, one that is ours, one not run."""
    verdicts = [
        verdict("H1"),
        under("H5", main=True, other=False),
        under("H6", main=False, other=True, undecided="gain: 1.1 ± 0.3 (6 seeds) against at least 1"),
        under("H8", main=True, other=None),
        under("H9x", main=True, other=True, ours=True),
    ]
    plain = evaluation()
    paper = replace(plain.paper, readings=readings(), exclusions={("H6", "H5"): "hosts cannot do both"})
    return replace(plain, paper=paper, verdicts=verdicts)


def evaluation(name: str = "hierarchical", *, full: bool = False, missed: bool = True) -> Evaluation:
    """A paper with three figures, two tables and three claims, one of them missed unless told otherwise."""
    verdicts = [verdict("H1"), verdict("H7", kind="trend"), verdict("H9", holds=not missed, kind="factor")]
    paper = Paper(
        name=name,
        title=f"The {name} paper",
        question="Do trees help?",
        points=lambda full: [],
        tables=lambda runs: tables(),
        claims=tuple(one.claim for one in verdicts),
        figures=lambda runs: [two_panels(), bars(), exchange()],
    )
    return Evaluation(
        paper=paper,
        full=full,
        runs=Runs([]),
        tables=tables(),
        verdicts=verdicts,
        figures=[two_panels(), bars(), exchange()],
    )
