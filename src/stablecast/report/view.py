"""What the page's template shows: evaluations as texts, anchors and paths."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stablecast.pipeline.experiments.diagram import Diagram
from stablecast.report.diagram_interactive import plot_diagram
from stablecast.report.interactive import plot
from stablecast.report.numbers import is_number, show

if TYPE_CHECKING:
    from stablecast.pipeline.experiments.paper import Drawing, Evaluation, Verdict
    from stablecast.pipeline.experiments.table import Table

LONGEST_OPEN_TABLE = 15
"""A table with more rows than this is folded."""


@dataclass(frozen=True)
class ClaimView:
    """A row of the claims."""

    anchor: str
    verdict: Verdict


@dataclass(frozen=True)
class FigureView:
    """A figure with its files, relative to the page, and what plotly draws."""

    anchor: str
    figure: Drawing
    files: str
    """The path of its SVG and PNG without the ending."""
    plot: dict[str, Any]

    @property
    def has_scales(self) -> bool:
        """Whether its axes can be linear or log; a diagram's time is linear."""
        return not isinstance(self.figure, Diagram)


@dataclass(frozen=True)
class TableView:
    """A table with its cells as text."""

    anchor: str
    table: Table
    rows: list[list[str]]
    numeric: list[bool]
    """For each column, whether it is aligned as numbers."""
    folded: bool


@dataclass(frozen=True)
class PaperView:
    """A paper's section of the page."""

    anchor: str
    evaluation: Evaluation
    claims: list[ClaimView]
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
        claims=[ClaimView(anchors.give(one.claim.id), one) for one in evaluation.verdicts],
        figures=[
            FigureView(anchors.give(one.key), one, figure_files(name, one), _plot(one))
            for one in evaluation.figures
        ],
        tables=[_table_view(anchors.give(one.key, "table"), one) for one in evaluation.tables],
    )


def _plot(figure: Drawing) -> dict[str, Any]:
    return plot_diagram(figure) if isinstance(figure, Diagram) else plot(figure)


def _table_view(anchor: str, table: Table) -> TableView:
    return TableView(
        anchor=anchor,
        table=table,
        rows=[[show(value) for value in row] for row in table.rows],
        numeric=[_is_numeric(row[k] for row in table.rows) for k in range(len(table.columns))],
        folded=len(table.rows) > LONGEST_OPEN_TABLE,
    )


def _is_numeric(column: Iterable[Any]) -> bool:
    values = list(column)
    return bool(values) and all(map(is_number, values))


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
