"""A member's side of a view change: promise, flush, fetch; ``install`` has the last step.

Why it is safe
    A member goes from a view to the next one only by a SYNC that it has accepted, and only while what it has
    is exactly that SYNC's cut.  What it has stands still from its promise on (``StopSending``) and rises only
    to a cut (``GetUpTo``); it is reported anew in each promise.  A cut is the maximum of what the survivors
    report, so nobody is beyond it; ``cuts`` says why that is so when reports are merged on their way.  A
    view's id belongs to one SYNC, so all who install it have the same.
Who may say what
    PREPARE and SYNC are made by the leader alone, and any member of the view passes them on unchanged
    (``waves``): what a member does follows from what they say, not from whom they come.  SYNCED names only
    members that have said so themselves, whoever brings it, so a leader that has heard of all of them knows
    what it knew when each spoke to it.  Members trust each other not to lie.
Which may be installed
    The last SYNC that was accepted and whose cut is here.  It stays installable when a larger proposal is
    promised, until that one's SYNC is accepted: until then nothing has changed here.  One whose cut is not
    here yet is dropped at the next promise, and the fetch ends: what came later would be in no report.
"""

from __future__ import annotations

from stablecast.membership import passing
from stablecast.membership.actions import GetUpTo, StopSending, TrustSessions
from stablecast.membership.coming import Coming, after_sync, for_joiner
from stablecast.membership.cuts import report_of
from stablecast.membership.messages import (
    Admission,
    Elsewhere,
    Install,
    Leave,
    Prepare,
    Promised,
    Proposal,
    Sync,
    Synced,
)
from stablecast.membership.place import Accepted, InView, Promise
from stablecast.membership.rank_sets import packed, unpacked
from stablecast.membership.state import NOTHING, Peer, State
from stablecast.membership.waves import Step

ASK_EVERY = 10
"""A member that waits for its leader asks only every so many repetitions."""

ASK_AT_ONCE = 16
"""How many members ask at that time, about: in a larger group each one does with a probability."""


def on_prepare(state: State, frame: Prepare, sender: Peer, now: float) -> None:
    """Stop, pass it on, and answer FLUSHED with what is here; refuse if a larger proposal was promised."""
    here, leader = state.here, passing.leader_of(frame.proposal, frame.way)
    if here.view.id != frame.view:
        say_elsewhere(state, frame.proposal, frame.view, leader)
        return
    if not _is_of_members(here, leader, sender):
        return
    if frame.proposal < state.promised:
        state.send(Promised(frame.proposal, state.promised), leader)
        return
    if frame.proposal > state.promised:
        here.stop_leading()
        promise(state, frame.proposal)
    state.news_at = now
    if here.promise is not None and not _has_accepted(here.promise):
        passing.pass_on(state, frame, Step.PREPARE, here.view.members, frame.way, sender, now)
        _gather_report(state, here.promise, now)


def _is_of_members(here: InView, leader: Peer, sender: Peer) -> bool:
    return here.view.rank_of(leader.session) >= 0 and here.view.rank_of(sender.session) >= 0


def _has_accepted(promise: Promise) -> bool:
    """Tell whether a SYNC of the promised proposal was accepted."""
    return promise.accepted is not None and promise.accepted.coming.proposal == promise.proposal


def _gather_report(state: State, promise: Promise, now: float) -> None:
    relay = passing.relay_of(state, promise.proposal, Step.PREPARE)
    if relay is not None:
        passing.gather(state, relay, unpacked(promise.flushed.members), now, promise.flushed)


def on_prepare_outside(state: State, frame: Prepare, _sender: Peer, _now: float) -> None:
    """Answer how that view ended, if it is known, and ELSEWHERE: this process is in none."""
    say_elsewhere(state, frame.proposal, frame.view, passing.leader_of(frame.proposal, frame.way))


def promise(state: State, proposal: Proposal) -> Promise:
    """Stop, and note what is here."""
    here = state.here
    before = None if here.promise is None else here.promise.accepted
    if before is not None and before.has_cut and before.coming.view is not None:
        here.synced.add(before.coming.proposal[1])
    state.past.top = max(state.past.top, proposal[0])
    state.out.append(StopSending())
    prefixes, messages = _what_is_here(state, here)
    rank = here.view.rank_of(state.me.session)
    report = report_of(proposal, rank, here.base, prefixes, messages, here.synced)
    here.promise = Promise(proposal, prefixes, report)
    if before is not None and before.has_cut:
        here.promise.accepted = before
    return here.promise


def _what_is_here(state: State, here: InView) -> tuple[tuple[int, ...], int]:
    """Return prefixes and own messages; in the step that begins a view the engine does not know of it yet."""
    if not here.is_new:
        return state.numbers()
    _, messages = here.base[here.view.rank_of(state.me.session)]
    return tuple(parts for parts, _ in here.base), messages


def on_sync(state: State, frame: Sync, sender: Peer, now: float) -> None:
    """Accept the SYNC of the promised proposal, pass it on, fetch what is missing, and answer SYNCED then."""
    here, leader = state.here, passing.leader_of(frame.proposal, frame.way)
    if here.view.id != frame.old:
        say_elsewhere(state, frame.proposal, frame.old, leader)
    elif not _is_of_members(here, leader, sender):
        return
    elif frame.proposal < state.promised:
        state.send(Promised(frame.proposal, state.promised), leader)
    elif state.leave_by is not None and frame.delta is not None:
        state.send(Leave(here.view.id), leader)  # who wants to leave is in no other view any more
    elif here.promise is not None and frame.proposal == here.promise.proposal:
        state.news_at = now
        _follow_sync(state, here, here.promise, frame, sender, now)


def _follow_sync(state: State, here: InView, promise: Promise, frame: Sync, sender: Peer, now: float) -> None:
    if not _has_accepted(promise):
        coming = after_sync(here.view, here.base, frame)
        if coming is None or not accept(state, here, promise, coming, now):
            leader = passing.leader_of(frame.proposal, frame.way)
            state.send(Elsewhere(frame.proposal, 0), leader)  # it goes on without this process
            return
        _tell_newcomers(state, here, frame, coming)
    passing.pass_on(state, frame, Step.SYNC, here.view.members, frame.way, sender, now)
    gather_synced(state, now)


def _tell_newcomers(state: State, here: InView, frame: Sync, coming: Coming) -> None:
    """Let those in who are this member's to tell."""
    if frame.delta is None or coming.view is None:
        return
    mine = here.view.rank_of(state.me.session)
    newcomers = [m for m, rank in zip(frame.delta.joined, frame.sponsors, strict=False) if rank == mine]
    if newcomers:
        admission = for_joiner(coming, coming.view, (frame.way.host, frame.way.port))
        for newcomer in newcomers:
            state.send(admission, newcomer)


def gather_synced(state: State, now: float) -> None:
    """Answer the SYNC that was passed on last, if its cut is here."""
    here = state.here
    if here.promise is None or not is_synced(here.promise):
        return
    relay = passing.relay_of(state, here.promise.proposal, Step.SYNC)
    if relay is not None:
        passing.gather(state, relay, 1 << here.view.rank_of(state.me.session), now)


def on_sync_outside(state: State, frame: Sync, _sender: Peer, _now: float) -> None:
    """Answer how that view ended, if it is known, and ELSEWHERE: this process is in none."""
    say_elsewhere(state, frame.proposal, frame.old, passing.leader_of(frame.proposal, frame.way))


def decline(state: State, frame: Admission, _sender: Peer, _now: float) -> None:
    """Tell a leader that wants to let this process in, and is too late with it, where it is."""
    if state.past.installed_by != frame.proposal:
        state.send(Elsewhere(frame.proposal, state.view_id), Peer(frame.proposal[1], frame.leader))


def accept(state: State, here: InView, promise: Promise, coming: Coming, now: float) -> bool:
    """Take what follows the present view: from here on it is the only one that may be installed."""
    view = coming.view
    if view is not None and view.rank_of(state.me.session) < 0:
        return False
    promise.accepted = Accepted(coming, promise.prefixes == coming.cut)
    if view is not None:
        state.out.append(TrustSessions(frozenset(view.sessions) - here.view.ranks.keys()))
    if promise.accepted.has_cut:
        here.lacks_since = None
    else:
        here.lacks_since = now if here.lacks_since is None else here.lacks_since
        state.out.append(GetUpTo(coming.cut, coming.holders))
    return True


def is_synced(promise: Promise) -> bool:
    """Tell whether everything is here that the SYNC of a proposal asks for."""
    return _has_accepted(promise) and promise.accepted is not None and promise.accepted.has_cut


def say_elsewhere(state: State, proposal: Proposal, meant: int, to: Peer) -> None:
    """Tell who works on a view that is over here: how it ended, and where this process is now.

    Who has ended it itself knows that: then this is a repetition that came late.
    """
    if state.past.ended.get(meant) == proposal:
        return
    if meant in state.past.ended:
        state.send(Install(state.past.ended[meant]), to)
    state.send(Elsewhere(proposal, state.view_id), to)


def repeat(state: State, now: float) -> None:
    """Ask after a view change that does not come to an end."""
    here = state.in_view
    if here is None or here.promise is None or here.promise.change is not None:
        return
    if state.timers.ticks % ASK_EVERY or state.rng.random() * len(here.view.members) > ASK_AT_ONCE:
        return
    promise, quiet = here.promise, now - state.news_at
    leader = here.view.member(promise.proposal[1])
    if quiet > state.timing.stall / 2 and leader is not None and leader.session != state.me.session:
        mine = packed(1 << here.view.rank_of(state.me.session))
        state.send(Synced(promise.proposal, mine) if is_synced(promise) else promise.flushed, leader)
    if quiet > state.timing.stall and not state.leads:
        state.send(Promised(NOTHING, promise.proposal), state.leader)
