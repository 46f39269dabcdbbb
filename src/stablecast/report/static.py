"""Figures for print: SVG and PNG, drawn by matplotlib, the same bytes for the same data."""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import matplotlib
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from stablecast.report.bars import FILLED, Bar, bar_places
from stablecast.report.files import write_whole
from stablecast.report.names_beside import write_names
from stablecast.report.numbers import show_float
from stablecast.report.palette import (
    AREA_OPACITY,
    MOST_BAR_TICKS,
    Dash,
    Look,
    Marker,
    dash_of,
    is_marked,
    looks,
    needs_legend,
)

if TYPE_CHECKING:
    from stablecast.report.figure import Axis, Figure, Panel, Series

DPI = 200
MANY_PANELS = 9
"""More are drawn less high."""
MARKERS: dict[Marker, str] = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "triangle-down": "v",
    "x": "X",
    "cross": "P",
    "star": "*",
    "hexagon": "h",
    "pentagon": "p",
}
DASHES: dict[Dash, Literal["-", "--", ":", "-."]] = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
SETTINGS = {
    # Text as outlines: a viewer without our font would set other widths, and labels would run into each
    # other. The page has title, caption and numbers as text.
    "svg.fonttype": "path",
    # Names inside the file follow from this word instead of chance.
    "svg.hashsalt": "stablecast",
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so every machine draws the same
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.labelsize": 11,
    "legend.fontsize": 10.5,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.edgecolor": "#555555",
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    # Names come from traces as well, and a dollar in one is no formula.
    "text.parse_math": False,
}


def draw(figure: Figure, folder: Path) -> list[Path]:
    """Draw a figure as ``<key>.svg`` and ``<key>.png`` in a folder, and return both paths."""
    return save(lambda: _canvas(figure), folder, figure.key)


def draw_into(figure: Figure, axes: Axes) -> None:
    """Draw a figure of one panel into somebody's axes, with a legend in them where one is needed."""
    [panel] = figure.panels
    with matplotlib.style.context(["default", SETTINGS]):
        _draw_panel(panel, axes, looks(figure), alone=True)
        if needs_legend(figure):
            axes.legend(frameon=False)


def save(make: Callable[[], Canvas], folder: Path, key: str) -> list[Path]:
    """Write what is made under our settings as ``<key>.svg`` and ``<key>.png``, and return both paths."""
    # The settings are global to matplotlib, so they hold for this call only, whatever the user's own are.
    with matplotlib.style.context(["default", SETTINGS]), warnings.catch_warnings():
        # A name may have letters that the font lacks; they are boxes here, and whole on the page.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font", category=UserWarning)
        canvas = make()
        return [
            write_whole(folder / f"{key}.svg", _bytes(canvas, "svg", {"Date": None, "Creator": None})),
            write_whole(folder / f"{key}.png", _bytes(canvas, "png", {"Software": None})),
        ]


def _bytes(canvas: Canvas, kind: str, metadata: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    canvas.savefig(stream, format=kind, dpi=DPI, metadata=metadata)
    return stream.getvalue()


def _canvas(figure: Figure) -> Canvas:
    rows, columns = arrangement(len(figure.panels))
    names = list(dict.fromkeys(one.name for panel in figure.panels for one in panel.series))
    width = 7.2 if columns == 1 else 1.0 + 4.0 * columns
    per_line = _legend_columns(names, width)
    height = 3.9 if len(figure.panels) <= MANY_PANELS else 3.0
    canvas = Canvas(
        figsize=(width, height * rows + 0.24 * math.ceil(len(names) / per_line)), layout=_spaced()
    )
    grid = canvas.subplots(rows, columns, squeeze=False)
    for place in grid.flat[len(figure.panels) :]:
        place.remove()
    given = looks(figure)
    for panel, axes in zip(figure.panels, grid.flat, strict=False):
        _draw_panel(panel, axes, given, alone=columns == 1)
    _drop_repeated_labels(figure.panels, list(grid.flat), columns)
    if needs_legend(figure):
        _draw_legend(canvas, per_line)
    if any(panel.named for panel in figure.panels):
        canvas.draw_without_rendering()  # settles where everything is
        for panel, axes in zip(figure.panels, grid.flat, strict=False):
            if panel.named:
                write_names(panel, axes)
    return canvas


def _spaced() -> ConstrainedLayoutEngine:
    return ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08, wspace=0.03)


def arrangement(panels: int) -> tuple[int, int]:
    """Return rows and columns: up to three beside each other, four as a square."""
    columns = 2 if panels == 4 else min(3, max(1, panels))
    return max(1, math.ceil(panels / columns)), columns


def _legend_columns(names: Sequence[str], width: float) -> int:
    longest = max(map(len, names), default=1)
    fitting = int((width - 0.4) / (0.085 * longest + 0.65))
    return max(1, min(len(names), fitting))


def _draw_legend(canvas: Canvas, per_line: int) -> None:
    """Put one legend for all panels under them, where it cannot cover data."""
    entries: dict[str, Any] = {}
    for axes in canvas.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(name, handle)
    if entries:
        canvas.legend(
            list(entries.values()),
            list(entries),
            loc="outside lower center",
            ncols=per_line,
            frameon=False,
            handlelength=2.6,
        )


def _legend_name(series: Series) -> str:
    # matplotlib keeps names that start with an underscore out of the legend; a thin space is not seen.
    return f"\N{HAIR SPACE}{series.name}" if series.name.startswith("_") else series.name


def _drop_repeated_labels(panels: Sequence[Panel], places: Sequence[Axes], columns: int) -> None:
    for k, panel in enumerate(panels):
        if k % columns and panel.y == panels[k - 1].y:
            places[k].set_ylabel("")
            if panel.y.names:
                places[k].tick_params(axis="y", labelleft=False)


def _draw_panel(panel: Panel, axes: Axes, given: dict[str, Look], *, alone: bool) -> None:
    axes.set(xlabel=panel.x.label, ylabel=panel.y.label)
    axes.set_title(textwrap.fill(panel.title, 68 if alone else 40), pad=8)
    axes.grid(True, which="major", axis=_grid_axis(panel))
    _scale(axes, "x", panel.x, [x for one in panel.series for x in one.x])
    _scale(axes, "y", panel.y, [y for one in panel.series for y in (*one.y, *one.low, *one.high)])
    bars = bar_places(panel)
    for depth, one in enumerate(panel.series):
        # Companions lie under the lines that they belong to.
        order = 2.0 + depth / 100 - (1 if one.like else 0)
        if one.name in bars:
            _draw_bars(axes, one, given[one.name], bars[one.name], order)
        elif one.style == "across":
            _draw_across(axes, one, given[one.name], order)
        else:
            _draw_points(axes, one, given[one.name], order)
    if bars:
        _scale_bars(axes, panel)


def _grid_axis(panel: Panel) -> Literal["both", "x", "y"]:
    styles = {one.style for one in panel.series}
    return "y" if "bars" in styles else "x" if "across" in styles else "both"


def _draw_points(axes: Axes, series: Series, look: Look, order: float) -> None:
    lines = series.style != "points"
    drawn = axes.errorbar(
        series.x,
        series.y,
        yerr=_errors(series),
        color=look.colour,
        alpha=look.opacity,
        linestyle=DASHES[dash_of(series, look)] if lines else "none",
        linewidth=1.2 if look.pale else 1.8,
        drawstyle="steps-post" if series.style in ("steps", "area") else "default",
        marker=MARKERS[look.marker] if is_marked(series) else "none",
        markersize=3.5 if look.pale else 6,
        markeredgecolor="none" if look.pale else "white",
        markeredgewidth=0.5,
        capsize=3,
        elinewidth=1.1,
        zorder=order,
        label=_legend_name(series),
    )
    drawn.lines[0].set_solid_capstyle("round")
    if series.style == "area":
        axes.fill_between(
            series.x,
            series.y,
            step="post",
            color=look.colour,
            alpha=AREA_OPACITY,
            linewidth=0,
            zorder=order - 0.5,
        )
    for x, y, text in zip(series.x, series.y, series.beside, strict=False):
        axes.annotate(text, (x, y), xytext=(-4, 3), textcoords="offset points", ha="right", va="bottom")


def _draw_across(axes: Axes, series: Series, look: Look, order: float) -> None:
    start = series.start or (0.0,) * len(series.x)
    axes.barh(
        series.y,
        [end - begin for begin, end in zip(start, series.x, strict=True)],
        left=start,
        height=FILLED,
        color=look.colour,
        alpha=look.opacity,
        hatch=look.hatch * 3,
        # The edges of many short spans would hide them.
        edgecolor="none" if series.start and not look.hatch else "white",
        linewidth=0.0 if series.start else 0.6,
        zorder=order,
        label=_legend_name(series),
    )


def _draw_bars(axes: Axes, series: Series, look: Look, places: Sequence[Bar], order: float) -> None:
    axes.bar(
        [bar.left for bar in places],
        series.y,
        width=[bar.right - bar.left for bar in places],
        align="edge",
        color=look.colour,
        alpha=look.opacity,
        hatch=look.hatch * 3,
        edgecolor="white",
        linewidth=0.6,
        zorder=order,
        label=_legend_name(series),
    )
    if series.low and series.high:
        middle = [bar.middle for bar in places]
        axes.errorbar(
            middle, series.y, yerr=_errors(series), fmt="none", ecolor="#333333", capsize=3, zorder=order + 1
        )


def _errors(series: Series) -> tuple[list[float], list[float]] | None:
    if not (series.low and series.high):
        return None
    below = [max(0.0, y - low) for y, low in zip(series.y, series.low, strict=True)]
    above = [max(0.0, high - y) for y, high in zip(series.y, series.high, strict=True)]
    return below, above


def _scale(axes: Axes, side: str, axis: Axis, values: Sequence[float]) -> None:
    drawn = axes.xaxis if side == "x" else axes.yaxis
    positive = [value for value in values if value > 0]
    if axis.names:
        drawn.set_ticks(range(len(axis.names)), labels=axis.names)
        return
    if axis.log and positive:
        (axes.set_xscale if side == "x" else axes.set_yscale)("log", nonpositive="clip")
        # Up to three decades have room for 1, 2, 5; more have not.
        decades = math.log10(max(positive) / min(positive))
        drawn.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,), numticks=12))
        drawn.set_minor_formatter(NullFormatter())
    else:
        drawn.set_major_locator(MaxNLocator(nbins=7 if side == "y" else 6, steps=[1, 2, 2.5, 5, 10]))
    drawn.set_major_formatter(FuncFormatter(lambda value, _: show_float(value).replace("-", "−")))


def _scale_bars(axes: Axes, panel: Panel) -> None:
    """Show the bars' own places as ticks, and on a log axis start low enough to see the shortest bar."""
    bars = [one for one in panel.series if one.style == "bars"]
    places = sorted({x for one in bars for x in one.x})
    if len(places) <= MOST_BAR_TICKS:
        axes.set_xticks(places)
        axes.xaxis.set_minor_locator(NullLocator())
    heights = [y for one in bars for y in one.y if y > 0]
    if panel.y.log and heights:
        axes.set_ylim(bottom=10 ** math.floor(math.log10(min(heights) / 1.5)))
