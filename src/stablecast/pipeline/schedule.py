"""Which points go to Spark together, and when: the longest first, small ones in batches.

A task of Spark costs milliseconds whatever it does, so short points travel together.  A batch is never so
long that it could end much later than the others, nor so long that an interruption loses much: about a
second, and less towards the end.  How long points really take is learnt as they come back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from stablecast.pipeline.cost import estimated_seconds
from stablecast.pipeline.point import Point

BATCH_S_MAX = 1.0
BATCH_S_MIN = 0.05
SHARES = 3
"""A batch is at most this part of what is left for one core."""
MEMORY = 0.7
"""Weight of what was learnt before against the batch that has just come back."""
TRUST = 0.05
"""The part of a sweep that the first estimates count for, so that one point cannot turn what is left."""


class Schedule:
    """Hands out batches of points."""

    def __init__(self, points: Sequence[Point]) -> None:
        costs = [(estimated_seconds(point), number, point) for number, point in enumerate(points)]
        costs.sort(key=lambda entry: (-entry[0], entry[1]))
        self._waiting = deque((cost, point) for cost, _, point in costs)
        self._again: deque[Point] = deque()
        self._estimate = {point.key: cost for cost, _, point in costs}
        self._remaining_s = sum(cost for cost, _, _ in costs)
        self._slowness = 1.0
        self._known_s = self._spent_s = TRUST * self._remaining_s

    def __len__(self) -> int:
        return len(self._waiting) + len(self._again)

    @property
    def next_is_short(self) -> bool:
        """Whether the next batch takes no longer than a batch of several points would."""
        return bool(self._waiting) and self._waiting[0][0] * self._slowness <= BATCH_S_MAX

    def next_batch(self, slots: int) -> list[Point]:
        """Return the next points to run in one task, for a cluster of ``slots`` cores."""
        if self._again:
            return [self._again.popleft()]
        left_s = self._remaining_s * self._slowness
        room_s = min(max(left_s / (SHARES * slots), BATCH_S_MIN), BATCH_S_MAX)
        batch: list[Point] = []
        while self._waiting:
            cost, point = self._waiting[0]
            if batch and cost * self._slowness > room_s:
                break
            self._waiting.popleft()
            self._remaining_s -= cost
            room_s -= cost * self._slowness
            batch.append(point)
        return batch

    def put_back(self, points: Sequence[Point]) -> None:
        """Take points whose task was lost; each is tried once more, alone."""
        self._again.extend(points)

    def learn(self, points: Sequence[Point], seconds: float) -> None:
        """Take note of how long a batch took."""
        estimate = sum(self._estimate[point.key] for point in points)
        if estimate > 0 and seconds > 0:
            self._slowness = MEMORY * self._slowness + (1 - MEMORY) * seconds / estimate
            self._known_s += estimate
            self._spent_s += seconds

    @property
    def seconds_left(self) -> float:
        """Estimate of the work that has not been handed out, on one core."""
        return max(self._remaining_s, 0.0) * (self._spent_s / self._known_s if self._known_s else 1.0)
