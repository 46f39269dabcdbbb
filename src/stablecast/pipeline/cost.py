"""How long a point will take, roughly: only the order of points and the size of batches hang on it."""

from __future__ import annotations

import math

from stablecast.pipeline.point import SIMULATE, Point
from stablecast.simulate.options import Options
from stablecast.theory import group_size

EVENTS_PER_S = 3e6
FIXED_S = 0.002
UNKNOWN_S = 0.5
ALL_TO_ALL = frozenset({"fulldist", "explicit"})
"""Protocols in which every member tells every other."""


def estimated_seconds(point: Point) -> float:
    """Return a guess of a point's running time."""
    if point.task != SIMULATE:
        return UNKNOWN_S
    options = Options(**point.options)  # type: ignore[arg-type]
    n = member_count(options)
    executions = options.executions or (20 if options.messages else 1)
    if options.protocol in ALL_TO_ALL:
        each = float(n * n)
    elif options.protocol == "cubefulldist":
        each = 3 * n * math.log2(n + 2) ** 2 * (1 + n / 20_000)  # the set of members grows with n
    else:
        each = 4 * n * math.log2(n + 2)
    data = 6 * options.messages * (options.senders or n) * n
    return FIXED_S + (each * executions + data) / EVENTS_PER_S


def member_count(options: Options) -> int:
    """Return the number of members, by the parameters alone; 1,000 where they do not tell."""
    if options.members is not None:
        return max(options.members, 1)
    if options.nodes is not None:
        return max(options.nodes, 1)
    if options.degree and options.height and 0 < options.height < 64 and options.degree > 0:
        return group_size(options.degree, options.height, options.fill or options.degree)
    return 1000
