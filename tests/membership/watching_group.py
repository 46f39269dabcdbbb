"""Detectors of one view that tell each other what there is, in virtual time."""

import heapq
import random
from itertools import count

from stablecast.membership.detector import Detector
from stablecast.membership.view import MemberInfo, View

EVERY = 0.5
FAIL_AFTER = 3.0
DELAY_S = 0.001


def view_of(size: int) -> View:
    members = tuple(MemberInfo(100 + rank, f"m{rank}", 1, "h", 7000 + rank) for rank in range(size))
    return View(1, 1, members, "g", {})


def detector_of(size: int, *, me: int = 0, seed: int = 1, now: float = 0.0) -> Detector:
    return Detector(
        view_of(size), 100 + me, fail_after=FAIL_AFTER, every=EVERY, rng=random.Random(seed), now=now
    )


class Group:
    """Members that tick, each at its own time within a round, on a network that takes a millisecond."""

    def __init__(self, size: int, *, loss: float = 0.0, seed: int = 1) -> None:
        self.now = 0.0
        self.detectors = [detector_of(size, me=rank, seed=seed * size + rank) for rank in range(size)]
        self.down: set[int] = set()
        """Members that do nothing."""
        self.dead: set[tuple[int, int]] = set()
        """Links that carry nothing."""
        self.loss = loss
        self.suspected: dict[tuple[int, int], float] = {}
        """Who was suspected by whom, and when that was first seen."""
        self.news: list[tuple[float, int, int, tuple]] = []
        """News that was sent: when, by whom, to whom, and what."""
        self._draw = random.Random(seed)
        self._turns = count()
        self._due: list[tuple[float, int, str, tuple]] = []
        for rank in range(size):
            self._at(self._draw.random() * EVERY, "tick", (rank,))

    def _at(self, when: float, what: str, arguments: tuple) -> None:
        heapq.heappush(self._due, (when, next(self._turns), what, arguments))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self._due and self._due[0][0] <= end:
            self.now, _, what, arguments = heapq.heappop(self._due)
            getattr(self, f"_{what}")(*arguments)
        self.now = end

    def _tick(self, rank: int) -> None:
        self._at(self.now + EVERY, "tick", (rank,))
        if rank in self.down:
            return
        detector = self.detectors[rank]
        for other in detector.suspects(self.now):
            self.suspected.setdefault((rank, other), self.now)
        told = detector.tick(self.now)
        for other in told:
            self._send(rank, other, (detector.count, True, detector.to_tell()))
        self._pass_on(rank)

    def _pass_on(self, rank: int) -> None:
        detector = self.detectors[rank]
        for other, news in detector.passing_on.take_out(detector.watched, self.now):
            self.news.append((self.now, rank, other, news))
            self._send(rank, other, (detector.count, False, news))
        if detector.passing_on.at < float("inf"):
            self._at(detector.passing_on.at, "wake", (rank,))

    def _wake(self, rank: int) -> None:
        if rank not in self.down and self.now >= self.detectors[rank].passing_on.at:
            self._pass_on(rank)

    def _send(self, rank: int, other: int, frame: tuple) -> None:
        if (rank, other) not in self.dead and self._draw.random() >= self.loss:
            self._at(self.now + DELAY_S, "arrive", (rank, other, frame))

    def _arrive(self, rank: int, other: int, frame: tuple) -> None:
        if other in self.down:
            return
        told, is_round, news = frame
        self.detectors[other].hear_count(rank, told, self.now, is_round=is_round)
        self.detectors[other].hear_news(news, rank, self.now)
        self._pass_on(other)

    def living(self) -> list[int]:
        return [rank for rank in range(len(self.detectors)) if rank not in self.down]

    def suspects(self) -> dict[int, frozenset[int]]:
        """Return whom those who live suspect now."""
        return {rank: self.detectors[rank].suspects(self.now) for rank in self.living()}

    def unheard(self) -> dict[int, list[int]]:
        """Return who does not hear whom, of those that do not hear everyone."""
        found = {rank: self.detectors[rank].unheard(self.now) for rank in self.living()}
        return {rank: ranks for rank, ranks in found.items() if ranks}
