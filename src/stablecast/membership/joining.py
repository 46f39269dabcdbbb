"""Getting into a view: asking contacts, being let in, beginning alone, and being asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from stablecast.errors import InvalidInput
from stablecast.membership.actions import Action, Begin, JoinFailed, TrustSessions
from stablecast.membership.change import side_line
from stablecast.membership.identity import difference
from stablecast.membership.leading import Leader
from stablecast.membership.lobby import Absence
from stablecast.membership.messages import (
    Elsewhere,
    Install,
    Join,
    Redirect,
    Refuse,
    Sync,
    Synced,
    Trial,
    TrialPassed,
)
from stablecast.membership.standing import Peer
from stablecast.membership.view import Address, View

MOST_CONTACTS = 64

SLOWLY = 5
"""A process that has been named in a SYNC asks only every so many repetitions."""

TRIALS_FOR = 0.8
"""Share of the time for joining in which no trial was answered, and after which there is no hope."""

LONGEST_TRIP = 2.0
"""Seconds for one's way that a leader believes at most."""


@dataclass(slots=True)
class Search:
    """A process without a view looks for one."""

    contacts: list[Address]
    since: float
    deadline: float
    is_again: bool
    """Whether it was in a view before, so that it never fails but begins alone."""
    accepted_at: float = 0.0
    """When the SYNC that is pending came."""
    is_tried: bool = False
    """Whether a leader is about to let it in."""
    given: tuple[Address, ...] = field(default=())

    def add(self, contact: Address) -> bool:
        """Take another contact; tell whether it is new."""
        if contact in self.contacts or len(self.contacts) >= MOST_CONTACTS:
            return False
        self.contacts.append(contact)
        return True


NOT_RECEIVED = (
    "this group's datagrams of full size do not get to {}:{} and back (accepted: a network that carries them,"
    " or a smaller 'largest' at every member)"
)


def _too_often(absence: Absence, now: float) -> str:
    return (
        f"it was to be let in and did not answer, {absence.times} times; it may try again in"
        f" {absence.until - now:.0f} s"
    )


def _microseconds(now: float) -> int:
    return int(now * 1e6)


class Newcomer(Leader):
    """What a process does that is in no view, and what members do for it."""

    _search: Search | None = None
    _seeds: tuple[Address, ...] = ()
    _distrust_until = 0.0

    def start_alone(self, now: float) -> list[Action]:
        """Begin a view of this process alone, on the main line."""
        if self.view is None and not self._is_finished:
            self._begin_alone(self.group, "started", now)
        return self._done(now)

    def join(self, contacts: Sequence[Address], now: float) -> list[Action]:
        """Look for a view through these addresses."""
        if not contacts:
            raise InvalidInput("no contact to join through: accepted is at least one (host, port)")
        if self.view is None and not self._is_finished:
            self._seeds = tuple(dict.fromkeys(contacts))
            self._look_for_a_view(self._seeds, now, is_again=False)
        return self._done(now)

    def met(self, address: Address, now: float, *, is_answer: bool = False) -> list[Action]:
        """Take note that a process at this address can now be spoken to.

        Who answers from an address that was not asked, as a host with several may do, is asked there.
        """
        search = self._search
        if search is not None and (address in search.contacts or (is_answer and search.add(address))):
            self._send_to_address(self._join_frame(), address)
        return self._done(now)

    def _done(self, now: float) -> list[Action]:
        """Hand over what there is to do."""
        out, self._out, self._fresh = self._out, [], None
        return out

    def _look_for_a_view(self, contacts: Sequence[Address], now: float, *, is_again: bool) -> None:
        patience = self.timing.join_timeout * (1 + (self._rng.random() if is_again else 0))
        self._search = Search(list(contacts), now, now + patience, is_again, given=tuple(contacts))
        self._ask_contacts()

    def _join_frame(self) -> Join:
        return Join(self.me, self.protocol, self._last_epoch)

    def _ask_contacts(self) -> None:
        if self._search is not None:
            for contact in self._search.contacts:
                self._send_to_address(self._join_frame(), contact)

    def _begin_alone(self, line: str, reason: str, now: float) -> None:
        """Make a view of this process alone; those who have asked meanwhile are let in next."""
        self._top = max(self._top, self._last_epoch) + 1
        me = msgspec.structs.replace(self.me, incarnation=max(self.me.incarnation, 1))
        view_id = self._new_view_id()
        line = line or side_line(self.group, view_id)
        view = View(view_id, self._top, (me,), line, {me.name: me.incarnation})
        self._search = None
        self._enter(view, (self._top, me.session))
        self._forget_old_view(now)
        self._fresh = ((0, 0),)
        self._out.append(Begin(view, self._fresh, (), (me,), (), reason, True))
        self._began(now)
        self._consider(now)

    def _began(self, now: float) -> None:
        """Let merging know that a view has begun."""

    def _after_install(self, old: View | None, sync: Sync, now: float) -> None:
        self._search = None
        if sync.view is None:
            assert sync.contact is not None  # it was looked at when it was accepted
            self._forget_old_view(now)
            self._lobby.clear()
            self.me = msgspec.structs.replace(self.me, incarnation=self.me.incarnation + 1)
            self._look_for_a_view(tuple(dict.fromkeys((sync.contact, *self._seeds))), now, is_again=True)
            return
        for member in sync.view.members:
            self._lobby.drop(member.session)
            if old is None or member not in old.members:
                self._lobby.forgive(member)
        self._forget_old_view(now)
        self._began(now)

    def _on_join(self, frame: Join, sender: Peer, now: float) -> None:
        if frame.member.session != sender.session or sender.session == self.me.session:
            return
        if self.view is None:
            self._lobby.add(frame, now)
            if self._search is not None and self._search.is_again:
                self._redirect(self._search.contacts[0], sender)
            return
        if frame.protocol != self.protocol:
            self._send(Refuse(difference(self.protocol, frame.protocol)), sender)
            return
        self._notice_return(frame, sender)
        leader = self._leader()
        if self._merge_into is not None:
            self._redirect(self._merge_into, sender)
        elif leader is not None and leader.session != self.me.session:
            self._redirect(leader.address, sender)
        elif self.view.rank_of(sender.session) >= 0 and sender.session not in self._gone:
            self._send(Install(self._installed_by), sender)
            return
        else:
            self._try_out(frame, sender, now)
        self._consider(now)

    def _try_out(self, frame: Join, sender: Peer, now: float) -> None:
        """Let one that asks show that it receives datagrams of full size: members are to wait for no other.

        It asks again and again, so this is repeated.
        """
        self._drop_replaced(frame.member, sender, now)
        absence = self._lobby.absence_of(frame.member, now)
        if absence is not None:
            if absence.until - now > self.timing.join_timeout:
                self._send(Refuse(_too_often(absence, now)), sender)
            return
        visitor = self._lobby.add(frame, now)
        if visitor.ready is not None:
            return
        if now - visitor.first < TRIALS_FOR * self.timing.join_timeout:
            self._send(Trial(_microseconds(now)), sender)
        else:
            self._lobby.drop(sender.session)
            self._send(Refuse(NOT_RECEIVED.format(*sender.address)), sender)

    def _on_trial(self, frame: Trial, sender: Peer, now: float) -> None:
        search = self._search
        if search is None:
            return
        if not search.is_tried:
            search.is_tried = True
            search.deadline = max(search.deadline, now + self.timing.join_timeout)
        self._send(TrialPassed(frame.stamp), sender)

    def _on_trial_passed(self, frame: TrialPassed, sender: Peer, now: float) -> None:
        trip = (_microseconds(now) - frame.stamp) / 1e6
        self._lobby.passed(sender.session, min(max(trip, 0.0), LONGEST_TRIP), now)
        self._consider(now)

    def _notice_return(self, frame: Join, sender: Peer) -> None:
        """Conclude who is gone: a member that asks as a later one, or whose address another process has."""
        if self.view is None:
            return
        for member in self.view.members:
            if member.session == sender.session:
                if frame.member.incarnation > member.incarnation:
                    self._gone.add(member.session)
            elif sender.address == member.address == frame.member.address:
                self._gone.add(member.session)

    def _redirect(self, to: Address, sender: Peer) -> None:
        if to not in (sender.address, self.me.address):
            self._send(Redirect(*to), sender)

    def _on_redirect(self, frame: Redirect) -> None:
        contact = (frame.host, frame.port)
        if self._search is not None and contact != self.me.address and self._search.add(contact):
            self._send_to_address(self._join_frame(), contact)

    def _on_refuse(self, frame: Refuse, now: float) -> None:
        search = self._search
        if search is None or self._pending is not None:
            return
        if search.is_again:
            self._distrust_until = now + self.timing.distrust
            self._begin_alone("", f"refused: {frame.reason}", now)
        else:
            self._fail_to_join(search, f"refused: {frame.reason}")

    def _fail_to_join(self, search: Search, reason: str) -> None:
        self._search = None
        self._is_finished = True
        self._out.append(JoinFailed(tuple(search.contacts), reason))

    def _on_sync_for_joiner(self, frame: Sync, sender: Peer, now: float) -> None:
        """Accept to be in a view; several may offer, and the last accepted one counts."""
        search, view = self._search, frame.view
        if sender.session != frame.proposal[1] or view is None:
            return
        if search is None:
            if self._installed_by != frame.proposal:
                self._send(Elsewhere(frame.proposal, self.view), sender)
            return
        mine = view.member(self.me.session)
        if mine is None or mine.incarnation < self.me.incarnation or view.epoch <= self._last_epoch:
            return
        if len(frame.numbers) != len(view.members) or not self._may_switch_to(frame, search, now):
            return
        if self._pending is None or self._pending.proposal != frame.proposal:
            self._pending = frame
            self._has_cut = True
            search.accepted_at = now
            search.deadline = max(search.deadline, now + self.timing.join_timeout)
            self._out.append(TrustSessions(frozenset(view.sessions)))
        self._send(Synced(frame.proposal), sender)

    def _may_switch_to(self, frame: Sync, search: Search, now: float) -> bool:
        """Stay with what was accepted, but for a larger proposal or after a while."""
        if self._pending is None or frame.proposal >= self._pending.proposal:
            return True
        return now >= search.accepted_at + self.timing.joiner_timeout

    def _repeat_joining(self, ticks: int, now: float) -> None:
        search = self._search
        if search is None:
            return
        if now >= search.deadline:
            self._end_search(search, now)
        elif self._pending is None and self._may_begin_alone(search, now):
            self._begin_alone(self.group, "nobody else was there", now)
        elif self._pending is None or ticks % SLOWLY == 0:
            self._ask_contacts()

    def _may_begin_alone(self, search: Search, now: float) -> bool:
        """Tell whether this process is a contact itself, and those before it had the time to begin."""
        if search.is_again or search.is_tried or self.me.address not in search.given:
            return False
        turns = 1 + search.given.index(self.me.address)
        patience = min(turns * self.timing.bootstrap_after, 0.9 * self.timing.join_timeout)
        return now >= search.since + patience

    def _end_search(self, search: Search, now: float) -> None:
        promised = None if self._pending is None or self._pending.view is None else self._pending.view
        mine = None if promised is None else promised.member(self.me.session)
        if mine is not None:  # that view may begin, with this process under the incarnation that it accepted
            self.me = msgspec.structs.replace(self.me, incarnation=mine.incarnation + 1)
        self._pending = None
        self._has_cut = False
        if search.is_again:
            self._begin_alone("", "the view to merge into did not answer", now)
        else:
            self._fail_to_join(search, f"no answer within {self.timing.join_timeout:g} s")
