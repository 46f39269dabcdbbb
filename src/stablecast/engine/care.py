"""Looking after the members of a view: who is silent, who is slow, and whether stability stalls.

It only looks, and returns what is to be done.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import NamedTuple

from stablecast.engine.in_view import InView
from stablecast.engine.laggards import Lack
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
        ranks = here.detector.suspects(now)
        suspected = frozenset(here.view.members[rank].session for rank in ranks)
        if suspected == self._suspected:
            return None
        for rank in sorted(ranks):
            if here.view.members[rank].session not in self._suspected:
                what = "%s/%s: suspects %s, which was not heard of for %g s"
                _log.info(what, self._group, here.me, here.labels[rank], here.options.fail_after)
        self._suspected = suspected
        return Suspect(suspected)

    def look(self, here: InView, now: float) -> Iterator[Event | LeaveOut]:
        """Yield what is to be told and done about members that hold stability up."""
        news = self._stalls.look(here, now)
        if news is not None:
            yield news
        holding = self._holding(here, now)
        found = [held.lack for held in holding.values() if held.lack[0] in here.detector.watched]
        here.signs.laggards.look(found, here.detector.count, now)
        noted = {rank for session in self._slow.noted() if (rank := here.ranks.get(session)) is not None}
        for rank in sorted(noted | holding.keys()):
            member = here.view.members[rank]
            since = holding[rank].since if rank in holding else None
            for step in self._slow.holding(member.session, since, now, key=member.name):
                yield from _told(step, here.labels[rank], now)

    def _holding(self, here: InView, now: float) -> dict[int, Held]:
        """Return who holds back something that is overdue: of neighbours, and of those others tell of."""
        policy, patience = self._slow.policy, here.signs.patience
        told_after = min(filter(None, (policy.lagging_after, policy.exclude_after, patience)))
        overdue = [(source, kept) for source, kept in here.data.awaited() if now - kept.at >= told_after]
        if not overdue:
            return {}
        behind = here.signs.laggards.known()
        found = {}
        for rank in {*here.detector.watched, *behind} - {here.rank}:
            held = held_by(here, rank, overdue, behind.get(rank), now)
            if held is not None and now - held.since >= told_after:
                found[rank] = held
        return found


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


class Held(NamedTuple):
    """What a member holds back."""

    since: float
    lack: Lack


def held_by(
    here: InView, rank: int, overdue: list[tuple[int, Kept]], told: tuple[int, int] | None, now: float
) -> Held | None:
    """Return since when a member holds back one of these, the oldest unstable runs of their sources.

    Neighbours say themselves what they have.  A neighbour that may have it by now, and has just not had its
    turn to say so, holds nothing back.  Of one that cannot be heard, what it has is known by way of others,
    later.  Of other members counts what their neighbours tell: a source, and the last part of it.
    """
    data, is_neighbour = here.data, rank in here.detector.watched
    found = [
        (kept.at, source)
        for source, kept in overdue
        if data.has.of(rank, source) < kept.last
        and (is_neighbour or (told is not None and told[0] == source and told[1] < kept.last))
        and data.is_to_have(rank, source)
    ]
    if not found:
        return None
    at, source = min(found)
    if is_neighbour and not here.signs.has_had_its_turn(rank, at, now):
        return None
    late = 0.0 if here.links.hears(rank) else 2 * here.signs.patience
    return Held(at + late, (rank, source, data.has.of(rank, source)))
