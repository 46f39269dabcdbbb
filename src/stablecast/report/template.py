"""Pages made of templates: HTML that contains its style, its script and plotly.js, and loads nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

HERE = Path(__file__).parent


def render(name: str, *, folder: Path = HERE, **values: Any) -> bytes:
    """Return the page that a template makes of some values, each escaped where it stands.

    The template is in ``folder``; what it extends may be here.
    """
    parts = {"style": _inline("style.css"), "script": _inline("page.js"), "plotly": _plotly()}
    return _environment(folder).get_template(name).render(**parts, **values).encode()


def script_json(value: Any) -> Markup:
    """Return JSON that may stand inside a script element, whatever its strings contain."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # The parser of HTML looks for tags in scripts as well, and knows nothing of quotes.
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _environment(folder: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader([folder, HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["script_json"] = script_json
    return environment


def _inline(name: str) -> Markup:
    return Markup((HERE / name).read_text(encoding="utf-8"))


def _plotly() -> Markup:
    from plotly.offline import get_plotlyjs

    # In JavaScript's strings and patterns a backslash before the slash changes nothing.
    return Markup(get_plotlyjs().replace("</script", "<\\/script").replace("<!--", "<\\!--"))
