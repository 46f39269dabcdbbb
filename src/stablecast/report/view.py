"""What the pages' templates show: figures, tables and evaluations as texts, anchors and paths."""

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
    def is_diagram(self) -> bool:
        """Whether it shows messages in space and time."""
        return isinstance(self.figure, Diagram)

    @property
    def scales(self) -> list[str]:
        """The axes that can be linear or log, x or y; neither a diagram's time nor an axis of names can."""
        if isinstance(self.figure, Diagram):
            return []
        panels = self.figure.panels
        named = {
            "x": any(panel.x.names for panel in panels),
            "y": any(panel.y.names for panel in panels),
        }
        return [axis for axis, has_names in named.items() if not has_names]


@dataclass(frozen=True)
class Cell:
    """A cell that says more than its value: the whole of a shortened name, a number with its unit."""

    text: str
    title: str = ""
    """Shown when the cell is pointed at."""
    number: bool = False
    """Whether it is aligned as a number."""
    unbroken: bool = False
    """Whether it stands on one line."""


@dataclass(frozen=True)
class TableView:
    """A table with its cells as text."""

    anchor: str
    table: Table
    rows: list[list[Cell]]
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
        tables=[table_view(anchors.give(one.key, "table"), one) for one in evaluation.tables],
    )


def _plot(figure: Drawing) -> dict[str, Any]:
    return plot_diagram(figure) if isinstance(figure, Diagram) else plot(figure)


def table_view(anchor: str, table: Table) -> TableView:
    """Return a table as the page shows it; a value may be a :class:`Cell` already."""
    return TableView(
        anchor=anchor,
        table=table,
        rows=[[_cell(value) for value in row] for row in table.rows],
        numeric=[_is_numeric(row[k] for row in table.rows) for k in range(len(table.columns))],
        folded=len(table.rows) > LONGEST_OPEN_TABLE,
    )


def _is_numeric(column: Iterable[Any]) -> bool:
    values = list(column)
    return bool(values) and all(one.number if isinstance(one, Cell) else is_number(one) for one in values)


def _cell(value: Any) -> Cell:
    return value if isinstance(value, Cell) else Cell(show(value))


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
