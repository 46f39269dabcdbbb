"""The last step of a view change: a member begins the view that it has agreed to.

What proves that a view was installed
    INSTALL from anyone, or any frame in it: all of its members have sent SYNCED before.
"""

from __future__ import annotations

from stablecast.membership import attempt, follow, moves, passing
from stablecast.membership.coming import Coming
from stablecast.membership.messages import Elsewhere, Install, Installed
from stablecast.membership.state import Peer, State
from stablecast.membership.waves import Step


def on_install(state: State, frame: Install, sender: Peer, now: float) -> None:
    """Begin the view that this process has agreed to, pass it on and confirm it; or say where it is."""
    accepted = state.accepted
    is_meant = accepted is not None and accepted.coming.proposal == frame.proposal
    if accepted is not None and is_meant and accepted.has_cut:
        _go_on(state, accepted.coming, now)
    if state.past.knows(frame.proposal):
        _confirm(state, frame, sender, now)
    elif not is_meant:
        to = sender if frame.way is None else passing.leader_of(frame.proposal, frame.way)
        state.send(Elsewhere(frame.proposal, state.view_id), to)


def _confirm(state: State, frame: Install, sender: Peer, now: float) -> None:
    mine = passing.rank_in(state.past.roll, state.me.session)
    if frame.way is None or frame.proposal != state.past.installed_by or not mine:
        state.send(Installed(frame.proposal), sender)
        return
    passing.pass_on(state, frame, Step.INSTALL, state.past.roll, frame.way, sender, now)
    relay = passing.relay_of(state, frame.proposal, Step.INSTALL)
    if relay is not None:
        passing.gather(state, relay, mine, now)


def if_begun(state: State, view: int, now: float) -> bool:
    """Begin a view of which a frame has come, if this process is to be in it; tell whether it is."""
    accepted = state.accepted
    if accepted is None or not accepted.has_cut:
        return False
    if accepted.coming.view is None or accepted.coming.view.id != view:
        return False
    _go_on(state, accepted.coming, now)
    return True


def _go_on(state: State, coming: Coming, now: float) -> None:
    moves.install(state, coming, now)
    attempt.consider(state, now)


def have_cut(state: State, now: float) -> None:
    """Answer the SYNC whose cut is here now."""
    here, accepted, change = state.in_view, state.accepted, state.change
    if here is None or accepted is None or accepted.has_cut:
        return
    accepted.has_cut = True
    here.lacks_since = None
    if change is not None:
        change.synced |= 1 << here.view.rank_of(state.me.session)
        attempt.advance(state, change, now)
    else:
        follow.gather_synced(state, now)
