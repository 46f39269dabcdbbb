"""Agreement on views: the machine of one process, without clock, socket or randomness of its own.

    machine = Agreement(me, group="orders", protocol="gsgc", rng=rng, numbers=engine.numbers)
    actions = machine.join([("127.0.0.1", 7001)], now)
    actions = machine.receive(frame, session, address, now)

Every step takes the time in seconds and returns what is to be done, in that order.

Promise
    Members that go from a view to the same next one have the same parts of the first, and all that they sent
    themselves in it.  A view's id always stands for the same members and numbers.  Epochs rise at each
    process.  Processes that can reach each other, and stay up, end in one view.
Not promised
    That there is only one view at a time: each part of a group that is split goes on, and they merge later.
How
    ``state`` and ``place`` are what a process knows; ``transitions`` is the table of what each frame does in
    each phase.  ``follow`` says why a change is safe, ``attempt`` and ``lead`` drive it, ``install`` ends it;
    ``join``, ``admit``, ``merge`` and ``leave`` are how processes and views find and leave each other;
    ``receive`` is how a member changes what it receives.
    ``docs/live-internals.md`` has the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stablecast.errors import InvalidInput
from stablecast.membership import (
    attempt,
    follow,
    install,
    join,
    lead,
    leave,
    merge,
    moves,
    passing,
    receive,
    transitions,
)
from stablecast.membership.actions import Action, Numbers, Randomness, Timing
from stablecast.membership.lobby import Lobby
from stablecast.membership.messages import MembershipFrame, Proposal
from stablecast.membership.place import Phase
from stablecast.membership.state import Peer, State
from stablecast.membership.view import Address, MemberInfo, Patterns, View

IN_WORDS = {
    Phase.NEW: "new",
    Phase.SEEKING: "joining",
    Phase.MEMBER: "member",
    Phase.FOLLOWING: "changing view",
    Phase.LEADING: "changing view",
    Phase.DEPARTING: "leaving",
    Phase.DONE: "done",
}


class Agreement:
    """One process: joins, follows, leads, leaves and merges.

    Parameters
    ----------
    me
        This process; its incarnation is the least that it may be given.
    group, protocol
        What a view is of; members of other protocols are not let in.
    rng
        For view ids and for waits that should not coincide.
    numbers
        Asked right after ``StopSending``: the last unbroken part of each member of the view by rank, all own
        ones among them, and own messages.  They stay as they are until the next ``GetUpTo`` or ``Begin``.
    timing
        How long things take.
    mark_id
        Puts into a drawn id of a view what all who are in it are to know.
    """

    def __init__(
        self,
        me: MemberInfo,
        *,
        group: str,
        protocol: str,
        rng: Randomness,
        numbers: Numbers,
        timing: Timing | None = None,
        mark_id: Callable[[int], int] | None = None,
    ) -> None:
        timing = timing or Timing()
        lobby = Lobby(patience=2 * timing.joiner_timeout)
        self._state = State(me, group, protocol, timing, rng, numbers, lobby, mark_id)
        self._next_at: float | None = None
        self.is_blocked = False
        """Whether nothing may be sent: the view is about to end."""

    @property
    def view(self) -> View | None:
        """The present view, None if there is none."""
        return self._state.view

    @property
    def me(self) -> MemberInfo:
        """What this process is in its view, or asks to be in the next one."""
        return self._state.me

    @property
    def leads(self) -> bool:
        """Whether this process is the first of its view that it does not believe gone."""
        return self._state.leads

    @property
    def state(self) -> str:
        """What this process is doing, for people."""
        phase = self._state.phase
        is_leaving = self._state.leave_by is not None and phase is not Phase.DONE
        return "leaving" if is_leaving else IN_WORDS[phase]

    @property
    def coming_view(self) -> View | None:
        """The view that this process has agreed to and that may begin at any moment, if there is one."""
        accepted = self._state.accepted
        return accepted.coming.view if accepted is not None and accepted.has_cut else None

    def ended_by(self, view_id: int) -> Proposal | None:
        """Return by which proposal an earlier view ended here, None if it is not known (any more)."""
        return self._state.past.ended.get(view_id)

    def start_alone(self, now: float) -> list[Action]:
        """Begin a view of this process alone, on the main line; it has to be new."""
        if self._state.phase is Phase.NEW:
            join.begin_alone(self._state, "started", now, main=True)
        return self._done(now)

    def begin_in(self, view: View, contacts: Sequence[Address], now: float) -> list[Action]:
        """Begin in a view that its members, all of them new, are given at once; this process is one of them.

        Nobody asks the others: whoever calls this gives all of them the same view.
        """
        if view.rank_of(self._state.me.session) < 0:
            raise InvalidInput(f"process '{self._state.me.name}' is not in the view that it is to begin in")
        if self._state.phase is Phase.NEW:
            self._state.seeds = tuple(dict.fromkeys(contacts))
            moves.begin_in(self._state, view, now)
        return self._done(now)

    def join(self, contacts: Sequence[Address], now: float) -> list[Action]:
        """Look for a view through these addresses; this process has to be new."""
        if not contacts:
            raise InvalidInput("no contact to join through: accepted is at least one (host, port)")
        if self._state.phase is Phase.NEW:
            self._state.seeds = tuple(dict.fromkeys(contacts))
            moves.seek(self._state, self._state.seeds, now, is_again=False)
        return self._done(now)

    def leave(self, now: float) -> list[Action]:
        """Leave the group; ``Left`` follows, at the latest when nobody has answered for long."""
        leave.leave(self._state, now)
        return self._done(now)

    def receive_from(self, receives: Patterns, now: float) -> list[Action]:
        """Receive from other senders, from a next view on."""
        receive.receive_from(self._state, receives, now)
        return self._done(now)

    @property
    def receives_as_wanted(self) -> bool:
        """Whether this process is in a view that says what it wants to receive."""
        return self._state.in_view is not None and not self._state.is_to_receive_others

    def leave_out(self, session: int, reason: str, now: float) -> list[Action]:
        """Go on without a member that lives; the leader does, or the next one if it is the leader itself."""
        leave.leave_out(self._state, session, reason, now)
        return self._done(now)

    def suspect(self, sessions: frozenset[int], now: float) -> list[Action]:
        """Take the present set of members that were not heard of for long."""
        leave.suspect(self._state, sessions, now)
        return self._done(now)

    def receive(self, frame: MembershipFrame, session: int, address: Address, now: float) -> list[Action]:
        """Take in a frame from a trusted session, not this one's own; what is out of place is ignored."""
        transitions.take(self._state, frame, Peer(session, address), now)
        return self._done(now)

    def have_cut(self, now: float) -> list[Action]:
        """Take note that everything up to the last ``GetUpTo`` is here."""
        install.have_cut(self._state, now)
        return self._done(now)

    def saw_frame_of(self, view_id: int, now: float) -> list[Action]:
        """Take note that a frame of this view has come: if it is the next one here, it has begun."""
        install.if_begun(self._state, view_id, now)
        return self._done(now)

    def met(self, address: Address, now: float, *, is_answer: bool = False) -> list[Action]:
        """Take note that a process at this address can now be spoken to, since it answered or asked."""
        merge.met(self._state, address, now)
        join.met(self._state, address, is_answer=is_answer)
        return self._done(now)

    def next_timer(self) -> float | None:
        """Return when ``handle_timer`` is to be called, None if not at all."""
        return self._next_at

    def _due_at(self) -> float | None:
        state = self._state
        if state.phase is Phase.DONE:
            return None
        timers = state.timers
        at = None if state.in_view is None else state.in_view.probe_at
        if timers.tick_at is not None and (at is None or timers.tick_at < at):
            at = timers.tick_at
        if timers.gather_at is not None and (at is None or timers.gather_at < at):
            at = timers.gather_at
        due = passing.due_at(state)
        return due if due is not None and (at is None or due < at) else at

    def handle_timer(self, now: float) -> list[Action]:
        """Do what is due."""
        state, timers = self._state, self._state.timers
        if timers.tick_at is not None and now >= timers.tick_at:
            timers.tick_at = None  # _done sets the next one
            timers.ticks += 1
            for repeat in (lead.repeat, join.repeat, follow.repeat, leave.repeat, receive.repeat):
                repeat(state, now)
        passing.tell_due(state, now)
        attempt.consider(state, now)
        merge.probe(state, now)
        return self._done(now)

    def _done(self, now: float) -> list[Action]:
        """Set the timers, and hand over what there is to do.

        The ticks go on while there is something to repeat or to wait for.
        """
        state, timers = self._state, self._state.timers
        gathered_at = state.lobby.gathered_at(state.timing.gather)
        timers.gather_at = gathered_at if gathered_at is not None and gathered_at > now else None
        is_active = (
            state.is_stopped
            or state.search is not None
            or state.announcement is not None
            or state.leave_by is not None
            or state.is_to_receive_others
            or gathered_at is not None
        )
        if not is_active:
            timers.tick_at = None
        elif timers.tick_at is None:
            timers.tick_at = now + state.timing.repeat_every
        if state.in_view is not None:
            state.in_view.is_new = False
        self._next_at, self.is_blocked = self._due_at(), state.is_stopped
        out, state.out = state.out, []
        return out
