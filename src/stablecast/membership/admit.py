"""Letting processes in: what a member does with those who ask.

A member that does not lead says who does.  The leader lets in who has passed a trial: ``lobby`` has who
waits, and ``attempt`` takes them into the next view.
"""

from __future__ import annotations

from stablecast.membership import attempt, lead
from stablecast.membership.identity import difference
from stablecast.membership.lobby import Absence
from stablecast.membership.messages import Install, Join, Redirect, Refuse, Trial, TrialPassed
from stablecast.membership.next_view import is_later
from stablecast.membership.place import InView
from stablecast.membership.state import Peer, State
from stablecast.membership.view import Address

TRIALS_FOR = 0.8
"""Share of the time for joining in which no trial was answered, and after which there is no hope."""

SPONSORED_FROM = 64
"""Members of a view from which on they share the work of telling it to newcomers."""

LONGEST_TRIP = 2.0
"""Seconds for one's way that a leader believes at most."""

NOT_RECEIVED = (
    "this group's datagrams of full size do not get to {}:{} and back (accepted: a network that carries them,"
    " or a smaller 'largest' at every member)"
)


def on_join(state: State, frame: Join, sender: Peer, now: float) -> None:
    """Try the sender out, as leader; say who leads otherwise; refuse it if it does not fit."""
    if frame.member.session != sender.session:
        return
    if frame.protocol != state.protocol:
        state.send(Refuse(difference(state.protocol, frame.protocol)), sender)
        return
    here = state.here
    _notice_return(here, frame, sender)
    if here.merge_into is not None:
        _redirect(state, here.merge_into, sender)
    elif not state.leads:
        _redirect(state, state.leader.address, sender)
    elif here.view.rank_of(sender.session) >= 0 and sender.session not in here.gone:
        state.send(Install(state.past.installed_by), sender)
        return
    else:
        _try_out(state, frame, sender, now)
    attempt.consider(state, now)


def on_join_outside(state: State, frame: Join, sender: Peer, now: float) -> None:
    """Note that the sender asks; while this process goes to another view, send it there too."""
    if frame.member.session != sender.session:
        return
    state.lobby.add(frame, now)
    if state.search is not None and state.search.is_again:
        _redirect(state, state.search.contacts[0], sender)


def _notice_return(here: InView, frame: Join, sender: Peer) -> None:
    """Conclude who is gone: a member that asks as a later one, or whose address another process has."""
    member, there = here.view.member(sender.session), here.view.at.get(sender.address)
    if member is not None and is_later(frame.member, member):
        here.gone.add(member.session)
    if there is not None and there.session != sender.session and there.address == frame.member.address:
        here.gone.add(there.session)


def _redirect(state: State, to: Address, sender: Peer) -> None:
    if to not in (sender.address, state.me.address):
        state.send(Redirect(*to), sender)


def _try_out(state: State, frame: Join, sender: Peer, now: float) -> None:
    """Let one that asks show that it receives datagrams of full size: members are to wait for no other.

    It asks again and again, so this is repeated.
    """
    if sender.address == frame.member.address:
        lead.drop_replaced(state, frame.member, now)
    absence = state.lobby.absence_of(frame.member, now)
    if absence is not None:
        if absence.until - now > state.timing.join_timeout:
            state.send(Refuse(_too_often(absence, now)), sender)
        return
    visitor = state.lobby.add(frame, now)
    if visitor.ready is not None:
        return
    if now - visitor.first < TRIALS_FOR * state.timing.join_timeout:
        visitor.sponsor = visitor.sponsor or _sponsor(state)
        state.send(Trial(_microseconds(now), sponsor=visitor.sponsor), sender)
    else:
        state.lobby.drop(sender.session)
        state.send(Refuse(NOT_RECEIVED.format(*sender.address)), sender)


def _sponsor(state: State) -> int:
    """Return who tells a newcomer the whole view: in a large group not always the leader.

    The newcomer trusts the leader, and so whom it names here.
    """
    view = state.here.view
    if len(view.members) < SPONSORED_FROM:
        return 0
    chosen = view.sessions[int(state.rng.random() * len(view.members))]
    return 0 if chosen == state.me.session else chosen


def on_trial_passed(state: State, frame: TrialPassed, sender: Peer, now: float) -> None:
    """Note that the sender can be let in."""
    trip = (_microseconds(now) - frame.stamp) / 1e6
    state.lobby.passed(sender.session, min(max(trip, 0.0), LONGEST_TRIP), now)
    attempt.consider(state, now)


def _too_often(absence: Absence, now: float) -> str:
    return (
        f"it was to be let in and did not answer, {absence.times} times; it may try again in"
        f" {absence.until - now:.0f} s"
    )


def _microseconds(now: float) -> int:
    return int(now * 1e6)
