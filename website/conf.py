"""How Sphinx builds the site; sources are gathered by ``website.build``."""

from __future__ import annotations

import stablecast
from stablecast.live import group, receipt

receipt.Group = group.Group  # type: ignore[attr-defined]  # imported there for type checking alone

project = "stablecast"
author = "the stablecast authors"
release = version = stablecast.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = "stablecast"
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_static_path: list[str] = []
templates_path: list[str] = []
pygments_style, pygments_dark_style = "friendly", "monokai"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["myst.xref_missing_decl", "misc.highlighting_failure"]

autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False}
napoleon_numpy_docstring = True
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
