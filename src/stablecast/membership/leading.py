"""The leader's side of a view change: when to begin one, what to ask, when it is done.

Any member may lead, at any time, and several at once: members follow the largest proposal, and one that is
refused waits for a while, longer each time, before it tries a larger one.  An attempt whose participants turn
out to be gone is given up for a new one; nothing of an attempt is ever changed once it was sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stablecast.membership.actions import Left, Numbers, Randomness, Timing
from stablecast.membership.capacity import who_fits, why_not
from stablecast.membership.change import Change, in_words, next_view
from stablecast.membership.following import Follower
from stablecast.membership.lobby import Lobby, Visitor
from stablecast.membership.merging import Outlook
from stablecast.membership.messages import (
    Elsewhere,
    Farewell,
    Flushed,
    Install,
    Installed,
    Leave,
    Promised,
    Proposal,
    Refuse,
    Synced,
)
from stablecast.membership.standing import NOTHING, Peer
from stablecast.membership.view import Address, MemberInfo, View

ANNOUNCE_FOR = 5.0
"""Seconds for which INSTALL is repeated; who lacks it then finds out by other means."""

LARGEST_BACKOFF = 5
"""How often the wait after a refusal doubles."""

TRIPS_OF_A_JOINER = 3
"""Round trips that a joiner has to answer at least."""


@dataclass(slots=True)
class Announcement:
    """An INSTALL that not all have confirmed."""

    proposal: Proposal
    waiting: dict[int, MemberInfo]
    until: float


class Leader(Follower):
    """What a member does that is the first of those who live."""

    def __init__(
        self,
        me: MemberInfo,
        *,
        group: str,
        protocol: str,
        rng: Randomness,
        numbers: Numbers,
        timing: Timing | None = None,
    ) -> None:
        super().__init__(me, group=group, protocol=protocol, rng=rng, numbers=numbers, timing=timing)
        self._change: Change | None = None
        self._announcement: Announcement | None = None
        self._lobby = Lobby(patience=2 * self.timing.joiner_timeout)
        self._left_out: dict[int, str] = {}
        self._leavers: set[int] = set()
        self._merge_into: Address | None = None
        self._asked_to_unblock = False
        self._refusals = 0
        self._retry_at = 0.0
        self._is_finished = False
        self._longest_trip = 0.0  # of those who join
        self._outlook = Outlook()

    def _consider(self, now: float) -> None:
        """Begin a change if there is a reason and it is for this process to lead it."""
        if self._change is not None or not self.leads or now < self._retry_at or self._is_finished:
            return
        if self._follows_another(now) or not self._has_reason(now):
            return
        self._begin(now)

    def _follows_another(self, now: float) -> bool:
        """Tell whether somebody else is at work on the end of this view, as far as one knows."""
        leader = self._promised[1]
        if not self._stopped or leader == self.me.session or self._is_out(leader):
            return False
        return now - self._news < self.timing.stall

    def _has_reason(self, now: float) -> bool:
        if self.view is None:
            return False
        if self._stopped or self._merge_into is not None or self._asked_to_unblock:
            return True
        if self._gathered(self.view, now):
            return True
        away = (*self._gone, *self._suspected, *self._left_out, *self._leavers)
        return any(self.view.rank_of(session) >= 0 for session in away)

    def _gathered(self, view: View, now: float) -> bool:
        """Tell whether somebody waits who fits, and has waited for others to come along."""
        waiting = self._admitted(self._who_remains(view), now)
        since = min((visitor.ready for visitor in waiting if visitor.ready is not None), default=None)
        return since is not None and now >= since + self.timing.gather

    def _begin(self, now: float) -> None:
        """Make a proposal that is larger than all before, and ask the others to stop."""
        view = self.view
        assert view is not None  # _consider has looked
        self._top = max(self._top, view.epoch) + 1
        stay = self._who_stays(view)
        self._change = change = Change(
            proposal=(self._top, self.me.session),
            old=view,
            survivors=tuple(self._who_remains(view)),
            leavers=tuple(member for member in stay if member.session in self._leavers),
            since=now,
            # Nobody but who comes along may be in a view that dissolves: all are told to have its cut.
            contact=self._merge_into if len(stay) == len(view.members) else None,
        )
        self._promise(change.proposal)
        if self._flushed is not None:
            change.flushed[self.me.session] = self._flushed
        self._ask_awaited()
        self._advance(now)

    def _who_stays(self, view: View) -> list[MemberInfo]:
        """Return the members that are not believed gone, those who want to leave among them."""
        return [m for m in view.members if m.session == self.me.session or not self._is_out(m.session)]

    def _who_remains(self, view: View) -> list[MemberInfo]:
        """Return the members that are to be in the next view."""
        return [member for member in self._who_stays(view) if member.session not in self._leavers]

    def _is_out(self, session: int) -> bool:
        return session in self._left_out or super()._is_out(session)

    def _restart(self, now: float) -> None:
        self._change = None
        self._begin(now)

    def _ask_awaited(self) -> None:
        change = self._change
        if change is not None:
            for member in change.awaited():
                self._ask(member)

    def _ask(self, member: MemberInfo) -> None:
        if self._change is not None and member.session != self.me.session:
            self._send(self._change.frame_for(member), member)

    def _advance(self, now: float) -> None:
        """Go to the next phase if all have answered."""
        change = self._change
        if change is None or change.awaited():
            return
        if change.sync is not None:
            self._complete(change, now)
        else:
            self._begin_sync(change, now)

    def _begin_sync(self, change: Change, now: float) -> None:
        visitors = () if change.contact is not None else self._admitted(change.survivors, now)
        if not change.survivors and not visitors:
            self._bid_farewell(change)
            self._finish("everyone left")
            return
        self._longest_trip = max((visitor.trip for visitor in visitors), default=0.0)
        epoch = max(change.proposal[0], *(visitor.epoch + 1 for visitor in visitors), 0)
        view = None
        joiners: tuple[MemberInfo, ...] = ()
        if change.contact is None:
            asking = [visitor.member for visitor in visitors]
            view = next_view(self._new_view_id(), epoch, change, asking, group=self.group)
            joiners = view.members[len(change.survivors) :]
        for member in change.excluded:
            self._outlook.remember(member.address, now)
        reason = self._reason(change, joiners)
        change.begin_sync(view, joiners, now, reason=reason, places=self._outlook.shared(view))
        assert change.sync is not None  # it has just been made
        if self.me in change.survivors:
            self._accept(change.sync)
            if self._has_cut:
                change.synced.add(self.me.session)
        self._ask_awaited()
        self._advance(now)

    def _admitted(self, stay: Sequence[MemberInfo], now: float) -> tuple[Visitor, ...]:
        """Return who waits and fits into a view with those who stay; refuse the others."""
        waiting = self._lobby.waiting(now)
        chosen = who_fits(stay, [visitor.member for visitor in waiting])
        sessions = {member.session for member in chosen}
        for visitor in waiting:
            if visitor.member.session not in sessions:
                self._lobby.drop(visitor.member.session)
                self._send(Refuse(why_not([*stay, *chosen], visitor.member, self.protocol)), visitor.member)
        return tuple(visitor for visitor in waiting if visitor.member.session in sessions)

    def _reason(self, change: Change, joiners: tuple[MemberInfo, ...]) -> str:
        """Say in words why the view changes."""
        out = change.excluded
        failed = [member for member in out if member.session not in self._left_out]
        reasons = [in_words(failed, "failed")] if failed else []
        reasons += [f"{m.label} was left out: {self._left_out[m.session]}" for m in out if m not in failed]
        reasons += [in_words(change.leavers, "left")] if change.leavers else []
        reasons += [in_words(joiners, "joined")] if joiners else []
        if change.contact is not None:
            reasons.append("merges into the view of {}:{}".format(*change.contact))
        return "; ".join(reasons) or "a view change was not brought to an end"

    def _cut_is_here(self, now: float) -> None:
        change = self._change
        if change is not None and self._pending is not None and self._pending.proposal == change.proposal:
            change.synced.add(self.me.session)
            self._advance(now)

    def _complete(self, change: Change, now: float) -> None:
        """All have everything: the next view begins."""
        others = {m.session: m for m in change.participants if m.session != self.me.session}
        self._announcement = Announcement(change.proposal, others, now + ANNOUNCE_FOR)
        for member in others.values():
            self._send(Install(change.proposal), member)
        self._bid_farewell(change)
        self._change = None
        if self.me in change.survivors:
            self._install(now)
        else:
            self._depart(change)

    def _bid_farewell(self, change: Change) -> None:
        """Tell who is out, that it need not wait to find out."""
        stay = tuple(member.session for member in change.survivors)
        for member in change.old.members:
            if member.session != self.me.session and member not in change.survivors:
                reason = "left" if member in change.leavers else self._left_out.get(member.session, "failed")
                self._send(Farewell(change.old.id, reason, stay), member)

    def _depart(self, change: Change) -> None:
        """Stay only until the others have begun the view without this process."""
        assert self._announcement is not None  # _complete has just made it
        self._announcement.until -= ANNOUNCE_FOR - self.timing.joiner_timeout
        self._remember_end(change.old, change.proposal)
        self._enter(None, change.proposal)
        if not self._announcement.waiting:
            self._finish("left")

    def _finish(self, reason: str) -> None:
        if self._is_finished:
            return
        self._change = self._announcement = self.view = None
        self._stopped = False
        self._is_finished = True
        self._out.append(Left(reason))

    def _forget_old_view(self, now: float) -> None:
        """Drop what was to be done in the view before."""
        self._change = self._merge_into = None
        self._left_out.clear()
        self._leavers.clear()
        self._asked_to_unblock = False
        self._refusals = 0
        self._retry_at = now

    def _give_up_leading(self) -> None:
        self._change = self._merge_into = None

    def _on_flushed(self, frame: Flushed, sender: Peer, now: float) -> None:
        change = self._change
        if change is None or change.proposal != frame.proposal:
            self._tell_outcome(frame.proposal, sender)
            return
        if change.sync is not None or not change.takes([sender.session]):
            return
        if len(frame.prefixes) == len(change.old.members):
            change.flushed[sender.session] = frame
            self._advance(now)

    def _on_synced(self, frame: Synced, sender: Peer, now: float) -> None:
        change = self._change
        if change is None or change.proposal != frame.proposal:
            self._tell_outcome(frame.proposal, sender)
        elif change.sync is not None:
            change.synced.add(sender.session)
            self._advance(now)

    def _tell_outcome(self, proposal: Proposal, to: Peer) -> None:
        """Answer who still waits for an attempt of this process that is over."""
        if proposal == self._installed_by or proposal in self._ended.values():
            self._send(Install(proposal), to)
        elif proposal[1] != self.me.session:
            return
        elif self.view is None or proposal[0] <= self.view.epoch:
            self._send(Elsewhere(proposal, self.view), to)
        elif self._promised > proposal:
            self._send(Promised(proposal, self._promised), to)

    def _on_installed(self, frame: Installed, sender: Peer, now: float) -> None:
        if self._announcement is None or self._announcement.proposal != frame.proposal:
            return
        self._announcement.waiting.pop(sender.session, None)
        self._check_announcement(now)

    def _check_announcement(self, now: float) -> None:
        """Stop announcing when all know, or it has been long enough; who leaves is done then."""
        announcement = self._announcement
        if announcement is None or (announcement.waiting and now < announcement.until):
            return
        self._announcement = None
        if self.view is None and self.me.session in self._leavers:
            self._finish("left")

    def _on_promised(self, frame: Promised, sender: Peer, now: float) -> None:
        """Wait, and make a larger proposal; or end what another member still waits for."""
        if self.view is None or self.view.rank_of(sender.session) < 0:
            return
        if self._change is not None and frame.proposal == self._change.proposal < frame.promised:
            self._top = max(self._top, frame.promised[0])
            self._give_up_leading()
            self._refusals = min(self._refusals + 1, LARGEST_BACKOFF)
            wait = self.timing.repeat_every * 2**self._refusals
            self._retry_at = now + wait * (0.5 + self._rng.random())
        elif frame.proposal == NOTHING and self._change is None and self.leads:
            self._top = max(self._top, frame.promised[0])
            self._asked_to_unblock = True
            self._consider(now)

    def _on_elsewhere(self, frame: Elsewhere, sender: Peer, now: float) -> None:
        """Follow a member into the view that it has begun, or go on without it."""
        is_here = False
        if frame.view is not None:
            known = self.view
            self._install_if_begun(frame.view.id, now)
            if self.view is not known:
                self._consider(now)
                return
            is_here = known is not None and known.id == frame.view.id  # it answers a frame that came late
        change = self._change
        if change is not None and frame.proposal == change.proposal:
            self._lobby.drop(sender.session)
            self._gone.add(sender.session)
            self._restart(now)
        elif not is_here and self._is_about_this_view(frame.proposal, sender):
            self._gone.add(sender.session)
            self._consider(now)
        if self._announcement is not None and self._announcement.proposal == frame.proposal:
            self._announcement.waiting.pop(sender.session, None)
            self._check_announcement(now)

    def _is_about_this_view(self, proposal: Proposal, sender: Peer) -> bool:
        """Tell whether a member says that it is not where this view, or what ends it, has it."""
        if self.view is None or self.view.rank_of(sender.session) < 0:
            return False
        ours = proposal == self._promised and sender.session == proposal[1] and self._stopped
        return proposal == self._installed_by or ours

    def _on_leave(self, frame: Leave, sender: Peer, now: float) -> None:
        view: View | None = self.view
        if view is not None and frame.view == view.id and view.rank_of(sender.session) >= 0:
            self._leavers.add(sender.session)
            self._consider(now)
        elif frame.view in self._ended and (view is None or view.rank_of(sender.session) < 0):
            self._send(Farewell(frame.view, "left"), sender)

    def _repeat_leading(self, ticks: int, now: float) -> None:
        """Ask again who has not answered, and give up those who do not for long."""
        self._drop_unresponsive(now)
        change = self._change
        if change is not None:
            asked = change.participants if ticks % 10 == 0 else change.awaited()
            for member in asked:
                self._ask(member)
        if self._announcement is not None:
            for member in self._announcement.waiting.values():
                self._send(Install(self._announcement.proposal), member)
        self._check_announcement(now)

    def _turn_away(self, joiners: list[MemberInfo], now: float) -> None:
        """Begin anew without those who join and do not answer."""
        for member in joiners:
            self._lobby.turn_away(member, now)
        self._restart(now)

    def _drop_replaced(self, member: MemberInfo, sender: Peer, now: float) -> None:
        """Stop waiting for one that joins if another process asks from its address: it is no more."""
        change = self._change
        if change is None or sender.address != member.address:
            return
        gone = [
            joiner
            for joiner in change.joiners
            if joiner.address == member.address and joiner.session != member.session
        ]
        if gone:
            self._turn_away(gone, now)

    def _drop_unresponsive(self, now: float) -> None:
        change = self._change
        if change is None:
            return
        waited = now - change.since
        late = [member for member in change.awaited() if member.session != self.me.session]
        joiners = [member for member in late if member in change.joiners]
        patience = max(self.timing.joiner_timeout, TRIPS_OF_A_JOINER * self._longest_trip)
        if waited >= patience and joiners:
            self._turn_away(joiners, now)
        elif waited >= self.timing.flush_timeout and late:
            for member in late:
                self._left_out[member.session] = "did not answer a view change"
            self._restart(now)
        elif waited >= self.timing.flush_timeout and change.awaited():
            # Only this process lacks something of the cut, and nobody has it to give: where few keep copies,
            # those may be gone.  The others go on without it, and it comes back.
            self._gone.update(set(change.old.sessions) - {self.me.session})
            self._restart(now)
