"""A member's side of a view change: promise, flush, fetch, install.

Why it is safe
    A member goes from a view to the next one only by a SYNC that it has accepted, and only while what it has
    is exactly that SYNC's cut.  What it has stands still from its promise on (``StopSending``) and rises only
    to a cut (``GetUpTo``); it is reported anew in each promise.  A cut is the maximum of what the survivors
    report, so nobody is beyond it.  A view's id belongs to one SYNC, so all who install it have the same.
Which may be installed
    The last SYNC that was accepted and whose cut is here.  It stays installable when a larger proposal is
    promised, until that one's SYNC is accepted: until then nothing has changed here.  One whose cut is not
    here yet is dropped at the next promise, and the fetch ends: what came later would be in no report.
What proves that a view was installed
    INSTALL from anyone, or any frame in it: all of its members have sent SYNCED before.
"""

from __future__ import annotations

from stablecast.membership.actions import Begin, Dissolved, GetUpTo, StopSending, TrustSessions
from stablecast.membership.messages import (
    Elsewhere,
    Flushed,
    Install,
    Installed,
    Prepare,
    Promised,
    Proposal,
    Sync,
    Synced,
)
from stablecast.membership.standing import Peer, Standing
from stablecast.membership.view import MemberInfo, View


class Follower(Standing):
    """What every member does, the leader too."""

    def _after_install(self, old: View | None, sync: Sync, now: float) -> None:
        """Let the other roles know that a view has begun, or that one has dissolved."""

    def _cut_is_here(self, now: float) -> None:
        """Let the leader's role know that this process has what its own SYNC asks for."""

    def _give_up_leading(self) -> None:
        """Let the leader's role know that somebody else's proposal is larger."""

    def _on_prepare(self, frame: Prepare, sender: Peer, now: float) -> None:
        if sender.session != frame.proposal[1] or sender.session == self.me.session:
            return
        self._install_if_begun(frame.view, now)
        if self.view is None or self.view.id != frame.view:
            self._say_elsewhere(frame.proposal, frame.view, sender)
            return
        if self.view.rank_of(sender.session) < 0:
            return
        if frame.proposal < self._promised:
            self._send(Promised(frame.proposal, self._promised), sender)
            return
        if frame.proposal > self._promised:
            self._give_up_leading()
            self._promise(frame.proposal)
        self._news = now
        if self._flushed is not None:
            self._send(self._flushed, sender)

    def _promise(self, proposal: Proposal) -> None:
        """Stop, and report what is here."""
        self._promised = proposal
        self._top = max(self._top, proposal[0])
        if not self._has_cut:
            self._pending = None
        self._stopped = True
        self._out.append(StopSending())
        self._flushed = self._report(proposal)

    def _report(self, proposal: Proposal) -> Flushed:
        """Return what is here; in the step that begins a view the engine does not know of it yet."""
        if self._fresh is None or self.view is None:
            return Flushed(proposal, *self._numbers())
        parts, messages = self._fresh[self.view.rank_of(self.me.session)]
        return Flushed(proposal, tuple(prefix for prefix, _ in self._fresh), parts, messages)

    def _on_sync(self, frame: Sync, sender: Peer, now: float) -> None:
        if sender.session != frame.proposal[1]:
            return
        self._install_if_begun(frame.old, now)
        if self.view is None or self.view.id != frame.old:
            self._say_elsewhere(frame.proposal, frame.old, sender)
        elif frame.proposal < self._promised:
            self._send(Promised(frame.proposal, self._promised), sender)
        elif frame.proposal == self._promised and self._flushed is not None:
            self._news = now
            if self._pending is None or self._pending.proposal != frame.proposal:
                self._accept(frame)
            if self._has_cut and self._pending is not None and self._pending.proposal == frame.proposal:
                self._send(Synced(frame.proposal), sender)

    def _accept(self, sync: Sync) -> None:
        """Take a SYNC of the present view: from here on it is the only one that may be installed."""
        if self.view is None or self._flushed is None or not self._fits(sync, self.view):
            return
        self._pending = sync
        self._has_cut = self._flushed.prefixes == sync.cut
        if sync.view is not None:
            self._out.append(TrustSessions(frozenset(sync.view.sessions)))
        if not self._has_cut:
            self._out.append(GetUpTo(sync.cut, sync.holders))

    def _fits(self, sync: Sync, old: View) -> bool:
        """Check what no leader gets wrong, so that nothing odd is ever installed."""
        if len(sync.cut) != len(old.members) or len(sync.holders) != len(old.members):
            return False
        if sync.view is None:
            return sync.contact is not None
        return (
            len(sync.numbers) == len(sync.view.members)
            and sync.view.epoch > old.epoch
            and sync.view.rank_of(self.me.session) >= 0
        )

    def _fetched(self, now: float) -> None:
        """Answer the SYNC whose cut is here."""
        if self._pending is None or self._has_cut:
            return
        self._has_cut = True
        proposal = self._pending.proposal
        leader = self.view.member(proposal[1]) if self.view is not None else None
        if proposal[1] == self.me.session:
            self._cut_is_here(now)
        elif leader is not None:
            self._send(Synced(proposal), leader)

    def _install_if_begun(self, view: int, now: float) -> None:
        """Install a view of which a frame has come, if this process is to be in it."""
        pending = self._pending
        if pending is not None and pending.view is not None and pending.view.id == view and self._has_cut:
            self._install(now)

    def _on_install(self, frame: Install, sender: Peer, now: float) -> None:
        pending = self._pending
        if pending is not None and pending.proposal == frame.proposal and self._has_cut:
            self._install(now)
        if frame.proposal == self._installed_by or frame.proposal in self._ended.values():
            self._send(Installed(frame.proposal), sender)
        elif pending is None or pending.proposal != frame.proposal:
            self._send(Elsewhere(frame.proposal, self.view), sender)

    def _install(self, now: float) -> None:
        """Go from the view, if any, to what the pending SYNC says."""
        sync, old = self._pending, self.view
        assert sync is not None  # for the type checker: callers have looked
        if old is not None:
            self._remember_end(old, sync.proposal)
        self._enter(sync.view, sync.proposal)
        if sync.view is None:
            assert sync.contact is not None  # _fits has looked
            left = () if old is None else tuple(m for m in old.members if m.session in sync.left)
            self._out.append(Dissolved(sync.contact, left))
        else:
            gone, left = _departed(old, sync)
            joined = tuple(member for member in sync.view.members if old is None or member not in old.members)
            leader = sync.proposal[1]
            led = leader == self.me.session or sync.view.rank_of(leader) < 0
            self._out.append(Begin(sync.view, sync.numbers, gone, joined, left, sync.reason, led))
            self._fresh = sync.numbers
        self._after_install(old, sync, now)

    def _enter(self, view: View | None, proposal: Proposal) -> None:
        """Forget what belonged to the view before."""
        self.view = view
        self._installed_by = self._promised = proposal
        self._pending = self._flushed = None
        self._has_cut = self._stopped = False
        self._suspected = frozenset()
        self._gone.clear()
        self._top = max(self._top, proposal[0])
        if view is not None:
            self._last_epoch = view.epoch
            self._top = max(self._top, view.epoch)
            self.me = view.members[view.rank_of(self.me.session)]


def _departed(old: View | None, sync: Sync) -> tuple[tuple[MemberInfo, ...], tuple[MemberInfo, ...]]:
    """Return who failed or was left out, and who wanted to leave."""
    if old is None or sync.view is None:
        return (), ()
    away = [member for member in old.members if member not in sync.view.members]
    gone = tuple(member for member in away if member.session not in sync.left)
    left = tuple(member for member in away if member.session in sync.left)
    return gone, left
