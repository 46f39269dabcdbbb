"""Which parts of a source are known to exist and have not come, and when to ask for each of them.

Each gap has a time of its own.  Parts that were asked for are on their way for a round trip, and asking for
them with every new gap would have them sent again and again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace

NEVER = float("inf")
GAPS_MOST = 1_000
"""Above this a gap that follows another one becomes part of it, though that was asked for."""


@dataclass(slots=True)
class Gap:
    """Parts in a row that are missing."""

    first: int
    last: int
    due: float
    """When to ask for them."""
    seen: float | None = None
    """When a later part came; None if they are known by hearsay."""
    tries: int = 0
    """How often they were asked for; once, as soon as some of them have come."""
    asked: float = 0.0
    """When they were last asked for."""

    def late_by(self, now: float, way_s: float) -> float | None:
        """Return by how much a part that comes now was overtaken; None if it may be a repair.

        No repair comes within ``way_s`` of a request.
        """
        if self.seen is None or (self.tries and now >= self.asked + way_s):
            return None
        return now - self.seen


class Gaps:
    """The gaps of one source, in order; none overlaps another."""

    __slots__ = ("_gaps", "next_at")

    def __init__(self) -> None:
        self.next_at = NEVER
        """When the first of them is due; infinite if there is none."""
        self._gaps: list[Gap] = []

    def __bool__(self) -> bool:
        return bool(self._gaps)

    def add(self, first: int, last: int, due: float, seen: float | None = None) -> None:
        """Note that parts are missing, which lie behind all that were known to exist."""
        before = self._gaps[-1] if self._gaps else None
        follows = before is not None and before.last == first - 1
        if before is not None and follows and (before.tries == 0 or len(self._gaps) >= GAPS_MOST):
            before.last = last
            return
        self._gaps.append(Gap(first, last, due, seen))
        self.next_at = min(self.next_at, due)

    def __iter__(self) -> Iterator[Gap]:
        return iter(self._gaps)

    def holding(self, part: int) -> Gap | None:
        """Return the gap that a part is in."""
        at = bisect_left(self._gaps, part, key=_last)
        return self._gaps[at] if at < len(self._gaps) and self._gaps[at].first <= part else None

    def fill(self, first: int, last: int) -> None:
        """Note that parts have come."""
        gaps = self._gaps
        if not gaps or last < gaps[0].first:
            return
        at = bisect_left(gaps, first, key=_last)
        left: list[Gap] = []
        end = at
        while end < len(gaps) and gaps[end].first <= last:
            gap = gaps[end]
            if gap.first < first:
                left.append(replace(gap, last=first - 1, tries=min(gap.tries, 1)))
            if gap.last > last:
                left.append(replace(gap, first=last + 1, tries=min(gap.tries, 1)))
            end += 1
        if end > at:
            gaps[at:end] = left
            self.rescheduled()

    def due(self, now: float) -> list[Gap]:
        """Return the gaps whose time has come; give each another one, and call ``rescheduled``."""
        return [gap for gap in self._gaps if gap.due <= now] if self.next_at <= now else []

    def rescheduled(self) -> None:
        """Take note that gaps have other times."""
        self.next_at = min((gap.due for gap in self._gaps), default=NEVER)

    def ask_all(self, now: float) -> None:
        """Ask for everything at once, as if for the first time."""
        for gap in self._gaps:
            gap.due, gap.tries = now, 0
        self.rescheduled()


def _last(gap: Gap) -> int:
    return gap.last
