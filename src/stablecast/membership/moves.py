"""How a process gets from one place to another; nothing else sets ``State.place``.

    NEW ──► SEEKING ──► in a view ──► the next view, or SEEKING if the view dissolves
     └─────────────────►    │
                            └──► DEPARTING ──► DONE

A process that leaves is done from anywhere, and so is one that nobody lets in.  These functions only go there
and say so; whoever calls them lets the leader's side look whether there is something to do in the new view
(``attempt.consider``).
"""

from __future__ import annotations

from collections.abc import Sequence

from stablecast.membership.actions import Begin, Dissolved, JoinFailed, Left, TrustSessions
from stablecast.membership.change import Change
from stablecast.membership.coming import Coming
from stablecast.membership.cuts import Numbers
from stablecast.membership.messages import Join, Proposal
from stablecast.membership.next_view import comes_back, view_alone
from stablecast.membership.place import InView, Phase, Search
from stablecast.membership.roster import shared
from stablecast.membership.state import State
from stablecast.membership.view import Address, View


def install(state: State, coming: Coming, now: float) -> None:
    """Go from the view, if any, to what was accepted and whose cut is here."""
    old = state.view
    if old is not None:
        state.past.remember_end(old, coming.proposal)
        state.past.roll = old.members
    if coming.view is not None:
        state.past.roll = coming.view.members
        _go_to_view(state, old, coming, coming.view, now)
    elif coming.contact is not None:
        _dissolve(state, old, coming, coming.contact, now)
    for address in reversed(coming.places):
        state.outlook.remember(address, now)
    here = set() if coming.view is None else _identities(coming.view)
    for member in () if old is None else old.members:
        if member.identity not in here and member.session not in coming.left:
            state.outlook.remember(member.address, now)


def _identities(view: View) -> set[tuple[int, int]]:
    return {member.identity for member in view.members}


def _go_to_view(state: State, old: View | None, coming: Coming, view: View, now: float) -> None:
    view = shared(view)
    _enter(state, view, coming.numbers, coming.proposal, now)
    before, after = set() if old is None else _identities(old), _identities(view)
    away = () if old is None else tuple(member for member in old.members if member.identity not in after)
    gone = tuple(member for member in away if member.session not in coming.left)
    left = tuple(member for member in away if member.session in coming.left)
    joined = tuple(member for member in view.members if member.identity not in before)
    leader = coming.proposal[1]
    led = leader == state.me.session or view.rank_of(leader) < 0
    state.out.append(Begin(view, coming.numbers, gone, joined, left, coming.reason, led))
    for member in view.members:
        state.lobby.drop(member.session)
    for member in joined:
        state.lobby.forgive(member)
    _look_around(state, now)


def _dissolve(state: State, old: View | None, coming: Coming, contact: Address, now: float) -> None:
    _note_proposal(state, coming.proposal)
    left = () if old is None else tuple(member for member in old.members if member.session in coming.left)
    state.out.append(Dissolved(contact, left))
    state.lobby.clear()
    state.me = comes_back(state.me, state.me)
    seek(state, tuple(dict.fromkeys((contact, *state.seeds))), now, is_again=True)


def begin_alone(state: State, reason: str, now: float, *, main: bool) -> None:
    """Make a view of this process alone, on the main line or not; who has asked meanwhile is let in next."""
    epoch = max(state.past.top, state.past.last_epoch) + 1
    view_id = state.new_view_id()
    view = view_alone(view_id, epoch, state.me, group=state.group, main=main)
    numbers = ((0, 0),)
    _enter(state, view, numbers, (epoch, state.me.session), now)
    state.out.append(Begin(view, numbers, (), view.members, (), reason, True))
    _look_around(state, now)


def begin_in(state: State, view: View, now: float) -> None:
    """Begin in a view that all its members are given; its first member is who led to it."""
    numbers = ((0, 0),) * len(view.members)
    leader = view.members[0].session
    _enter(state, view, numbers, (view.epoch, leader), now)
    state.out.append(TrustSessions(frozenset(view.sessions)))
    state.out.append(Begin(view, numbers, (), view.members, (), "begun together", leader == state.me.session))
    _look_around(state, now)


def _enter(state: State, view: View, numbers: Numbers, proposal: Proposal, now: float) -> None:
    state.place = InView(view, numbers, began_at=now, retry_at=now)
    _note_proposal(state, proposal)
    state.past.last_epoch = view.epoch
    state.past.top = max(state.past.top, view.epoch)
    state.me = view.members[view.rank_of(state.me.session)]


def _note_proposal(state: State, proposal: Proposal) -> None:
    state.past.installed_by = proposal
    state.past.top = max(state.past.top, proposal[0])


def _look_around(state: State, now: float) -> None:
    """Set when to look for other views: a leader does so soon."""
    state.outlook.know(state.seeds)
    state.here.probe_at = now + (state.timing.repeat_every if state.leads else probe_wait(state))


def probe_wait(state: State) -> float:
    """Return how long it is to the next look: the leader looks often, the others together about as often."""
    wait = state.timing.probe_every * (0.75 + state.rng.random() / 2)
    others = 0 if state.leads else len(state.here.view.members)
    return wait * max(10, others) if others else wait


def seek(state: State, contacts: Sequence[Address], now: float, *, is_again: bool) -> None:
    """Look for a view through these addresses."""
    patience = state.timing.join_timeout * (1 + (state.rng.random() if is_again else 0))
    state.place = search = Search(list(contacts), now, now + patience, is_again, tuple(contacts))
    ask_contacts(state, search)


def ask_contacts(state: State, search: Search) -> None:
    """Ask all contacts to be let in."""
    for contact in search.contacts:
        ask_contact(state, contact)


def ask_contact(state: State, contact: Address) -> None:
    """Ask one contact to be let in."""
    state.send_to_address(Join(state.me, state.protocol, state.past.last_epoch), contact)


def depart(state: State, change: Change) -> None:
    """Leave a view that goes on without this process, which has led the change."""
    state.past.remember_end(change.old, change.proposal)
    _note_proposal(state, change.proposal)
    state.place = Phase.DEPARTING


def finish(state: State, reason: str) -> None:
    """Be done: this process has left."""
    _end(state)
    state.out.append(Left(reason))


def fail_to_join(state: State, search: Search, reason: str) -> None:
    """Be done: this process was not let in."""
    _end(state)
    state.out.append(JoinFailed(tuple(search.contacts), reason))


def _end(state: State) -> None:
    state.announcement = None
    state.place = Phase.DONE
