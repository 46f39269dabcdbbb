"""Figures for the screen: what plotly.js draws, as plain values for JSON."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stablecast.report.bars import FILLED
from stablecast.report.numbers import show_float, split_label
from stablecast.report.palette import (
    AREA_OPACITY,
    MOST_BAR_TICKS,
    Look,
    dash_of,
    is_marked,
    looks,
    needs_legend,
)

if TYPE_CHECKING:
    from stablecast.report.figure import Axis, Figure, Panel, Series

LEGEND = {
    "orientation": "h",
    "itemclick": "toggle",
    "itemdoubleclick": "toggleothers",
    "groupclick": "togglegroup",
}


def plot(figure: Figure) -> dict[str, Any]:
    """Return a figure's ``data`` and ``layout`` for ``Plotly.newPlot``.

    Colours of text, grid and background are missing: the page adds them by its theme. So are the places of
    the panels, which follow from the width of the window.
    """
    given = looks(figure)
    traces: list[dict[str, Any]] = []
    listed: set[str] = set()
    for number, panel in enumerate(figure.panels, start=1):
        # What accompanies a line is drawn before it, so as to lie under it.
        for one in sorted(panel.series, key=lambda one: one.like is None):
            trace = _trace(one, panel, given[one.name])
            if panel.named:
                names = [html.escape(one.name)] + [""] * (len(one.x) - 1)
                trace |= {"mode": "markers+text", "text": names, "textposition": "top center"}
            first = one.name not in listed
            traces.append({**trace, **_axes_of(number), "showlegend": first})
            listed.add(one.name)
    return {"data": traces, "layout": _layout(figure)}


def _axes_of(number: int) -> dict[str, str]:
    suffix = "" if number == 1 else str(number)
    return {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}


def _trace(series: Series, panel: Panel, look: Look) -> dict[str, Any]:
    kind = _bars(series, look) if series.style in ("bars", "across") else _scatter(series, look)
    trace = {
        "name": html.escape(series.name),
        # One click on the legend reaches the series of this name in every panel.
        "legendgroup": series.name,
        "legendrank": 1001 if look.pale else 1000,
        "x": _finite(series.x),
        "y": _finite(series.y),
        "opacity": look.opacity,
        "hovertext": _hover(series, panel),
        "hovertemplate": "%{hovertext}<extra></extra>",
        **kind,
    }
    if series.low and series.high:
        trace["error_y"] = _error_bars(series, look)
    return trace


def _scatter(series: Series, look: Look) -> dict[str, Any]:
    parts: dict[str, dict[str, Any]] = {}
    if series.style != "points":
        parts["line"] = {
            "color": look.colour,
            "dash": dash_of(series, look),
            "width": 1.5 if look.pale else 2,
            "shape": "hv" if series.style in ("steps", "area") else "linear",
        }
    if is_marked(series):
        parts["marker"] = {"color": look.colour, "symbol": look.marker, "size": 5 if look.pale else 8}
    mode = "+".join(f"{part}s" for part in parts)
    trace: dict[str, Any] = {"type": "scatter", "mode": mode, **parts}
    if series.style == "area":
        trace |= {"fill": "tozeroy", "fillcolor": _faint(look.colour)}
    if series.beside:
        texts = list(map(html.escape, series.beside))
        trace |= {"mode": f"{mode}+text", "text": texts, "textposition": "top left"}
        trace["cliponaxis"] = False
    return trace


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},{AREA_OPACITY})"


def _bars(series: Series, look: Look) -> dict[str, Any]:
    pattern = {"pattern": {"shape": look.hatch, "fillmode": "overlay", "size": 7}} if look.hatch else {}
    across = {"orientation": "h"} if series.style == "across" else {}
    return {"type": "bar", "marker": {"color": look.colour, **pattern}, **across, **_span(series)}


def _span(series: Series) -> dict[str, Any]:
    """Return where bars begin, and how long they are from there."""
    if not series.start:
        return {}
    lengths = [end - begin for begin, end in zip(series.start, series.x, strict=True)]
    # Left to itself, plotly makes bars as wide as the distance of the places that their series has.
    return {"base": _finite(series.start), "x": _finite(lengths), "width": FILLED}


def _error_bars(series: Series, look: Look) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": _finite([high - y for y, high in zip(series.y, series.high, strict=True)]),
        "arrayminus": _finite([y - low for y, low in zip(series.y, series.low, strict=True)]),
        "thickness": 1.3,
        "width": 4,
        # The page gives those of bars the colour of text, since their own would not show on the bar.
        **({} if series.style == "bars" else {"color": look.colour}),
    }


def _hover(series: Series, panel: Panel) -> list[str]:
    """Return the label of each point: its name, both numbers with units, the error bar and its own line."""
    labels = []
    for k, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
        lines = [f"<b>{html.escape(series.name)}</b>", _quantity(panel.x, x), _quantity(panel.y, y)]
        if series.start:
            lines[1:2] = [
                f"from {show_float(series.start[k])} to {show_float(x)} {split_label(panel.x.label)[1]}"
            ]
        if series.low and series.high:
            lines.append(f"from {show_float(series.low[k])} to {show_float(series.high[k])}")
        if series.hover:
            lines.append(html.escape(series.hover[k]))
        labels.append("<br>".join(lines))
    return labels


def _quantity(axis: Axis, value: float) -> str:
    quantity, unit = split_label(axis.label)
    if axis.names:
        return html.escape(f"{quantity}: {axis.names[round(value)]}")
    return html.escape(f"{quantity}: {show_float(value)} {unit}".rstrip())


def _finite(values: Sequence[float]) -> list[float | None]:
    # JSON has no word for infinity or for what is not a number; plotly leaves a gap at null.
    return [value if math.isfinite(value) else None for value in values]


def _layout(figure: Figure) -> dict[str, Any]:
    layout: dict[str, Any] = {
        "hovermode": "closest",
        "dragmode": "zoom",
        **({"legend": LEGEND} if needs_legend(figure) else {"showlegend": False}),
        "annotations": [_panel_title(number, p) for number, p in enumerate(figure.panels, start=1)],
    }
    if any(one.style in ("bars", "across") for panel in figure.panels for one in panel.series):
        # Spans of one place lie on one line; they do not overlap.
        spans = any(one.start for panel in figure.panels for one in panel.series)
        layout |= {"barmode": "overlay" if spans else "group", "bargap": 0.2}
    for number, panel in enumerate(figure.panels, start=1):
        suffix = "" if number == 1 else str(number)
        layout[f"xaxis{suffix}"] = {**_axis(panel.x), **_bar_ticks(panel), "anchor": f"y{suffix}"}
        layout[f"yaxis{suffix}"] = {**_axis(panel.y), "anchor": f"x{suffix}"}
    return layout


def _panel_title(number: int, panel: Panel) -> dict[str, Any]:
    axes = _axes_of(number)
    return {
        "text": f"<b>{html.escape(panel.title)}</b>",
        "showarrow": False,
        "xref": f"{axes['xaxis']} domain",
        "yref": f"{axes['yaxis']} domain",
        "x": 0.5,
        "y": 1,
        "yanchor": "bottom",
        "yshift": 4,
    }


def _axis(axis: Axis) -> dict[str, Any]:
    return {
        "title": {"text": html.escape(axis.label), "standoff": 8, "font": {"size": 13}},
        "type": "log" if axis.log else "linear",
        "automargin": True,
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
        "ticklen": 4,
        **_names(axis),
        # Without a format a log axis labels its ticks between powers of ten 2 and 5 instead of 200 and 500.
        "tickformat": ",.6~r",
    }


def _names(axis: Axis) -> dict[str, Any]:
    if not axis.names:
        return {}
    texts = list(map(html.escape, axis.names))
    return {"tickmode": "array", "tickvals": list(range(len(texts))), "ticktext": texts}


def _bar_ticks(panel: Panel) -> dict[str, Any]:
    places = sorted({x for one in panel.series if one.style == "bars" for x in one.x})
    if not 0 < len(places) <= MOST_BAR_TICKS:
        return {}
    return {"tickmode": "array", "tickvals": places, "ticktext": [show_float(x) for x in places]}
