"""A leader's attempt to end a view: when it begins one, whom it asks, and when it is done.

Any member may lead, at any time, and several at once: members follow the largest proposal, and one that is
refused waits for a while, longer each time, before it tries a larger one (``lead``).  An attempt whose
participants turn out to be gone is given up for a new one; nothing of an attempt is ever changed once it was
sent.

    consider ──► begin: PREPARE ──► all have FLUSHED: SYNC ──► all have SYNCED: INSTALL, and the next view
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stablecast.membership import follow, moves
from stablecast.membership.capacity import who_fits, why_not
from stablecast.membership.change import Change, in_words
from stablecast.membership.lobby import Visitor
from stablecast.membership.messages import Farewell, Install, Refuse, Sync
from stablecast.membership.next_view import next_view
from stablecast.membership.place import InView
from stablecast.membership.state import Announcement, State
from stablecast.membership.view import MemberInfo

RENEWED_AFTER = 60 * 86_400.0
"""Seconds after which a view is followed by another one with the same members: its times are counted in
picoseconds from its beginning, and 64 bits hold 106 days of them."""

ANNOUNCE_FOR = 5.0
"""Seconds for which INSTALL is repeated; who lacks it then finds out by other means."""


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
    if any(
        member.receives != here.receives.get(member.session, member.receives) for member in here.view.members
    ):
        return True
    away = (*here.gone, *here.suspected, *here.left_out, *here.leavers)
    return any(here.view.rank_of(session) >= 0 for session in away)


def _is_old(here: InView, now: float) -> bool:
    return now - here.began_at >= RENEWED_AFTER


def _gathered(state: State, here: InView, now: float) -> bool:
    """Tell whether somebody waits who fits, and has waited for others to come along."""
    waiting = _admitted(state, _who_remains(state, here), now)
    since = min((visitor.ready for visitor in waiting if visitor.ready is not None), default=None)
    return since is not None and now >= since + state.timing.gather


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
    here = state.here
    epoch = max(state.past.top, here.view.epoch) + 1
    stay = _who_stays(state, here)
    change = Change(
        proposal=(epoch, state.me.session),
        old=here.view,
        survivors=tuple(_who_remains(state, here)),
        leavers=tuple(member for member in stay if member.session in here.leavers),
        since=now,
        # Nobody but who comes along may be in a view that dissolves: all are told to have its cut.
        contact=here.merge_into if len(stay) == len(here.view.members) else None,
    )
    promise = follow.promise(state, change.proposal)
    promise.change = change
    change.flushed[state.me.session] = promise.flushed
    ask(state, change, change.awaited())
    advance(state, change, now)


def go_without(state: State, sessions: Iterable[int], now: float) -> None:
    """Begin anew if one is needed for the attempt that is not there any more; or look if to begin one."""
    if state.change is not None and state.change.takes(sessions):
        begin(state, now)
    consider(state, now)


def ask(state: State, change: Change, members: Iterable[MemberInfo]) -> None:
    """Ask members for what the present phase of an attempt needs."""
    for member in members:
        if member.session != state.me.session:
            state.send(change.frame_for(member), member)


def advance(state: State, change: Change, now: float) -> None:
    """Go to the next phase of an attempt if all have answered."""
    if change.awaited():
        return
    if change.sync is not None:
        _complete(state, change, change.sync, now)
    else:
        _begin_sync(state, change, now)


def _begin_sync(state: State, change: Change, now: float) -> None:
    visitors = () if change.contact is not None else _admitted(state, change.survivors, now)
    if not change.survivors and not visitors:
        _bid_farewell(state, change)
        moves.finish(state, "everyone left")
        return
    change.longest_trip = max((visitor.trip for visitor in visitors), default=0.0)
    epoch = max(change.proposal[0], *(visitor.epoch + 1 for visitor in visitors), 0)
    view = None
    joiners: tuple[MemberInfo, ...] = ()
    if change.contact is None:
        asking = [visitor.member for visitor in visitors]
        receives = state.here.receives
        view = next_view(state.new_view_id(), epoch, change, asking, group=state.group, receives=receives)
        joiners = view.members[len(change.survivors) :]
    for member in change.excluded:
        state.outlook.remember(member.address, now)
    reason = _reason(state.here, change, joiners, now)
    sync = change.begin_sync(view, joiners, now, reason=reason, places=state.outlook.shared(view))
    _accept_own(state, change, sync, now)
    ask(state, change, change.awaited())
    advance(state, change, now)


def _accept_own(state: State, change: Change, sync: Sync, now: float) -> None:
    here = state.here
    if state.me in change.survivors and here.promise is not None:
        follow.accept(state, here, here.promise, sync, now)
        if follow.is_synced(here.promise):
            change.synced.add(state.me.session)


def _reason(here: InView, change: Change, joiners: tuple[MemberInfo, ...], now: float) -> str:
    """Say in words why the view changes."""
    out = change.excluded
    failed = [member for member in out if member.session not in here.left_out]
    reasons = [in_words(failed, "failed")] if failed else []
    reasons += [f"{m.label} was left out: {here.left_out[m.session]}" for m in out if m not in failed]
    reasons += [in_words(change.leavers, "left")] if change.leavers else []
    reasons += [in_words(joiners, "joined")] if joiners else []
    others = [m for m in change.survivors if m.receives != here.receives.get(m.session, m.receives)]
    reasons += [in_words(others, "changed what to receive")] if others else []
    if change.contact is not None:
        reasons.append("merges into the view of {}:{}".format(*change.contact))
    if _is_old(here, now):
        reasons.append("a view is renewed from time to time")
    return "; ".join(reasons) or "a view change was not brought to an end"


def _complete(state: State, change: Change, sync: Sync, now: float) -> None:
    """All have everything: the next view begins, and this process with it unless it leaves."""
    others = {m.session: m for m in change.participants if m.session != state.me.session}
    state.announcement = Announcement(change.proposal, others, now + ANNOUNCE_FOR)
    for member in others.values():
        state.send(Install(change.proposal), member)
    _bid_farewell(state, change)
    if state.me in change.survivors:
        moves.install(state, sync, now)
        consider(state, now)
        return
    state.announcement.until -= ANNOUNCE_FOR - state.timing.joiner_timeout
    moves.depart(state, change)


def _bid_farewell(state: State, change: Change) -> None:
    """Tell who is out, that it need not wait to find out."""
    stay = tuple(member.session for member in change.survivors)
    left_out = state.here.left_out
    for member in change.old.members:
        if member.session != state.me.session and member not in change.survivors:
            reason = "left" if member in change.leavers else left_out.get(member.session, "failed")
            state.send(Farewell(change.old.id, reason, stay), member)
