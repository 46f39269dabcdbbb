"""Checks from outside: what every process of a run has at each moment, held against what each of them claims.

A ``Witness`` sits at a process as its log and follows its deliveries; all witnesses share one ``Knowledge``,
which no process has.  Whatever contradicts a promise raises ``Broken`` at the moment at which it happens.
Events are kept with the time at which they really happened: clocks of processes differ, and what a trace
says of different members is judged as if they did not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from stablecast.engine.results import Delivery, Stable, StableInSmallerView
from stablecast.errors import StablecastError
from stablecast.membership.roster import roster_of
from stablecast.membership.view import MemberInfo, View
from stablecast.trace.columns import Columns, Event
from stablecast.trace.schema import KINDS
from tests.soak.lines import Noted

if TYPE_CHECKING:
    from stablecast.engine.engine import Engine

Key = tuple[int, int]
"""A member: its process's session, and its incarnation."""


class Broken(StablecastError):
    """A promise was broken; the message says which one, by whom and when."""


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message as its sender knows it."""

    payload: bytes
    view: View
    """The one that it was sent in."""


@dataclass(slots=True)
class Stay:
    """One process in one view."""

    view: View
    label: str
    """Of the process, in this view."""
    lines: list[str]
    """The groups that the process is in, as traces have it."""
    received: dict[Key, tuple[int, int]] = field(default_factory=dict)
    """Of each source the first and the last message that came in it, own ones included."""
    end: tuple[int, ...] | None = None
    """What has ended it: the next view's id, or the proposal by which the view was dissolved."""
    ended_us: int = 0
    """When it ended, as traces have it."""


class Knowledge:
    """What is true of a run."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        """Returns the time that really is."""
        self.sent: dict[Key, list[SentMessage]] = {}
        self.has: dict[Key, dict[Key, int]] = {}
        """For each member, the last message of each source that has come to it."""
        self.views: dict[int, tuple[View, tuple[int, ...]]] = {}
        """Each view with how many messages each member had sent before it, by rank."""
        self.follows: dict[int, int] = {}
        """For each view the one that its survivors were in before."""
        self.witnesses: list[Witness] = []
        self.events: list[Noted] = []

    def now_us(self) -> int:
        """Return the time as traces have it."""
        return round(self.now() * 1e6)

    def check_labels(self) -> None:
        """Check that an agreed label stands for one member, in all views that come from one beginning."""
        called: dict[tuple[int, str], Key] = {}
        for view, _ in self.views.values():
            beginning = view.id
            while beginning in self.follows:
                beginning = self.follows[beginning]
            for member in view.members:
                key = key_of(member)
                if called.setdefault((beginning, member.label), key) != key:
                    raise Broken(f"{member.label} is {key}, and was {called[beginning, member.label]}")

    def lacks(self, member: Key, source: Key, seq: int) -> bool:
        """Tell whether a message has not come to a member."""
        return self.has.get(member, {}).get(source, 0) < seq


def key_of(member: MemberInfo) -> Key:
    """Name a member."""
    return (member.session, member.incarnation)


class Witness:
    """Watches one process; to be given to its engine as its log."""

    engine: Engine
    own_time: Callable[[], float]

    def __init__(self, name: str, knowledge: Knowledge) -> None:
        self.name = name
        self.stays: list[Stay] = []
        self.owed: dict[Key, deque[int]] = {}
        """Of each source what has come and was not delivered yet."""
        self._knowledge = knowledge
        self._labels: dict[str, Key] = {}
        self._frontier: dict[Key, int] = {}
        self._judged: dict[str, int] = {}
        self._last_us = 0
        knowledge.witnesses.append(self)

    def _broken(self, what: str) -> Broken:
        return Broken(f"{self.name} at {self._knowledge.now():.6f} s: {what}")

    def complain(self, what: str) -> None:
        """Raise what somebody else has found."""
        raise self._broken(what)

    def _key(self, label: str) -> Key:
        """Return who is called so by this process."""
        return self._labels[label]

    def _agreed_key(self, label: str) -> Key:
        """Return who is called so by all members of the present view, as in traces."""
        here = self.engine.in_view
        assert here is not None
        return key_of(here.view.members[here.agreed.index(label)])

    @property
    def me(self) -> Key:
        """The process as a member of its present view."""
        return key_of(self.engine.agreement.me)

    # Sending

    def is_about_to_send(self, payload: bytes) -> None:
        """Take note of a message before the engine gets it."""
        here = self.engine.in_view
        assert here is not None
        key = key_of(here.view.members[here.rank])
        self._knowledge.sent.setdefault(key, []).append(SentMessage(payload, here.view))

    def send(self, group: str, member: str, seq: int, time_us: int, size: int) -> None:
        """Check that a message that goes out is the next one."""
        self._note(Event(group, "send", member, member, seq, time_us, size))
        self._take(self._agreed_key(member), seq, size)

    # Receiving

    def receive(
        self, group: str, member: str, source: str, first_seq: int, sizes: list[int], time_us: int
    ) -> None:
        """Check that what comes is what was sent next, in the same view."""
        for seq, size in enumerate(sizes, first_seq):
            self._note(Event(group, "receive", member, source, seq, time_us, size))
            self._take(self._agreed_key(source), seq, size)

    def _take(self, source: Key, seq: int, size: int) -> None:
        stay = self.stays[-1]
        sent = self._knowledge.sent.get(source, [])
        what = f"message {seq} of {source} came"
        if seq > len(sent):
            raise self._broken(f"{what}, and was never sent")
        message = sent[seq - 1]
        if message.view.id != stay.view.id:
            raise self._broken(f"{what} in view {stay.view.id}, and was sent in {message.view.id}")
        if len(message.payload) != size:
            raise self._broken(f"{what} with {size} bytes for {len(message.payload)}")
        me = stay.view.members[stay.view.rank_of(self.engine.session)]
        if source not in map(key_of, heard_by(me, stay.view)):
            raise self._broken(f"{what} to {me.label}, which does not receive it")
        first, last = stay.received.get(source, (seq, seq - 1))
        if seq != last + 1 or (first == seq and self._is_not_first_of_view(sent, seq)):
            raise self._broken(f"{what} after {last}")
        stay.received[source] = (first, seq)
        if source != key_of(me) or me.receives_from(me):
            self.owed.setdefault(source, deque()).append(seq)
        self._knowledge.has.setdefault(key_of(me), {})[source] = seq

    def _is_not_first_of_view(self, sent: list[SentMessage], seq: int) -> bool:
        return seq > 1 and self._is_within_a_view(sent, seq - 1)

    def _is_within_a_view(self, sent: list[SentMessage], seq: int) -> bool:
        """Tell whether a source sent the message after this one in the same view, or never sent this one."""
        if seq > len(sent):
            return True
        return seq < len(sent) and sent[seq - 1].view.id == sent[seq].view.id

    # Stability

    def stable(self, group: str, member: str, source: str, seq: int, time_us: int) -> None:
        """Check that everyone has what is called stable, and that frontiers rise."""
        self._note_claim(Event(group, "stable", member, source, seq, time_us))
        key = self._agreed_key(source)
        before = self._frontier.get(key, 0)
        if seq < before:
            raise self._broken(f"the frontier of {source} went back from {before} to {seq}")
        self._frontier[key] = seq
        self._check_everyone_has(key, seq, "called stable")

    def release(
        self, group: str, member: str, source: str, first: int, last: int, sizes: list[int], time_us: int
    ) -> None:
        """Check that everyone has what is let go."""
        for seq, size in zip(range(first, last + 1), sizes, strict=True):
            self._note_claim(Event(group, "release", member, source, seq, time_us, size))
            sent = self._knowledge.sent[self._agreed_key(source)][seq - 1]
            if len(sent.payload) != size:
                raise self._broken(
                    f"message {seq} of {source} was let go with {size} bytes for {len(sent.payload)}"
                )
        if self.engine.options.policy == "until-stable":
            self._check_everyone_has(self._agreed_key(source), last, "let go")

    def _check_everyone_has(self, source: Key, seq: int, what: str) -> None:
        sent = self._knowledge.sent.get(source, [])
        if not seq or sent[seq - 1].view.id != self.stays[-1].view.id:
            return  # of an earlier view, in which it was looked at
        for member in self._concerned(source):
            if self._knowledge.lacks(key_of(member), source, seq):
                raise self._broken(f"message {seq} of {source} was {what}, and {member.label} lacks it")

    def _concerned(self, source: Key) -> tuple[MemberInfo, ...]:
        """Return who has to have what is stable now of a source: those of the view who receive it, or who of
        them goes on when the view has ended."""
        here, following = self.engine.in_view, self.engine.agreement.view
        assert here is not None
        if following is None:  # dissolved; who went on together is compared in the end
            return ()
        goes_on = set(map(key_of, following.members))
        return tuple(member for member in for_whom(source, here.view) if key_of(member) in goes_on)

    def change(self, group: str, kind: str, member: str, time_us: int) -> None:
        """Take note of who came and went."""
        self._note(Event(group, kind, member, None, None, time_us))

    def flush(self) -> None:
        """Nothing: everything is noted at once."""

    def _note(self, event: Event) -> None:
        here = self.engine.in_view
        assert here is not None
        self._write(event, here.view.id)

    def _note_claim(self, event: Event) -> None:
        """Take note of what is said of those who go on: when a view has ended, it is said of the next one."""
        here, following = self.engine.in_view, self.engine.agreement.view
        assert here is not None
        self._write(event, (following or here.view).id)

    def _write(self, event: Event, view: int) -> None:
        """Keep an event with its true time; the one that it has may be wrong, but must not go back."""
        if event.time_us < self._last_us:
            raise self._broken(f"its trace goes back in time, from {self._last_us} to {event.time_us} us")
        self._last_us = event.time_us
        self._knowledge.events.append(Noted(event._replace(time_us=self._knowledge.now_us()), view))

    # Views

    def view_began(self) -> None:
        """Check a view that has begun here."""
        here, knowledge = self.engine.in_view, self._knowledge
        assert here is not None
        view = here.view
        begins = (view, tuple(map(here.data.streams.seq, range(here.size))))
        if knowledge.views.setdefault(view.id, begins) != begins:
            raise self._broken(f"view {view.id} is not the same as elsewhere")
        old = self._leave_for(view) if self.stays else None
        self.stays.append(Stay(view, here.labels[here.rank], lines_with(here.agreed[here.rank], view)))
        for member, label, begins_after in zip(view.members, here.labels, begins[1], strict=True):
            self._check_label(member, label)
            self._check_stream(member, begins_after, old)

    def _leave_for(self, view: View) -> View | None:
        """Check a view against the one before it; return that, None if this process comes as a joiner."""
        before = self.stays[-1]
        if before.view.epoch >= view.epoch:
            raise self._broken(f"epoch {view.epoch} follows {before.view.epoch}")
        if before.end is not None:
            return None
        self._end(before, (view.id,))
        if self._knowledge.follows.setdefault(view.id, before.view.id) != before.view.id:
            raise self._broken(f"view {view.id} follows two views")
        return before.view

    def _end(self, stay: Stay, by: tuple[int, ...]) -> None:
        stay.end, stay.ended_us = by, self._knowledge.now_us()

    def _check_label(self, member: MemberInfo, label: str) -> None:
        """Check that a label stands for one member at this process."""
        key = key_of(member)
        if self._labels.setdefault(label, key) != key:
            raise self._broken(f"{label} is {key}, and was {self._labels[label]}")

    def _check_stream(self, member: MemberInfo, begins_after: int, old: View | None) -> None:
        """Check that a view begins where each source's part in the one before has ended.

        A source may have sent more by then: who was paused begins a view late that others have left behind.
        So what counts is what it sent up to the view that this process comes from; and, where it comes from
        none, what those say who do, which is compared.
        """
        key = key_of(member)
        sent = self._knowledge.sent.get(key, [])
        if old is not None:
            is_old = key in map(key_of, old.members)
            before = sum(message.view.epoch <= old.epoch for message in sent) if is_old else 0
            if begins_after != before:
                raise self._broken(f"{member.label} begins after {begins_after}, and had sent {before}")
        elif begins_after and self._is_within_a_view(sent, begins_after):
            raise self._broken(f"{member.label} begins after {begins_after}, in the middle of a view")
        if begins_after < self._frontier.get(key, 0):
            raise self._broken(f"the frontier of {member.label} went back to {begins_after}")

    def dissolved(self) -> None:
        """Take note that the view has ended and no other one has begun."""
        stay = self.stays[-1]
        self._end(stay, self.engine.agreement.ended_by(stay.view.id))

    def crashed(self) -> None:
        """Take note that the process is no more: nobody may be left of its view to say so."""
        here = self.engine.in_view
        if here is not None:
            assert self.engine.tracing is not None
            at = self.engine.tracing.time_us(self.own_time())
            for line in lines_with(here.agreed[here.rank], here.view):
                self.change(line, "fail", here.agreed[here.rank], at)

    # The application

    def deliver(self, delivery: Delivery) -> None:
        """Check that the application gets each source's messages in order, once, and as they were sent."""
        key, seq, owed = self._key(delivery.source), delivery.seq, self.owed[self._key(delivery.source)]
        if not owed or owed.popleft() != seq:
            raise self._broken(f"message {seq} of {delivery.source} was delivered, and not the next one")
        if delivery.payload != self._knowledge.sent[key][seq - 1].payload:
            raise self._broken(f"message {seq} of {delivery.source} was delivered with another content")
        if self.engine.options.deliver == "stable" and self.engine.in_view is not None:
            self._check_everyone_has(key, seq, "delivered as stable")

    def got_history(self, source: str, found: list[Delivery]) -> None:
        """Check that what a newcomer got of before its time is what was sent then."""
        sent = self._knowledge.sent[self._key(source)]
        for seq, delivery in enumerate(found, 1):
            if (delivery.source, delivery.seq) != (source, seq) or delivery.payload != sent[seq - 1].payload:
                raise self._broken(f"message {seq} of {source} is another one in its history")

    def judge_outcomes(self) -> None:
        """Check what receipts would say of messages that have become stable."""
        engine = self.engine
        for outcomes in (engine.own.outcomes, *engine.own.past.values()):
            judged = self._judged.get(outcomes.label, 0)
            for seq in range(judged + 1, outcomes.stable_seq + 1):
                outcome = outcomes.of(seq, 0.0)
                assert outcome is not None
                self._judge(outcomes.label, seq, outcome)
            self._judged[outcomes.label] = outcomes.stable_seq

    def _judge(self, label: str, seq: int, outcome: Stable | StableInSmallerView) -> None:
        key = self._key(label)
        meant = set(map(key_of, for_whom(key, self._knowledge.sent[key][seq - 1].view)))
        told = set(map(self._key, outcome.members))
        gone = set() if isinstance(outcome, Stable) else set(map(self._key, outcome.gone))
        if told | gone != meant or told & gone:
            raise self._broken(f"{outcome} of a message that was sent to {sorted(meant)}")
        for member in outcome.members:
            if self._knowledge.lacks(self._key(member), key, seq):
                raise self._broken(f"{outcome}, and {member} lacks it")

    def unsettled(self) -> int:
        """Return how many messages of this process, of all its incarnations, are not known to be stable."""
        engine = self.engine
        stable = {
            outcomes.label: outcomes.stable_seq
            for outcomes in (engine.own.outcomes, *engine.own.past.values())
        }
        own = {label: key for label, key in self._labels.items() if key[0] == engine.session}
        return sum(
            len(self._knowledge.sent.get(key, [])) - stable.get(label, self._judged.get(label, 0))
            for label, key in own.items()
        )


def for_whom(source: Key, view: View) -> tuple[MemberInfo, ...]:
    """Return the members of a view that are to have a source's messages, itself among them."""
    found = next(member for member in view.members if key_of(member) == source)
    return tuple(member for member in view.members if member is found or member.receives_from(found))


def heard_by(me: MemberInfo, view: View) -> tuple[MemberInfo, ...]:
    """Return the members of a view whose messages one of them is to have, itself among them."""
    return tuple(member for member in view.members if member is me or me.receives_from(member))


def lines_with(label: str, view: View) -> list[str]:
    """Return the groups that a member of a view is in, as traces have it."""
    return [line for line, who in roster_of(view).lines.items() if label in who]


def check_all_or_none(knowledge: Knowledge) -> None:
    """Check that members that went from one view to the same next one had the same of what they received."""
    first_of: dict[tuple[int, tuple[int, ...], Key], tuple[Witness, Stay]] = {}
    for witness in knowledge.witnesses:
        for stay in witness.stays:
            if stay.end is None:
                continue
            me = stay.view.members[stay.view.rank_of(witness.engine.session)]
            for source in map(key_of, heard_by(me, stay.view)):
                other, like = first_of.setdefault((stay.view.id, stay.end, source), (witness, stay))
                had, has = like.received.get(source), stay.received.get(source)
                if had != has:
                    raise Broken(
                        f"{other.name} and {witness.name} left view {stay.view.id} together, "
                        f"with {had} and {has} of {source}"
                    )
            _check_own(witness, stay, knowledge)


def _check_own(witness: Witness, stay: Stay, knowledge: Knowledge) -> None:
    """Check that a process that goes on takes all its own messages along."""
    me = key_of(stay.view.members[stay.view.rank_of(witness.engine.session)])
    sent = [k for k, message in enumerate(knowledge.sent.get(me, []), 1) if message.view.id == stay.view.id]
    last = stay.received.get(me, (0, 0))[1]
    if sent and sent[-1] != last:
        raise Broken(f"{witness.name} left view {stay.view.id} with {last} of its {sent[-1]} messages")


def before_departures(columns: Columns) -> Columns:
    """Return a trace without what members wrote under a group's name after they were declared gone.

    Who is paused or cut off goes on in its old view until it finds out; nobody counts on that any more.
    """
    gone_at = np.full((len(columns.groups), len(columns.members)), np.iinfo(np.int64).max)
    departures = columns.of_kind("leave", "fail")
    np.minimum.at(gone_at, (departures.group, departures.member), departures.time_us)
    is_change = np.isin(columns.kind, [KINDS.index(kind) for kind in ("join", "leave", "fail")])
    return columns.where(is_change | (columns.time_us <= gone_at[columns.group, columns.member]))
