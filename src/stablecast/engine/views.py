"""The views of one process, one after the other: what the agreement on them asks for is done here.

Before a view ends, everything up to its cut is here, or nobody who goes on has it.  So all of that is called
stable, and let go, without a message: whoever goes on has the same.  The next view begins with nothing
unstable, at the numbers that the cut left behind, and frames of the view before mean nothing in it.
"""

from __future__ import annotations

from collections import deque

from stablecast.engine.auto import USUAL, Row, decide, row_in, with_row
from stablecast.engine.host import Host
from stablecast.engine.in_view import InView
from stablecast.engine.process import Process
from stablecast.engine.results import MemberFailed, ProtocolChosen, Settled, ViewChanged
from stablecast.membership.actions import (
    Action,
    Begin,
    Dissolved,
    GetUpTo,
    JoinFailed,
    Left,
    Send,
    StopSending,
    TrustSessions,
)
from stablecast.membership.agreement import Agreement
from stablecast.membership.roster import roster_of
from stablecast.membership.view import MemberInfo, View
from stablecast.multicast.bimodal_plane import BimodalPlane


class Views:
    """Does what the agreement on views asks for."""

    def __init__(self, process: Process, host: Host, *, day_offset_s: float, ip_multicast: bool) -> None:
        self.agreement = Agreement(
            process.me,
            group=process.options.group,
            protocol=process.options.identity,
            rng=process.rng,
            numbers=self._numbers,
            timing=process.options.timing,
            mark_id=self._with_row if process.options.is_auto else None,
        )
        self.day_offset_s = day_offset_s
        """What makes the engine's time the time of day, as it was told last."""
        self._process = process
        self._mail, self._own, self._tracing = process.mail, process.own, process.tracing
        self._host = host
        self._ip_multicast = ip_multicast
        self._runs: Row | None = None
        """What the present view runs, or the last one, if the group decides that at view changes."""

    def _with_row(self, view_id: int) -> int:
        """Decide what the next view runs, by what was measured in this one."""
        here, goal = self._host.in_view, self._process.options.goal
        row = USUAL if here is None else decide(goal, here.traffic(), row_in(here.view.id))
        return with_row(view_id, row)

    def send_data(self, now: float, *, at_once: bool = False) -> None:
        """Let runs of this process go, as many as the rate allows, or all of them."""
        here = self._host.in_view
        if here is not None:
            self._mail.out.send_data(here, now, at_once=at_once)

    def _numbers(self) -> tuple[tuple[int, ...], int]:
        """Return what is here when sending stops: all that was numbered is sent then."""
        here = self._host.in_view
        assert here is not None
        prefixes, (parts, messages) = here.data.prefixes(), self._own.numbers()
        return (*prefixes[: here.rank], parts, *prefixes[here.rank + 1 :]), messages

    def do(self, actions: list[Action], now: float) -> None:
        """Do what the agreement on views asks for."""
        if self._process.wire is not None:
            self._process.wire.now = now
        waiting = deque(actions)
        while waiting:
            match waiting.popleft():
                case Send(frame, address, session):
                    self._mail.send(frame, address, session, now)
                case StopSending():
                    self._stop_sending(now)
                case GetUpTo(cut, holders):
                    if self._host.in_view is not None:
                        self._host.in_view.data.get_up_to(cut, holders, now)
                        waiting.extend(self.check_cut(now))
                case Begin() as begin:
                    self._begin(begin, now)
                case Dissolved(_, left):
                    self._dissolve(left, now)
                case TrustSessions(sessions):
                    self._mail.known.named(sessions - {self._process.me.session})
                case Left() as has_left:
                    if self._tracing is not None and self._host.in_view is not None:
                        self._tracing.left(self._host.in_view, now)
                    self._host.events.append(has_left)
                case JoinFailed() as failed:
                    self._host.events.append(failed)

    def check_cut(self, now: float) -> list[Action]:
        """Return what is to be done if everything up to the cut has come."""
        here = self._host.in_view
        if (
            here is None
            or here.data.limit is None
            or not self.agreement.is_blocked
            or not here.data.has_cut()
        ):
            return []
        return self.agreement.have_cut(now)

    def _stop_sending(self, now: float) -> None:
        """Send what was numbered, then nothing more in this view."""
        self._own.stop(now)
        self.send_data(now, at_once=True)
        if self._host.in_view is not None:
            self._host.in_view.data.stop()

    def _settle(self, gone: tuple[MemberInfo, ...], following: View | None, now: float) -> None:
        """End the view, if there is one, without those who do not come along into the next one."""
        here = self._host.in_view
        if here is not None:
            if self._tracing is not None:
                self._tracing.ends(here, following, now)
            self._host.gone = frozenset(here.ranks[member.session] for member in gone)
            here.data.settle(now)
            self._host.gone = frozenset()
            self._process.counters.add(here.data.counts())
            self._mail.out.flush(here)
        self._own.end()
        self._host.in_view = None

    def _dissolve(self, left: tuple[MemberInfo, ...], now: float) -> None:
        self._settle(left, None, now)
        self._host.events.append(Settled("cut off from the group; coming back as a new member"))

    def _begin(self, begin: Begin, now: float) -> None:
        """Leave a view settled, and begin the next."""
        here = self._host.in_view
        if here is not None and isinstance(here.data, BimodalPlane):
            both = zip(begin.view.sessions, begin.numbers, strict=True)
            sent = {here.ranks[session]: messages for session, (_, messages) in both if session in here.ranks}
            here.data.tell_lost(sent, now)
        self._settle(begin.gone + begin.left, begin.view, now)
        view = begin.view
        labels = self._process.names.labels_of(roster_of(view))
        self._process.counters.views += 1
        self._process.trips.keep(view.sessions)
        self._mail.known.began(view.sessions, self._process.me.session)
        self._host.in_view = here = InView(
            view,
            self._process.me.session,
            begin.numbers,
            labels=labels,
            options=self._process.options,
            around=self._host,
            rng=self._process.rng,
            trips=self._process.trips,
            now=now,
            time_offset_s=self.day_offset_s,
            ip_multicast=self._ip_multicast,
        )
        self._own.begin(here, *begin.numbers[here.rank])
        self._tell_of_beginning(begin, here, now)

    def _tell_of_beginning(self, begin: Begin, here: InView, now: float) -> None:
        label_of = self._process.names.label_of
        resumed = self._process.care.began(begin.view, now)
        self._host.events += [MemberFailed(label_of(member)) for member in begin.gone]
        if resumed is not None:
            self._host.events.append(resumed)
        if self._tracing is not None:
            self._tracing.began(begin, here, now)
        self._host.events.append(
            ViewChanged(
                members=here.labels,
                joined=tuple(here.labels[here.ranks[member.session]] for member in begin.joined),
                left=tuple(map(label_of, begin.left)),
                failed=tuple(map(label_of, begin.gone)),
                reason=begin.reason,
                me=self._own.outcomes.label,
                main=begin.view.line == self._process.options.group,
            )
        )
        self._tell_of_protocol(here)
        self._host.went_on = True

    def _tell_of_protocol(self, here: InView) -> None:
        """Tell the application which protocol was decided on, if it is another one than before."""
        row, before = self._process.options.row_of(here.view.id), self._runs
        if row is not None and row != before:
            self._runs = row
            told = ProtocolChosen(row.protocol, here.pace.step, "" if before is None else before.protocol)
            self._host.events.append(told)
