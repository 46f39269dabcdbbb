"""Stability protocols as pure state machines, one file each, found by name.

``protocol("s_coordp")`` returns one; ``protocol_names()`` and ``protocol_titles()`` list them without
importing any, so a list costs no compilation.  A protocol from outside the package is found by the path of
its file, ``protocol("my/idea.py")``: the file defines ``PROTOCOL``, as those of this folder do.  One of an
installed package is found by the name of its entry point in the group ``stablecast.protocols``.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from stablecast.errors import unknown_name
from stablecast.protocols._outside import declared_at, is_path, naming_lines, provide, text_of

if TYPE_CHECKING:
    from stablecast.protocols.contract import Protocol

_FOLDER = Path(__file__).parent


@cache
def protocol_titles() -> dict[str, str]:
    """Return the one-line title of each protocol of this package, read from its source without importing it.

    The first line of a protocol's file is its name, as the paper writes it, and its title.
    """
    titles = {}
    for file in sorted(_FOLDER.glob("*.py")):
        if not file.stem.startswith("_"):
            name, title = _first_line(file)
            titles[name] = title
    return titles


def _first_line(file: Path) -> tuple[str, str]:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    name, _, title = text.splitlines()[0].partition(": ")
    return name, title.rstrip(".")


def protocol_names(having: Callable[[Protocol], object] | None = None) -> list[str]:
    """Return the names of the protocols of this package, each of which is a file of this folder.

    ``having`` chooses by what their descriptions say: ``protocol_names(lambda p: not p.runs.delivers)``.
    """
    names = sorted(protocol_titles())
    return names if having is None else [name for name in names if having(protocol(name))]


def installed_titles() -> dict[str, str]:
    """Return the one-line titles of the protocols of installed packages; they are imported for that."""
    from stablecast.protocols import _outside

    return _outside.installed_titles()


def is_known(name: str) -> bool:
    """Tell whether a name is that of a protocol of this or of an installed package."""
    from stablecast.protocols import _outside

    return name in protocol_titles() or name in _outside.installed()


def protocol(found: str | Protocol) -> Protocol:
    """Return the protocol of that name, or the one that a file defines; a protocol is returned as it is."""
    if not isinstance(found, str):
        return found
    if found in protocol_titles():
        module = importlib.import_module(f"{__name__}.{found.replace('-', '_')}")
        named: Protocol = module.PROTOCOL
        return named
    from stablecast.protocols import _outside

    if is_path(found):
        return _outside.protocol_of(found)
    if found in _outside.installed():
        return _outside.installed_protocol(found)
    raise unknown_name("protocol", found, [*protocol_names(), *_outside.installed()])


def source_digest(name: str) -> str:
    """Return a digest of the source of a protocol from outside the package, empty for one of the package."""
    if name in protocol_titles():
        return ""
    from stablecast.protocols import _outside

    return _outside.digest_of(name) if is_path(name) else _outside.installed_digest(name)


__all__ = [
    "declared_at",
    "installed_titles",
    "is_known",
    "is_path",
    "naming_lines",
    "protocol",
    "protocol_names",
    "protocol_titles",
    "provide",
    "source_digest",
    "text_of",
]
