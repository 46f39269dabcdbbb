"""A member's side of a view change: promise, flush, fetch; ``install`` has the last step.

Why it is safe
    A member goes from a view to the next one only by a SYNC that it has accepted, and only while what it has
    is exactly that SYNC's cut.  What it has stands still from its promise on (``StopSending``) and rises only
    to a cut (``GetUpTo``); it is reported anew in each promise.  A cut is the maximum of what the survivors
    report, so nobody is beyond it.  A view's id belongs to one SYNC, so all who install it have the same.
Which may be installed
    The last SYNC that was accepted and whose cut is here.  It stays installable when a larger proposal is
    promised, until that one's SYNC is accepted: until then nothing has changed here.  One whose cut is not
    here yet is dropped at the next promise, and the fetch ends: what came later would be in no report.
"""

from __future__ import annotations

from stablecast.membership.actions import GetUpTo, StopSending, TrustSessions
from stablecast.membership.messages import (
    Elsewhere,
    Flushed,
    Install,
    Leave,
    Prepare,
    Promised,
    Proposal,
    Sync,
    Synced,
)
from stablecast.membership.place import Accepted, InView, Promise
from stablecast.membership.state import NOTHING, Peer, State
from stablecast.membership.view import View

ASK_EVERY = 10
"""A member that waits for its leader asks only every so many repetitions."""


def on_prepare(state: State, frame: Prepare, sender: Peer, now: float) -> None:
    """Stop and answer FLUSHED with what is here; refuse with PROMISED if a larger proposal was promised."""
    here = state.here
    if here.view.id != frame.view:
        say_elsewhere(state, frame.proposal, frame.view, sender)
        return
    if here.view.rank_of(sender.session) < 0:
        return
    if frame.proposal < state.promised:
        state.send(Promised(frame.proposal, state.promised), sender)
        return
    if frame.proposal > state.promised:
        here.stop_leading()
        promise(state, frame.proposal)
    state.news_at = now
    if here.promise is not None:
        state.send(here.promise.flushed, sender)


def on_prepare_outside(state: State, frame: Prepare, sender: Peer, _now: float) -> None:
    """Answer how that view ended, if it is known, and ELSEWHERE: this process is in none."""
    say_elsewhere(state, frame.proposal, frame.view, sender)


def promise(state: State, proposal: Proposal) -> Promise:
    """Stop, and note what is here."""
    here = state.here
    before = None if here.promise is None else here.promise.accepted
    if before is not None and before.has_cut and before.sync.view is not None:
        here.synced.add(before.sync.proposal[1])
    state.past.top = max(state.past.top, proposal[0])
    state.out.append(StopSending())
    here.promise = Promise(proposal, _report(state, here, proposal))
    if before is not None and before.has_cut:
        here.promise.accepted = before
    return here.promise


def _report(state: State, here: InView, proposal: Proposal) -> Flushed:
    """Return what is here; in the step that begins a view the engine does not know of it yet."""
    synced = tuple(sorted(here.synced))
    if here.numbers is None:
        return Flushed(proposal, *state.numbers(), synced)
    parts, messages = here.numbers[here.view.rank_of(state.me.session)]
    return Flushed(proposal, tuple(prefix for prefix, _ in here.numbers), parts, messages, synced)


def on_sync(state: State, frame: Sync, sender: Peer, now: float) -> None:
    """Accept the SYNC of the promised proposal, fetch what its cut lacks here, and answer SYNCED then."""
    here = state.here
    if frame.is_for_joiner:
        decline(state, frame, sender)
    elif here.view.id != frame.old:
        say_elsewhere(state, frame.proposal, frame.old, sender)
    elif frame.proposal < state.promised:
        state.send(Promised(frame.proposal, state.promised), sender)
    elif state.leave_by is not None and frame.view is not None:
        state.send(Leave(here.view.id), sender)  # who wants to leave is in no other view any more
    elif here.promise is not None and frame.proposal == here.promise.proposal:
        state.news_at = now
        if here.promise.accepted is None or here.promise.accepted.sync.proposal != frame.proposal:
            accept(state, here, here.promise, frame, now)
        if is_synced(here.promise):
            state.send(Synced(frame.proposal), sender)


def on_sync_outside(state: State, frame: Sync, sender: Peer, _now: float) -> None:
    """Answer how that view ended, if it is known, and ELSEWHERE: this process is in none."""
    if frame.is_for_joiner:
        decline(state, frame, sender)
    else:
        say_elsewhere(state, frame.proposal, frame.old, sender)


def decline(state: State, frame: Sync, sender: Peer) -> None:
    """Tell a leader that wants to let this process in, and is too late with it, where it is."""
    if frame.view is not None and state.past.installed_by != frame.proposal:
        state.send(Elsewhere(frame.proposal, state.view), sender)


def accept(state: State, here: InView, promise: Promise, sync: Sync, now: float) -> None:
    """Take a SYNC of the present view: from here on it is the only one that may be installed."""
    if not _fits(state, sync, here.view):
        return
    promise.accepted = Accepted(sync, promise.flushed.prefixes == sync.cut)
    if sync.view is not None:
        state.out.append(TrustSessions(frozenset(sync.view.sessions)))
    if promise.accepted.has_cut:
        here.lacks_since = None
    else:
        here.lacks_since = now if here.lacks_since is None else here.lacks_since
        state.out.append(GetUpTo(sync.cut, sync.holders))


def _fits(state: State, sync: Sync, old: View) -> bool:
    """Check what no leader gets wrong, so that nothing odd is ever installed."""
    if len(sync.cut) != len(old.members) or len(sync.holders) != len(old.members):
        return False
    if sync.view is None:
        return sync.contact is not None
    return (
        len(sync.numbers) == len(sync.view.members)
        and sync.view.epoch > old.epoch
        and sync.view.rank_of(state.me.session) >= 0
    )


def is_synced(promise: Promise) -> bool:
    """Tell whether everything is here that the SYNC of a proposal asks for."""
    accepted = promise.accepted
    return accepted is not None and accepted.has_cut and accepted.sync.proposal == promise.proposal


def say_elsewhere(state: State, proposal: Proposal, meant: int, to: Peer) -> None:
    """Tell who works on a view that is over here: how it ended, and where this process is now."""
    if meant in state.past.ended:
        state.send(Install(state.past.ended[meant]), to)
    state.send(Elsewhere(proposal, state.view), to)


def repeat(state: State, now: float) -> None:
    """Ask after a view change that does not come to an end."""
    here = state.in_view
    if here is None or here.promise is None or here.promise.change is not None:
        return
    if state.timers.ticks % ASK_EVERY:
        return
    promise, quiet = here.promise, now - state.news_at
    leader = here.view.member(promise.proposal[1])
    if quiet > state.timing.stall / 2 and leader is not None and leader.session != state.me.session:
        state.send(Synced(promise.proposal) if is_synced(promise) else promise.flushed, leader)
    if quiet > state.timing.stall and not state.leads:
        state.send(Promised(NOTHING, promise.proposal), state.leader)
