"""Where texts stand in a crowded picture: each chooses among a few places, so that little is covered.

Lengths are in any one unit, x to the right and y down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

OVERLAP_COST = 8.0
"""For texts on each other, as much as for eight units of line under a text."""
AREA_COST = 4.0
TOUCH = 1e-6
"""Boxes that lie on each other by no more than this only touch; rounding makes it so."""
ROUNDS = 4
"""How often every text may choose again, after all others have."""


@dataclass(frozen=True)
class Box:
    """A rectangle along the axes."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: Box) -> float:
        """Return the area that both cover."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return width * height if min(width, height) > TOUCH else 0.0

    def outside(self, other: Box) -> float:
        """Return how far this reaches beyond the other."""
        beyond = (other.left - self.left, other.top - self.top)
        return sum(max(0.0, far) for far in (*beyond, self.right - other.right, self.bottom - other.bottom))


@dataclass(frozen=True)
class Segment:
    """A straight line that texts had better not cover."""

    x0: float
    y0: float
    x1: float
    y1: float
    cost: float = 1.0
    """Of each unit of length that is covered."""

    def inside(self, box: Box) -> float:
        """Return how much of it a box covers."""
        across, down = self.x1 - self.x0, self.y1 - self.y0
        first, last = 0.0, 1.0
        for step, start, low, high in (
            (across, self.x0, box.left, box.right),
            (down, self.y0, box.top, box.bottom),
        ):
            if step == 0:
                if not low < start < high:
                    return 0.0
                continue
            enter, leave = sorted(((low - start) / step, (high - start) / step))
            first, last = max(first, enter), min(last, leave)
        return max(0.0, last - first) * math.hypot(across, down)


@dataclass(frozen=True)
class Choice:
    """A place where a text may stand, and how much less it is liked than the best one."""

    box: Box
    cost: float


def choose(
    texts: Sequence[Sequence[Choice]], segments: Sequence[Segment], fixed: Sequence[Box], page: Box
) -> list[int]:
    """Return for each text the number of its place.

    Each in turn takes what is cheapest beside those before it; then all choose again, until none moves.
    """
    alone = [[_cost_alone(choice, segments, fixed, page) for choice in choices] for choices in texts]
    chosen: list[int | None] = [None] * len(texts)
    for _ in range(ROUNDS):
        before = list(chosen)
        for k, choices in enumerate(texts):
            others = [
                texts[other][at].box for other, at in enumerate(chosen) if at is not None and other != k
            ]
            costs = [
                cost + sum(_clash(choice.box, box) for box in others)
                for choice, cost in zip(choices, alone[k], strict=True)
            ]
            chosen[k] = costs.index(min(costs))
        if chosen == before:
            break
    return [at or 0 for at in chosen]


def _cost_alone(choice: Choice, segments: Sequence[Segment], fixed: Sequence[Box], page: Box) -> float:
    covered = sum(segment.cost * segment.inside(choice.box) for segment in segments)
    clashes = sum(_clash(choice.box, box) for box in fixed)
    return choice.cost + covered + clashes + OVERLAP_COST * choice.box.outside(page)


def _clash(box: Box, other: Box) -> float:
    area = box.overlap(other)
    return OVERLAP_COST + AREA_COST * area if area > 0 else 0.0
