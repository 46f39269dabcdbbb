"""One piece of a chain of causes, named and timed for a person."""

from __future__ import annotations

from dataclasses import dataclass

from stablecast.causes.graph import Edge

HOP, WAIT, REPAIR, UNDERWAY, CALL, UNTOLD = ("hop", "wait", "repair", "underway", "call", "untold")
SEGMENT_KINDS = (HOP, WAIT, REPAIR, UNDERWAY, CALL, UNTOLD)
"""A transmission; a timer; either of them for a lost message; what was under way at the sending already;
waiting for the application; what the trace does not tell."""


@dataclass(frozen=True)
class Segment:
    """A stretch of time that one thing took."""

    kind: str
    text: str
    """``START of execution 12 from m0 to m3``."""
    origin: str
    """Member at the beginning."""
    member: str
    """Member at the end; the same one for a wait."""
    begin_us: int
    end_us: int
    message: str | None = None
    """What was transmitted, or the timer's name."""
    execution: int | None = None
    queue_us: int | None = None
    service_us: int | None = None
    propagation_us: int | None = None
    edge: Edge | None = None
    """In the run's graph."""

    @property
    def length_us(self) -> int:
        """How long it took."""
        return self.end_us - self.begin_us
