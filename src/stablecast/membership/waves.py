"""Waves: how what a leader asks gets to all and their answers come back, along a tree.

What goes down
    PREPARE, SYNC and INSTALL are the same for all whom they are for.  Their ``Way`` says who is not in the
    tree and by how many places the order is turned, so whoever has the *roll*, the members by rank, comes to
    the same tree (``overlays.ranges``) and knows to whom to pass the frame on.  The leader is the root.
    Members of a zone stand next to each other.
What comes up
    A member answers to whom it got the frame from: for itself and, in the same frame, for those below it
    (``Relay``).  Of what members have, a merged answer keeps the maximum, and says who is in it.
Why the tree need not hold
    Who waits too long sends what it has, and passes on later answers as they come.  The leader knows who has
    answered.  In each repetition it asks the others alone, along a tree of these, which is turned by one
    place and becomes wider with time: other members are inside of it, and whoever the leader reaches is its
    child sooner or later.  So one that is gone, slow or cut off holds up nobody else for long, and nothing
    that is sent again goes to many at once.
What it costs
    A member sends and gets a frame for each child, and one of its own, in each of the six steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from stablecast.membership.messages import Flushed, Proposal, Way
from stablecast.membership.rank_sets import NOBODY, holds, set_of, unpacked
from stablecast.membership.view import Address, MemberInfo
from stablecast.overlays import ranges

DEGREE = 6
"""To how many a member passes something on."""
DIRECTLY = 8
"""So many are asked by the leader itself."""
WIDER_EVERY = 4
"""Repetitions after which a tree becomes wider, by ``DEGREE``."""
PATIENCE = 0.25
"""For how long a member waits for the answers of those below it, for each level of them, as a share of the
time between repetitions."""
PATIENCE_MOST = 0.75
"""The same for all levels: it answers before it is asked again."""


class Step(Enum):
    """What a wave is for."""

    PREPARE = "prepare"
    SYNC = "sync"
    INSTALL = "install"


def way_to(count: int, leader: Address, out: bytes, turn: int) -> Way:
    """Return the way to so many members, in the repetition of this number."""
    degree = DEGREE * (1 + turn // WIDER_EVERY)
    return Way(*leader, max(degree, count) if count <= DIRECTLY else degree, turn, out)


def order_of(roll: Sequence[MemberInfo], leader: int, way: Way) -> list[int]:
    """Return the ranks of those in a tree by their places, from place 1 on; the leader is at 0."""
    out = unpacked(way.out)
    ranks = [k for k, member in enumerate(roll) if member.session != leader and not holds(out, k)]
    ranks.sort(key=lambda rank: roll[rank].zone)
    shift = way.turn % len(ranks) if ranks else 0
    return ranks[shift:] + ranks[:shift]


class Branch(NamedTuple):
    """What hangs from one place of a tree, by rank."""

    children: tuple[int, ...]
    below: int
    """All below it: a set."""
    height: int
    """Levels below it."""


NOTHING_BELOW = Branch((), NOBODY, 0)


def branch_of(order: Sequence[int], place: int, degree: int) -> Branch:
    """Return what hangs from a place."""
    size = len(order) + 1
    children = ranges.children(place, size, degree)
    behind = ranges.answers_for(place, size, degree)[1:]
    below = set_of(order[other - 1] for other in behind)
    return Branch(tuple(order[child - 1] for child in children), below, _levels(len(behind), degree))


def branch_at(roll: Sequence[MemberInfo], leader: int, way: Way, rank: int) -> Branch:
    """Return what hangs from a member, nothing if it is not in the tree."""
    order = order_of(roll, leader, way)
    return branch_of(order, order.index(rank) + 1, way.degree) if rank in order else NOTHING_BELOW


def levels_to(count: int) -> int:
    """Return how many levels the first tree of so many members has, at least one."""
    return 1 if count <= DIRECTLY else _levels(count, DEGREE)


def _levels(count: int, degree: int) -> int:
    """Return how many levels a tree has below a root with so many below it."""
    levels, width = 0, degree
    while count > 0:
        levels, count, width = levels + 1, count - width, width * degree
    return levels


def patience(branch: Branch, repeat_every: float) -> float:
    """Return for how long a member waits for the answers of those below it."""
    return repeat_every * min(PATIENCE * max(branch.height, 1), PATIENCE_MOST)


@dataclass(slots=True)
class Relay:
    """What a member has heard from below in one step of a change, and has told."""

    proposal: Proposal
    step: Step
    to: tuple[int, Address]
    """Whom it answers: session and address."""
    awaited: int
    """Who is to be in its answer, this process among them: a set of ranks."""
    patience: float
    due: float
    """When it answers with what there is."""
    answered: int = NOBODY
    told: int = NOBODY
    report: Flushed | None = None
    """What those who have answered have, in the first step."""

    @property
    def is_complete(self) -> bool:
        """Whether all have answered."""
        return not self.awaited & ~self.answered

    @property
    def is_told(self) -> bool:
        """Whether all who are awaited were in an answer; those who were asked before may follow."""
        return not self.awaited & ~self.told

    @property
    def has_news(self) -> bool:
        """Whether somebody has answered of whom nothing was told."""
        return bool(self.answered & ~self.told)
