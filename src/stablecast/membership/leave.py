"""Leaving a group, and going on without members.

Who leaves asks the leader, flushes with the others so that what it has is in the cut, and is let go with
FAREWELL.  A leader that leaves leads the change itself, and stays until the others have begun the view.
"""

from __future__ import annotations

from stablecast.membership import attempt, moves
from stablecast.membership.messages import Farewell, Leave
from stablecast.membership.place import Phase
from stablecast.membership.rank_sets import holds, ranks_in, unpacked
from stablecast.membership.state import Peer, State


def leave(state: State, now: float) -> None:
    """Leave the group, at the latest when nobody has answered for long."""
    if state.phase is Phase.DONE or state.leave_by is not None:
        return
    state.leave_by = now + state.timing.join_timeout
    if state.in_view is None:
        moves.finish(state, "left")
    else:
        _ask_to_leave(state, now)


def _ask_to_leave(state: State, now: float) -> None:
    here = state.in_view
    if here is None:
        return
    here.leavers.add(state.me.session)
    if state.leads:
        attempt.consider(state, now)
    else:
        state.send(Leave(here.view.id), state.leader)


def repeat(state: State, now: float) -> None:
    """Ask again to be let go, or go."""
    if state.leave_by is None or state.phase is Phase.DONE:
        return
    if now >= state.leave_by:
        moves.finish(state, "nobody answered")
    else:
        _ask_to_leave(state, now)


def on_leave(state: State, frame: Leave, sender: Peer, now: float) -> None:
    """Change the view without the sender, as leader; or let it go, if it is in this view no more."""
    here = state.here
    is_member = here.view.rank_of(sender.session) >= 0
    if is_member and frame.view == here.view.id:
        here.leavers.add(sender.session)
        rank = here.view.rank_of(sender.session)
        if state.change is not None and holds(state.change.survivors, rank):
            attempt.begin(state, now)  # it does not come along into the view of this attempt
        attempt.consider(state, now)
    elif not is_member:
        on_leave_outside(state, frame, sender, now)


def on_leave_outside(state: State, frame: Leave, sender: Peer, _now: float) -> None:
    """Let the sender go, if the view that it means is over."""
    if frame.view in state.past.ended:
        state.send(Farewell(frame.view, "left"), sender)


def on_farewell(state: State, frame: Farewell, sender: Peer, now: float) -> None:
    """Be done, if that was wanted; otherwise go on without those who went on without this process."""
    here = state.here
    if frame.view != here.view.id or here.view.rank_of(sender.session) < 0:
        return
    if state.leave_by is not None:
        moves.finish(state, "left")
        return
    sessions = here.view.sessions
    stay = {sessions[rank] for rank in ranks_in(unpacked(frame.stay)) if rank < len(sessions)}
    moved = {sender.session, *stay} - {state.me.session}
    here.gone |= moved
    attempt.go_without(state, moved, now)


def leave_out(state: State, session: int, reason: str, now: float) -> None:
    """Go on without a member that lives, if this process leads or is next after that member."""
    here, me = state.in_view, state.me.session
    if here is None or session == me or here.view.rank_of(session) < 0:
        return
    if state.leader.session in (me, session):
        here.left_out[session] = reason
        attempt.go_without(state, [session], now)


def suspect(state: State, sessions: frozenset[int], now: float) -> None:
    """Take the present set of members that were not heard of for long, and go on without them."""
    here = state.in_view
    if here is not None:
        here.suspected = frozenset(sessions & here.view.ranks.keys()) - {state.me.session}
        attempt.go_without(state, here.suspected, now)
