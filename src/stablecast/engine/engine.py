"""One process of a live group, without a socket, a clock or a thread of its own.

In
    ``join``, ``send``, ``flush``, ``consumed``, ``leave`` and the application's other calls;
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
from itertools import repeat
from typing import NamedTuple

from stablecast.engine.attached import UNSTABLE_MOST, members_most
from stablecast.engine.backlog import Backlog
from stablecast.engine.care import Care, LeaveOut
from stablecast.engine.flow import Window
from stablecast.engine.history import Archive, Fetch
from stablecast.engine.in_view import InView
from stablecast.engine.incoming import Incoming
from stablecast.engine.introductions import Introductions
from stablecast.engine.keys import Keyring
from stablecast.engine.names import Names, key_of
from stablecast.engine.options import Options
from stablecast.engine.outcomes import Outcomes
from stablecast.engine.outgoing import Datagram, Outgoing
from stablecast.engine.packing import Packer
from stablecast.engine.results import (
    Delivery,
    Event,
    MemberFailed,
    QueueFull,
    Released,
    Settled,
    ViewChanged,
)
from stablecast.engine.round_trips import RoundTrips
from stablecast.engine.rows import Row
from stablecast.engine.seal import Seal
from stablecast.engine.stats import Counters, TimeHistogram
from stablecast.engine.streams import Kept, Run, Stream
from stablecast.engine.tracing import Tracing
from stablecast.engine.wire import (
    EVERYONE,
    AnyFrame,
    AskHistory,
    Data,
    Fragment,
    Hello,
    History,
    Nak,
    Progress,
    SentSoFar,
    Stability,
    Thanks,
    Welcome,
    WholeFrame,
)
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
from stablecast.membership.view import Address, MemberInfo, View, format_address

PAST_INCARNATIONS = 8
LOSSES_STEPS = 4
"""Steps for which losses are counted together at least; a round trip if that is longer."""

Introduction = Hello | Welcome | Thanks
Control = Stability | Nak | SentSoFar | Progress | Alive

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
    ) -> None:
        self.options = options
        self.counters = Counters()
        self.times = TimeHistogram()
        self.session = rng.getrandbits(64) or 1
        host, port = address
        name = options.member or f"{host}:{port}"
        most = members_most(options.choice, largest)
        me = MemberInfo(self.session, name, 1, host, port, options.zone, most=most)
        self.seal = Seal(options.group, self.session, keyring=keyring)
        self._introductions = Introductions(self.session, rng.getrandbits(256).to_bytes(32, "big"), self.seal)
        self.agreement = Agreement(
            me,
            group=options.group,
            protocol=options.choice.identity,
            rng=rng,
            numbers=self._numbers,
            timing=options.timing,
        )
        self.in_view: InView | None = None
        """This process in its view, None while it has none."""
        self.outcomes = Outcomes(me.label)
        """What became of the messages of this incarnation."""
        self.past: dict[str, Outcomes] = {}
        """What became of those of the last ones before, by label."""
        self.tells_releases = False
        """Whether somebody wants to hear of each release."""
        self.tracing = Tracing(options.group, time_offset_s) if traces else None
        self.window = Window(options.buffer_bytes, largest)
        self.backlog = Backlog(options.queue_messages)
        self._largest = largest
        self._rng = rng
        self._names = Names()
        self._care = Care(options.group, options.slow)
        self._packer: Packer | None = None
        self._trips = RoundTrips()
        self._in = Incoming(self.seal, self.counters, f"{options.group}/{name}")
        self._out = Outgoing(
            self.seal, self.counters, largest=largest, rate=options.rate_bytes_per_s, now=now
        )
        self._archive = Archive(options.history_bytes, self._names, largest)
        self._fetches: list[Fetch] = []
        self._events: list[Event | JoinFailed | Left] = []
        self._deliveries: list[Delivery] = []
        self._foreign = 0
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
        return self.outcomes.label

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the members of the present view."""
        return () if self.in_view is None else tuple(self.in_view.labels)

    @property
    def frontier(self) -> dict[str, int]:
        """For each source, the last message that is known to be everywhere."""
        here = self.in_view
        return {} if here is None else {stream.label: stream.stable_seq for stream in here.streams}

    @property
    def is_blocked(self) -> bool:
        """Whether nothing can be sent until a view begins."""
        return self.in_view is None or self.agreement.is_blocked

    @property
    def sent(self) -> int:
        """Last message of this incarnation; 0 while there is no view."""
        return 0 if self._packer is None else self._packer.messages

    @property
    def is_settled(self) -> bool:
        """Whether all of one's own messages are known to be everywhere."""
        return self._packer is not None and self.outcomes.stable_seq >= self._packer.messages

    def refused(self) -> dict[str, int]:
        """Return how many datagrams were refused, by reason."""
        counters = self.counters
        return {
            **self.seal.refused,
            "malformed": counters.malformed,
            "misdirected": counters.misdirected,
            "untrusted": counters.untrusted,
            "unanswered": counters.unanswered,
        }

    def has_met(self, address: Address) -> bool:
        """Tell whether a process of the group has answered from an address."""
        return self._introductions.session_at(address) != 0

    def output(self) -> Output:
        """Return what is to be done since the last call."""
        rows: list[Row] = []
        if self.tracing is not None and self.tracing.rows:
            rows, self.tracing.rows = self.tracing.rows, []
        datagrams, self._out.datagrams = self._out.datagrams, []
        deliveries = self._hand_over() if self._deliveries else []
        events, self._events = self._events, []
        went_on, self._went_on = self._went_on, False
        return Output(rows, datagrams, events, deliveries, went_on)

    def _hand_over(self) -> list[Delivery]:
        batch, self._deliveries = self._deliveries, []
        foreign, self._foreign = self._foreign, 0
        self.counters.delivered += len(batch)
        if self.options.deliver == "nothing":
            return []
        if self.backlog.add(len(batch), foreign):
            self._events.append(QueueFull(self.backlog.waiting))
        return batch

    def next_timer(self) -> float:
        """Return when ``handle_timer`` is to be called; infinite if not at all."""
        due = self.agreement.next_timer()
        times = [self._out.ready_at()] if due is None else [self._out.ready_at(), due]
        if self.in_view is not None:
            times.append(self.in_view.next_timer())
            times += [fetch.next_timer() for fetch in self._fetches]
        return min(times)

    # The application's calls

    def join(self, contacts: list[Address], now: float) -> None:
        """Join through contacts, or begin alone if there are none."""
        self._do(self.agreement.join(contacts, now) if contacts else self.agreement.start_alone(now), now)
        self._after(now)

    def may_send(self, size: int) -> bool:
        """Tell whether a message of this size may be sent now."""
        here, packer = self.in_view, self._packer
        if here is None or packer is None or self.agreement.is_blocked:
            return False
        if here.tracker.attaches and self._parts_with(here, packer, size) > UNSTABLE_MOST:
            return False
        return self.window.takes(size, here.own.kept_bytes + packer.waiting)

    def why_not(self, size: int) -> str:
        """Say why a message of this size may not be sent now."""
        here, packer = self.in_view, self._packer
        if here is None or packer is None or self.agreement.is_blocked:
            return "a view change is under way"
        if here.tracker.attaches and (parts := self._parts_with(here, packer, size)) > UNSTABLE_MOST:
            return f"{parts} parts would be unstable (accepted: {UNSTABLE_MOST})"
        return (
            f"{here.own.kept_bytes} bytes are not stable yet (accepted at present: {int(self.window.size)})"
        )

    @staticmethod
    def _parts_with(here: InView, packer: Packer, size: int) -> int:
        """Return the unstable parts with those of a message of this size."""
        return packer.parts - here.own.stable + packer.parts_of(size)

    def send(self, payload: bytes, now: float) -> int:
        """Send a message, to be called when ``may_send``; return its number.

        It may wait for more to go with it: ``flush`` is to follow.
        """
        packer = self._packer
        assert packer is not None
        runs = packer.add(payload, now)
        self.counters.sent += 1
        if runs:
            self._put_out(runs, now)
            self._send_data(now)
        return packer.messages

    def flush(self, now: float) -> None:
        """Send what waits for more to go with it."""
        if self._packer is not None and not self.agreement.is_blocked:
            self._put_out(self._packer.flush(now), now)
        self._after(now)

    def consumed(self, count: int, now: float) -> bool:
        """Take note that the application has taken deliveries; tell whether something is to be done."""
        if not self.backlog.take(count):
            return False
        _log.info("%s/%s: the application reads again", self.options.group, self.label)
        if self.in_view is not None:
            self.in_view.ask_again(now)
        self._went_on = True
        self._after(now)
        return True

    def ask_progress(self, now: float) -> None:
        """Ask the others how far they have come with one's own messages."""
        if self.in_view is not None:
            self.in_view.ask_progress()
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
        self.seal.rotate(keyring)

    def leave(self, now: float) -> None:
        """Leave the group; ``Left`` is among the events when that is done."""
        self._do(self.agreement.leave(now), now)
        self._after(now)

    # Datagrams and time

    def receive(self, batch: list[tuple[bytes, Address]], now: float) -> None:
        """Take in datagrams that came together, each with its sender's address."""
        for datagram, address in batch:
            opened = self._in.open(datagram, address)
            if opened is None:
                continue
            session, frames = opened
            if self._introductions.trusts(session):
                self._introductions.known.heard(session)
                for frame in self._in.whole(frames, session):
                    self._take(frame, session, address, now)
            else:
                self._take_of_stranger(frames, session, address, now)
        self._after(now)

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
        if here is not self.in_view or here.limit is not None:
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
            here.sweep(now)
            if self.agreement.is_blocked:
                self._do(self._check_cut(now), now)
            kept = here.kept_bytes()
            if kept > self.counters.peak_bytes:
                self.counters.peak_bytes = kept
        if self._fetches and self.in_view is not None:
            self._ask_for_history(self.in_view, now)
        self._send_data(now)
        self._out.flush(self.in_view)

    def _ask_for_history(self, here: InView, now: float) -> None:
        for fetch in self._fetches:
            if not fetch.is_done:
                fetch.ask(here, self._trips, self._out.to_rank, now)
                self._went_on |= fetch.is_done

    def _take_of_stranger(self, frames: list[AnyFrame], session: int, address: Address, now: float) -> None:
        """From who has not answered a challenge nothing is taken but an introduction."""
        for frame in frames:
            if not isinstance(frame, Introduction):
                self.counters.untrusted += 1
            elif self._introductions.may_answer(frame, address, now):
                self._introduce(frame, session, address, now)
            else:
                self.counters.unanswered += 1

    def _take(self, frame: WholeFrame, session: int, address: Address, now: float) -> None:
        """Take in a frame of a trusted session."""
        if isinstance(frame, (Data, Fragment)):
            here = self._in_view_of(frame.view, now)
            rank = -1 if here is None else here.ranks.get(session, -1)
            if here is not None and rank >= 0:
                here.take(frame, now)
                here.detector.heard(rank, now)
        elif isinstance(frame, Control):
            here = self._in_view_of(frame.view, now)
            rank = -1 if here is None else here.ranks.get(session, -1)
            if here is not None and rank >= 0:
                here.detector.heard(rank, now)
                self._take_control(here, frame, rank, now)
        elif isinstance(frame, Introduction):
            self._introduce(frame, session, address, now)
        elif isinstance(frame, AskHistory):
            self._out.to_address(self._archive.answer(frame), address, session)
        elif isinstance(frame, History):
            self._take_history(frame, session, now)
        elif isinstance(frame, Join) and (why_not := self._care.why_not_let_in(frame.member.name, now)):
            self._refuse(Refuse(why_not), address, session)
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
                if here.limit is None and not here.take_stability(frame, rank, now):
                    self.counters.malformed += 1
            case Nak():
                lost = here.answer(frame, rank, now)
                if lost and self._trips.knows(here.view.members[rank].session):  # before, it may just be late
                    pause = max(LOSSES_STEPS * here.pace.step, self._trips.longest())
                    self.window.was_lost(lost, rank, now, pause)
            case SentSoFar():
                here.take_sent_so_far(frame, rank, now)
            case Progress():
                here.take_progress(frame, rank, now)
                self._went_on = True
            case Alive():
                here.take_alive(frame, rank, now)
                self._went_on = True

    def _take_history(self, frame: History, session: int, now: float) -> None:
        here = self.in_view
        if here is not None:
            for fetch in self._fetches:
                fetch.take(frame, here, session, now)
            self._went_on = True

    def _introduce(self, frame: Introduction, session: int, address: Address, now: float) -> None:
        answers, is_new = self._introductions.take(frame, session, address, now)
        for answer in answers:
            self._out.to_address(answer, address, session)
        if is_new:
            self._do(self.agreement.met(address, now, is_answer=isinstance(frame, Welcome)), now)

    # What the view asks of its surroundings

    @property
    def is_full(self) -> bool:
        """Whether the application has too much of others waiting for it."""
        return self.backlog.is_full

    def to_rank(self, frame: AnyFrame, rank: int) -> None:
        """Send a frame to one member of the view."""
        self._out.to_rank(frame, rank)

    def to_all(self, frame: AnyFrame) -> None:
        """Send a frame to all other members of the view."""
        self._out.to_all(frame)

    def took(self, source: int, stream: Stream, run: Run, now: float) -> None:
        """Deliver a run that has joined its source's prefix, and write it down."""
        here = self.in_view
        if self.tracing is not None and here is not None:
            self.tracing.took(here, source, stream, run, now)
        if self.options.deliver == "received":
            self._deliver(stream, run)

    def _deliver(self, stream: Stream, run: Run) -> None:
        seq, payloads = stream.messages_of(run)
        me = self.outcomes.label
        self._deliveries.extend(
            map(Delivery, repeat(stream.label), range(seq, seq + len(payloads)), payloads, repeat(me))
        )
        if stream.label != me:
            self._foreign += len(payloads)

    def released(self, source: int, stream: Stream, runs: list[Kept], now: float) -> None:
        """Let go of runs that everyone has."""
        here = self.in_view
        assert here is not None
        if self.options.deliver == "stable":
            for kept in runs:
                if kept.run is not None:
                    self._deliver(stream, kept.run)
        if source == here.rank:
            self._own_became_stable(here, runs, now)
        if self.tracing is not None:
            self.tracing.released(here, source, runs, now)
        if self.tells_releases:
            self._events.append(Released(stream.label, stream.stable_seq))
        self._archive.keep(key_of(here.view.members[source]), runs)

    def _own_became_stable(self, here: InView, runs: list[Kept], now: float) -> None:
        size, before = 0, self.outcomes.stable_seq
        for kept in runs:
            size += kept.size
            if kept.seq > before:
                self.times.observe(now - kept.at, kept.seq - before)
                before = kept.seq
        self.window.became_stable(size, self._trips.longest())
        self.outcomes.became_stable(here.own.stable_seq, self._survivors(here), now)
        self._went_on = True

    def _survivors(self, here: InView) -> tuple[str, ...]:
        """Return who has what becomes stable now."""
        return tuple(label for rank, label in enumerate(here.labels) if rank not in self._gone)

    def dropped(self, source: int, runs: list[Kept], now: float) -> None:
        """Let go of runs that others keep."""
        if self.tracing is not None and self.in_view is not None:
            self.tracing.dropped(self.in_view, source, runs, now)

    # Views

    def _numbers(self) -> tuple[tuple[int, ...], int, int]:
        here, packer = self.in_view, self._packer
        assert here is not None
        assert packer is not None
        return here.prefixes(), packer.parts, packer.messages

    def _do(self, actions: list[Action], now: float) -> None:
        """Do what the agreement on views asks for."""
        waiting = deque(actions)
        while waiting:
            match waiting.popleft():
                case Send(frame, address, session):
                    self._send_membership(frame, address, session, now)
                case StopSending():
                    self._stop_sending(now)
                case GetUpTo(cut, holders):
                    if self.in_view is not None:
                        self.in_view.get_up_to(cut, holders, now)
                        waiting.extend(self._check_cut(now))
                case Begin() as begin:
                    self._begin(begin, now)
                case Dissolved(_, left):
                    self._dissolve(left, now)
                case TrustSessions(sessions):
                    self._introductions.known.named(sessions - {self.session})
                case Left() as has_left:
                    if self.tracing is not None and self.in_view is not None:
                        self.tracing.left(self.in_view, now)
                    self._events.append(has_left)
                case JoinFailed() as failed:
                    self._events.append(failed)

    def _check_cut(self, now: float) -> list[Action]:
        here = self.in_view
        if here is None or here.limit is None or not self.agreement.is_blocked or not here.has_cut():
            return []
        return self.agreement.have_cut(now)

    def _send_membership(self, frame: AnyFrame, address: Address, session: int, now: float) -> None:
        known = session or self._introductions.session_at(address)
        is_trusted = bool(known) and self._introductions.trusts(known)
        if is_trusted and isinstance(frame, Refuse):
            self._refuse(frame, address, known)
        elif is_trusted:
            self._out.to_address(frame, address, known)
        if not session or not is_trusted:
            # There may be another process by now, or one that our last THANKS has not come to.
            self._out.to_address(self._introductions.hello(now), address, EVERYONE)

    def _refuse(self, frame: Refuse, address: Address, session: int) -> None:
        """Tell a process why it cannot join, and the log as well."""
        what = "%s/%s: refused to let in the process at %s: %s"
        _log.warning(what, self.options.group, self.label, format_address(address), frame.reason)
        self._out.to_address(frame, address, session)

    def _stop_sending(self, now: float) -> None:
        """Send what was numbered, then nothing more in this view."""
        if self._packer is not None:
            self._put_out(self._packer.flush(now), now)
        self._send_data(now, at_once=True)
        if self.in_view is not None:
            self.in_view.stop()

    def _settle(self, gone: tuple[MemberInfo, ...], next_line: str, now: float) -> None:
        """End the view, if there is one, without those who do not come along into the next one."""
        here = self.in_view
        if here is not None:
            if self.tracing is not None:
                self.tracing.ends(here, next_line, now)
            self._gone = frozenset(here.ranks[member.session] for member in gone)
            here.settle(now)
            self._gone = frozenset()
            self.counters.repairs_asked += here.repairs_asked
            self.counters.repairs_sent += here.repairs_sent
            self._out.flush(here)
        self.in_view, self._packer = None, None

    def _dissolve(self, left: tuple[MemberInfo, ...], now: float) -> None:
        self._settle(left, "", now)
        self._events.append(Settled("cut off from the group; coming back as a new member"))

    def _begin(self, begin: Begin, now: float) -> None:
        """Leave a view settled, and begin the next."""
        self._settle(begin.gone + begin.left, begin.view.line, now)
        view = begin.view
        labels = tuple(map(self._names.label_of, view.members))
        me = labels[view.rank_of(self.session)]
        if me != self.outcomes.label or not self.counters.views:
            self._new_incarnation(me)
        self.counters.views += 1
        self._trips.keep(view.sessions)
        self._introductions.known.began(view.sessions, self.session)
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
        )
        tracker, rank = here.tracker, here.rank
        self._packer = Packer(
            view.id,
            rank,
            parts=begin.numbers[rank][0],
            messages=begin.numbers[rank][1],
            largest=self._largest,
            attach=tracker.attach if tracker.attaches else None,
            width=tracker.width,
            stable=lambda: tracker.stable[rank],
        )
        self.window = Window(self.options.buffer_bytes // len(view.members), self._largest)
        self.outcomes.begin_view(self._packer.messages, labels)
        self._tell_of_beginning(begin, labels, now)

    def _tell_of_beginning(self, begin: Begin, labels: tuple[str, ...], now: float) -> None:
        label_of = self._names.label_of
        resumed = self._care.began(begin.view, now)
        self._events += [MemberFailed(label_of(member)) for member in begin.gone]
        if resumed is not None:
            self._events.append(resumed)
        if self.tracing is not None:
            self.tracing.began(begin, now)
        self._events.append(
            ViewChanged(
                members=labels,
                joined=tuple(map(label_of, begin.joined)),
                left=tuple(map(label_of, begin.left)),
                failed=tuple(map(label_of, begin.gone)),
                reason=begin.reason,
                me=self.label,
                main=begin.view.line == self.options.group,
            )
        )
        self._went_on = True

    def _new_incarnation(self, me: str) -> None:
        if self.counters.views:
            self.past[self.outcomes.label] = self.outcomes
            while len(self.past) > PAST_INCARNATIONS:
                del self.past[next(iter(self.past))]
        self.outcomes = Outcomes(me)

    # Data out

    def _put_out(self, runs: list[Run], now: float) -> None:
        here = self.in_view
        if here is not None:
            for run in runs:
                self.window.was_sent(here.add_own(run, now))
                self._out.data(run)

    def _send_data(self, now: float, *, at_once: bool = False) -> None:
        if self._out.has_data and self.in_view is not None:
            self._out.send_data(self.in_view, now, at_once=at_once)
