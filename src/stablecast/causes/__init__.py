"""Why a message took as long as it did: the causal graph of a run's trace, and critical paths in it.

``read`` reads one run.  ``critical_path`` tells what decided when a message was known to be stable, ``life``
what became of a message, ``slowest`` which messages took longest, ``shiviz`` the run as ShiViz reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stablecast.causes.graph import Edge, Graph, recompute
    from stablecast.causes.lives import Life, MemberLife, life
    from stablecast.causes.path import CriticalPath, Slow, critical_path, slowest
    from stablecast.causes.phases import Phase
    from stablecast.causes.reading import read
    from stablecast.causes.run import Run
    from stablecast.causes.segments import Segment
    from stablecast.causes.shiviz_log import shiviz

_LAZY = {
    "CriticalPath": "path",
    "Edge": "graph",
    "Graph": "graph",
    "Life": "lives",
    "MemberLife": "lives",
    "Phase": "phases",
    "Run": "run",
    "Segment": "segments",
    "Slow": "path",
    "critical_path": "path",
    "life": "lives",
    "read": "reading",
    "recompute": "graph",
    "shiviz": "shiviz_log",
    "slowest": "path",
}

__all__ = [
    "CriticalPath",
    "Edge",
    "Graph",
    "Life",
    "MemberLife",
    "Phase",
    "Run",
    "Segment",
    "Slow",
    "critical_path",
    "life",
    "read",
    "recompute",
    "shiviz",
    "slowest",
]


def __getattr__(name: str) -> Any:
    """Import what reads and computes when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"stablecast.causes.{_LAZY[name]}"), name)
