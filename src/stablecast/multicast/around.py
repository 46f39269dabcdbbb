"""What is around a data plane: who sends and is told for it, who finds stability, and what it counts."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from stablecast.multicast.frames import DataFrame, Run
from stablecast.multicast.streams import Kept, Stream


class Surroundings(Protocol):
    """What is done for the data plane, and what it tells."""

    def to_rank(self, frame: DataFrame, rank: int) -> None:
        """Send a frame to one member."""

    def to_audience(self, frame: DataFrame) -> None:
        """Send a frame to all who receive from this member."""

    def took(self, source: int, stream: Stream, run: Run, now: float) -> None:
        """Take note of a run that has joined its source's prefix."""

    def released(self, source: int, stream: Stream, runs: list[Kept], now: float) -> None:
        """Take note of runs that everyone has."""

    def dropped(self, source: int, runs: list[Kept], now: float) -> None:
        """Take note of runs that are kept elsewhere."""

    def lost(self, source: int, stream: Stream, first: int, last: int, now: float) -> None:
        """Take note of messages that were given up."""

    @property
    def is_full(self) -> bool:
        """Whether the application has too much waiting for it."""


class Stability(Protocol):
    """Who finds out what everyone has; told what has come here."""

    stable: list[int]
    """For each source, the last part that is known to be everywhere."""
    rose: bool
    """Whether that has grown; whoever lets go of it sets it back."""
    attaches: bool
    """Whether it attaches numbers to parts."""
    width: int
    """How many to each."""
    knows_own: bool
    """Whether members learn of their own messages alone, so that they have to tell the others."""
    starter: int | None
    """The rank of who has to know that something is unstable, to look for stability; None if nobody has."""

    def holds(self, source: int, part: int) -> bool:
        """Tell whether there is a place for what is attached to a part."""

    def put_attached(self, source: int, part: int, numbers: list[int]) -> None:
        """Keep what came with parts, from ``part`` on."""

    def has_received(self, source: int, part: int, now: float) -> None:
        """Note that a source's prefix has grown up to a part."""

    def exists(self, source: int, part: int) -> None:
        """Hear that a source that this member does not receive has sent up to a part."""

    def take_stable(self, source: int, part: int) -> bool:
        """Hear from elsewhere that everyone has a source's parts up to this one."""


class Counts(NamedTuple):
    """What has happened in one view."""

    repairs_asked: int = 0
    repairs_sent: int = 0
    multicasts_again: int = 0
    """Runs that were multicast again, as many members lacked them."""
    lost: int = 0
    """Messages of others that were given up."""
    come_or_lost: int = 0
    """Messages of others that have come, or were given up."""
