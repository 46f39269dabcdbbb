"""The last step of a view change: a member begins the view that it has agreed to.

What proves that a view was installed
    INSTALL from anyone, or any frame in it: all of its members have sent SYNCED before.
"""

from __future__ import annotations

from stablecast.membership import attempt, moves
from stablecast.membership.messages import Elsewhere, Install, Installed, Sync, Synced
from stablecast.membership.state import Peer, State


def on_install(state: State, frame: Install, sender: Peer, now: float) -> None:
    """Begin the view that this process has agreed to, and confirm it; or say where it is instead."""
    accepted = state.accepted
    is_meant = accepted is not None and accepted.sync.proposal == frame.proposal
    if accepted is not None and is_meant and accepted.has_cut:
        _go_on(state, accepted.sync, now)
    if state.past.knows(frame.proposal):
        state.send(Installed(frame.proposal), sender)
    elif not is_meant:
        state.send(Elsewhere(frame.proposal, state.view), sender)


def if_begun(state: State, view: int, now: float) -> bool:
    """Begin a view of which a frame has come, if this process is to be in it; tell whether it is."""
    accepted = state.accepted
    if accepted is None or not accepted.has_cut:
        return False
    if accepted.sync.view is None or accepted.sync.view.id != view:
        return False
    _go_on(state, accepted.sync, now)
    return True


def _go_on(state: State, sync: Sync, now: float) -> None:
    moves.install(state, sync, now)
    attempt.consider(state, now)


def have_cut(state: State, now: float) -> None:
    """Answer the SYNC whose cut is here now."""
    here, accepted, change = state.in_view, state.accepted, state.change
    if here is None or accepted is None or accepted.has_cut:
        return
    accepted.has_cut = True
    here.lacks_since = None
    leader = here.view.member(accepted.sync.proposal[1])
    if change is not None:
        change.synced.add(state.me.session)
        attempt.advance(state, change, now)
    elif leader is not None and leader.session != state.me.session:
        state.send(Synced(accepted.sync.proposal), leader)
