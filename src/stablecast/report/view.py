"""What the pages' templates show: figures and tables as texts, anchors and paths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stablecast.report.diagram import Diagram, Drawing
from stablecast.report.diagram_interactive import plot_diagram
from stablecast.report.interactive import plot
from stablecast.report.numbers import is_number, show
from stablecast.report.table import Table

LONGEST_OPEN_TABLE = 15
"""A table with more rows than this is folded."""


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


def plot_of(figure: Drawing) -> dict[str, Any]:
    """Return what plotly draws."""
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
