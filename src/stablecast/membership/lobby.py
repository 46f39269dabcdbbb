"""Processes that have asked a leader to be let in.

A view change blocks all members until those who join have answered, so nobody is let in who has not shown
that it receives datagrams of full size (TRIAL), and one that then keeps members waiting has to wait itself,
each time twice as long.  It is known again by its address, and by its host and name: a supervisor may start
it anew at another port.  One that has another name and port each time is not known again.  So after members
were kept waiting in vain, nobody is let in for some time, but for those who did answer.  Whoever comes,
members wait for at most a fifth of the time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from stablecast.membership.messages import Join
from stablecast.membership.view import Address, MemberInfo

LARGEST = 1000
"""How many may wait at a time."""

TURNED_AWAY_FOR = 2.0
"""Seconds for which one is not listened to that did not answer; each time twice as long."""

DOUBLED_MOST = 5
"""How often that doubles."""

GATHERS_MOST = 4
"""Times of gathering that the first one waits at most, while others keep coming."""

REST = 4
"""Times for which nobody else is let in after members were kept waiting, of what they have waited."""


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
    ready: float | None = None
    """When it passed a trial; None while it has not."""
    trip: float = 0.0
    """Seconds that the trial and its answer took."""
    sponsor: int = 0
    """Session of the member that tells it the whole view, in the leader's place; 0 for the leader."""
    has_answered: bool = False
    """Whether it has answered a SYNC, in an attempt that others have spoilt."""


@dataclass(frozen=True, slots=True)
class Absence:
    """Why one is not listened to."""

    until: float
    times: int
    """How often it has kept members waiting."""


def _keys(member: MemberInfo) -> tuple[Address, tuple[str, str]]:
    """Return what a process is known by when it comes back."""
    return member.address, (member.host, member.name)


class Lobby:
    """Who waits to be let in; those who stop asking are forgotten."""

    def __init__(self, *, patience: float) -> None:
        self._patience = patience
        self._visitors: dict[int, Visitor] = {}
        self._at: dict[Address, int] = {}
        """Sessions of those who wait, by address."""
        self._turned_away: dict[tuple[str, int | str], Absence] = {}
        self._rests_until = 0.0

    def add(self, join: Join, now: float) -> Visitor:
        """Note that a process asks; another one of the same address is forgotten, since it is no more."""
        member = join.member
        known = self._visitors.get(member.session)
        if known is not None and now - known.last > self._patience:
            known = None
        self.drop(member.session)
        self.drop(self._at.get(member.address, 0))
        if known is None:
            known = Visitor(member, join.epoch, now, now)
        if len(self._visitors) >= LARGEST:
            self._forget_stale(now)
        if len(self._visitors) < LARGEST:
            self._visitors[member.session] = known
            self._at[member.address] = member.session
        known.member, known.epoch, known.last = member, join.epoch, now
        return known

    def absence_of(self, member: MemberInfo, now: float) -> Absence | None:
        """Return why a process is not listened to, None if it is."""
        found = [absence for key in _keys(member) if (absence := self._turned_away.get(key)) is not None]
        return max((one for one in found if one.until > now), key=lambda one: one.until, default=None)

    def passed(self, session: int, trip: float, now: float) -> None:
        """Note that one has shown that it receives datagrams of full size."""
        visitor = self._visitors.get(session)
        if visitor is not None and visitor.ready is None:
            visitor.ready, visitor.trip = now, trip

    def drop(self, session: int) -> None:
        """Forget one."""
        visitor = self._visitors.pop(session, None)
        if visitor is not None:
            self._at.pop(visitor.member.address, None)

    def turn_away(self, member: MemberInfo, now: float) -> None:
        """Do not listen for a while to one that has kept everyone waiting: it asks, but does not answer."""
        self.drop(member.session)
        for key in _keys(member):
            before = self._turned_away.pop(key, None)
            times = 0 if before is None else before.times
            wait = TURNED_AWAY_FOR * 2 ** min(times, DOUBLED_MOST)
            self._turned_away[key] = Absence(now + wait, times + 1)
        while len(self._turned_away) > LARGEST:
            del self._turned_away[next(iter(self._turned_away))]

    def rest(self, waited: float, answered: Collection[int], now: float) -> None:
        """Let in only those who have answered, for a while: members were kept waiting for others."""
        self._rests_until = max(self._rests_until, now + REST * waited)
        for session in answered:
            if session in self._visitors:
                self._visitors[session].has_answered = True

    def forgive(self, member: MemberInfo) -> None:
        """Forget that one has kept everyone waiting: it is in."""
        for key in _keys(member):
            self._turned_away.pop(key, None)

    def clear(self) -> None:
        """Forget all."""
        self._visitors.clear()
        self._at.clear()

    def waiting(self, now: float) -> tuple[Visitor, ...]:
        """Return who has asked lately and can be let in, longest waiting first."""
        self._forget_stale(now)
        rests = now < self._rests_until
        ready = (v for v in self._visitors.values() if v.ready is not None and (v.has_answered or not rests))
        return tuple(sorted(ready, key=lambda v: (v.first, v.member.session)))

    def _forget_stale(self, now: float) -> None:
        for session in [s for s, visitor in self._visitors.items() if now - visitor.last > self._patience]:
            self.drop(session)

    def gathered_at(self, gather: float) -> float | None:
        """Return when those who can be let in have waited for others to come along, None if nobody can be.

        They wait as long as others keep coming, up to a bound.
        """
        times = [visitor.ready for visitor in self._visitors.values() if visitor.ready is not None]
        if not times:
            return None
        last = max(visitor.first for visitor in self._visitors.values())
        return min(max(*times, last) + gather, min(times) + GATHERS_MOST * gather)
