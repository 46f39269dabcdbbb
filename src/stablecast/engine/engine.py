"""One process of a live group, without a socket, a clock or a thread of its own.

In
    ``join``, ``begin_in``, ``own.send``, ``flush``, ``consumed``, ``leave``, the application's other calls;
    ``receive(datagrams, now)``; ``handle_timer(now)``.  The time is an argument of each.
Out
    ``output()`` has what is to be done since the last call, as values: rows of the trace, datagrams,
    deliveries and events.  ``next_timer()`` is when ``handle_timer`` is to be called.
What a driver owes
    It writes the rows before it sends the datagrams: others may come to know what the rows tell, and this
    process may be killed in between.
How
    The engine puts the pieces together and decides nothing by itself: who is in
    (:mod:`stablecast.membership`), what has come and is missing (``in_view``), what everyone has
    (``tracker``), who is silent or slow (``care``).  Every entry takes in what there is, then lets go of what
    has become stable, and sends what has gathered.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from stablecast.engine.attached import members_most
from stablecast.engine.backlog import Backlog
from stablecast.engine.care import Care, LeaveOut
from stablecast.engine.choice import check_receivers
from stablecast.engine.history import Archive, Fetch
from stablecast.engine.in_view import InView
from stablecast.engine.keys import Keyring
from stablecast.engine.mail import Introduction, Mail
from stablecast.engine.names import Names, key_of
from stablecast.engine.options import Options
from stablecast.engine.outgoing import Datagram
from stablecast.engine.own import Own
from stablecast.engine.results import (
    Delivery,
    Event,
    MemberFailed,
    MessagesLost,
    QueueFull,
    Released,
    Settled,
    ViewChanged,
)
from stablecast.engine.rows import Row
from stablecast.engine.sealing import SEALED, Sealing
from stablecast.engine.stats import Counters
from stablecast.engine.tracing import Tracing
from stablecast.engine.wire import AnyFrame, PassOn, Stability, Step, Welcome, WholeFrame, mark_of
from stablecast.membership.actions import (
    Action,
    Begin,
    Dissolved,
    GetUpTo,
    JoinFailed,
    Left,
    Randomness,
    Send,
    StopSending,
    TrustSessions,
)
from stablecast.membership.agreement import Agreement
from stablecast.membership.messages import Alive, Join, Refuse
from stablecast.membership.roster import roster_of
from stablecast.membership.view import FROM_ALL, Address, MemberInfo, View
from stablecast.multicast.bimodal_plane import BimodalPlane
from stablecast.multicast.frames import (
    AskHistory,
    AskMulticast,
    Data,
    Digest,
    Forward,
    Fragment,
    Gossip,
    History,
    Messages,
    Nak,
    Progress,
    Run,
    SentSoFar,
)
from stablecast.multicast.round_trips import RoundTrips
from stablecast.multicast.streams import Kept, Stream

LOSSES_STEPS = 4
"""Steps for which losses are counted together at least; a round trip if that is longer."""

Control = Stability | Step | Nak | SentSoFar | Progress | Alive | Gossip

_log = logging.getLogger(__name__)


class Output(NamedTuple):
    """What is to be done, in this order."""

    rows: list[Row]
    """For the trace."""
    datagrams: list[Datagram]
    events: list[Event | JoinFailed | Left]
    deliveries: list[Delivery]
    went_on: bool
    """Whether something became stable, there is room to send, a view began, or an answer came."""


class Engine:
    """One process.

    A driver whose engine ``reads_time_of_day`` tells it the time of day, with ``tell_time_of_day``, before it
    hands over datagrams and lets timers go off.  The time of day may jump both ways.

    Parameters
    ----------
    options
        What it was told.
    address
        Where others reach it.
    largest
        The most bytes of a datagram.
    rng
        Where random numbers come from: the session, challenges, and waits that should not coincide.
    now
        The time in seconds, from any beginning; it never goes back.
    keyring
        The group's keys, if it has some.
    traces
        Whether rows are wanted.
    time_offset_s
        What makes the engine's time the time of day, in rows.
    sealing
        How datagrams are sealed and unpacked.
    ip_multicast
        Whether one copy of what goes to all comes to everyone by itself: then nothing is to be passed on.
    """

    def __init__(
        self,
        options: Options,
        *,
        address: Address,
        largest: int,
        rng: Randomness,
        now: float,
        keyring: Keyring | None = None,
        traces: bool = False,
        time_offset_s: float = 0.0,
        sealing: Sealing = SEALED,
        ip_multicast: bool = False,
    ) -> None:
        self.options = options
        self._ip_multicast = ip_multicast
        self.counters = Counters()
        self.session = rng.getrandbits(64) or 1
        host, port = address
        name = options.member or f"{host}:{port}"
        most = members_most(options.choice, largest)
        me = MemberInfo(
            self.session,
            name,
            1,
            host,
            port,
            options.zone,
            most=most,
            sends=options.sends,
            receives=options.patterns,
        )
        self.mail = Mail(
            f"{options.group}/{name}",
            group=options.group,
            session=self.session,
            secret=rng.getrandbits(256).to_bytes(32, "big"),
            keyring=keyring,
            sealing=sealing,
            counters=self.counters,
            largest=largest,
            rate=options.rate_bytes_per_s,
            now=now,
        )
        self.own = Own(
            me.label,
            sends=options.sends,
            buffer_bytes=options.buffer_bytes,
            largest=largest,
            out=self.mail.out,
            counters=self.counters,
        )
        """This process's own messages."""
        self.agreement = Agreement(
            me,
            group=options.group,
            protocol=options.identity,
            rng=rng,
            numbers=self._numbers,
            timing=options.timing,
        )
        self.in_view: InView | None = None
        """This process in its view, None while it has none."""
        self.backlog = Backlog(options.queue_messages)
        """What the application has not read yet."""
        self.tracing = Tracing(time_offset_s) if traces else None
        self.tells_releases = False
        """Whether somebody wants to hear of each release."""
        self.reads_time_of_day = options.choice is not None and options.choice.reads_time_of_day
        self._day_offset_s = time_offset_s
        """What makes the engine's time the time of day, as it was told last."""
        self._rng = rng
        self._names = Names()
        self._care = Care(options.group, options.slow)
        self._trips = RoundTrips()
        self._archive = Archive(options.history_bytes, self._names, largest)
        self._fetches: list[Fetch] = []
        self._events: list[Event | JoinFailed | Left] = []
        self._gone: frozenset[int] = frozenset()
        """While a view is settled, the ranks of those who do not come along into the next one."""
        self._went_on = False

    # What there is to know

    @property
    def view(self) -> View | None:
        """The view that this process is in."""
        return self.agreement.view

    @property
    def label(self) -> str:
        """Name of this member in its view."""
        return self.own.outcomes.label

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the members of the present view."""
        return () if self.in_view is None else self.in_view.labels

    @property
    def frontier(self) -> dict[str, int]:
        """For each source that this member has messages of, the last one that all who receive it have."""
        here = self.in_view
        if here is None:
            return {}
        data = here.data
        heard = (source for source in range(here.size) if data.is_to_have(here.rank, source))
        return {here.labels[source]: data.streams.stable_seq(source) for source in heard}

    @property
    def is_blocked(self) -> bool:
        """Whether nothing can be sent until a view begins."""
        return self.in_view is None or self.agreement.is_blocked

    def refused(self) -> dict[str, int]:
        """Return how many datagrams were refused, by reason."""
        counters = self.counters
        return {
            **self.mail.seal.refused,
            "malformed": counters.malformed,
            "misdirected": counters.misdirected,
            "untrusted": counters.untrusted,
            "unanswered": counters.unanswered,
        }

    def output(self) -> Output:
        """Return what is to be done since the last call."""
        rows: list[Row] = []
        if self.tracing is not None and self.tracing.rows:
            rows, self.tracing.rows = self.tracing.rows, []
        out = self.mail.out
        datagrams, out.datagrams = out.datagrams, []
        deliveries, is_full = self.backlog.hand_over()
        if is_full:
            self._events.append(QueueFull(self.backlog.waiting))
        events, self._events = self._events, []
        went_on, self._went_on = self._went_on, False
        return Output(rows, datagrams, events, deliveries, went_on)

    def next_timer(self) -> float:
        """Return when ``handle_timer`` is to be called; infinite if not at all."""
        at = self.mail.out.ready_at()
        due = self.agreement.next_timer()
        if due is not None and due < at:
            at = due
        if self.in_view is not None:
            at = min(at, self.in_view.next_timer())
            for fetch in self._fetches:
                at = min(at, fetch.next_timer())
        return at

    # The application's calls

    def join(self, contacts: list[Address], now: float) -> None:
        """Join through contacts, or begin alone if there are none."""
        self._do(self.agreement.join(contacts, now) if contacts else self.agreement.start_alone(now), now)
        self._after(now)

    def tell_time_of_day(self, seconds: float, now: float) -> None:
        """Be told what the clock on the wall shows, in seconds since 1970; it may have been set back."""
        self._day_offset_s = seconds - now
        if self.in_view is not None:
            self.in_view.tracker.set_clock(self._day_offset_s)

    def begin_in(self, view: View, contacts: list[Address], now: float) -> None:
        """Begin in a view that all its members are given, instead of joining one after the other.

        It is for drivers that make all members, such as a simulation; ``contacts`` are those of ``join``.
        """
        self._do(self.agreement.begin_in(view, contacts, now), now)
        self._after(now)

    def flush(self, now: float) -> None:
        """Send what ``own.send`` was given, and waits for more to go with it."""
        self.own.flush(now)
        self._after(now)

    def consumed(self, count: int, now: float) -> bool:
        """Take note that the application has taken deliveries; tell whether something is to be done."""
        if not self.backlog.take(count):
            return False
        _log.info("%s/%s: the application reads again", self.options.group, self.label)
        if self.in_view is not None:
            self.in_view.data.ask_again(now)
        self._went_on = True
        self._after(now)
        return True

    def ask_progress(self, now: float) -> None:
        """Ask the others how far they have come with one's own messages."""
        if self.in_view is not None:
            self.in_view.data.ask_progress()
            self._after(now)

    def fetch(self, source: str, first: int, last: int, now: float) -> Fetch:
        """Ask late-join handlers for messages of before this member joined; look at it when it goes on."""
        fetch = Fetch(source, first, last, me=self.label, names=self._names)
        self._fetches.append(fetch)
        self._after(now)
        return fetch

    def stop_fetch(self, fetch: Fetch) -> None:
        """Ask no more."""
        self._fetches.remove(fetch)

    def rotate(self, keyring: Keyring) -> None:
        """Seal with another key from now on, and take whatever the ring lists."""
        self.mail.seal.rotate(keyring)

    def receive_from(self, receives: bool | Sequence[str], now: float) -> None:
        """Receive from other senders; it is so when ``agreement.receives_as_wanted``."""
        patterns = replace(self.options, receives=receives).patterns
        if patterns != FROM_ALL and self.options.choice is not None:
            check_receivers(self.options.choice.protocol)
        self._do(self.agreement.receive_from(patterns, now), now)
        self._after(now)

    def leave(self, now: float) -> None:
        """Leave the group; ``Left`` is among the events when that is done."""
        self._do(self.agreement.leave(now), now)
        self._after(now)

    # Datagrams and time

    def receive(self, batch: list[tuple[bytes, Address]], now: float) -> None:
        """Take in datagrams that came together, each with its sender's address."""
        for datagram, address in batch:
            session, frames = self.mail.open(datagram, address, now)
            passed_on, is_direct = None, True
            for number, frame in enumerate(frames):
                if number == 0 and isinstance(frame, PassOn):
                    passed_on, came_from, address = frame, address, self._address_of(session, address)
                    is_direct = came_from == address
                else:
                    self._take(frame, session, address, now, is_direct=is_direct)
            if passed_on is not None:
                self._pass_on(passed_on, datagram, session)
        self._after(now)

    def _address_of(self, session: int, address: Address) -> Address:
        """Return where the sender of a datagram is that another member has sent on from an address."""
        here = self.in_view
        rank = None if here is None else here.ranks.get(session)
        return address if here is None or rank is None else here.addresses[rank]

    def _pass_on(self, frame: PassOn, datagram: bytes, session: int) -> None:
        """Hand a datagram on to those below this member; its other frames may have begun the view."""
        here = self.in_view
        rank = None if here is None else here.ranks.get(session)
        if here is None or rank is None or mark_of(here.view.id) != frame.mark:
            return
        to = here.fan_out.onward(rank, frame)
        if to:
            self.mail.out.pass_on(datagram, to)

    def handle_timer(self, now: float) -> None:
        """Do what is due."""
        due = self.agreement.next_timer()
        if due is not None and now >= due:
            self._do(self.agreement.handle_timer(now), now)
        here = self.in_view
        if here is not None:
            if now >= here.detector.next_tick:
                self._look_after(here, now)
            if here is self.in_view:
                here.handle_timer(now)
        self._after(now)

    def _look_after(self, here: InView, now: float) -> None:
        suspect = self._care.suspects(here, now)
        if suspect is not None:
            self._do(self.agreement.suspect(suspect.sessions, now), now)
        if here is not self.in_view or here.data.limit is not None:
            return
        for news in self._care.look(here, now):
            if isinstance(news, LeaveOut):
                self._do(self.agreement.leave_out(news.session, news.reason, now), now)
            else:
                self._events.append(news)

    def _after(self, now: float) -> None:
        """Let go and send: the end of every entry."""
        here = self.in_view
        if here is not None:
            here.data.sweep(now)
            if self.agreement.is_blocked:
                self._do(self._check_cut(now), now)
            if here.data.took_in:
                here.data.took_in = False
                self.counters.peak_bytes = max(self.counters.peak_bytes, here.data.kept_bytes())
        if self._fetches and self.in_view is not None:
            self._ask_for_history(self.in_view, now)
        self._send_data(now)
        self.mail.out.flush(self.in_view)

    def _ask_for_history(self, here: InView, now: float) -> None:
        for fetch in self._fetches:
            if not fetch.is_done:
                fetch.ask(here, self._trips, self.mail.out.to_rank, now)
                self._went_on |= fetch.is_done

    def _take(
        self, frame: WholeFrame, session: int, address: Address, now: float, *, is_direct: bool = True
    ) -> None:
        """Take in a frame of a trusted session, or an introduction of any."""
        if isinstance(frame, (Data, Fragment)):
            here = self._in_view_of(frame.view, now)
            rank = -1 if here is None else here.ranks.get(session, -1)
            if here is not None and rank >= 0:
                here.take(frame, now)
                here.detector.heard(rank, now, is_direct=is_direct)
        elif isinstance(frame, Control):
            here = self._in_view_of(frame.view, now)
            rank = -1 if here is None else here.ranks.get(session, -1)
            if here is not None and rank >= 0:
                here.detector.heard(rank, now, is_direct=is_direct)
                self._take_control(here, frame, rank, now)
        elif isinstance(frame, Introduction):
            if self.mail.introduce(frame, session, address, now):
                is_answer = isinstance(frame, Welcome)
                self._do(self.agreement.met(address, now, is_answer=is_answer), now)
        elif isinstance(frame, PassOn):  # it means something as the first frame alone
            self.counters.malformed += 1
        elif isinstance(frame, AskHistory):
            for answer in self._archive.answers(frame):
                self.mail.out.to_address(answer, address, session)
        elif isinstance(frame, History):
            self._take_history(frame, session, now)
        elif isinstance(frame, Join) and (why_not := self._care.why_not_let_in(frame.member.name, now)):
            self.mail.refuse(Refuse(why_not), address, session)
        else:
            self._do(self.agreement.receive(frame, session, address, now), now)

    def _in_view_of(self, view: int, now: float) -> InView | None:
        """Return the view that a frame is for, beginning it if the frame shows that it has begun."""
        here = self.in_view
        if here is not None and here.view.id == view:
            return here
        self._do(self.agreement.saw_frame_of(view, now), now)
        here = self.in_view
        return here if here is not None and here.view.id == view else None

    def _take_control(self, here: InView, frame: Control, rank: int, now: float) -> None:
        match frame:
            case Stability():
                if here.data.limit is None and not here.take_stability(frame, rank, now):
                    self.counters.malformed += 1
            case Step():
                here.take_step(frame, rank)
            case Nak():
                lost = here.data.answer(frame, rank, now)
                if lost and self._trips.knows(here.view.members[rank].session):  # before, it may just be late
                    pause = max(LOSSES_STEPS * here.pace.step, self._trips.longest())
                    self.own.window.was_lost(lost, rank, now, pause)
            case SentSoFar():
                here.data.take_sent_so_far(frame, rank, now)
            case Digest() | Forward() | AskMulticast() | Messages():
                if not here.data.take_gossip(frame, rank, now):
                    self.counters.malformed += 1
            case Progress():
                here.take_progress(frame, rank, now)
                self._went_on = True
            case Alive():
                here.signs.take(frame, rank, now)
                self._went_on = True

    def _take_history(self, frame: History, session: int, now: float) -> None:
        here = self.in_view
        if here is not None:
            for fetch in self._fetches:
                fetch.take(frame, here, session, now)
            self._went_on = True

    # What the view asks of its surroundings

    @property
    def is_full(self) -> bool:
        """Whether the application has too much of others waiting for it."""
        return self.backlog.is_full

    def to_rank(self, frame: AnyFrame, rank: int) -> None:
        """Send a frame to one member of the view."""
        self.mail.out.to_rank(frame, rank)

    def to_all(self, frame: AnyFrame) -> None:
        """Send a frame to all other members of the view."""
        self.mail.out.to_all(frame)

    def to_audience(self, frame: AnyFrame) -> None:
        """Send a frame to all members of the view that receive from this one."""
        here = self.in_view
        if here is None or here.audiences.is_whole:
            self.mail.out.to_all(frame)
        else:
            self.mail.out.to_audience(frame)

    def took(self, source: int, stream: Stream, run: Run, now: float) -> None:
        """Deliver a run that has joined its source's prefix, and write it down."""
        here = self.in_view
        if self.tracing is not None and here is not None:
            self.tracing.took(here, source, stream, run, now)
        if self.options.deliver == "received" and self._is_delivered(source):
            self.backlog.deliver(stream, run, self.label)

    def _is_delivered(self, source: int) -> bool:
        """Tell whether the application gets a source's messages: all that come, but maybe not its own."""
        here = self.in_view
        return here is not None and (source != here.rank or here.delivers_own)

    def released(self, source: int, stream: Stream, runs: list[Kept], now: float) -> None:
        """Let go of runs that everyone has."""
        here = self.in_view
        assert here is not None
        if self.options.deliver == "stable" and self._is_delivered(source):
            for kept in runs:
                if kept.run is not None:
                    self.backlog.deliver(stream, kept.run, self.label)
        if source == here.rank:
            self.own.became_stable(runs, self._survivors(here), self._trips, now, p_fail=self._p_fail(here))
            self._went_on = True
        if self.tracing is not None:
            self.tracing.released(here, source, runs, now)
        if self.tells_releases:
            self._events.append(Released(stream.label, stream.stable_seq))
        self._archive.keep(key_of(here.view.members[source]), runs)

    def _survivors(self, here: InView) -> tuple[str, ...]:
        """Return who has what becomes stable now of this member's own messages."""
        for_whom = here.audiences.with_source(here.rank)
        return tuple(here.labels[rank] for rank in for_whom if rank not in self._gone)

    def _p_fail(self, here: InView) -> float | None:
        """Return how probably what becomes stable now is not everywhere; None if it is known to be."""
        data = here.data
        return data.p_fail(failed=len(self._gone)) if isinstance(data, BimodalPlane) else None

    def dropped(self, source: int, runs: list[Kept], now: float) -> None:
        """Let go of runs that others keep."""
        here = self.in_view
        assert here is not None
        if source == here.rank:
            self.own.let_go(runs, self._trips.longest())
            self._went_on = True
        if self.tracing is not None:
            self.tracing.dropped(here, source, runs, now)

    def lost(self, source: int, stream: Stream, first: int, last: int, now: float) -> None:
        """Tell the application of messages that were given up."""
        self._events.append(MessagesLost(stream.label, first, last))

    # Views

    def _numbers(self) -> tuple[tuple[int, ...], int]:
        """Return what is here when sending stops: all that was numbered is sent then."""
        here = self.in_view
        assert here is not None
        prefixes, (parts, messages) = here.data.prefixes(), self.own.numbers()
        return (*prefixes[: here.rank], parts, *prefixes[here.rank + 1 :]), messages

    def _do(self, actions: list[Action], now: float) -> None:
        """Do what the agreement on views asks for."""
        waiting = deque(actions)
        while waiting:
            match waiting.popleft():
                case Send(frame, address, session):
                    self.mail.send(frame, address, session, now)
                case StopSending():
                    self._stop_sending(now)
                case GetUpTo(cut, holders):
                    if self.in_view is not None:
                        self.in_view.data.get_up_to(cut, holders, now)
                        waiting.extend(self._check_cut(now))
                case Begin() as begin:
                    self._begin(begin, now)
                case Dissolved(_, left):
                    self._dissolve(left, now)
                case TrustSessions(sessions):
                    self.mail.known.named(sessions - {self.session})
                case Left() as has_left:
                    if self.tracing is not None and self.in_view is not None:
                        self.tracing.left(self.in_view, now)
                    self._events.append(has_left)
                case JoinFailed() as failed:
                    self._events.append(failed)

    def _check_cut(self, now: float) -> list[Action]:
        here = self.in_view
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
        self.own.stop(now)
        self._send_data(now, at_once=True)
        if self.in_view is not None:
            self.in_view.data.stop()

    def _settle(self, gone: tuple[MemberInfo, ...], following: View | None, now: float) -> None:
        """End the view, if there is one, without those who do not come along into the next one."""
        here = self.in_view
        if here is not None:
            if self.tracing is not None:
                self.tracing.ends(here, following, now)
            self._gone = frozenset(here.ranks[member.session] for member in gone)
            here.data.settle(now)
            self._gone = frozenset()
            self.counters.add(here.data.counts())
            self.mail.out.flush(here)
        self.own.end()
        self.in_view = None

    def _dissolve(self, left: tuple[MemberInfo, ...], now: float) -> None:
        self._settle(left, None, now)
        self._events.append(Settled("cut off from the group; coming back as a new member"))

    def _begin(self, begin: Begin, now: float) -> None:
        """Leave a view settled, and begin the next."""
        here = self.in_view
        if here is not None and isinstance(here.data, BimodalPlane):
            both = zip(begin.view.sessions, begin.numbers, strict=True)
            sent = {here.ranks[session]: messages for session, (_, messages) in both if session in here.ranks}
            here.data.tell_lost(sent, now)
        self._settle(begin.gone + begin.left, begin.view, now)
        view = begin.view
        labels = self._names.labels_of(roster_of(view))
        self.counters.views += 1
        self._trips.keep(view.sessions)
        self.mail.known.began(view.sessions, self.session)
        self.in_view = here = InView(
            view,
            self.session,
            begin.numbers,
            labels=labels,
            options=self.options,
            around=self,
            rng=self._rng,
            trips=self._trips,
            now=now,
            time_offset_s=self._day_offset_s,
            ip_multicast=self._ip_multicast,
        )
        self.own.begin(here, *begin.numbers[here.rank])
        self._tell_of_beginning(begin, here, now)

    def _tell_of_beginning(self, begin: Begin, here: InView, now: float) -> None:
        label_of = self._names.label_of
        resumed = self._care.began(begin.view, now)
        self._events += [MemberFailed(label_of(member)) for member in begin.gone]
        if resumed is not None:
            self._events.append(resumed)
        if self.tracing is not None:
            self.tracing.began(begin, here, now)
        self._events.append(
            ViewChanged(
                members=here.labels,
                joined=tuple(here.labels[here.ranks[member.session]] for member in begin.joined),
                left=tuple(map(label_of, begin.left)),
                failed=tuple(map(label_of, begin.gone)),
                reason=begin.reason,
                me=self.label,
                main=begin.view.line == self.options.group,
            )
        )
        self._went_on = True

    def _send_data(self, now: float, *, at_once: bool = False) -> None:
        if self.mail.out.has_data and self.in_view is not None:
            self.mail.out.send_data(self.in_view, now, at_once=at_once)
