"""Looking after the members of a view: who is silent, who is slow, and whether stability stalls.

It only looks, and returns what is to be done.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import NamedTuple

from stablecast.engine.in_view import InView
from stablecast.engine.results import (
    Event,
    MemberEvicted,
    MemberExcluded,
    MemberLagging,
    MemberRecovered,
    StabilityResumed,
)
from stablecast.engine.stalls import Stalls
from stablecast.membership.slow_members import (
    Evict,
    Exclude,
    Lagging,
    Recovered,
    SlowMembers,
    SlowPolicy,
    Step,
)
from stablecast.membership.view import View
from stablecast.multicast.streams import Kept

_log = logging.getLogger(__name__)


class Suspect(NamedTuple):
    """These members, and no others, were not heard of for long."""

    sessions: frozenset[int]


class LeaveOut(NamedTuple):
    """The group is to go on without a member that lives."""

    session: int
    reason: str


class Care:
    """What one process knows of how the others are doing; outlasts views."""

    def __init__(self, group: str, policy: SlowPolicy) -> None:
        self._group = group
        self._slow = SlowMembers(policy)
        self._stalls = Stalls()
        self._suspected: frozenset[int] = frozenset()

    def began(self, view: View, now: float) -> StabilityResumed | None:
        """Take note that a view begins: whatever stalled the one before is over."""
        self._suspected = frozenset()
        self._slow.view_changed(view.sessions)
        return self._stalls.over(now)

    def why_not_let_in(self, name: str, now: float) -> str:
        """Return why a process of this name may not join at present; nothing if it may."""
        until = self._slow.banned_until(name, now)
        if until is None:
            return ""
        return f"'{name}' was too slow too often, and may come back in {until - now:.0f} s"

    def suspects(self, here: InView, now: float) -> Suspect | None:
        """Return whom this process suspects, None if that is as before."""
        suspected = frozenset(here.view.members[rank].session for rank in here.detector.suspects(now))
        if suspected == self._suspected:
            return None
        for rank, member in enumerate(here.view.members):
            if member.session in suspected - self._suspected:
                what = "%s/%s: suspects %s, which was not heard of for %g s"
                _log.info(what, self._group, here.me, here.labels[rank], here.options.fail_after)
        self._suspected = suspected
        return Suspect(suspected)

    def look(self, here: InView, now: float) -> Iterator[Event | LeaveOut]:
        """Yield what is to be told and done about members that hold stability up."""
        news = self._stalls.look(here, now)
        if news is not None:
            yield news
        oldest = here.data.awaited()
        for rank in sorted(self._to_look_at(here, oldest, now)):
            member = here.view.members[rank]
            since = held_since(here, rank, oldest, now) if oldest else None
            for step in self._slow.holding(member.session, since, now, key=member.name):
                yield from _told(step, here.labels[rank], now)

    def _to_look_at(self, here: InView, oldest: list[tuple[int, Kept]], now: float) -> set[int]:
        """Return the ranks of those who may hold something back, or did so when they were last looked at."""
        noted = {rank for session in self._slow.noted() if (rank := here.ranks.get(session)) is not None}
        if oldest:
            noted |= here.signs.may_have_had_turns(min(kept.at for _, kept in oldest), now)
        return noted - {here.rank}


def _told(step: Step, label: str, now: float) -> Iterator[Event | LeaveOut]:
    match step:
        case Lagging(_, seconds):
            yield MemberLagging(label, seconds)
        case Recovered():
            yield MemberRecovered(label)
        case Exclude(session, seconds):
            yield MemberExcluded(label, seconds)
            yield LeaveOut(session, "too slow")
        case Evict(session, until):
            yield MemberEvicted(label, until - now)
            yield LeaveOut(session, "too slow too often")


def held_since(here: InView, rank: int, oldest: list[tuple[int, Kept]], now: float) -> float | None:
    """Return since when a member holds back one of these, the oldest unstable runs of their sources.

    A member that may have it by now, and has just not had its turn to say so, holds nothing back.  Of one
    that cannot be heard, what it has is known by way of others, later.
    """
    data = here.data
    times = [
        kept.at
        for source, kept in oldest
        if data.has.of(rank, source) < kept.last and data.is_to_have(rank, source)
    ]
    if not times or not here.signs.has_had_its_turn(rank, min(times), now):
        return None
    return min(times) + (0.0 if here.links.hears(rank) else 2 * here.signs.patience)
