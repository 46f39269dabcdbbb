"""Finding other views of the same group, and deciding which of two goes on.

Leaders probe places where others may be (``outlook``).  Of two views that meet, the lesser one dissolves once
the other has answered: its leader begins a change to no view, and each member then joins the other one.
"""

from __future__ import annotations

from stablecast.membership import attempt, moves
from stablecast.membership.capacity import fits, lesser, most_of
from stablecast.membership.messages import Probe
from stablecast.membership.state import Peer, State
from stablecast.membership.view import Address, View


def precedence(probe: Probe) -> tuple[bool, int, int, int]:
    """Return what views are compared by: the larger one goes on, the other dissolves into it."""
    return (probe.main, probe.size, probe.epoch, -probe.view)


def describe(view: View, leader: Address, *, group: str, protocol: str, answer: bool) -> Probe:
    """Return how a view introduces itself."""
    return Probe(
        view=view.id,
        epoch=view.epoch,
        size=len(view.members),
        main=view.line == group,
        leader_host=leader[0],
        leader_port=leader[1],
        answer=answer,
        protocol=protocol,
        most=most_of(view.members),
    )


def fit_together(one: Probe, other: Probe) -> bool:
    """Tell whether two views can become one."""
    return fits(one.size + other.size, lesser(one.most, other.most))


def _description(state: State, view: View, *, answer: bool = False) -> Probe:
    return describe(view, state.leader.address, group=state.group, protocol=state.protocol, answer=answer)


def probe(state: State, now: float) -> None:
    """Look whether there is another view of this group, and let it know of this one, if it is time to."""
    here = state.in_view
    if here is None or now < here.probe_at:
        return
    here.probe_at = now + moves.probe_wait(state)
    if state.leave_by is None:
        for address in state.outlook.next_places(here.view, now):
            state.send_to_address(_description(state, here.view), address)


def met(state: State, address: Address, now: float) -> None:
    """Let a place that can now be spoken to know of this view, if another one may be there."""
    view = state.view
    if view is not None and address in state.outlook.places(view, now):
        state.send_to_address(_description(state, view), address)


def on_probe(state: State, frame: Probe, sender: Peer, now: float) -> None:
    """Answer; and dissolve into a better view, once it has answered a probe of this one."""
    here, view = state.here, state.here.view
    if frame.view == view.id or frame.protocol != state.protocol:
        return
    if not frame.answer:
        state.send(_description(state, view, answer=True), sender)
    if view.rank_of(sender.session) >= 0:
        if frame.epoch > view.epoch:
            here.gone.add(sender.session)
            attempt.consider(state, now)
        return
    other = (frame.leader_host, frame.leader_port)
    is_stale = frame.view in state.past.ended or other in view.at
    if is_stale or state.change is not None or state.leave_by is not None:
        return
    if state.leads:
        _weigh(state, frame, other, sender, now)
    elif frame.answer:  # let that view's leader find the leader of this one
        state.send_to_address(_description(state, view, answer=True), other)


def _weigh(state: State, frame: Probe, other: Address, sender: Peer, now: float) -> None:
    own = _description(state, state.here.view)
    if not fit_together(frame, own):
        return
    is_better = precedence(frame) > precedence(own)
    if is_better and frame.answer:
        if now >= state.distrust_until:
            state.here.merge_into = sender.address  # it lives; the leader that it names may not any more
            attempt.consider(state, now)
    elif is_better or (frame.answer and other != sender.address):
        state.send_to_address(own, other)
