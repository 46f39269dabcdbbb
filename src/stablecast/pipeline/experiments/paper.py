"""A paper as the pipeline sees it: points to run, then tables, claims and figures made of the runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from stablecast.pipeline.experiments.diagram import Diagram
from stablecast.pipeline.experiments.figure import Figure
from stablecast.pipeline.experiments.table import Table
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs

Kind = Literal["exact", "factor", "trend"]
Drawing = Figure | Diagram
Made = TypeVar("Made")


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a claim comes to on the runs at hand."""

    paper: str
    """The paper's value, in words short enough for a table."""
    measured: str
    holds: bool
    why: str
    """One sentence."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One line of the checklist: what a paper says, and the code that judges it."""

    id: str
    kind: Kind
    """``exact`` (equal), ``factor`` (within a stated factor) or ``trend`` (order or shape)."""
    text: str
    judge: Callable[[Runs], Judgement]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A claim that has been judged."""

    claim: Claim
    judgement: Judgement

    @property
    def failed(self) -> bool:
        """Whether this is a failure of the run, not only a remark."""
        return self.claim.kind == "exact" and not self.judgement.holds


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper's evaluation."""

    name: str
    """Its short name, on the command line and in folders."""
    title: str
    question: str
    """What the paper asks, in a sentence or two of our own."""
    points: Callable[[bool], list[Point]]
    """The runs of its evaluation; True for the paper's own numbers, False for a few."""
    tables: tuple[Callable[[Runs], Table], ...]
    claims: tuple[Claim, ...]
    figures: tuple[Callable[[Runs], Drawing], ...]


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A paper after its runs: everything that a report shows."""

    paper: Paper
    full: bool
    runs: Runs
    tables: Sequence[Table]
    verdicts: Sequence[Verdict]
    figures: Sequence[Drawing]

    @property
    def command(self) -> str:
        """The command that makes all of this again."""
        return f"stablecast reproduce {self.paper.name} {'--full' if self.full else '--quick'}"


def evaluate(paper: Paper, runs: Runs, *, full: bool) -> Evaluation:
    """Make a paper's tables, verdicts and figures of its runs.

    A claim whose runs failed is missed; a table or a figure whose runs failed is left out.
    """
    return Evaluation(
        paper=paper,
        full=full,
        runs=runs,
        tables=_made(paper.tables, runs),
        verdicts=[Verdict(claim=claim, judgement=_judge(claim, runs)) for claim in paper.claims],
        figures=_made(paper.figures, runs),
    )


def _judge(claim: Claim, runs: Runs) -> Judgement:
    try:
        return claim.judge(runs)
    except MissingRun as error:
        return Judgement(paper="-", measured="not measured", holds=False, why=str(error))


def _made(makers: Sequence[Callable[[Runs], Made]], runs: Runs) -> list[Made]:
    made = []
    for make in makers:
        try:
            made.append(make(runs))
        except MissingRun:
            continue
    return made
