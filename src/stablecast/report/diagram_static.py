"""Space-time diagrams for print: drawn by matplotlib, the same bytes for the same data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from matplotlib.ticker import MaxNLocator

from stablecast.report.diagram import Arrow
from stablecast.report.diagram_layout import Layout, Placed, Stroke, lay_out
from stablecast.report.numbers import show_float
from stablecast.report.palette import GREY, PALE_OPACITY, Look, kind_looks
from stablecast.report.static import DASHES, save

if TYPE_CHECKING:
    from stablecast.report.diagram import Diagram

EM = 9.0
"""Points; the axes are in em, so that a length is the same in both directions."""
WIDTH = 68.0
"""Of the whole picture, in em: 8.5 inches."""
AXIS, LEGEND_LINE = 3.6, 1.9
"""Height of the time axis's numbers and name, and of a line of the legend."""
HEAD = 0.95
"""Length of an arrowhead."""
INK, MUTED = "#1d2329", "#55606b"


def draw_diagram(diagram: Diagram, folder: Path) -> list[Path]:
    """Draw a diagram as ``<key>.svg`` and ``<key>.png`` in a folder, and return both paths."""
    return save(lambda: diagram_canvas(diagram), folder, diagram.key)


def diagram_canvas(diagram: Diagram) -> Canvas:
    """Return a diagram drawn by matplotlib."""
    left = 1.6 + 0.72 * max(map(len, diagram.processes))
    layout = lay_out(diagram, WIDTH - left - 0.6)
    given = kind_looks(diagram)
    per_line = _legend_columns(list(given))
    bottom = AXIS + LEGEND_LINE * math.ceil(len(given) / per_line) if given else AXIS
    height = layout.height + bottom
    canvas = Canvas(figsize=(WIDTH * EM / 72, height * EM / 72))
    axes = canvas.add_axes(
        (left / WIDTH, bottom / height, layout.width / WIDTH, layout.height / height),
        xlim=(0, layout.width),
        ylim=(layout.height, 0),
    )
    _draw_time(axes, diagram, layout)
    _draw_processes(axes, diagram, layout)
    _draw_dimensions(axes, layout)
    for stroke in layout.strokes:
        _draw_message(axes, layout, stroke, given[stroke.message.kind])
    for place in layout.labels:
        _write(axes, layout, place)
    _draw_marks(axes, diagram, layout)
    if given:
        _draw_legend(canvas, diagram, given, per_line)
    return canvas


def _draw_time(axes: Axes, diagram: Diagram, layout: Layout) -> None:
    locator = MaxNLocator(nbins=20, steps=[1, 2, 5, 10])
    times = [t for t in locator.tick_values(layout.start, layout.end) if layout.start <= t <= layout.end]
    axes.set_xticks([layout.x(t) for t in times], [show_float(float(t)).replace("-", "−") for t in times])
    axes.tick_params(axis="x", labelsize=EM, length=3, color="#555555")
    axes.set_xlabel(diagram.time_label, fontsize=EM + 1, labelpad=3)
    axes.grid(True, axis="x")
    axes.spines["left"].set_visible(False)


def _draw_processes(axes: Axes, diagram: Diagram, layout: Layout) -> None:
    axes.set_yticks(layout.rows, diagram.processes, fontsize=EM + 2, fontweight="bold", color=INK)
    axes.tick_params(axis="y", length=0, pad=6)
    for row in layout.rows:
        axes.plot([0, layout.width], [row, row], color=GREY, linewidth=1.4, zorder=2, clip_on=False)


def _draw_dimensions(axes: Axes, layout: Layout) -> None:
    for one in layout.dimensions:
        left, right = layout.x(one.span.start), layout.x(one.span.end)
        row = layout.rows[one.span.process]
        over = math.copysign(0.4, one.y - row)
        for x in (left, right):
            axes.plot([x, x], [row, one.y + over], color=GREY, linewidth=0.7, zorder=1.9)
        axes.plot([left, right], [one.y, one.y], color=INK, linewidth=0.8, zorder=3)
        size = min(0.7, (right - left) / 2)
        for x, into in ((left, size), (right, -size)):
            axes.add_patch(_head((x, one.y), (into, 0.0), size, INK))
        _write(axes, layout, one.text)


def _draw_message(axes: Axes, layout: Layout, stroke: Stroke, look: Look) -> None:
    """Draw a line that ends in an arrowhead, or in a cross."""
    message = stroke.message
    x0, x1 = layout.x(message.sent), layout.x(stroke.end)
    long = math.hypot(x1 - x0, stroke.y1 - stroke.y0)
    back = ((x0 - x1) / long, (stroke.y0 - stroke.y1) / long)
    head = HEAD * (0.8 if message.pale else 1.0)
    # The line stops inside the head, so that its blunt end does not show beyond the tip.
    cut = 0.0 if message.lost else 0.7 * head
    opacity = PALE_OPACITY if message.pale else 1.0
    order = 3.0 if message.pale else 4.0
    axes.plot(
        [x0, x1 + cut * back[0]],
        [stroke.y0, stroke.y1 + cut * back[1]],
        color=look.colour,
        alpha=opacity,
        linestyle=DASHES[look.dash],
        linewidth=0.9 if message.pale else 1.4,
        zorder=order,
    )
    point: dict[str, Any] = {"color": look.colour, "alpha": opacity, "zorder": order + 0.1, "ls": "none"}
    axes.plot([x0], [stroke.y0], marker="o", markersize=2.5 if message.pale else 4, **point)
    if message.lost:
        axes.plot([x1], [stroke.y1], marker="x", markersize=7, markeredgewidth=2, **point)
    else:
        axes.add_patch(_head((x1, stroke.y1), back, head, look.colour, opacity, order))


def _head(
    tip: tuple[float, float],
    back: tuple[float, float],
    long: float,
    colour: str,
    opacity: float = 1.0,
    order: float = 4.0,
) -> Polygon:
    """Return an arrowhead that opens in the direction ``back``."""
    norm = math.hypot(*back)
    along, aside = (back[0] / norm, back[1] / norm), (-back[1] / norm, back[0] / norm)
    corners = [
        (tip[0] + long * (along[0] + k * aside[0]), tip[1] + long * (along[1] + k * aside[1]))
        for k in (-0.34, 0.34)
    ]
    return Polygon([tip, *corners], closed=True, color=colour, alpha=opacity, linewidth=0, zorder=order + 0.2)


def _draw_marks(axes: Axes, diagram: Diagram, layout: Layout) -> None:
    for mark, place in zip(diagram.events, layout.marks, strict=True):
        x, row = layout.x(mark.time), layout.rows[mark.process]
        leader = place.leader(row)
        if leader:
            axes.plot([x, x], leader, color=GREY, linewidth=0.7, zorder=1.9)
        axes.plot([x], [row], marker="D", markersize=4.5, color=INK, markeredgecolor="white", zorder=5)
        _write(axes, layout, place, style="italic")


def _write(axes: Axes, layout: Layout, place: Placed, style: str = "normal") -> None:
    """Put a text on white."""
    nudge = {"left": 0.15, "center": 0.0, "right": -0.15}[place.align]
    axes.text(
        layout.x(place.time) + nudge,
        place.y,
        place.text,
        ha=place.align,
        va="center_baseline",
        fontsize=EM,
        fontstyle=style,
        color=MUTED if isinstance(place.about, Arrow) and place.about.pale else INK,
        bbox={"boxstyle": "square,pad=0.08", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
        zorder=6,
        parse_math=False,
    )


def _legend_columns(kinds: Sequence[str]) -> int:
    """Return how many kinds fit beside each other: all of them, or as many as if all were the longest."""
    needed = [0.62 * len(kind) + 6 for kind in kinds]
    if sum(needed) <= WIDTH:
        return max(1, len(kinds))
    return max(1, int(WIDTH / max(needed)))


def _draw_legend(canvas: Canvas, diagram: Diagram, given: dict[str, Look], per_line: int) -> None:
    canvas.legend(
        [_legend_line(kind, look, diagram.messages) for kind, look in given.items()],
        list(given),
        loc="lower center",
        bbox_to_anchor=(0.5, 0.0),
        borderaxespad=0.2,
        ncols=per_line,
        frameon=False,
        handlelength=3.0,
        fontsize=EM + 1,
    )


def _legend_line(kind: str, look: Look, messages: Sequence[Arrow]) -> Line2D:
    pale = all(message.pale for message in messages if message.kind == kind)
    return Line2D(
        [],
        [],
        color=look.colour,
        linestyle=DASHES[look.dash],
        linewidth=1.0 if pale else 1.6,
        alpha=PALE_OPACITY if pale else 1.0,
    )
