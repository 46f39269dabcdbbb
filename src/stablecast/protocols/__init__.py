"""Stability protocols as pure state machines, one file each, found by name.

``protocol("s_coordp")`` returns one; ``protocol_names()`` and ``protocol_titles()`` list them without
importing any, so a list costs no compilation.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from stablecast.errors import unknown_name

if TYPE_CHECKING:
    from stablecast.protocols.contract import Protocol

_FOLDER = Path(__file__).parent


def protocol_names() -> list[str]:
    """Return the names of all protocols: each file of this folder defines one."""
    return sorted(file.stem for file in _FOLDER.glob("*.py") if not file.stem.startswith("_"))


def protocol_titles() -> dict[str, str]:
    """Return each protocol's one-line title, read from its source without importing it."""
    titles = {}
    for name in protocol_names():
        text = ast.get_docstring(ast.parse((_FOLDER / f"{name}.py").read_text(encoding="utf-8"))) or ""
        titles[name] = text.splitlines()[0].partition(": ")[2].rstrip(".")
    return titles


def protocol(name: str) -> Protocol:
    """Return the protocol of that name."""
    names = protocol_names()
    if name not in names:
        raise unknown_name("protocol", name, names)
    found: Protocol = importlib.import_module(f"{__name__}.{name}").PROTOCOL
    return found


__all__ = ["protocol", "protocol_names", "protocol_titles"]
