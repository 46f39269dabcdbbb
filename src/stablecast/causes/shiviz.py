"""A run as ShiViz reads it: every step with a vector clock."""

from __future__ import annotations

from stablecast.causes.run import Run

PARSER = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"
"""The regular expression that ShiViz is given to take the log apart."""


def shiviz(run: Run, *, from_us: int | None = None, to_us: int | None = None) -> str:
    """Return a log for ShiViz: the expression its parser takes, then two lines a step."""
    raise NotImplementedError
