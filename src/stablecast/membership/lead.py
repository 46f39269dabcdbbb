"""What a leader does with the answers to its attempt, and with the lack of them."""

from __future__ import annotations

from stablecast.membership import attempt, install, moves, passing
from stablecast.membership.change import Change
from stablecast.membership.messages import (
    Elsewhere,
    Flushed,
    Install,
    Installed,
    Promised,
    Proposal,
    Synced,
)
from stablecast.membership.place import Phase
from stablecast.membership.rank_sets import NOBODY, unpacked
from stablecast.membership.state import NOTHING, Peer, State
from stablecast.membership.view import MemberInfo
from stablecast.membership.waves import levels_to

LARGEST_BACKOFF = 5
"""How often the wait after a refusal doubles."""

TRIPS_OF_A_JOINER = 3
"""Round trips that a joiner has to answer at least."""

GIVES_UP_AFTER = 2
"""Times for flushing after which a member goes on alone that lacks what next views have."""

REPEATS_AFTER = 0.5
"""Nothing is repeated sooner after it was sent first, as a share of the time between repetitions, for each
level of the tree."""

ASK_ALL_EVERY = 10
"""Those who have answered are asked again only every so many repetitions."""


def on_flushed(state: State, frame: Flushed, sender: Peer, now: float) -> None:
    """Take the reports; with the last one the attempt goes on, and SYNC is sent."""
    change = _meant(state, frame, sender)
    if change is None:
        on_late_answer(state, frame, sender, now)
    elif change.sync is None and not unpacked(frame.members) & ~change.participants:
        change.take_report(frame)
        attempt.advance(state, change, now)


def on_synced(state: State, frame: Synced, sender: Peer, now: float) -> None:
    """Note who has the cut; with the last one the next view begins."""
    change = _meant(state, frame, sender)
    if change is None:
        on_late_answer(state, frame, sender, now)
    elif change.sync is not None:
        change.synced |= unpacked(frame.members)
        change.joined |= {sender.session} & {joiner.session for joiner in change.joiners}
        attempt.advance(state, change, now)


def _meant(state: State, frame: Flushed | Synced, sender: Peer) -> Change | None:
    """Return the attempt that an answer is for, None if it is for none, or is not sound."""
    change = state.change
    if change is None or change.proposal != frame.proposal:
        return None
    is_joiner = any(joiner.session == sender.session for joiner in change.joiners)
    return change if is_joiner or passing.is_of_view(state, frame, sender) else None


def on_answer_below(state: State, frame: Flushed | Synced, sender: Peer, now: float) -> None:
    """Add the answer to those of others below this process; or tell what became of the attempt."""
    if not passing.on_answer(state, frame, sender, now):
        on_late_answer(state, frame, sender, now)


def on_late_answer(state: State, frame: Flushed | Synced, sender: Peer, _now: float) -> None:
    """Tell the sender what became of an attempt that is over: INSTALL, ELSEWHERE or PROMISED."""
    proposal, view = frame.proposal, state.view
    if state.past.knows(proposal):
        state.send(Install(proposal), sender)
    elif proposal[1] != state.me.session:
        return
    elif view is None or proposal[0] <= view.epoch:
        state.send(Elsewhere(proposal, state.view_id), sender)
    elif state.promised > proposal:
        state.send(Promised(proposal, state.promised), sender)


def on_installed(state: State, frame: Installed, sender: Peer, now: float) -> None:
    """Note who has begun the view, and repeat INSTALL to them no more; or pass the word on to the leader."""
    if not passing.on_installed(state, frame, now):
        _confirm(state, frame.proposal, sender, now, unpacked(frame.members))


def _confirm(state: State, proposal: Proposal, sender: Peer, now: float, ranks: int = NOBODY) -> None:
    announcement = state.announcement
    if announcement is not None and announcement.proposal == proposal:
        announcement.waiting &= ~(ranks | passing.rank_in(announcement.roll, sender.session))
        _check_announcement(state, now)


def _check_announcement(state: State, now: float) -> None:
    """Stop announcing when all know, or it has been long enough; who leaves is done then."""
    announcement = state.announcement
    if announcement is None or (announcement.waiting and now < announcement.until):
        return
    state.announcement = None
    if state.phase is Phase.DEPARTING:
        moves.finish(state, "left")


def on_refusal(state: State, frame: Promised, sender: Peer, now: float) -> None:
    """Give the attempt up, and wait for a while before making a larger proposal."""
    here = state.here
    if here.view.rank_of(sender.session) >= 0 and frame.proposal == state.promised < frame.promised:
        state.past.top = max(state.past.top, frame.promised[0])
        here.stop_leading()
        here.refusals = min(here.refusals + 1, LARGEST_BACKOFF)
        wait = state.timing.repeat_every * 2**here.refusals
        here.retry_at = now + wait * (0.5 + state.rng.random())


def on_call_for_help(state: State, frame: Promised, sender: Peer, now: float) -> None:
    """Begin a change, as leader, for a member that waits for one that nobody brings to an end."""
    here = state.here
    if here.view.rank_of(sender.session) >= 0 and frame.proposal == NOTHING and state.leads:
        state.past.top = max(state.past.top, frame.promised[0])
        here.asked_to_unblock = True
        attempt.consider(state, now)


def on_elsewhere(state: State, frame: Elsewhere, sender: Peer, now: float) -> None:
    """Follow a member into the view that it has begun, or go on without it."""
    here = state.here
    if install.if_begun(state, frame.view, now):
        return
    if state.change is not None and frame.proposal == state.change.proposal:
        state.lobby.drop(sender.session)
        here.gone.add(sender.session)
        attempt.begin(state, now)
    elif _is_not_here(state, frame, sender):
        here.gone.add(sender.session)
        attempt.consider(state, now)
    _confirm(state, frame.proposal, sender, now)


def _is_not_here(state: State, frame: Elsewhere, sender: Peer) -> bool:
    """Tell whether a member says that it is not where this view, or what ends it, has it."""
    here, proposal = state.here, frame.proposal
    if frame.view == here.view.id:  # it answers a frame that came late
        return False
    if here.view.rank_of(sender.session) < 0:
        return False
    ours = here.promise is not None and proposal == here.promise.proposal and sender.session == proposal[1]
    return proposal == state.past.installed_by or ours


def on_elsewhere_outside(state: State, frame: Elsewhere, sender: Peer, now: float) -> None:
    """Begin that view, if this process is to be in it; otherwise repeat INSTALL to the sender no more."""
    if not install.if_begun(state, frame.view, now):
        _confirm(state, frame.proposal, sender, now)


def repeat(state: State, now: float) -> None:
    """Ask again who has not answered, and give up those who do not for long."""
    here = state.in_view
    since = None if here is None else here.lacks_since
    if since is not None and now - since >= GIVES_UP_AFTER * state.timing.flush_timeout:
        _step_aside(state, now)  # no leader has left this process out: there may be several, in turns
    if state.change is not None:
        _drop_unresponsive(state, state.change, now)
    change = state.change
    if change is not None and _is_overdue(state, change.since, change.participants, now):
        change.turn += 1
        asks_all = change.turn % ASK_ALL_EVERY == 0
        attempt.ask(state, change, change.participants if asks_all else change.awaited)
    announcement = state.announcement
    if announcement is not None and _is_overdue(state, announcement.since, announcement.waiting, now):
        announcement.turn += 1
        attempt.announce(state, announcement)
    _check_announcement(state, now)


def _is_overdue(state: State, since: float, ranks: int, now: float) -> bool:
    """Tell whether answers of so many could be there by now, if nothing was lost."""
    return now - since >= REPEATS_AFTER * state.timing.repeat_every * levels_to(ranks.bit_count())


def _drop_unresponsive(state: State, change: Change, now: float) -> None:
    here, waited = state.here, now - change.since
    late = change.members(change.awaited & ~(1 << change.old.rank_of(state.me.session)))
    joiners = change.awaited_joiners
    patience = max(state.timing.joiner_timeout, TRIPS_OF_A_JOINER * change.longest_trip)
    if waited >= patience and joiners:
        _turn_away(state, joiners, now)
    elif waited >= state.timing.flush_timeout and late:
        for member in late:
            here.left_out[member.session] = "did not answer a view change"
        attempt.begin(state, now)
    elif waited >= state.timing.flush_timeout and change.awaited:
        _step_aside(state, now)


def _step_aside(state: State, now: float) -> None:
    """Go on alone: something of the cut is missing here, and nobody has it to give.

    Where few keep copies, those may be gone.  The others go on without this process, and it comes back.
    """
    here = state.here
    here.gone.update(set(here.view.sessions) - {state.me.session})
    here.lacks_since = None
    attempt.begin(state, now)


def drop_replaced(state: State, member: MemberInfo, now: float) -> None:
    """Stop waiting for one that joins if another process asks from its address: it is no more."""
    joiners = () if state.change is None else state.change.joiners
    gone = [j for j in joiners if j.address == member.address and j.session != member.session]
    if gone:
        _turn_away(state, gone, now)


def _turn_away(state: State, joiners: list[MemberInfo], now: float) -> None:
    """Begin anew without those who join and do not answer."""
    if state.change is not None:
        state.lobby.rest(now - state.change.since, state.change.joined, now)
    for member in joiners:
        state.lobby.turn_away(member, now)
    attempt.begin(state, now)
