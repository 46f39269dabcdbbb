"""One process of a live group, without sockets: datagrams and the application's calls in, datagrams out.

The engine puts the pieces together and decides nothing by itself: who is in (:mod:`stablecast.membership`),
what has come and is missing (``in_view``), what everyone has (``tracker``).  Every entry takes in what there
is, then lets go of what has become stable, sends what has gathered, and sets one timer.
"""

from __future__ import annotations

import logging
import random
from collections import deque
from itertools import repeat

from stablecast.live.acquaintances import Acquaintances
from stablecast.live.attached import UNSTABLE_MOST, members_most
from stablecast.live.flow import Window
from stablecast.live.guarded_log import GuardedLog
from stablecast.live.history import Archive
from stablecast.live.in_view import InView
from stablecast.live.incoming import Incoming
from stablecast.live.keys import Keyring
from stablecast.live.options import Options
from stablecast.live.outcomes import Outcomes
from stablecast.live.outgoing import Outgoing
from stablecast.live.packing import Packer
from stablecast.live.results import Delivery, Event, QueueFull, Settled, TraceFailed
from stablecast.live.round_trips import RoundTrips
from stablecast.live.seal import Seal
from stablecast.live.sides import Listener, Log
from stablecast.live.stats import Counters, TimeHistogram
from stablecast.live.streams import Kept, Run, Stream
from stablecast.live.transport import Cancellable, Transport, format_address
from stablecast.live.trust import Trust
from stablecast.live.view_events import ViewEvents, changed
from stablecast.live.wire import (
    EVERYONE,
    AnyFrame,
    AskHistory,
)
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
from stablecast.membership.messages import Refuse
from stablecast.membership.slow_members import SlowMembers
from stablecast.membership.view import Address, MemberInfo, View

TIMER_SLACK_S = 0.0002
PAST_INCARNATIONS = 8

_log = logging.getLogger(__name__)


class Engine:
    """One process."""

    def __init__(
        self,
        options: Options,
        transport: Transport,
        listener: Listener,
        *,
        address: Address,
        keyring: Keyring | None = None,
        log: Log | None = None,
        time_offset_s: float = 0.0,
    ) -> None:
        self.options = options
        self.transport = transport
        self.counters = Counters()
        self.times = TimeHistogram()
        self.rng = random.Random(transport.seed) if transport.seed is not None else random.SystemRandom()
        self.session = self.rng.getrandbits(64) or 1
        self.seal = Seal(options.group, self.session, keyring=keyring)
        self.trust = Trust(self.session, self.rng.getrandbits(256).to_bytes(32, "big"))
        self.acquaintances = Acquaintances(self.trust, self.seal)
        host, port = address
        name = options.member or f"{host}:{port}"
        most = members_most(options.choice, transport.largest)
        me = MemberInfo(self.session, name, 1, host, port, options.zone, most)
        self.agreement = Agreement(
            me,
            group=options.group,
            protocol=options.choice.identity,
            rng=self.rng,
            numbers=self._numbers,
            timing=options.timing,
        )
        self.slow = SlowMembers(options.slow)
        self.in_view: InView | None = None
        self.packer: Packer | None = None
        self.window = Window(options.buffer_bytes, transport.largest)
        self.trips = RoundTrips()
        self.outcomes = Outcomes(me.label)
        self.past: dict[str, Outcomes] = {}
        self.waiting = 0
        """Deliveries that the application has not taken yet."""
        self.trace_error = ""
        """Why the trace ended before its time; nothing while it goes on."""
        self.log = None if log is None else GuardedLog(log, self._trace_failed)
        self.closed = False
        self._listener = listener
        self.outgoing = Outgoing(
            transport, self.seal, self.counters, rate=options.rate_bytes_per_s, log=self.log
        )
        self.history = Archive(
            options.history_bytes, self.outgoing.to_address, self.note_progress, transport.largest
        )
        self.view_events = ViewEvents(self)
        self._in = Incoming(self)
        self._time_offset_s = time_offset_s
        self._deliveries: list[Delivery] = []
        self._foreign = 0
        """Deliveries among these, and below among those that wait, that are not of one's own messages."""
        self._foreign_waiting = 0
        self._unread: deque[tuple[int, int]] = deque()
        """For each batch that waits, how many deliveries it has, and how many of them are foreign."""
        self._went_on = False
        self._was_full = False
        self._timer: Cancellable | None = None
        self._timer_at = float("inf")

    # The application's calls

    @property
    def view(self) -> View | None:
        """The view that this process is in."""
        return self.agreement.view

    @property
    def label(self) -> str:
        """Name of this member in its view."""
        return self.outcomes.label

    @property
    def is_full(self) -> bool:
        """Whether the application has too much of others waiting for it.

        One's own messages do not count: a reader that sends would wait for itself.
        """
        return self._foreign_waiting >= self.options.queue_messages

    def start(self, contacts: list[Address]) -> None:
        """Join through contacts, or begin alone if there are none."""
        now = self.transport.now()
        self.transport.start(self.receive)
        self._do(self.agreement.join(contacts, now) if contacts else self.agreement.start_alone(now), now)
        self._after(now)

    def may_send(self, size: int) -> bool:
        """Tell whether a message of this size may be sent now."""
        if self.in_view is None or self.packer is None or self.agreement.is_blocked:
            return False
        if self.parts_with(size) > UNSTABLE_MOST:
            return False
        return self.window.takes(size, self.in_view.own.kept_bytes + self.packer.waiting)

    def parts_with(self, size: int) -> int:
        """Return the unstable parts with those of a message of this size; 0 where they are not counted."""
        here, packer = self.in_view, self.packer
        if here is None or packer is None or not here.tracker.attaches:
            return 0
        return packer.parts - here.own.stable + packer.parts_of(size)

    def send(self, payload: bytes) -> int:
        """Send a message, to be called when ``may_send``; return its number."""
        packer = self.packer
        assert packer is not None
        runs = packer.add(payload)
        self.counters.sent += 1
        seq = packer.messages
        if runs:
            now = self.transport.now()
            self._put_out(runs, now)
            self._send_data(now)
        return seq

    def flush(self) -> None:
        """Send what waits for more to go with it."""
        now = self.transport.now()
        if self.packer is not None and not self.agreement.is_blocked:
            self._put_out(self.packer.flush(), now)
        self._after(now)

    def consumed(self, count: int) -> None:
        """Take note that the application has taken deliveries."""
        self.waiting -= count
        while count:
            size, foreign = self._unread.popleft()
            taken = min(size, count)
            if taken < size:
                self._unread.appendleft((size - taken, max(foreign - taken, 0)))
            self._foreign_waiting -= min(foreign, taken)
            count -= taken
        if self._was_full and self._foreign_waiting <= self.options.queue_messages // 2:
            self._was_full = False
            _log.info("%s/%s: the application reads again", self.options.group, self.label)
            now = self.transport.now()
            if self.in_view is not None:
                self.in_view.ask_again(now)
            self._went_on = True
            self._after(now)

    def ask_progress(self) -> None:
        """Ask the others how far they have come with one's own messages."""
        if self.in_view is not None:
            self.in_view.ask_progress()
            self._after(self.transport.now())

    def ask_history(self, ask: AskHistory, rank: int) -> None:
        """Ask a member for messages of before this one joined."""
        self.to_rank(ask, rank)
        self._after(self.transport.now())

    def leave(self) -> None:
        """Leave the group; the listener hears when that is done."""
        now = self.transport.now()
        self._do(self.agreement.leave(now), now)
        self._after(now)

    def close(self) -> None:
        """Do nothing any more."""
        if not self.closed:
            self.closed = True
            if self._timer is not None:
                self._timer.cancel()
            if self.log is not None:
                self.log.flush()
            self.transport.close()

    # Datagrams in

    def receive(self, batch: list[tuple[bytes, Address]]) -> None:
        """Take in datagrams."""
        if self.closed:
            return
        now = self.transport.now()
        for datagram, address in batch:
            self._in.take(datagram, address, now)
        self._after(now)

    # What the view asks of its surroundings

    def to_rank(self, frame: AnyFrame, rank: int) -> None:
        """Send a frame to one member of the view."""
        self.outgoing.to_rank(frame, rank)

    def to_all(self, frame: AnyFrame) -> None:
        """Send a frame to all other members of the view."""
        self.outgoing.to_all(frame)

    def took(self, stream: Stream, run: Run, now: float) -> None:
        """Deliver a run that has joined its source's prefix, and write it down."""
        here = self.in_view
        if self.log is not None and here is not None:
            self.view_events.log_run(here, stream, run, now)
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
        self.view_events.released(here, stream, runs, now)

    def _own_became_stable(self, here: InView, runs: list[Kept], now: float) -> None:
        size, before = 0, self.outcomes.stable_seq
        for kept in runs:
            size += kept.size
            if kept.seq > before:
                self.times.observe(now - kept.at, kept.seq - before)
                before = kept.seq
        self.window.became_stable(size, self.trips.longest())
        self.outcomes.became_stable(here.own.stable_seq, self.view_events.survivors(here), now)
        self._went_on = True

    def dropped(self, stream: Stream, runs: list[Kept], now: float) -> None:
        """Let go of runs that others keep."""
        if self.in_view is not None:
            self.view_events.dropped(self.in_view, stream, runs, now)

    # Views

    def _numbers(self) -> tuple[tuple[int, ...], int, int]:
        here, packer = self.in_view, self.packer
        assert here is not None
        assert packer is not None
        return here.prefixes(), packer.parts, packer.messages

    def _do(self, actions: list[Action], now: float) -> None:
        waiting = deque(actions)
        while waiting:
            match waiting.popleft():
                case Send(frame, address, session):
                    self._send_membership(frame, address, session, now)
                case StopSending():
                    self._stop_sending()
                case GetUpTo(cut, holders):
                    if self.in_view is not None:
                        self.in_view.get_up_to(cut, holders, now)
                        waiting.extend(self._check_cut(now))
                case Begin() as begin:
                    self._begin(begin, now)
                case Dissolved(_, left):
                    self._dissolve(left, now)
                case TrustSessions(sessions):
                    self.acquaintances.named(sessions - {self.session})
                case JoinFailed(tried, reason):
                    self._listener.join_failed(tried, reason)
                case Left(reason):
                    self.view_events.left(now)
                    self._listener.has_left(reason)

    def _check_cut(self, now: float) -> list[Action]:
        here = self.in_view
        if here is None or here.limit is None or not self.agreement.is_blocked or not here.has_cut():
            return []
        return self.agreement.have_cut(now)

    def _send_membership(self, frame: AnyFrame, address: Address, session: int, now: float) -> None:
        known = session or self._in.met.get(address, 0)
        is_trusted = bool(known) and self.trust.trusted(known)
        if is_trusted and isinstance(frame, Refuse):
            self.refuse(frame, address, known)
        elif is_trusted:
            self.outgoing.to_address(frame, address, known)
        if not session or not is_trusted:
            # There may be another process by now, or one that our last THANKS has not come to.
            self.outgoing.to_address(self.trust.hello(now), address, EVERYONE)

    def refuse(self, frame: Refuse, address: Address, session: int) -> None:
        """Tell a process why it cannot join, and the log as well."""
        what = "%s/%s: refused to let in the process at %s: %s"
        _log.warning(what, self.options.group, self.label, format_address(address), frame.reason)
        self.outgoing.to_address(frame, address, session)

    def _stop_sending(self) -> None:
        """Send what was numbered, then nothing more in this view."""
        now = self.transport.now()
        if self.packer is not None:
            self._put_out(self.packer.flush(), now)
        self._send_data(now, at_once=True)
        if self.in_view is not None:
            self.in_view.stop()

    def _settle(self, gone: tuple[MemberInfo, ...], next_line: str, now: float) -> None:
        here = self.in_view
        if here is not None:
            self.view_events.ends(here, gone, next_line, now)
            here.settle(now)
            self.view_events.ended()
            self.counters.repairs_asked += here.repairs_asked
            self.counters.repairs_sent += here.repairs_sent
            self.outgoing.flush(self.in_view)
        self.in_view, self.packer = None, None

    def _begin(self, begin: Begin, now: float) -> None:
        """Leave a view settled, and begin the next."""
        self._settle(begin.gone + begin.left, begin.view.line, now)
        view = begin.view
        me = view.member(self.session)
        assert me is not None
        if me.label != self.outcomes.label or not self.counters.views:
            self._new_incarnation(me)
        self.counters.views += 1
        self.trips.keep(view.sessions)
        self.acquaintances.began(view.sessions, self.session)
        self.in_view = InView(
            view,
            self.session,
            begin.numbers,
            options=self.options,
            around=self,
            rng=self.rng,
            trips=self.trips,
            now=now,
        )
        rank = self.in_view.rank
        tracker = self.in_view.tracker
        self.packer = Packer(
            view.id,
            rank,
            parts=begin.numbers[rank][0],
            messages=begin.numbers[rank][1],
            largest=self.transport.largest,
            attach=(lambda part: tracker.attach(part, self.transport.now())) if tracker.attaches else None,
            width=tracker.width,
            stable=lambda: tracker.stable[rank],
        )
        self.window = Window(self.options.buffer_bytes // len(view.members), self.transport.largest)
        self.outcomes.begin_view(self.packer.messages, tuple(self.in_view.labels))
        self.slow.view_changed(view.sessions)
        self.view_events.began(begin, now)
        self._listener.tell(changed(begin, me.label, self.options.group))
        self._went_on = True

    def _new_incarnation(self, me: MemberInfo) -> None:
        if self.counters.views:
            self.past[self.outcomes.label] = self.outcomes
            while len(self.past) > PAST_INCARNATIONS:
                del self.past[next(iter(self.past))]
        self.outcomes = Outcomes(me.label)

    def _dissolve(self, left: tuple[MemberInfo, ...], now: float) -> None:
        self._settle(left, "", now)
        self._listener.tell(Settled("cut off from the group; coming back as a new member"))

    def note_progress(self) -> None:
        """Have the application look again whether something that it waits for has come about."""
        self._went_on = True

    def tell(self, event: Event) -> None:
        """Tell the application of an event."""
        self._listener.tell(event)

    def do(self, actions: list[Action], now: float) -> None:
        """Do what the agreement on views asks for."""
        self._do(actions, now)

    def has_met(self, address: Address) -> bool:
        """Tell whether a process of the group has answered from an address."""
        return address in self._in.met

    def _trace_failed(self, reason: str) -> None:
        self.trace_error = reason
        self.tell(TraceFailed(reason))

    def time_us(self, now: float) -> int:
        """Return a time as traces have it."""
        return round((now + self._time_offset_s) * 1e6)

    # Time

    def _on_timer(self) -> None:
        self._timer, self._timer_at = None, float("inf")
        if self.closed:
            return
        now = self.transport.now()
        due = self.agreement.next_timer()
        if due is not None and now >= due:
            self._do(self.agreement.handle_timer(now), now)
        here = self.in_view
        if here is not None:
            if now >= here.detector.next_tick:
                self.view_events.look_after(here, now)
            if here is self.in_view:
                here.handle_timer(now)
        self._after(now)

    def _next_timer(self) -> float:
        due = self.agreement.next_timer()
        at = float("inf") if due is None else due
        if self.in_view is not None:
            at = min(at, self.in_view.next_timer())
        return min(at, self.outgoing.ready_at())

    def _after(self, now: float) -> None:
        """Let go, tell, send, and set the timer: the end of every entry."""
        if self.closed:
            return
        here = self.in_view
        if here is not None:
            here.sweep(now)
            if self.agreement.is_blocked:
                self._do(self._check_cut(now), now)
            kept = here.kept_bytes()
            if kept > self.counters.peak_bytes:
                self.counters.peak_bytes = kept
        self._send_data(now)
        self.outgoing.flush(self.in_view)
        self._hand_over()
        at = self._next_timer()
        if at < self._timer_at - TIMER_SLACK_S:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_at = at
            self._timer = self.transport.call_at(max(at, now), self._on_timer)

    def _hand_over(self) -> None:
        if self._deliveries:
            batch, self._deliveries = self._deliveries, []
            foreign, self._foreign = self._foreign, 0
            self.counters.delivered += len(batch)
            if self.options.deliver != "nothing":
                self.waiting += len(batch)
                self._foreign_waiting += foreign
                self._unread.append((len(batch), foreign))
                self._listener.deliver(batch)
                if self.is_full and not self._was_full:
                    self._was_full = True
                    self.tell(QueueFull(self.waiting))
        if self._went_on:
            self._went_on = False
            self._listener.went_on()

    # Data out

    def _put_out(self, runs: list[Run], now: float) -> None:
        here = self.in_view
        if here is not None:
            for run in runs:
                self.window.was_sent(here.add_own(run, now))
                self.outgoing.data(run)

    def _send_data(self, now: float, *, at_once: bool = False) -> None:
        if self.outgoing.has_data and self.in_view is not None:
            self.outgoing.send_data(self.in_view, now, at_once=at_once)
