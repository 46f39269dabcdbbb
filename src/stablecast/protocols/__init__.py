"""Stability protocols as pure state machines, one file each, found by name.

``protocol("s_coordp")`` returns one; ``protocol_names()`` and ``protocol_titles()`` list them without
importing any, so a list costs no compilation.
"""

from __future__ import annotations

import ast
import importlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from stablecast.errors import unknown_name

if TYPE_CHECKING:
    from stablecast.protocols.contract import Protocol

_FOLDER = Path(__file__).parent


@cache
def protocol_titles() -> dict[str, str]:
    """Return each protocol's one-line title, read from its source without importing it.

    The first line of a protocol's file is its name, as the paper writes it, and its title.
    """
    titles = {}
    for file in sorted(_FOLDER.glob("*.py")):
        if not file.stem.startswith("_"):
            text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            name, _, title = text.splitlines()[0].partition(": ")
            titles[name] = title.rstrip(".")
    return titles


def protocol_names() -> list[str]:
    """Return the names of all protocols: each file of this folder defines one."""
    return sorted(protocol_titles())


def protocol(name: str) -> Protocol:
    """Return the protocol of that name."""
    names = protocol_names()
    if name not in names:
        raise unknown_name("protocol", name, names)
    found: Protocol = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").PROTOCOL
    return found


__all__ = ["protocol", "protocol_names", "protocol_titles"]
