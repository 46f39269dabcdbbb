"""A member that changes what it receives while it is in a group.

What the rules demand
    "Timestamp Acknowledgments for Determining Message Stability", section 6, makes sender and receiver groups
    safe by connections between pairs.  A sender counts a receiver only once the receiver has confirmed that
    it counts the sender, and only for messages above what it acknowledged before.  Otherwise an
    acknowledgement that speaks of other senders would be taken for one of the new sender's (Figure 4).
How it is done here
    The member asks its leader (RECEIVE), which changes the view: the next one has the same members, and says
    what this one receives.  Who sends counts the receiver from the next view's first message on.  By then the
    receiver has answered the SYNC that names the view, so it counts the sender: the confirmation.  What was
    acknowledged before names the view before, and is ignored in the next one: nothing that was said without
    the sender speaks of a message that is sent with the receiver.  Disconnecting is the same, with the cut
    of the view in between: the receiver has all that was sent while it was counted.
What it costs
    A view change.  In return all members learn who receives what, and not a pair of them alone.
Repetition
    The member asks again until a view says what it wants, so a request may be lost, or come too late for the
    view that is about to begin.
"""

from __future__ import annotations

import msgspec

from stablecast.membership import attempt
from stablecast.membership.messages import Receive
from stablecast.membership.place import Phase
from stablecast.membership.state import Peer, State
from stablecast.membership.view import Patterns


def receive_from(state: State, receives: Patterns, now: float) -> None:
    """Receive from other senders, from the next view on."""
    if state.phase is Phase.DONE:
        return
    state.receives = receives
    if state.in_view is None:
        state.me = msgspec.structs.replace(state.me, receives=receives)
    _ask(state, now)


def _ask(state: State, now: float) -> None:
    here = state.in_view
    if here is None or state.receives is None or not state.is_to_receive_others:
        return
    if state.leads:
        here.receives[state.me.session] = state.receives
        attempt.consider(state, now)
    else:
        state.send(Receive(here.view.id, state.receives), state.leader)


def repeat(state: State, now: float) -> None:
    """Ask again for a view that says what this process wants to receive."""
    _ask(state, now)


def on_receive(state: State, frame: Receive, sender: Peer, now: float) -> None:
    """Change to a view, as leader, that says what the sender wants to receive."""
    here = state.here
    if frame.view == here.view.id and here.view.rank_of(sender.session) >= 0:
        here.receives[sender.session] = frame.receives
        attempt.consider(state, now)
