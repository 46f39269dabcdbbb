"""What the page of the papers shows: evaluations as texts, anchors and paths."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stablecast.papers.paper import Claim, Evaluation, Judgement, Verdict
from stablecast.report.diagram import Drawing
from stablecast.report.view import FigureView, TableView, plot_of, table_view


@dataclass(frozen=True)
class ClaimView:
    """A row of the claims."""

    anchor: str
    verdict: Verdict


@dataclass(frozen=True)
class MatrixCell:
    """A claim under one reading."""

    judgement: Judgement
    main: bool

    @property
    def outcome(self) -> str:
        """A class of the style sheet."""
        if not self.judgement.measurable:
            return "unknown"
        return "holds" if self.judgement.holds else "missed"

    @property
    def sign(self) -> str:
        """What is shown, with a word for those who hear the page."""
        return {"unknown": "–", "holds": "✓", "missed": "✗"}[self.outcome]

    @property
    def word(self) -> str:
        """The same as a word."""
        return {"unknown": "not run", "holds": "holds", "missed": "missed"}[self.outcome]

    @property
    def title(self) -> str:
        """What was measured, and what more seeds could turn."""
        told, turning = self.judgement.measured, self.judgement.undecided
        return f"{told}. More seeds could turn it: {turning}" if turning else told


@dataclass(frozen=True)
class MatrixRow:
    """A claim under all readings."""

    claim: Claim
    cells: list[MatrixCell]

    @property
    def held(self) -> int:
        """Under how many readings it holds."""
        return sum(cell.outcome == "holds" for cell in self.cells)


@dataclass(frozen=True)
class PaperView:
    """A paper's section of the page."""

    anchor: str
    evaluation: Evaluation
    claims: list[ClaimView]
    """What the paper says."""
    beyond: list[ClaimView]
    """What is ours."""
    matrix: list[MatrixRow]
    """A row for each claim that was judged under several readings."""
    figures: list[FigureView]
    tables: list[TableView]

    @property
    def held(self) -> int:
        """How many claims hold."""
        return sum(one.verdict.judgement.holds for one in self.claims)

    @property
    def failed(self) -> int:
        """How many claims are missed that should be met exactly."""
        return sum(one.verdict.failed for one in self.claims)


def _matrix(evaluation: Evaluation) -> list[MatrixRow]:
    """Return the claims that were judged under several readings."""
    names = [reading.name for reading in evaluation.paper.readings]
    return [
        MatrixRow(one.claim, [MatrixCell(one.under[name], name == names[0]) for name in names])
        for one in evaluation.verdicts
        if sum(judgement.measurable for judgement in one.under.values()) > 1
    ]


def figure_files(paper: str, figure: Drawing) -> str:
    """Return the path of a figure's files under the report's folder, without the ending."""
    return f"{paper}/figures/{figure.key}"


def view(evaluation: Evaluation) -> PaperView:
    """Return a paper's section; every anchor in it is the paper's name and a claim's, figure's or table's."""
    name = evaluation.paper.name
    anchors = _Anchors(name)
    return PaperView(
        anchor=_slug(name),
        evaluation=evaluation,
        claims=[ClaimView(anchors.give(one.claim.id), one) for one in evaluation.counted],
        beyond=[ClaimView(anchors.give(one.claim.id), one) for one in evaluation.beyond],
        matrix=_matrix(evaluation),
        figures=[
            FigureView(anchors.give(one.key), one, figure_files(name, one), plot_of(one))
            for one in evaluation.figures
        ],
        tables=[table_view(anchors.give(one.key, "table"), one) for one in evaluation.tables],
    )


class _Anchors:
    """Names for links; a table called like a figure gets another one."""

    def __init__(self, paper: str) -> None:
        self._paper = paper
        self._given: set[str] = set()

    def give(self, key: str, kind: str = "") -> str:
        name = _slug(f"{self._paper}-{key}")
        if name in self._given and kind:
            name = f"{name}-{kind}"
        if name in self._given:
            raise ValueError(f"paper {self._paper}: two parts are called '{key}'")
        self._given.add(name)
        return name


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)
