"""What the agreement on views asks of its engine, and the times that it goes by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from stablecast.membership.messages import MembershipFrame
from stablecast.membership.view import Address, MemberInfo, View

Numbers: TypeAlias = Callable[[], tuple[tuple[int, ...], int]]
"""Of the engine: the last unbroken part of each member of the view by rank, all own ones among them; and how
many messages this member has sent."""


class Randomness(Protocol):
    """Where random numbers come from, for instance a ``random.Random``."""

    def getrandbits(self, k: int, /) -> int:
        """Return an integer of ``k`` random bits."""
        ...

    def random(self) -> float:
        """Return a number from 0 up to, but not, 1."""
        ...


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things take, in seconds."""

    repeat_every: float = 0.1
    """Between repetitions of what is not answered."""
    gather: float = 0.05
    """For which nobody else has asked when a leader lets joiners in; it waits four times as long at most."""
    probe_every: float = 1.0
    """Between looks for other views of the group, about."""
    join_timeout: float = 5.0
    """After which joining without an answer has failed, and leaving without one is done."""
    joiner_timeout: float = 1.0
    """After which a joiner that does not answer is not waited for."""
    flush_timeout: float = 10.0
    """After which a survivor that lives, but does not answer, is left out."""
    bootstrap_after: float = 1.0
    """After which a process that is its own contact begins alone, if nobody has answered."""
    stall: float = 2.0
    """After which a member that is blocked, and hears nothing of its leader, asks or leads itself."""
    distrust: float = 30.0
    """For which a view that has refused this process is not merged into again."""


@dataclass(frozen=True, slots=True)
class Send:
    """Send a frame; a session of 0 is not known yet."""

    frame: MembershipFrame
    address: Address
    session: int


@dataclass(frozen=True, slots=True)
class StopSending:
    """Send and take in nothing further in this view; a fetch that goes on ends.

    From here on what this member has rises only by :class:`GetUpTo`: others count on what it has reported.
    """


@dataclass(frozen=True, slots=True)
class GetUpTo:
    """Get everything of the view up to the cut and nothing beyond it, then say ``have_cut``.

    It takes the place of an earlier one.
    """

    cut: tuple[int, ...]
    """For each member by rank, its last part."""
    holders: tuple[int, ...]
    """For each, the session of a member that has it all."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Everything up to the cut is stable, and the next view begins."""

    view: View
    numbers: tuple[tuple[int, int], ...]
    """For each member by rank, its parts and messages so far."""
    gone: tuple[MemberInfo, ...]
    """Members of the view before that failed or were left out."""
    joined: tuple[MemberInfo, ...]
    """Members that the view before did not have: all of them for who joins."""
    left: tuple[MemberInfo, ...]
    """Members of the view before that wanted to leave."""
    reason: str
    """Why, for people."""
    led: bool = False
    """Whether this process led the change, and so is the first to begin the view; or who led it has left."""


@dataclass(frozen=True, slots=True)
class Dissolved:
    """Everything up to the cut is stable, the view is over, and this process joins another one."""

    contact: Address
    left: tuple[MemberInfo, ...] = ()
    """Members that wanted to leave, and may not have everything up to the cut."""


@dataclass(frozen=True, slots=True)
class JoinFailed:
    """No view took this process in."""

    tried: tuple[Address, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Left:
    """The process has left the group, and is done."""

    reason: str


@dataclass(frozen=True, slots=True)
class TrustSessions:
    """A leader that is trusted has named these."""

    sessions: frozenset[int]


Action: TypeAlias = Send | StopSending | GetUpTo | Begin | Dissolved | JoinFailed | Left | TrustSessions
