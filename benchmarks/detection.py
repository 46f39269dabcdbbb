"""How soon a crash is known to everyone, and how often members are suspected that live.

    python -m benchmarks.detection                              # the table of benchmarks/README.md
    python -m benchmarks.detection --members 1024 --loss 0.05 --rounds 12 --minutes 60

It drives the members' detectors alone (``membership/detector.py``), without engines, data and seals, on a
virtual network that loses each datagram by itself.  News takes 1 ms from member to member.  A round's sign of
life arrives at once, which makes a crash look one millisecond younger than it is.

``fail_after`` is 3 s, and a member has so many rounds in that time (K of the gossip paper).  Members look
whom to leave out when they have a round, as engines do.  For each row there are two runs.  In one a member
crashes, again and again: the time is from the crash to when a member wants to leave it out, over all members
and crashes.  In the other nobody crashes: how often somebody was suspected, which others can refute, and how
often a member that lives would have been left out, by anybody, both for an hour of the whole group.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from math import inf
from statistics import median
from typing import NamedTuple

import numpy as np

from stablecast.membership.detector import Detector
from stablecast.membership.passing_on import SUSPECTED, News
from stablecast.membership.view import MemberInfo, View

FAIL_AFTER_S = 3.0
HOP_S = 0.001
SIZES = (16, 64, 256, 1024)
LOSSES = (0.0, 0.05, 0.2)
ROUNDS = (6, 12, 24)
BEGINS_S = 2.0
"""Virtual seconds before the first crash."""
REST_S = 3.0
"""Virtual seconds from the return of a member that had crashed to the next crash."""
DRAWN_AT_ONCE = 1 << 16


def passes(loss: float, seed: int) -> Iterator[bool]:
    """Yield for one datagram after the other whether it arrives."""
    drawn = np.random.default_rng(seed)
    while True:
        yield from (drawn.random(DRAWN_AT_ONCE) >= loss).tolist()


class Group:
    """All members of a group, and the datagrams between them."""

    def __init__(self, size: int, *, loss: float, rounds: int, seed: int) -> None:
        draw = random.Random(seed)
        members = tuple(
            MemberInfo(draw.getrandbits(64) or 1, f"m{rank}", 1, "10.0.0.1", rank) for rank in range(size)
        )
        view = View(draw.getrandbits(64) or 1, 1, members, "g", {})
        self.every = FAIL_AFTER_S / rounds
        self.now = 0.0
        self.draw = draw
        self.up = [True] * size
        begins = [draw.random() * self.every for _ in range(size)]
        self.phases = sorted((phase, rank) for rank, phase in enumerate(begins))
        """When members have their rounds, in the time of one."""
        terms = {"fail_after": FAIL_AFTER_S, "every": self.every}
        self.detectors = [
            Detector(view, member.session, rng=draw, now=phase, **terms)
            for member, phase in zip(members, begins, strict=True)
        ]
        self.suspicions: set[tuple[int, int]] = set()
        """Who was suspected, and at which count."""
        self.struck_off: dict[tuple[int, int], float] = {}
        """Who would leave out whom, and since when."""
        self._passes = passes(loss, seed)
        self._round = 0
        self._turns = count()
        self._due: list[tuple[float, int, int, int, int, tuple[News, ...]]] = []

    def run(self, seconds: float) -> None:
        """Let as many rounds go by as begin in so many seconds."""
        end = self.now + seconds
        while self.now < end:
            begins = self._round * self.every
            for phase, rank in self.phases:
                now = begins + phase
                if self._due and self._due[0][0] <= now:
                    self._deliver_news(now)
                if self.up[rank]:
                    self._have_round(rank, now)
            self._round += 1
            self.now = begins + self.every

    def _have_round(self, rank: int, now: float) -> None:
        detector, detectors, up = self.detectors[rank], self.detectors, self.up
        for other in detector.suspects(now):
            self.struck_off.setdefault((rank, other), now)
        ranks = detector.tick(now)
        told, news = detector.count, detector.to_tell()
        for other, arrives in zip(ranks, self._passes, strict=False):
            if arrives and up[other]:
                detectors[other].hear_count(rank, told, now)
                if news:
                    detectors[other].hear_news(news, rank, now)
                    self._pass_on(other, now)
        self._pass_on(rank, now)

    def _pass_on(self, rank: int, now: float) -> None:
        """Send a member's news, now or when it has gathered what there is."""
        detector = self.detectors[rank]
        if detector.passing_on.at == inf:
            return
        for other, news in detector.passing_on.take_out(detector.watched, now):
            self.suspicions |= {(whom, at) for whom, what, at in news if what == SUSPECTED}
            if next(self._passes):
                self._later(now + HOP_S, rank, other, detector.count, news)
        if detector.passing_on.at < inf:
            self._later(detector.passing_on.at, rank, rank, 0, ())

    def _later(self, at: float, rank: int, other: int, told: int, news: tuple[News, ...]) -> None:
        heappush(self._due, (at, next(self._turns), rank, other, told, news))

    def _deliver_news(self, until: float) -> None:
        while self._due and self._due[0][0] <= until:
            now, _, rank, other, told, news = heappop(self._due)
            if self.up[other]:
                if news:
                    self.detectors[other].hear_count(rank, told, now, is_round=False)
                    self.detectors[other].hear_news(news, rank, now)
                self._pass_on(other, now)


class Found(NamedTuple):
    """What one row of the table has."""

    median_s: float
    most_s: float
    unseen: int
    """Members that did not come to know of a crash in time."""
    suspicions_per_h: float
    exclusions_per_h: float


def crashes(group: Group, times: int) -> tuple[list[float], int]:
    """Let members crash and come back; return after how long others knew, and how often one did not."""
    found: list[float] = []
    unseen, size = 0, len(group.up)
    group.run(BEGINS_S)
    for _ in range(times):
        rank = int(group.draw.random() * size)
        group.up[rank] = False
        group.struck_off.clear()
        at = group.now
        group.run(2 * FAIL_AFTER_S)
        seen = [when - at for (_, whom), when in group.struck_off.items() if whom == rank]
        found += seen
        unseen += size - 1 - len(seen)
        group.up[rank] = True
        group.run(REST_S)
    return found, unseen


def measured(size: int, loss: float, rounds: int, asked: argparse.Namespace) -> Found:
    """Run a group with crashes, and one without."""
    seen, unseen = crashes(Group(size, loss=loss, rounds=rounds, seed=asked.seed), asked.crashes)
    quiet = Group(size, loss=loss, rounds=rounds, seed=asked.seed + 1)
    quiet.run(60 * asked.minutes)
    left_out = {whom for _, whom in quiet.struck_off}
    an_hour = 60 / asked.minutes
    return Found(median(seen), max(seen), unseen, len(quiet.suspicions) * an_hour, len(left_out) * an_hour)


def table(asked: argparse.Namespace) -> Iterator[str]:
    """Yield what was measured as lines of Markdown."""
    yield (
        "| members | loss | rounds in `fail_after` | crash known, median, s | to the last, s"
        " | suspicions an hour | left out an hour |"
    )
    yield "|---" * 7 + "|"
    for size in asked.members:
        for loss in asked.loss:
            for rounds in asked.rounds:
                began = time.perf_counter()
                found = measured(size, loss, rounds, asked)
                spent = time.perf_counter() - began
                print(f"# {size} {loss} {rounds}: {spent:.0f} s, {found}", file=sys.stderr, flush=True)
                unseen = f" ({found.unseen} never)" if found.unseen else ""
                yield (
                    f"| {size:,} | {loss:.0%} | {rounds} | {found.median_s:.2f} | {found.most_s:.2f}{unseen}"
                    f" | {found.suspicions_per_h:.0f} | {found.exclusions_per_h:.0f} |"
                )


def main(argv: Sequence[str] | None = None) -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.detection",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--members", type=int, nargs="+", default=SIZES)
    parser.add_argument("--loss", type=float, nargs="+", default=LOSSES, help="share of datagrams lost")
    parser.add_argument("--rounds", type=int, nargs="+", default=ROUNDS, help="rounds in fail_after")
    parser.add_argument("--crashes", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=10.0, help="virtual minutes without a crash")
    parser.add_argument("--seed", type=int, default=1)
    for line in table(parser.parse_args(argv)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
