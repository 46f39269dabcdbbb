"""The page as a file: markup, style and scripts of this folder around a packed run; it loads nothing.

A policy in the page lets the browser run these scripts and this style and no others, by their digests: even a
mistake in escaping would not run what a trace contains.
"""

from __future__ import annotations

import base64
import hashlib
import html
from pathlib import Path
from typing import TYPE_CHECKING

from stablecast.report import palette
from stablecast.report.lens.pack import pack

if TYPE_CHECKING:
    from stablecast.report.lens.content import Content

HERE = Path(__file__).parent
SCRIPTS = ("run.js", "draw.js", "look.js", "panel.js", "moves.js", "page.js")
COLOURS = ("blue", "orange", "green", "purple", "sky")


def render(content: Content, *, version: str) -> bytes:
    """Return the page of a run."""
    script = "\n".join(_text(name) for name in SCRIPTS)
    style = _filled(_text("page.css"), {name: getattr(palette, name.upper()) for name in COLOURS})
    values = {
        "title": html.escape(content.header["title"]),
        "version": html.escape(version),
        "style": style,
        "style_hash": _digest(style),
        "script": script,
        "script_hash": _digest(script),
        "data": pack(content.header, content.columns),
    }
    return _filled(_text("page.html"), values).encode()


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _filled(template: str, values: dict[str, str]) -> str:
    """Put values in place of ``{{name}}``, in one pass: what is in a value stays as it is."""
    pieces = template.split("{{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        name, found, rest = piece.partition("}}")
        filled.append(values[name] + rest if found and name in values else "{{" + piece)
    return "".join(filled)


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
