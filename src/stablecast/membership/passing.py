"""Passing on what a leader asks, and gathering the answers: a member's part in a wave, see ``waves``."""

from __future__ import annotations

from collections.abc import Sequence

from stablecast.membership.cuts import is_sound, merged
from stablecast.membership.messages import Flushed, Install, Installed, Prepare, Proposal, Sync, Synced, Way
from stablecast.membership.rank_sets import packed, unpacked
from stablecast.membership.state import Peer, State
from stablecast.membership.view import MemberInfo
from stablecast.membership.waves import Relay, Step, branch_at, branch_of, order_of, patience, way_to


def leader_of(proposal: Proposal, way: Way) -> Peer:
    """Return who leads an attempt of which a frame was passed on."""
    return Peer(proposal[1], (way.host, way.port))


def way_through(state: State, roll: Sequence[MemberInfo], ranks: int, turn: int) -> Way:
    """Return the way of a frame of this process to some members of a roll."""
    out = packed((1 << len(roll)) - 1 & ~ranks)
    return way_to(ranks.bit_count(), state.me.address, out, turn)


def spread(state: State, frame: Prepare | Sync | Install, roll: Sequence[MemberInfo], way: Way) -> None:
    """Send a frame of this process to all on its way."""
    branch = branch_of(order_of(roll, state.me.session, way), 0, way.degree)
    for rank in branch.children:
        state.send(frame, roll[rank])


def pass_on(
    state: State,
    frame: Prepare | Sync | Install,
    step: Step,
    roll: Sequence[MemberInfo],
    way: Way,
    sender: Peer,
    now: float,
) -> None:
    """Pass a frame on to those below this process, and expect their answers."""
    rank = next(k for k, member in enumerate(roll) if member.session == state.me.session)
    branch = branch_at(roll, frame.proposal[1], way, rank)
    for child in branch.children:
        state.send(frame, roll[child])
    waits = patience(branch, state.timing.repeat_every)
    before = state.relay
    relay = Relay(frame.proposal, step, sender, branch.below | 1 << rank, waits, now + waits)
    if before is not None and (before.proposal, before.step) == (relay.proposal, relay.step):
        relay.answered, relay.report = before.answered, before.report
    state.relay = relay


def relay_of(state: State, proposal: Proposal, step: Step) -> Relay | None:
    """Return what is gathered for a step of an attempt, None if nothing is."""
    relay = state.relay
    return relay if relay is not None and (relay.proposal, relay.step) == (proposal, step) else None


def gather(state: State, relay: Relay, ranks: int, now: float, report: Flushed | None = None) -> None:
    """Take answers in, of this process or of others; answer oneself when all are there."""
    relay.answered |= ranks
    if report is not None:
        relay.report = report if relay.report is None else merged(relay.report, report)
    if relay.is_complete and not relay.is_told:
        _tell(state, relay)
    elif relay.due <= now:  # what is late goes on together
        relay.due = now + relay.patience


def tell_due(state: State, now: float) -> None:
    """Answer with what there is, if it is time to."""
    relay = state.relay
    if relay is not None and relay.has_news and now >= relay.due:
        _tell(state, relay)


def due_at(state: State) -> float | None:
    """Return when this process answers at the latest, None if there is nothing to say."""
    relay = state.relay
    return relay.due if relay is not None and relay.has_news else None


def _tell(state: State, relay: Relay) -> None:
    relay.told = relay.answered
    state.send(answer_of(relay), Peer(*relay.to))


def answer_of(relay: Relay) -> Flushed | Synced | Installed:
    """Return what is known of those who have answered."""
    if relay.report is not None:
        return relay.report
    kind = Installed if relay.step is Step.INSTALL else Synced
    return kind(relay.proposal, packed(relay.answered))


def is_of_view(state: State, frame: Flushed | Synced, sender: Peer) -> bool:
    """Tell whether an answer comes from a member, and speaks of members alone."""
    view = state.here.view
    if view.rank_of(sender.session) < 0 or unpacked(frame.members) >> len(view.members):
        return False
    return not isinstance(frame, Flushed) or is_sound(frame.sent, len(view.members))


def on_answer(state: State, frame: Flushed | Synced, sender: Peer, now: float) -> bool:
    """Add an answer from below to what is gathered; tell whether it belongs there."""
    step = Step.PREPARE if isinstance(frame, Flushed) else Step.SYNC
    relay = relay_of(state, frame.proposal, step)
    if relay is None or not is_of_view(state, frame, sender):
        return False
    report = frame if isinstance(frame, Flushed) else None
    gather(state, relay, unpacked(frame.members), now, report)
    return True


def on_installed(state: State, frame: Installed, now: float) -> bool:
    """Add a confirmation from below to what is gathered; tell whether it belongs there."""
    relay = relay_of(state, frame.proposal, Step.INSTALL)
    known = (1 << len(state.past.roll)) - 1
    if relay is not None:
        gather(state, relay, unpacked(frame.members) & known, now)
    return relay is not None


def rank_in(roll: Sequence[MemberInfo], session: int) -> int:
    """Return the set of the one rank that a session has in a roll; nobody if it has none."""
    return next((1 << rank for rank, member in enumerate(roll) if member.session == session), 0)
