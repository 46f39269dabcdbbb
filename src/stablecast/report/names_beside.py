"""Names beside points: in a panel of many series of one point each, a legend is no help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from stablecast.report.label_places import Box, Choice, choose

if TYPE_CHECKING:
    from stablecast.report.figure import Panel

SIZE = 8.5
"""Of the letters, in points; all lengths here are in units of it, as :mod:`label_places` likes it."""
LETTER = 0.58
"""Width of a letter on average."""
HEIGHT = 1.1
MARK = 0.45
"""From the middle of a mark to its edge."""
PLACES = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1))
"""Right, left, above, below, and the corners; the first are liked best."""


def write_names(panel: Panel, axes: Axes) -> None:
    """Write each series' name beside its first point, where it covers neither marks nor other names."""
    assert axes.figure is not None
    unit = SIZE / 72 * axes.figure.dpi
    there = [one for one in panel.series if one.x]
    at = [axes.transData.transform((one.x[0], one.y[0])) / unit for one in there]
    points = [(float(x), -float(y)) for x, y in at]
    marks = [Box(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in points]
    frame = axes.get_window_extent()
    page = Box(frame.x0 / unit, -frame.y1 / unit, frame.x1 / unit, -frame.y0 / unit)
    choices = [
        [_choice(x, y, len(one.name), place, liked) for liked, place in enumerate(PLACES)]
        for one, (x, y) in zip(there, points, strict=True)
    ]
    for one, point, options, taken in zip(
        there, points, choices, choose(choices, [], marks, page), strict=True
    ):
        box = options[taken].box
        axes.annotate(
            one.name,
            (one.x[0], one.y[0]),
            xytext=(
                (box.left - point[0]) * SIZE,
                -(box.bottom - point[1]) * SIZE + 0.2 * SIZE,
            ),
            textcoords="offset points",
            fontsize=SIZE,
            ha="left",
            va="bottom",
            annotation_clip=False,
        )


def _choice(x: float, y: float, letters: int, place: tuple[int, int], liked: int) -> Choice:
    width, gap = LETTER * letters, 1.3 * MARK
    across, down = place
    left = x + gap if across > 0 else x - gap - width if across < 0 else x - width / 2
    top = y + gap if down > 0 else y - gap - HEIGHT if down < 0 else y - HEIGHT / 2
    return Choice(Box(left, top, left + width, top + HEIGHT), 0.1 * liked)
