"""Whether a member has others pass on what it sends to all, and the degree of its trees.

A copy costs its sender processor time and its link's, whoever it is for; a hop costs time.  So a sender of a
small group sends all copies itself, and one of a large group as many as there are hops to be saved by.  The
sizes are measured (``benchmarks/README.md``, "Fan-out").
"""

from __future__ import annotations

import math

from stablecast.engine.wire import DEGREE_MOST
from stablecast.errors import InvalidInput

AUTO = "auto"
DIRECT = "direct"
RELAYS_FROM = 64
"""Members of a view from which on its members relay, unless told otherwise."""
DEGREE_LEAST, DEGREE_LARGE = 8, 32
"""The degree that is chosen is such that there are two levels, within these bounds."""


def read_fan_out(text: str | int) -> str | int:
    """Return what was said of the fan-out: ``auto``, ``direct``, or a degree."""
    if text in (AUTO, DIRECT):
        return text
    is_whole = isinstance(text, int) and not isinstance(text, bool)
    if is_whole or (isinstance(text, str) and text.isascii() and text.isdigit()):
        degree = int(text)
        if 1 <= degree <= DEGREE_MOST:
            return degree
    raise InvalidInput(
        f"fan_out {text!r} is not accepted (accepted: {AUTO}, {DIRECT}, or copies, from 1 to {DEGREE_MOST})"
    )


def degree_for(fan_out: str | int, size: int) -> int | None:
    """Return the degree of a member's trees in a view of so many, None if it sends a copy to each."""
    fan_out = read_fan_out(fan_out)
    if fan_out == DIRECT or (fan_out == AUTO and size < RELAYS_FROM):
        return None
    if isinstance(fan_out, int):
        return fan_out
    return min(max(math.isqrt(size - 1) + 1, DEGREE_LEAST), DEGREE_LARGE)
