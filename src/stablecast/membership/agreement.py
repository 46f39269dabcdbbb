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
    ``following`` says why a change is safe; ``leading`` who drives it; ``joining`` and ``merging`` how
    processes and views find each other.  ``docs/live-internals.md`` has the messages.
"""

from __future__ import annotations

from stablecast.membership.actions import Action
from stablecast.membership.joining import Newcomer
from stablecast.membership.merging import describe, fit_together, precedence
from stablecast.membership.messages import (
    Elsewhere,
    Farewell,
    Flushed,
    Install,
    Installed,
    Join,
    Leave,
    MembershipFrame,
    Prepare,
    Probe,
    Promised,
    Redirect,
    Refuse,
    Sync,
    Synced,
    Trial,
    TrialPassed,
)
from stablecast.membership.standing import NOTHING, Peer
from stablecast.membership.view import Address, View


class Agreement(Newcomer):
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
        Asked right after ``StopSending``: the last unbroken part of each member of the view by rank, own
        parts and own messages.  They stay as they are until the next ``GetUpTo`` or ``Begin``.
    timing
        How long things take.
    """

    _ticks = 0
    _tick_at: float | None = None
    _gather_at: float | None = None
    _probe_at = 0.0
    _leave_by: float | None = None

    @property
    def state(self) -> str:
        """What this process is doing, for people."""
        if self._is_finished:
            return "done"
        if self._leave_by is not None:
            return "leaving"
        if self.view is None:
            return "joining" if self._search is not None else "new"
        return "changing view" if self._stopped else "member"

    def suspect(self, sessions: frozenset[int], now: float) -> list[Action]:
        """Take the present set of members that were not heard of for long."""
        if self.view is not None:
            others = frozenset(self.view.sessions) - {self.me.session}
            self._suspected = sessions & others
            if self._change is not None and self._change.takes(self._suspected):
                self._restart(now)
            self._consider(now)
        return self._done(now)

    def leave_out(self, session: int, reason: str, now: float) -> list[Action]:
        """Go on without a member that lives; the leader does, or the next one if it is the leader itself."""
        leader = self._leader()
        is_other = self.view is not None and self.view.rank_of(session) >= 0 and session != self.me.session
        if is_other and leader is not None and leader.session in (self.me.session, session):
            self._left_out[session] = reason
            if self._change is not None and self._change.takes([session]):
                self._restart(now)
            self._consider(now)
        return self._done(now)

    def leave(self, now: float) -> list[Action]:
        """Leave the group; ``Left`` follows, at the latest when nobody has answered for long."""
        if self._is_finished or self._leave_by is not None:
            return self._done(now)
        self._leave_by = now + self.timing.join_timeout
        if self.view is None:
            self._search = None
            self._finish("left")
        else:
            self._ask_to_leave(now)
        return self._done(now)

    def have_cut(self, now: float) -> list[Action]:
        """Take note that everything up to the last ``GetUpTo`` is here."""
        self._fetched(now)
        return self._done(now)

    def saw_frame_of(self, view_id: int, now: float) -> list[Action]:
        """Take note that a frame of this view has come: if it is the next one here, it has begun."""
        self._install_if_begun(view_id, now)
        return self._done(now)

    def receive(self, frame: MembershipFrame, session: int, address: Address, now: float) -> list[Action]:
        """Take in a frame from a trusted session; what is out of place is ignored."""
        if not self._is_finished:
            self._dispatch(frame, Peer(session, address), now)
        return self._done(now)

    def _dispatch(self, frame: MembershipFrame, sender: Peer, now: float) -> None:
        match frame:
            case Prepare():
                self._on_prepare(frame, sender, now)
            case Sync(old=0):
                self._on_sync_for_joiner(frame, sender, now)
            case Sync():
                self._on_sync(frame, sender, now)
            case Install():
                self._on_install(frame, sender, now)
            case Flushed():
                self._on_flushed(frame, sender, now)
            case Synced():
                self._on_synced(frame, sender, now)
            case Installed():
                self._on_installed(frame, sender, now)
            case Promised():
                self._on_promised(frame, sender, now)
            case Elsewhere():
                self._on_elsewhere(frame, sender, now)
            case Join():
                self._on_join(frame, sender, now)
            case Redirect():
                self._on_redirect(frame)
            case Refuse():
                self._on_refuse(frame, now)
            case Trial():
                self._on_trial(frame, sender, now)
            case TrialPassed():
                self._on_trial_passed(frame, sender, now)
            case Leave():
                self._on_leave(frame, sender, now)
            case Farewell():
                self._on_farewell(frame, sender, now)
            case Probe():
                self._on_probe(frame, sender, now)
            case _:
                pass

    def next_timer(self) -> float | None:
        """Return when ``handle_timer`` is to be called, None if not at all."""
        if self._is_finished:
            return None
        times = [] if self._tick_at is None else [self._tick_at]
        if self._gather_at is not None:
            times.append(self._gather_at)
        if self.view is not None:
            times.append(self._probe_at)
        return min(times, default=None)

    def handle_timer(self, now: float) -> list[Action]:
        """Do what is due."""
        if self._is_finished:
            return self._done(now)
        if self._tick_at is not None and now >= self._tick_at:
            self._tick_at = None  # _done sets the next one
            self._ticks += 1
            self._repeat_leading(self._ticks, now)
            self._repeat_joining(self._ticks, now)
            self._repeat_following(self._ticks, now)
            self._repeat_leaving(now)
        self._consider(now)
        if self.view is not None and now >= self._probe_at:
            self._probe(self.view, now)
        return self._done(now)

    def _done(self, now: float) -> list[Action]:
        """Set the timers: the ticks go on while there is something to repeat or to wait for."""
        first = self._lobby.ready_since()
        gathered_at = now if first is None else first + self.timing.gather
        self._gather_at = gathered_at if gathered_at > now else None
        is_active = (
            self._stopped
            or self._search is not None
            or self._announcement is not None
            or self._leave_by is not None
            or first is not None
        )
        if not is_active:
            self._tick_at = None
        elif self._tick_at is None:
            self._tick_at = now + self.timing.repeat_every
        return super()._done(now)

    def _repeat_following(self, ticks: int, now: float) -> None:
        """Ask after a view change that does not come to an end."""
        if not self._stopped or self._change is not None or self.view is None or ticks % 10:
            return
        quiet = now - self._news
        leader = self.view.member(self._promised[1])
        if quiet > self.timing.stall / 2 and leader is not None and leader.session != self.me.session:
            is_synced = self._has_cut and self._pending is not None
            if is_synced and self._pending is not None and self._pending.proposal == self._promised:
                self._send(Synced(self._promised), leader)
            elif self._flushed is not None:
                self._send(self._flushed, leader)
        first = self._leader()
        if quiet > self.timing.stall and first is not None and first.session != self.me.session:
            self._send(Promised(NOTHING, self._promised), first)

    def _ask_to_leave(self, now: float) -> None:
        leader = self._leader()
        if self.view is None or leader is None:
            return
        self._leavers.add(self.me.session)
        if leader.session == self.me.session:
            self._consider(now)
        else:
            self._send(Leave(self.view.id), leader)

    def _repeat_leaving(self, now: float) -> None:
        if self._leave_by is None or self._is_finished:
            return
        if now >= self._leave_by:
            self._finish("nobody answered")
        else:
            self._ask_to_leave(now)

    def _on_farewell(self, frame: Farewell, sender: Peer, now: float) -> None:
        """Be done, if that was wanted; otherwise go on without those who went on without this process."""
        view = self.view
        if view is None or frame.view != view.id or view.rank_of(sender.session) < 0:
            return
        if self._leave_by is not None:
            self._finish("left")
            return
        moved = {sender.session, *frame.stay} & set(view.sessions) - {self.me.session}
        self._gone |= moved
        if self._change is not None and self._change.takes(moved):
            self._restart(now)
        self._consider(now)

    def _began(self, now: float) -> None:
        self._outlook.know(self._seeds)
        self._probe_at = now + (self.timing.repeat_every if self.leads else self._probe_wait())

    def _after_install(self, old: View | None, sync: Sync, now: float) -> None:
        super()._after_install(old, sync, now)
        for address in reversed(sync.places):
            self._outlook.remember(address, now)
        here = () if sync.view is None else sync.view.members
        for member in () if old is None else old.members:
            if member not in here and member.session not in sync.left:
                self._outlook.remember(member.address, now)
        self._consider(now)

    def _probe(self, view: View, now: float) -> None:
        """Look whether there is another view of this group, and let it know of this one.

        The leader does it often; the others together about as often, for each may know other places.
        """
        self._probe_at = now + self._probe_wait()
        if self._leave_by is None:
            for address in self._outlook.next_places(view, now):
                self._send_to_address(self._description(view), address)

    def _probe_wait(self) -> float:
        wait = self.timing.probe_every * (0.75 + self._rng.random() / 2)
        others = 0 if self.view is None or self.leads else len(self.view.members)
        return wait * max(10, others) if others else wait

    def _description(self, view: View, *, answer: bool = False) -> Probe:
        leader = self._leader() or self.me
        return describe(view, leader.address, group=self.group, protocol=self.protocol, answer=answer)

    def met(self, address: Address, now: float, *, is_answer: bool = False) -> list[Action]:
        """Take note that a process at this address can now be spoken to."""
        view = self.view
        if view is not None and address in self._outlook.places(view, now):
            self._send_to_address(self._description(view), address)
        return super().met(address, now, is_answer=is_answer)

    def _on_probe(self, frame: Probe, sender: Peer, now: float) -> None:
        """Answer; and dissolve into a better view, once it has answered a probe of this one."""
        self._install_if_begun(frame.view, now)
        view = self.view
        if view is None or frame.view == view.id or frame.protocol != self.protocol:
            return
        if not frame.answer:
            self._send(self._description(view, answer=True), sender)
        if view.rank_of(sender.session) >= 0:
            if frame.epoch > view.epoch:
                self._gone.add(sender.session)
                self._consider(now)
            return
        other = (frame.leader_host, frame.leader_port)
        is_stale = frame.view in self._ended or any(member.address == other for member in view.members)
        if is_stale or self._change is not None or self._leave_by is not None:
            return
        if self.leads:
            self._weigh(frame, view, other, sender, now)
        elif frame.answer:  # let that view's leader find the leader of this one
            self._send_to_address(self._description(view, answer=True), other)

    def _weigh(self, frame: Probe, view: View, other: Address, sender: Peer, now: float) -> None:
        own = self._description(view)
        if not fit_together(frame, own):
            return
        is_better = precedence(frame) > precedence(own)
        if is_better and frame.answer:
            if now >= self._distrust_until:
                self._merge_into = sender.address  # it lives; the leader that it names may not any more
                self._consider(now)
        elif is_better or (frame.answer and other != sender.address):
            self._send_to_address(own, other)
