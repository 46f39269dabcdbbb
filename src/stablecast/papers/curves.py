"""How results are shown: curves with their intervals, and the paper's value beside ours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from stablecast.papers.statistics import Estimate
from stablecast.report.figure import Axis, Panel, Series, Style
from stablecast.report.table import Table

MEMBERS = "members n"
INTERVALS = "Bars are 95 % confidence intervals."
"""For captions of figures with error bars."""

Place = tuple[float, Estimate]
"""Where a curve is, usually a number of members, and what was measured there."""


def curve(
    name: str,
    places: Sequence[Place],
    *,
    hover: Sequence[str] = (),
    style: Style = "line",
    like: str | None = None,
) -> Series:
    """Return estimates as a series whose error bars are their intervals; exact ones have none."""
    found = [estimate for _, estimate in places]
    known = any(math.isfinite(each.half_width) and each.half_width > 0 for each in found)
    return Series(
        name=name,
        x=tuple(float(x) for x, _ in places),
        y=tuple(each.value for each in found),
        low=tuple(_end(each, each.low) for each in found) if known else (),
        high=tuple(_end(each, each.high) for each in found) if known else (),
        hover=tuple(hover),
        style=style,
        like=like,
    )


def _end(each: Estimate, end: float) -> float:
    """Return the end of an error bar; of a single run, which has no interval, the value itself."""
    return end if math.isfinite(end) else each.value


def panel(
    title: str,
    y: str,
    series: Iterable[Series],
    *,
    x: str = MEMBERS,
    log: bool = False,
    log_x: bool = False,
) -> Panel:
    """Return curves over the number of members, or over something else."""
    return Panel(title=title, x=Axis(x, log=log_x), y=Axis(y, log=log), series=tuple(series))


def rounded(value: float) -> float | int:
    """Return a number with four digits, large ones whole."""
    return round(value) if abs(value) >= 1000 else float(f"{value:.4g}")


def with_interval(each: Estimate) -> tuple[float | int, float | int | None]:
    """Return the two cells of an estimate: its value, and half of its interval if chance has a part."""
    if each.low == each.high or not math.isfinite(each.half_width):
        return rounded(each.value), None
    return rounded(each.value), float(f"{each.half_width:.2g}")


def columns_with_interval(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the headings of such cells."""
    return tuple(heading for label in labels for heading in (label, "±"))


def apart(one: float, other: float) -> float:
    """Return the factor between two numbers, 1 or more."""
    return max(one / other, other / one)


def beside_paper(
    key: str,
    title: str,
    rows: Iterable[tuple[Any, ...]],
    *,
    what: Sequence[str],
    note: str = "",
) -> Table:
    """Return a table of what the paper prints and what was measured.

    Each row has a cell for each heading of ``what``, then the paper's value and our estimate; the table adds
    the interval and the factor between both.
    """
    made = []
    for *cells, paper, ours in rows:
        value, reach = with_interval(ours)
        made.append((*cells, paper, value, reach, round(apart(ours.value, paper), 2)))
    columns = (*what, "paper", "simulated", "±", "factor apart")
    return Table(key=key, title=title, columns=columns, rows=tuple(made), note=note)
