"""The papers that can be reproduced, found by their short names: one package beside this file each."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path

from stablecast.errors import unknown_name
from stablecast.papers.paper import Paper


@cache
def paper_names() -> tuple[str, ...]:
    """Return the short names: the packages of this folder."""
    found = pkgutil.iter_modules([str(Path(__file__).parent)])
    return tuple(sorted(module.name for module in found if module.ispkg))


def paper(name: str) -> Paper:
    """Return a paper by its short name."""
    if name not in paper_names():
        raise unknown_name("paper", name, paper_names())
    found: Paper = importlib.import_module(f"{__package__}.{name}").PAPER
    return found
