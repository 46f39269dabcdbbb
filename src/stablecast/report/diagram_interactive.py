"""Space-time diagrams for the screen: what plotly.js draws, as plain values for JSON."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stablecast.report.diagram_layout import Layout, Placed, Stroke, lay_out
from stablecast.report.interactive import LEGEND
from stablecast.report.numbers import show_float, split_label
from stablecast.report.palette import GREY, PALE_OPACITY, Look, kind_looks

if TYPE_CHECKING:
    from stablecast.report.diagram import Arrow, Diagram, Mark

EM = 12
"""Pixels."""
NARROWEST = 640
"""Pixels: as wide as a sheet of paper. Texts are placed for this; a narrower window scrolls sideways."""
RIGHT = 14
STEPS = 16
"""Points on each arrow that can be pointed at."""


def plot_diagram(diagram: Diagram) -> dict[str, Any]:
    """Return a diagram's ``data`` and ``layout`` for ``Plotly.newPlot``, and its size under ``diagram``.

    As for other figures, the page adds the colours of text, grid and background.
    """
    left = 26 + 9 * max(map(len, diagram.processes))
    layout = lay_out(diagram, (NARROWEST - left - RIGHT) / EM)
    given = kind_looks(diagram)
    traces = [
        *(_legend_line(kind, look, diagram) for kind, look in given.items()),
        _process_lines(layout),
        _upright_lines(diagram, layout),
        _dimension_lines(layout),
        *_arrows(diagram, layout, given, pale=True),
        *_arrows(diagram, layout, given, pale=False),
        _mark_points(diagram, layout),
        *_label_texts(layout, given),
        _texts([one.text for one in layout.dimensions]),
        {**_texts(layout.marks), "textfont": {"size": EM, "style": "italic"}},
    ]
    size = {"height": round(EM * layout.height), "left": left, "right": RIGHT, "narrowest": NARROWEST}
    return {
        "data": [trace for trace in traces if trace["x"]],
        "layout": _layout(diagram, layout),
        "diagram": size,
    }


def _process_lines(layout: Layout) -> dict[str, Any]:
    ends = (layout.start, layout.end)
    return _lines([(ends, (row, row)) for row in layout.rows], {"color": GREY, "width": 2})


def _upright_lines(diagram: Diagram, layout: Layout) -> dict[str, Any]:
    """Return lines from a process to the ends of its spans, and to texts of marks that stand far away."""
    lines = []
    for one in layout.dimensions:
        row = layout.rows[one.span.process]
        end = one.y + (0.4 if one.y > row else -0.4)
        lines += [((time, time), (row, end)) for time in (one.span.start, one.span.end)]
    for mark, place in zip(diagram.events, layout.marks, strict=True):
        leader = place.leader(layout.rows[mark.process])
        lines += [((mark.time, mark.time), leader)] if leader else []
    return _lines(lines, {"color": GREY, "width": 1})


def _dimension_lines(layout: Layout) -> dict[str, Any]:
    """Return lines with a head at both ends."""
    # A head points away from the point before it, so each is drawn from its middle to both ends.
    halves = [
        (((one.span.start + one.span.end) / 2, end), (one.y, one.y))
        for one in layout.dimensions
        for end in (one.span.start, one.span.end)
    ]
    heads = {"symbol": "arrow", "size": [0, 9, 0] * len(halves), "angleref": "previous", **_plain(GREY)}
    return {**_lines(halves, {"color": GREY, "width": 1.5}), "mode": "lines+markers", "marker": heads}


def _lines(
    lines: Sequence[tuple[tuple[float, float], tuple[float, float]]], look: dict[str, Any]
) -> dict[str, Any]:
    """Return one trace of many lines: plotly lifts the pen at a null."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [value for x, _ in lines for value in (*x, None)],
        "y": [value for _, y in lines for value in (*y, None)],
        "line": look,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _legend_line(kind: str, look: Look, diagram: Diagram) -> dict[str, Any]:
    """Return a trace of nothing but its line in the legend, where a head would spoil the dashes."""
    pale = all(message.pale for message in diagram.messages if message.kind == kind)
    return {
        **_of_kind(kind, pale),
        "mode": "lines",
        "x": [None],
        "y": [None],
        "line": _line(look, pale),
        "showlegend": True,
    }


def _arrows(diagram: Diagram, layout: Layout, given: dict[str, Look], *, pale: bool) -> list[dict[str, Any]]:
    """Return for each kind of message a trace of lines with heads, and one of the dots where they start."""
    traces = []
    for kind, look in given.items():
        strokes = [one for one in layout.strokes if (one.message.kind, one.message.pale) == (kind, pale)]
        for parts in (_arrow_lines(strokes, diagram, look, pale), _arrow_ends(strokes, look, pale)):
            traces.append({**_of_kind(kind, pale), **parts, "showlegend": False, "cliponaxis": False})
    return traces


def _of_kind(kind: str, pale: bool) -> dict[str, Any]:
    # One click on the legend reaches everything of a kind.
    return {
        "type": "scatter",
        "name": html.escape(kind),
        "legendgroup": kind,
        "opacity": PALE_OPACITY if pale else 1.0,
    }


def _line(look: Look, pale: bool) -> dict[str, Any]:
    return {"color": look.colour, "dash": look.dash, "width": 1 if pale else 2}


def _arrow_lines(strokes: Sequence[Stroke], diagram: Diagram, look: Look, pale: bool) -> dict[str, Any]:
    """Return lines to a head, with points along them that cannot be seen but can be pointed at."""
    sizes = [(*[0] * STEPS, 0 if one.message.lost else 9 if pale else 12, 0) for one in strokes]
    return {
        "mode": "lines+markers",
        "x": [x for one in strokes for x in (*_between(one.message.sent, one.end), None)],
        "y": [y for one in strokes for y in (*_between(one.y0, one.y1), None)],
        "line": _line(look, pale),
        "marker": {
            "symbol": "arrow",
            "angleref": "previous",
            "size": [size for sizes_of_one in sizes for size in sizes_of_one],
            **_plain(look.colour),
        },
        "hovertext": [text for one in strokes for text in [_hover(one.message, diagram)] * (STEPS + 2)],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _between(first: float, last: float) -> list[float]:
    return [first + (last - first) * k / STEPS for k in range(STEPS)] + [last]


def _arrow_ends(strokes: Sequence[Stroke], look: Look, pale: bool) -> dict[str, Any]:
    """Return a dot where each message starts, and a cross where it is lost."""
    lost = [one for one in strokes if one.message.lost]
    return {
        "mode": "markers",
        "x": [*(one.message.sent for one in strokes), *(one.end for one in lost)],
        "y": [*(one.y0 for one in strokes), *(one.y1 for one in lost)],
        "marker": {
            "symbol": ["circle"] * len(strokes) + ["x"] * len(lost),
            "size": [4 if pale else 6] * len(strokes) + [8 if pale else 11] * len(lost),
            **_plain(look.colour),
        },
        "hoverinfo": "skip",
    }


def _plain(colour: str) -> dict[str, Any]:
    # Plotly takes markers of several sizes for bubbles, which it draws with a rim and half transparent.
    return {"color": colour, "opacity": 1, "line": {"width": 0}}


def _hover(message: Arrow, diagram: Diagram) -> str:
    _, unit = split_label(diagram.time_label)
    way = f"{diagram.processes[message.source]} → {diagram.processes[message.dest]}"
    lines = [way, f"sent: {show_float(message.sent)} {unit}".rstrip()]
    if message.received is None:
        lines.append("lost")
    else:
        arrival = f"received: {show_float(message.received)} {unit}".rstrip()
        lines.append(f"{arrival}, {show_float(message.received - message.sent)} later")
    lines += [message.hover] if message.hover else []
    title = html.escape(f"{message.kind} {message.label}".rstrip())
    return "<br>".join([f"<b>{title}</b>", *map(html.escape, lines)])


def _mark_points(diagram: Diagram, layout: Layout) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [mark.time for mark in diagram.events],
        "y": [layout.rows[mark.process] for mark in diagram.events],
        "marker": {"symbol": "diamond", "size": 9, "color": GREY},
        "hovertext": [_mark_hover(mark, diagram) for mark in diagram.events],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "showlegend": False,
        "cliponaxis": False,
    }


def _mark_hover(mark: Mark, diagram: Diagram) -> str:
    quantity, unit = split_label(diagram.time_label)
    lines = [diagram.processes[mark.process], f"{quantity}: {show_float(mark.time)} {unit}".rstrip()]
    return "<br>".join([f"<b>{html.escape(mark.text)}</b>", *map(html.escape, lines)])


def _label_texts(layout: Layout, given: dict[str, Look]) -> Iterator[dict[str, Any]]:
    """Return one trace for each kind of message, so that its labels go with its arrows."""
    for kind in given:
        for pale in (True, False):
            places = [one for one in layout.labels if _is_about(one, kind, pale)]
            yield {**_texts(places), "legendgroup": kind, "opacity": 0.75 if pale else 1.0}


def _is_about(place: Placed, kind: str, pale: bool) -> bool:
    return (getattr(place.about, "kind", None), getattr(place.about, "pale", None)) == (kind, pale)


def _texts(places: Sequence[Placed]) -> dict[str, Any]:
    sides = {"left": "middle right", "center": "middle center", "right": "middle left"}
    return {
        "type": "scatter",
        "mode": "text",
        "x": [one.time for one in places],
        "y": [one.y for one in places],
        "text": [html.escape(one.text) for one in places],
        "textposition": [sides[one.align] for one in places],
        "textfont": {"size": EM},
        "hoverinfo": "skip",
        "showlegend": False,
        "cliponaxis": False,
    }


def _layout(diagram: Diagram, layout: Layout) -> dict[str, Any]:
    return {
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": LEGEND,
        "xaxis": {
            "title": {"text": html.escape(diagram.time_label), "standoff": 8, "font": {"size": 13}},
            "type": "linear",
            "automargin": True,
            "range": [layout.start, layout.end],
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
            "ticklen": 4,
            "nticks": 20,
            "tickformat": ",.6~r",
        },
        "yaxis": {
            "range": [layout.height, 0],
            "tickmode": "array",
            "tickvals": list(layout.rows),
            "ticktext": [f"<b>{html.escape(name)}</b>" for name in diagram.processes],
            # Only time can be zoomed, since texts keep their distances in height.
            "fixedrange": True,
            "zeroline": False,
            "showgrid": False,
            "showline": False,
            "ticks": "",
            "ticklabelstandoff": 6,
        },
    }
