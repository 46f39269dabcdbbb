"""The critical path of a message: the chain of causes that decided when it was known to be stable."""

from __future__ import annotations

from dataclasses import dataclass

from stablecast.causes.graph import Edge
from stablecast.causes.phases import Phase
from stablecast.causes.run import Run
from stablecast.causes.segments import Segment

FIRST, LAST = "first", "last"


@dataclass(frozen=True)
class CriticalPath:
    """Why a member knew a message to be stable when it did, and not before."""

    source: str
    seq: int
    member: str
    """Who knew it to be stable."""
    sent_us: int
    detected_us: int
    segments: tuple[Segment, ...]
    """From the sending on; each begins where the one before it ends, so their lengths sum to ``length_us``."""
    phases: tuple[Phase, ...]
    """Three, which sum to the same."""
    edges: tuple[Edge, ...]
    """Of the segments, in the run's graph."""
    earlier: tuple[Edge, ...]
    """The chain's edges before the sending, down to a step that nothing in the trace started."""
    last_member: str | None
    """Who had the message last; None if the trace does not tell."""
    way: tuple[Segment, ...]
    """How the message came to that member, from the sending on."""
    remarks: tuple[str, ...]
    """What the trace does not tell."""

    @property
    def length_us(self) -> int:
        """Time to stable."""
        return self.detected_us - self.sent_us

    def lines(self) -> list[str]:
        """Return three to six lines that tell a person why it took so long."""
        raise NotImplementedError


@dataclass(frozen=True)
class Slow:
    """A message and how long it took until it was known to be stable."""

    source: str
    seq: int
    member: str
    sent_us: int
    detected_us: int


def critical_path(run: Run, source: str, seq: int, *, at: str | None = None) -> CriticalPath:
    """Return what decided when a message was known to be stable.

    Parameters
    ----------
    run
        The run.
    source, seq
        The message.
    at
        A member's name, or ``first`` or ``last`` to know it; by default the source, if it came to know, and
        the first one otherwise.
    """
    raise NotImplementedError


def slowest(run: Run, count: int = 10, *, at: str | None = None) -> tuple[Slow, ...]:
    """Return the messages that took longest, the slowest one first; ``at`` is as for ``critical_path``."""
    raise NotImplementedError
