"""Where bars stand: beside each other around their place on the x axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stablecast.report.figure import Panel

FILLED = 0.8
"""Part of the distance between two places that their bars fill."""


@dataclass(frozen=True)
class Bar:
    """The left and right edge of a bar, in the units of the x axis."""

    left: float
    right: float
    log: bool = False

    @property
    def middle(self) -> float:
        """The place halfway as the axis shows it."""
        return math.sqrt(self.left * self.right) if self.log else (self.left + self.right) / 2


def bar_places(panel: Panel) -> dict[str, list[Bar]]:
    """Return the bars of every series of bars, by name."""
    series = [one for one in panel.series if one.style == "bars"]
    everywhere = sorted({x for one in series for x in one.x})
    if not everywhere:
        return {}
    log = panel.x.log and everywhere[0] > 0
    width = FILLED * _smallest_gap(everywhere, log) / len(series)
    return {
        one.name: [_bar(x, width, k - len(series) / 2, log) for x in one.x] for k, one in enumerate(series)
    }


def _smallest_gap(places: list[float], log: bool) -> float:
    scaled = [math.log10(x) for x in places] if log else places
    return min((b - a for a, b in pairwise(scaled)), default=1.0)


def _bar(x: float, width: float, steps: float, log: bool) -> Bar:
    left, right = steps * width, (steps + 1) * width
    return Bar(x * 10**left, x * 10**right, log=True) if log else Bar(x + left, x + right)
