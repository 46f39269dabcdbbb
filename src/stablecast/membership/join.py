"""Getting into a view: asking contacts, being let in, or beginning alone; ``admit`` has the other side.

A process without a view asks its contacts again and again, and whomever they name.  A leader that lets it in
sends it an ADMISSION, or has one of its members send it.  It accepts that at once, since it has nothing to
fetch; several leaders may let it in, and the last one that was accepted counts.  The view begins with
INSTALL, or with the first frame in it (``install``).
"""

from __future__ import annotations

from stablecast.membership import attempt, moves
from stablecast.membership.actions import TrustSessions
from stablecast.membership.coming import after_admission
from stablecast.membership.messages import Admission, Redirect, Refuse, Synced, Trial, TrialPassed
from stablecast.membership.next_view import comes_back, is_later
from stablecast.membership.place import Accepted, Search
from stablecast.membership.state import Peer, State
from stablecast.membership.view import Address

SLOWLY = 5
"""A process that is to be let in asks only every so many repetitions."""


def begin_alone(state: State, reason: str, now: float, *, main: bool) -> None:
    """Make a view of this process alone, and let in who has asked meanwhile."""
    moves.begin_alone(state, reason, now, main=main)
    attempt.consider(state, now)


def met(state: State, address: Address, *, is_answer: bool) -> None:
    """Ask a contact that can now be spoken to.

    Who answers from an address that was not asked, as a host with several may do, is asked there.
    """
    search = state.search
    if search is not None and (address in search.contacts or (is_answer and search.add(address))):
        moves.ask_contact(state, address)


def on_admission(state: State, frame: Admission, _sender: Peer, now: float) -> None:
    """Accept the view that it lets this process into."""
    search, coming = state.seeking, after_admission(frame)
    mine = frame.view.member(state.me.session)
    if coming is None or mine is None or is_later(state.me, mine):
        return
    if frame.view.epoch <= state.past.last_epoch or not _may_switch_to(state, frame, search, now):
        return
    if search.accepted is None or search.accepted.coming.proposal != frame.proposal:
        search.accepted, search.accepted_at = Accepted(coming, has_cut=True), now
        search.deadline = max(search.deadline, now + state.timing.join_timeout)
        state.out.append(TrustSessions(frozenset(frame.view.sessions)))
    state.send(Synced(frame.proposal), Peer(frame.proposal[1], frame.leader))


def _may_switch_to(state: State, frame: Admission, search: Search, now: float) -> bool:
    """Stay with what was accepted, but for a larger proposal or after a while."""
    if search.accepted is None or frame.proposal >= search.accepted.coming.proposal:
        return True
    return now >= search.accepted_at + state.timing.joiner_timeout


def on_trial(state: State, frame: Trial, sender: Peer, now: float) -> None:
    """Answer in a datagram of the same size, and give the leader time to let this process in."""
    search = state.seeking
    if not search.is_tried:
        search.is_tried = True
        search.deadline = max(search.deadline, now + state.timing.join_timeout)
    if frame.sponsor:
        state.out.append(TrustSessions(frozenset({frame.sponsor})))
    state.send(TrialPassed(frame.stamp), sender)


def on_redirect(state: State, frame: Redirect, _sender: Peer, _now: float) -> None:
    """Ask the process that was named, too."""
    search, contact = state.seeking, (frame.host, frame.port)
    if contact != state.me.address and search.add(contact):
        moves.ask_contact(state, contact)


def on_refuse(state: State, frame: Refuse, _sender: Peer, now: float) -> None:
    """Give up, or begin alone if this process was in a view before; not while another view lets it in."""
    search = state.seeking
    if search.accepted is not None:
        return
    if search.is_again:
        state.distrust_until = now + state.timing.distrust
        begin_alone(state, f"refused: {frame.reason}", now, main=False)
    else:
        moves.fail_to_join(state, search, f"refused: {frame.reason}")


def repeat(state: State, now: float) -> None:
    """Ask again, begin alone, or give up."""
    search = state.search
    if search is None:
        return
    if now >= search.deadline:
        _end_search(state, search, now)
    elif search.accepted is None and _may_begin_alone(state, search, now):
        begin_alone(state, "nobody else was there", now, main=True)
    elif search.accepted is None or state.timers.ticks % SLOWLY == 0:
        moves.ask_contacts(state, search)


def _may_begin_alone(state: State, search: Search, now: float) -> bool:
    """Tell whether this process is a contact itself, and those before it had the time to begin."""
    if search.is_again or search.is_tried or state.me.address not in search.given:
        return False
    turns = 1 + search.given.index(state.me.address)
    patience = min(turns * state.timing.bootstrap_after, 0.9 * state.timing.join_timeout)
    return now >= search.since + patience


def _end_search(state: State, search: Search, now: float) -> None:
    agreed = None if search.accepted is None else search.accepted.coming.view
    mine = None if agreed is None else agreed.member(state.me.session)
    if mine is not None:  # that view may begin, with this process under the incarnation that it accepted
        state.me = comes_back(state.me, mine)
    if search.is_again:
        begin_alone(state, "the view to merge into did not answer", now, main=False)
    else:
        moves.fail_to_join(state, search, f"no answer within {state.timing.join_timeout:g} s")
