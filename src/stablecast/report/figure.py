"""A figure as data: what to draw, in the paper's axes, and nothing about how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Style = Literal["line", "points", "bars", "steps", "area", "across"]
"""``area`` is steps above a filled ground; ``across`` is bars from the left, one a place on the y axis."""


@dataclass(frozen=True)
class Axis:
    """An axis of a panel."""

    label: str
    """With the unit in brackets: ``round-trip time [ms]``."""
    log: bool = False
    names: tuple[str, ...] = ()
    """What its places 0, 1, 2 and so on are called; empty for an axis of numbers."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points that belong together under one name of the legend."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    style: Style = "line"
    like: str | None = None
    """Another series whose colour this one takes, paler: measured points beside their line, say."""
    low: tuple[float, ...] = ()
    """Ends of the error bars, one pair a point; empty for none."""
    high: tuple[float, ...] = ()
    hover: tuple[str, ...] = ()
    """A line about each point, shown when it is pointed at; empty for its numbers alone."""
    beside: tuple[str, ...] = ()
    """A word to the upper left of each point; empty for none."""
    start: tuple[float, ...] = ()
    """Where each bar from the left begins, for spans of an axis; empty for zero."""

    def __post_init__(self) -> None:
        optional = (self.low, self.high, self.hover, self.beside, self.start)
        for values in (self.y, *(one or self.x for one in optional)):
            if len(values) != len(self.x):
                raise ValueError(f"series {self.name}: {len(values)} values for {len(self.x)} points")


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    named: bool = False
    """Whether each series' name stands beside its first point: for many series of one point each."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of a paper: one panel or several beside each other."""

    key: str
    """A short name, for files and links: ``figure9``."""
    title: str
    caption: str
    """What to see in it, and how it was measured."""
    panels: tuple[Panel, ...]
