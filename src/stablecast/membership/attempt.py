"""A leader's attempt to end a view: when it begins one, whom it asks, and when it is done.

Any member may lead, at any time, and several at once: members follow the largest proposal, and one that is
refused waits for a while, longer each time, before it tries a larger one (``lead``).  An attempt whose
participants turn out to be gone is given up for a new one; nothing of an attempt is ever changed once it was
sent.

    consider ──► begin: PREPARE ──► all have FLUSHED: SYNC ──► all have SYNCED: INSTALL, and the next view
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import msgspec

from stablecast.membership import follow, moves, passing
from stablecast.membership.capacity import who_fits, why_not
from stablecast.membership.change import NAMED, Change, in_words
from stablecast.membership.coming import Coming, after_sync, for_joiner
from stablecast.membership.lobby import Visitor
from stablecast.membership.messages import Farewell, Install, Prepare, Refuse, Sync
from stablecast.membership.next_view import delta_of, next_view
from stablecast.membership.place import InView
from stablecast.membership.rank_sets import holds, packed, ranks_in, set_of
from stablecast.membership.state import Announcement, State
from stablecast.membership.view import MemberInfo, View

RENEWED_AFTER = 60 * 86_400.0
"""Seconds after which a view is followed by another one with the same members: its times are counted in
picoseconds from its beginning, and 64 bits hold 106 days of them."""

ANNOUNCE_FOR = 5.0
"""Seconds for which INSTALL is repeated; who lacks it then finds out by other means."""

TOLD_AGAIN = 4096
"""Members that those who join and do not answer are told of in one repetition, all of them together."""

FAREWELLS_MOST = 64
"""How many of those who failed are told so; the others, if they live, find out by other means."""


def consider(state: State, now: float) -> None:
    """Begin a change if there is a reason and it is for this process to lead it."""
    here = state.in_view
    if here is None or state.change is not None or not state.leads or now < here.retry_at:
        return
    if not _follows_another(state, here, now) and _has_reason(state, here, now):
        begin(state, now)


def _follows_another(state: State, here: InView, now: float) -> bool:
    """Tell whether somebody else is at work on the end of this view, as far as one knows."""
    leader = state.promised[1]
    if here.promise is None or leader == state.me.session or here.is_out(leader):
        return False
    return now - state.news_at < state.timing.stall


def _has_reason(state: State, here: InView, now: float) -> bool:
    if here.promise is not None or here.merge_into is not None or here.asked_to_unblock:
        return True
    if _gathered(state, here, now) or _is_old(here, now):
        return True
    if any(_wants_others(here, session) for session in here.receives):
        return True
    away = (*here.gone, *here.suspected, *here.left_out, *here.leavers)
    return any(here.view.rank_of(session) >= 0 for session in away)


def _wants_others(here: InView, session: int) -> bool:
    """Tell whether a member wants to receive from others than the view says."""
    member = here.view.member(session)
    return member is not None and member.receives != here.receives.get(session, member.receives)


def _is_old(here: InView, now: float) -> bool:
    return now - here.began_at >= RENEWED_AFTER


def _gathered(state: State, here: InView, now: float) -> bool:
    """Tell whether somebody waits who fits, and has waited for others to come along."""
    due = state.lobby.gathered_at(state.timing.gather)
    if due is None or now < due:
        return False
    return bool(_admitted(state, _who_remains(state, here), now))


def _admitted(state: State, stay: Sequence[MemberInfo], now: float) -> tuple[Visitor, ...]:
    """Return who waits and fits into a view with those who stay; refuse the others."""
    waiting = state.lobby.waiting(now)
    chosen = who_fits(stay, [visitor.member for visitor in waiting])
    sessions = {member.session for member in chosen}
    for visitor in waiting:
        if visitor.member.session not in sessions:
            state.lobby.drop(visitor.member.session)
            reason = why_not([*stay, *chosen], visitor.member, state.protocol)
            state.send(Refuse(reason), visitor.member)
    return tuple(visitor for visitor in waiting if visitor.member.session in sessions)


def _who_stays(state: State, here: InView) -> list[MemberInfo]:
    """Return the members that are not believed gone, those who want to leave among them."""
    me = state.me.session
    return [m for m in here.view.members if m.session == me or not here.is_out(m.session)]


def _who_remains(state: State, here: InView) -> list[MemberInfo]:
    """Return the members that are to be in the next view."""
    return [member for member in _who_stays(state, here) if member.session not in here.leavers]


def begin(state: State, now: float) -> None:
    """Make a proposal that is larger than all before, and ask the others to stop."""
    here, ranks = state.here, state.here.view.ranks
    epoch = max(state.past.top, here.view.epoch) + 1
    stay = set_of(ranks[member.session] for member in _who_stays(state, here))
    leavers = set_of(ranks[session] for session in here.leavers if session in ranks) & stay
    is_whole = stay.bit_count() == len(here.view.members)
    change = Change(
        proposal=(epoch, state.me.session),
        old=here.view,
        survivors=stay & ~leavers,
        leavers=leavers,
        since=now,
        # Nobody but who comes along may be in a view that dissolves: all are told to have its cut.
        contact=here.merge_into if is_whole else None,
    )
    promise = follow.promise(state, change.proposal)
    promise.change = change
    change.take_report(promise.flushed)
    ask(state, change, change.participants)
    advance(state, change, now)


def go_without(state: State, sessions: Iterable[int], now: float) -> None:
    """Begin anew if one is needed for the attempt that is not there any more; or look if to begin one."""
    if state.change is not None and state.change.takes(sessions):
        begin(state, now)
    consider(state, now)


def ask(state: State, change: Change, ranks: int) -> None:
    """Ask members for what the present phase of an attempt needs, and all who join and have not answered."""
    roll = change.old.members
    way = passing.way_through(state, roll, ranks & ~(1 << change.old.rank_of(state.me.session)), change.turn)
    if change.sync is None:
        passing.spread(state, Prepare(change.proposal, change.old.id, way), roll, way)
        return
    passing.spread(state, msgspec.structs.replace(change.sync, way=way), roll, way)
    if change.coming is not None and change.coming.view is not None and change.joiners:
        admission = for_joiner(change.coming, change.coming.view, state.me.address)
        for joiner in _whom_to_tell(state, change, change.sync, len(change.coming.view.members)):
            state.send(admission, joiner)


def _whom_to_tell(state: State, change: Change, sync: Sync, size: int) -> list[MemberInfo]:
    """Return those who join whom the leader tells itself: at first its own, then some that do not answer."""
    if not change.turn:
        mine = change.old.rank_of(state.me.session)
        return [joiner for joiner, rank in zip(change.joiners, sync.sponsors, strict=True) if rank == mine]
    late = change.awaited_joiners
    most = max(1, TOLD_AGAIN // size)
    first = change.turn * most % len(late) if late else 0
    return (late[first:] + late[:first])[:most]


def advance(state: State, change: Change, now: float) -> None:
    """Go to the next phase of an attempt if all have answered."""
    if not change.is_answered:
        return
    if change.coming is not None:
        _complete(state, change, change.coming, now)
    else:
        _begin_sync(state, change, now)


def _begin_sync(state: State, change: Change, now: float) -> None:
    stay = change.members(change.survivors)
    visitors = () if change.contact is not None else _admitted(state, stay, now)
    if not stay and not visitors:
        _bid_farewell(state, change)
        moves.finish(state, "everyone left")
        return
    change.longest_trip = max((visitor.trip for visitor in visitors), default=0.0)
    view = None if change.contact is not None else _next_view(state, change, visitors)
    for member in change.members(change.excluded):
        state.outlook.remember(member.address, now)
    joiners = () if view is None else view.members[len(stay) :]
    sponsors = _sponsors(state, change, visitors)
    sync = _sync(state, change, view, _reason(state.here, change, joiners, now), sponsors)
    coming = after_sync(change.old, state.here.base, sync)
    if coming is None:
        raise RuntimeError("a leader's own SYNC does not fit its view")
    change.begin_sync(sync, coming, joiners, now)
    _accept_own(state, change, coming, now)
    ask(state, change, change.participants)
    advance(state, change, now)


def _next_view(state: State, change: Change, visitors: Sequence[Visitor]) -> View:
    epoch = max(change.proposal[0], *(visitor.epoch + 1 for visitor in visitors), 0)
    asking = [visitor.member for visitor in visitors]
    receives = state.here.receives
    return next_view(state.new_view_id(), epoch, change, asking, group=state.group, receives=receives)


def _sponsors(state: State, change: Change, visitors: Sequence[Visitor]) -> tuple[int, ...]:
    """Return who tells those who join, by rank: the leader if nobody else was named, or that one is gone."""
    me, ranks = change.old.rank_of(state.me.session), change.old.ranks
    named = (ranks.get(visitor.sponsor, me) for visitor in visitors)
    return tuple(rank if holds(change.survivors, rank) else me for rank in named)


def _sync(state: State, change: Change, view: View | None, reason: str, sponsors: tuple[int, ...]) -> Sync:
    """Return what the second phase asks for, with the cut of all answers."""
    old, survivors = change.old, change.survivors
    return Sync(
        proposal=change.proposal,
        old=old.id,
        way=passing.way_through(state, old.members, survivors, 0),
        delta=None if view is None else delta_of(old, view, survivors),
        sent=() if change.report is None else change.report.sent,
        contact=change.contact,
        left=packed(change.leavers),
        reason=reason,
        places=state.outlook.shared(view),
        sponsors=sponsors,
    )


def _accept_own(state: State, change: Change, coming: Coming, now: float) -> None:
    here, mine = state.here, 1 << change.old.rank_of(state.me.session)
    if change.survivors & mine and here.promise is not None:
        follow.accept(state, here, here.promise, coming, now)
        if follow.is_synced(here.promise):
            change.synced |= mine


def _reason(here: InView, change: Change, joiners: tuple[MemberInfo, ...], now: float) -> str:
    """Say in words why the view changes."""
    out = change.members(change.excluded)
    failed = [member for member in out if member.session not in here.left_out]
    reasons = [in_words(failed, "failed")] if failed else []
    slow = (member for member in out if member.session in here.left_out)
    reasons += [f"{m.label} was left out: {here.left_out[m.session]}" for m in islice(slow, NAMED)]
    reasons += [in_words(change.members(change.leavers), "left")] if change.leavers else []
    reasons += [in_words(joiners, "joined")] if joiners else []
    others = [here.view.members[rank] for rank in ranks_in(_receivers_that_change(here, change))]
    reasons += [in_words(others, "changed what to receive")] if others else []
    if change.contact is not None:
        reasons.append("merges into the view of {}:{}".format(*change.contact))
    if _is_old(here, now):
        reasons.append("a view is renewed from time to time")
    return "; ".join(reasons) or "a view change was not brought to an end"


def _receivers_that_change(here: InView, change: Change) -> int:
    ranks = set_of(here.view.ranks[session] for session in here.receives if _wants_others(here, session))
    return ranks & change.survivors


def _complete(state: State, change: Change, coming: Coming, now: float) -> None:
    """All have everything: the next view begins, and this process with it unless it leaves."""
    view = coming.view
    roll = change.old.members if view is None else view.members
    waiting = change.survivors if view is None else (1 << len(roll)) - 1
    waiting &= ~passing.rank_in(roll, state.me.session)
    state.announcement = Announcement(change.proposal, roll, waiting, now, now + ANNOUNCE_FOR)
    announce(state, state.announcement)
    _bid_farewell(state, change)
    if holds(change.survivors, change.old.rank_of(state.me.session)):
        moves.install(state, coming, now)
        consider(state, now)
        return
    state.announcement.until -= ANNOUNCE_FOR - state.timing.joiner_timeout
    moves.depart(state, change)


def announce(state: State, announcement: Announcement) -> None:
    """Tell those who have not confirmed it that the next view begins."""
    way = passing.way_through(state, announcement.roll, announcement.waiting, announcement.turn)
    passing.spread(state, Install(announcement.proposal, way), announcement.roll, way)


def _bid_farewell(state: State, change: Change) -> None:
    """Tell who is out, that it need not wait to find out."""
    stay, left_out = packed(change.survivors), state.here.left_out
    for member in change.members(change.leavers):
        if member.session != state.me.session:
            state.send(Farewell(change.old.id, "left", stay), member)
    for member in change.members(change.excluded)[:FAREWELLS_MOST]:
        reason = left_out.get(member.session, "failed")
        state.send(Farewell(change.old.id, reason, stay), member)
