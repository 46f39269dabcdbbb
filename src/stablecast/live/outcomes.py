"""What became of one's own messages: until which one they are stable, and in which company."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque

from stablecast.live.results import MessageId, Stable, StableInSmallerView

TIMES_KEPT = 4096


class Outcomes:
    """One incarnation's messages: who was there when each was sent, and who had it when it became stable."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.stable_seq = 0
        """Everything up to here is stable."""
        self._sent_from: list[int] = []
        self._sent_to: list[tuple[str, ...]] = []
        self._stable_up_to: list[int] = []
        self._stable_at: list[tuple[str, ...]] = []
        self._times: deque[tuple[int, float]] = deque(maxlen=TIMES_KEPT)

    def begin_view(self, seq: int, members: tuple[str, ...]) -> None:
        """Messages after ``seq`` are sent to these members."""
        self._sent_from.append(seq + 1)
        self._sent_to.append(members)

    def became_stable(self, seq: int, members: tuple[str, ...], now: float) -> None:
        """Everything up to ``seq`` is at these members."""
        if seq <= self.stable_seq:
            return
        self.stable_seq = seq
        self._times.append((seq, now))
        if self._stable_at and self._stable_at[-1] == members:
            self._stable_up_to[-1] = seq
        else:
            self._stable_up_to.append(seq)
            self._stable_at.append(members)

    def of(self, seq: int, sent_at: float) -> Stable | StableInSmallerView | None:
        """Return what became of a message, None if that is not known yet."""
        if seq > self.stable_seq:
            return None
        there = self._stable_at[bisect_left(self._stable_up_to, seq)]
        meant = self._sent_to[bisect_left(self._sent_from, seq + 1) - 1]
        gone = tuple(member for member in meant if member not in there)
        seconds = self._time_of(seq) - sent_at
        if gone:
            return StableInSmallerView(MessageId(self.label, seq), there, gone, seconds)
        return Stable(MessageId(self.label, seq), there, seconds)

    def _time_of(self, seq: int) -> float:
        place = bisect_left(self._times, (seq, 0.0))
        return self._times[min(place, len(self._times) - 1)][1]
