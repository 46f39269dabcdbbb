"""Stability protocols as pure state machines, one file each, found by name.

``protocol("s_coordp")`` returns one; ``protocol_names()`` and ``protocol_titles()`` list them without
importing any, so a list costs no compilation.  A protocol from outside the package is found by the path of
its file, ``protocol("my/idea.py")``: the file defines ``PROTOCOL``, as those of this folder do.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from stablecast.errors import InvalidInput, unknown_name

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
            name, title = _first_line(file)
            titles[name] = title
    return titles


def _first_line(file: Path) -> tuple[str, str]:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    name, _, title = text.splitlines()[0].partition(": ")
    return name, title.rstrip(".")


def protocol_names(having: Callable[[Protocol], object] | None = None) -> list[str]:
    """Return the names of all protocols, each of which is a file of this folder.

    ``having`` chooses by what their descriptions say: ``protocol_names(lambda p: not p.delivers)``.
    """
    names = sorted(protocol_titles())
    return names if having is None else [name for name in names if having(protocol(name))]


def protocol(found: str | Protocol) -> Protocol:
    """Return the protocol of that name, or the one that a file defines; a protocol is returned as it is."""
    if not isinstance(found, str):
        return found
    if is_path(found):
        return _protocol_of(Path(found))
    if found not in protocol_titles():
        raise unknown_name("protocol", found, protocol_names())
    module = importlib.import_module(f"{__name__}.{found.replace('-', '_')}")
    named: Protocol = module.PROTOCOL
    return named


def is_path(name: str) -> bool:
    """Tell whether a protocol is named by its file."""
    return name.endswith(".py")


def _protocol_of(file: Path) -> Protocol:
    """Import a file, once, under its own name, so that the simulator finds its kernels by that name."""
    name = file.stem
    loaded = sys.modules.get(name)
    if loaded is None or Path(loaded.__file__ or "") != file.resolve():
        if loaded is not None:
            raise InvalidInput(f"'{file}' has the name of another module (accepted: a name not in use)")
        spec = importlib.util.spec_from_file_location(name, file.resolve())
        if spec is None or spec.loader is None or not file.is_file():
            raise InvalidInput(f"no protocol '{file}' (accepted: a Python file, or a name)")
        loaded = importlib.util.module_from_spec(spec)
        sys.modules[name] = loaded
        try:
            spec.loader.exec_module(loaded)
        except BaseException:
            del sys.modules[name]
            raise
    defined: Protocol | None = getattr(loaded, "PROTOCOL", None)
    if defined is None:
        raise InvalidInput(f"'{file}' defines no PROTOCOL")
    return defined


__all__ = ["is_path", "protocol", "protocol_names", "protocol_titles"]
