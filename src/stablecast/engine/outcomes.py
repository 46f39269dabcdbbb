"""What became of one's own messages: until which one they are stable, and in which company.

Everything that was sent in a view is settled when it ends, so what is known of its messages then stays as it
is.  A receipt holds on to the view that its message was sent in, however many follow; a member itself
remembers the last few.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque

from stablecast.engine.results import MessageId, ProbablyStable, Settlement, Stable, StableInSmallerView

TIMES_KEPT = 4096
VIEWS_KEPT = 64


class Sent:
    """What one incarnation sent in one view: to whom, and who had it when it became stable."""

    __slots__ = ("_stable_at", "_stable_up_to", "_times", "first", "label", "members")

    def __init__(
        self, label: str, first: int, members: tuple[str, ...], times: deque[tuple[int, float]]
    ) -> None:
        self.label = label
        self.first = first
        """Its first message."""
        self.members = members
        self._times = times
        self._stable_up_to: list[int] = []
        self._stable_at: list[tuple[tuple[str, ...], float | None]] = []

    def became_stable(self, seq: int, members: tuple[str, ...], p_fail: float | None = None) -> None:
        """Everything up to ``seq`` is at these members, or may be missing with a probability."""
        if self._stable_at and self._stable_at[-1] == (members, p_fail):
            self._stable_up_to[-1] = seq
        else:
            self._stable_up_to.append(seq)
            self._stable_at.append((members, p_fail))

    def of(self, seq: int, sent_at: float) -> Settlement | None:
        """Return what became of a message that was sent in this view, None if that is not known yet."""
        if not self._stable_up_to or seq > self._stable_up_to[-1]:
            return None
        there, p_fail = self._stable_at[bisect_left(self._stable_up_to, seq)]
        gone = () if there == self.members else _without(self.members, there)
        seconds = self._time_of(seq) - sent_at
        if p_fail is not None:
            return ProbablyStable(MessageId(self.label, seq), there, gone, p_fail, seconds)
        if gone:
            return StableInSmallerView(MessageId(self.label, seq), there, gone, seconds)
        return Stable(MessageId(self.label, seq), there, seconds)

    def _time_of(self, seq: int) -> float:
        place = bisect_left(self._times, (seq, 0.0))
        return self._times[min(place, len(self._times) - 1)][1]


def _without(members: tuple[str, ...], there: tuple[str, ...]) -> tuple[str, ...]:
    has = frozenset(there)
    return tuple(member for member in members if member not in has)


class Outcomes:
    """One incarnation's messages, of its last views."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.stable_seq = 0
        """Everything up to here is stable."""
        self._views: deque[Sent] = deque(maxlen=VIEWS_KEPT)
        self._times: deque[tuple[int, float]] = deque(maxlen=TIMES_KEPT)
        self.present = Sent(label, 1, (), self._times)
        """What is sent in the present view; nothing before the first one."""

    def begin_view(self, seq: int, members: tuple[str, ...]) -> None:
        """Messages after ``seq`` are sent to these members."""
        if self._views and self._views[-1].first == seq + 1:  # nothing was sent in the view before
            self._views.pop()
        self.present = Sent(self.label, seq + 1, members, self._times)
        self._views.append(self.present)

    def became_stable(
        self, seq: int, members: tuple[str, ...], now: float, p_fail: float | None = None
    ) -> None:
        """Everything up to ``seq`` is at these members, or may be missing with a probability."""
        if seq <= self.stable_seq:
            return
        self.stable_seq = seq
        self._times.append((seq, now))
        self.present.became_stable(seq, members, p_fail)

    def of(self, seq: int, sent_at: float) -> Settlement | None:
        """Return what became of a message of the last views, None if that is not known."""
        for sent in reversed(self._views):
            if sent.first <= seq:
                return sent.of(seq, sent_at)
        return None
