"""The last step of a view change: a member begins the view that it has agreed to.

What proves that a view was installed
    INSTALL from anyone, or any frame in it: all of its members have sent SYNCED before.
"""

from __future__ import annotations

from stablecast.membership import attempt, moves
from stablecast.membership.messages import Elsewhere, Install, Installed, Sync, Synced
from stablecast.membership.state import Peer, State


def _agreed(state: State) -> Sync | None:
    """Return the last SYNC that was accepted, with or without its cut."""
    if state.search is not None:
        return None if state.search.offer is None else state.search.offer.sync
    here = state.in_view
    if here is None or here.promise is None or here.promise.accepted is None:
        return None
    return here.promise.accepted.sync


def installable(state: State) -> Sync | None:
    """Return the SYNC that may be installed: one who joins has its cut, and a member may have it."""
    here = state.in_view
    if here is not None and here.promise is not None and here.promise.accepted is not None:
        return here.promise.accepted.sync if here.promise.accepted.has_cut else None
    return _agreed(state)


def on_install(state: State, frame: Install, sender: Peer, now: float) -> None:
    """Begin the view that this process has agreed to, and confirm it; or say where it is instead."""
    agreed, ready = _agreed(state), installable(state)
    if ready is not None and ready.proposal == frame.proposal:
        _go_on(state, ready, now)
    if state.past.knows(frame.proposal):
        state.send(Installed(frame.proposal), sender)
    elif agreed is None or agreed.proposal != frame.proposal:
        state.send(Elsewhere(frame.proposal, state.view), sender)


def if_begun(state: State, view: int, now: float) -> bool:
    """Begin a view of which a frame has come, if this process is to be in it; tell whether it is."""
    ready = installable(state)
    if ready is None or ready.view is None or ready.view.id != view:
        return False
    _go_on(state, ready, now)
    return True


def _go_on(state: State, sync: Sync, now: float) -> None:
    moves.install(state, sync, now)
    attempt.consider(state, now)


def have_cut(state: State, now: float) -> None:
    """Answer the SYNC whose cut is here now."""
    here = state.in_view
    if here is None or here.promise is None or here.promise.accepted is None or here.promise.accepted.has_cut:
        return
    accepted, change = here.promise.accepted, here.promise.change
    accepted.has_cut = True
    leader = here.view.member(accepted.sync.proposal[1])
    if change is not None:
        change.synced.add(state.me.session)
        attempt.advance(state, change, now)
    elif leader is not None and leader.session != state.me.session:
        state.send(Synced(accepted.sync.proposal), leader)
