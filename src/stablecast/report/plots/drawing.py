"""Figures in axes of the user, and diagrams as pictures inside HTML.

A diagram is an image with its SVG inside: names within two pictures of one notebook cannot collide, nothing
in it runs, and its white ground reads on a dark page as well.
"""

from __future__ import annotations

import base64
import io
import warnings
from html import escape
from typing import TYPE_CHECKING

import matplotlib.style
from matplotlib import pyplot

from stablecast.report.diagram_static import diagram_canvas
from stablecast.report.static import SETTINGS, draw_into

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stablecast.report.diagram import Diagram
    from stablecast.report.figure import Figure

SIZE = (7.2, 3.9)


def draw(figure: Figure, axes: Axes | None = None) -> Axes:
    """Draw a figure of one panel into axes; without any, into those of a new picture."""
    where: Axes = pyplot.subplots(figsize=SIZE, layout="constrained")[1] if axes is None else axes
    draw_into(figure, where)
    return where


def picture_of_diagram(diagram: Diagram) -> str:
    """Return a diagram as HTML, with its caption."""
    stream = io.BytesIO()
    with matplotlib.style.context(["default", SETTINGS]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font", category=UserWarning)
        diagram_canvas(diagram).savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    source = base64.b64encode(stream.getvalue()).decode("ascii")
    style = "background: #ffffff; max-width: 100%; height: auto;"
    return (
        f'<figure style="margin: 0.3em 0;"><img alt="{escape(diagram.title)}" style="{style}"'
        f' src="data:image/svg+xml;base64,{source}">'
        f'<figcaption style="color: inherit; max-width: 60em;"><b>{escape(diagram.title)}</b>'
        f" {escape(diagram.caption)}</figcaption></figure>"
    )
