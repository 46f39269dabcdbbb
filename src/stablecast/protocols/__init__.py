"""Stability protocols as pure state machines, one file each, found by name.

``protocol("s_coordp")`` returns one; ``protocol_names()`` and ``protocol_titles()`` list them without
importing any, so a list costs no compilation.  Reliable multicasts that are run like protocols, and are found
by the same function, are listed by ``multicast_titles()``.
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
_MULTICASTS = {"bimodal": _FOLDER.parent / "multicast" / "bimodal.py"}


@cache
def protocol_titles() -> dict[str, str]:
    """Return each protocol's one-line title, read from its source without importing it.

    The first line of a protocol's file is its name, as the paper writes it, and its title.
    """
    titles = {}
    for file in sorted(_FOLDER.glob("*.py")):
        if not file.stem.startswith("_"):
            name, title = _first_line(file)
            titles[name] = title
    return titles


@cache
def multicast_titles() -> dict[str, str]:
    """Return the same of reliable multicasts that are run like protocols."""
    return dict(_first_line(file) for file in _MULTICASTS.values())


def _first_line(file: Path) -> tuple[str, str]:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    name, _, title = text.splitlines()[0].partition(": ")
    return name, title.rstrip(".")


def protocol_names() -> list[str]:
    """Return the names of all protocols: each file of this folder defines one."""
    return sorted(protocol_titles())


def protocol(name: str) -> Protocol:
    """Return the protocol of that name."""
    names = sorted([*protocol_names(), *_MULTICASTS])
    if name not in names:
        raise unknown_name("protocol", name, names)
    package = "stablecast.multicast" if name in _MULTICASTS else __name__
    found: Protocol = importlib.import_module(f"{package}.{name.replace('-', '_')}").PROTOCOL
    return found


__all__ = ["multicast_titles", "protocol", "protocol_names", "protocol_titles"]
