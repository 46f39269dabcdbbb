"""What is asked for: the soonest, or the fewest bytes or the smallest buffers, or a time that is kept.

A goal is one number to be small, and perhaps a limit that has to be kept.  Who names a limit for the 99th
percentile has no use for less than that, so what is small then is bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from stablecast.errors import InvalidInput

SOONEST, LEAST_BYTES, LEAST_BUFFER, P99 = "soonest", "least-bytes", "least-buffer", "p99-ms"
ACCEPTED = f"{SOONEST}, {P99}=200, {LEAST_BYTES}, {LEAST_BUFFER}"
SMALL = {SOONEST: "p50_ms", LEAST_BYTES: "bytes_per_s", LEAST_BUFFER: "buffer_bytes", P99: "bytes_per_s"}
"""By goal, the measurement that is to be small."""
WORDS = {
    "p50_ms": "half of the messages are stable after",
    "bytes_per_s": "a member sends",
    "buffer_bytes": "a member keeps at most",
}


@dataclass(frozen=True)
class Goal:
    """A goal, read."""

    name: str
    limit_ms: float | None = None
    """The most that the 99th percentile of the time to stable may be."""

    def __str__(self) -> str:
        return self.name if self.limit_ms is None else f"{self.name}={self.limit_ms:g}"

    @property
    def small(self) -> str:
        """The measurement that is to be small."""
        return SMALL[self.name]


def read_goal(text: str) -> Goal:
    """Return the goal that a text names."""
    name, equals, limit = text.strip().partition("=")
    if name == P99 and equals:
        try:
            value = float(limit)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value > 0):
            raise InvalidInput(f"goal '{text}' is not accepted (accepted: milliseconds above 0, {P99}=200)")
        return Goal(P99, value)
    if equals or name not in SMALL or name == P99:
        raise InvalidInput(f"goal '{text}' is not accepted (accepted: {ACCEPTED})")
    return Goal(name)
