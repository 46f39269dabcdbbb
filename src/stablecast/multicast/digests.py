"""Digests of bimodal delivery: what a member has of a source, as ranges, and how two members compare.

A digest speaks of the parts of a source between the last one that is over at its sender (let go, or given up)
and the last one that it knows to exist.  Of each of these its sender has it, or lacks it.  About earlier
parts it says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stablecast.multicast.gaps import Gap
from stablecast.multicast.streams import Stream

Range = tuple[int, int]
"""First and last part."""


class Told(NamedTuple):
    """What a digest says of one source."""

    source: int
    over: int
    """The last part that it says nothing about, nor about those before."""
    highest: int
    """The last part that its sender knows to exist."""
    seq: int
    """The last message that ends up to there."""
    received: list[Range]
    """What its sender has of the parts between, in order."""

    @property
    def is_sound(self) -> bool:
        """Whether its numbers make sense."""
        last = self.over
        for first, end in self.received:
            if not last < first <= end:
                return False
            last = end
        return last <= max(self.highest, self.over)


def told_of(source: int, stream: Stream, seq: int) -> Told:
    """Return what a member tells of a source; ``seq`` is the last message up to all that is known of it."""
    over, highest = stream.stable, stream.highest
    gaps = ((gap.first, gap.last) for gap in stream.gaps)
    return Told(source, over, highest, seq, list(without((over + 1, highest), gaps)))


def to_be_had(gap: Gap, told: Told) -> Iterator[Range]:
    """Yield the parts of a gap that the other member has."""
    for first, last in told.received:
        if last >= gap.first and first <= gap.last:
            yield max(first, gap.first), min(last, gap.last)


def lacked_by_both(gap: Gap, told: Told) -> Iterator[Range]:
    """Yield the parts of a gap that the other member knows of, and lacks too."""
    span = max(gap.first, told.over + 1), min(gap.last, told.highest)
    yield from without(span, told.received)


def without(span: Range, taken: Iterable[Range]) -> Iterator[Range]:
    """Yield what is left of a range without others, which are in order."""
    at, end = span
    for first, last in taken:
        if first > end:
            break
        if first > at:
            yield at, first - 1
        at = max(at, last + 1)
    if at <= end:
        yield at, end
