"""Processes that have asked a leader to be let in."""

from __future__ import annotations

from dataclasses import dataclass

from stablecast.membership.messages import Join
from stablecast.membership.view import Address, MemberInfo

LARGEST = 1000
"""How many may wait at a time."""

TURNED_AWAY_FOR = 2.0
"""Seconds for which one is not listened to that did not answer; each time twice as long."""


@dataclass(slots=True)
class Visitor:
    """One that waits."""

    member: MemberInfo
    epoch: int
    """Of the last view it was in."""
    first: float
    """When it first asked."""
    last: float
    """When it last did."""


class Lobby:
    """Who waits to be let in; those who stop asking are forgotten."""

    def __init__(self, *, patience: float) -> None:
        self._patience = patience
        self._visitors: dict[int, Visitor] = {}
        self._turned_away: dict[int, tuple[float, int]] = {}  # until when, and how often so far

    def add(self, join: Join, now: float) -> None:
        """Note that a process asks; another one of the same address is forgotten, since it is no more."""
        member = join.member
        known = self._visitors.get(member.session)
        first = now if known is None else known.first
        self.drop_address(member.address)
        if len(self._visitors) < LARGEST and now >= self._turned_away.get(member.session, (now, 0))[0]:
            self._visitors[member.session] = Visitor(member, join.epoch, first, now)

    def drop(self, session: int) -> None:
        """Forget one."""
        self._visitors.pop(session, None)

    def turn_away(self, session: int, now: float) -> None:
        """Do not listen for a while to one that has kept everyone waiting: it asks, but does not hear."""
        self.drop(session)
        _, times = self._turned_away.pop(session, (now, 0))
        self._turned_away[session] = (now + TURNED_AWAY_FOR * 2 ** min(times, 5), times + 1)
        while len(self._turned_away) > LARGEST:
            del self._turned_away[next(iter(self._turned_away))]

    def drop_address(self, address: Address) -> None:
        """Forget who asked from an address."""
        for session in [s for s, visitor in self._visitors.items() if visitor.member.address == address]:
            del self._visitors[session]

    def clear(self) -> None:
        """Forget all."""
        self._visitors.clear()

    def waiting(self, now: float) -> tuple[Visitor, ...]:
        """Return who has asked lately, longest waiting first."""
        stale = [s for s, visitor in self._visitors.items() if now - visitor.last > self._patience]
        for session in stale:
            del self._visitors[session]
        return tuple(sorted(self._visitors.values(), key=lambda v: (v.first, v.member.session)))

    def first_since(self) -> float | None:
        """Return since when the first one waits, None if nobody does."""
        return min((visitor.first for visitor in self._visitors.values()), default=None)
