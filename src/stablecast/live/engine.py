"""One process of a live group, without sockets: datagrams and the application's calls in, datagrams out.

The engine puts the pieces together and decides nothing by itself: who is in (:mod:`stablecast.membership`),
what has come and is missing (``in_view``), what everyone has (``tracker``).  Every entry takes in what there
is, then lets go of what has become stable, sends what has gathered, and sets one timer.
"""

from __future__ import annotations

import random
from collections import deque
from itertools import repeat
from typing import Protocol

import msgspec

from stablecast.live.flow import Pacer, Window
from stablecast.live.history import Archive
from stablecast.live.in_view import InView
from stablecast.live.keys import Keyring
from stablecast.live.options import Options
from stablecast.live.outcomes import Outcomes
from stablecast.live.packing import Packer
from stablecast.live.results import Delivery, Event, Settled
from stablecast.live.seal import OVERHEAD, Seal
from stablecast.live.stats import Counters, TimeHistogram
from stablecast.live.streams import Kept, Run, Stream
from stablecast.live.tracker import ATTACHED_LENGTH
from stablecast.live.transport import Cancellable, Transport
from stablecast.live.trust import Trust
from stablecast.live.view_events import ViewEvents, changed
from stablecast.live.wire import (
    EVERYONE,
    INSIDE_BYTES,
    AnyFrame,
    AskHistory,
    Data,
    Fragment,
    Hello,
    Nak,
    Progress,
    SentSoFar,
    Stability,
    Thanks,
    Welcome,
    encode,
    pack,
    pack_encoded,
    unpack,
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
from stablecast.membership.messages import Alive, Join, Refuse
from stablecast.membership.slow_members import SlowMembers
from stablecast.membership.view import Address, MemberInfo, View

TIMER_SLACK_S = 0.0002
PAST_INCARNATIONS = 8
MET_MOST = 1024


class Listener(Protocol):
    """The application's side."""

    def deliver(self, batch: list[Delivery]) -> None:
        """Take messages, in order."""

    def tell(self, event: Event) -> None:
        """Take an event."""

    def went_on(self) -> None:
        """Look again: something became stable, there is room to send, or a view began."""

    def join_failed(self, tried: tuple[Address, ...], reason: str) -> None:
        """Take note that no view took this process in."""

    def has_left(self, reason: str) -> None:
        """Take note that this process is out of the group."""


class Log(Protocol):
    """Where events of the trace schema go."""

    def send(self, group: str, member: str, seq: int, time_us: int, size: int) -> None:
        """A message was sent."""

    def receive(
        self, group: str, member: str, source: str, first_seq: int, sizes: list[int], time_us: int
    ) -> None:
        """Messages in a row have come."""

    def stable(self, group: str, member: str, source: str, seq: int, time_us: int) -> None:
        """A source's messages are everywhere up to this one."""

    def release(
        self, group: str, member: str, source: str, first: int, last: int, sizes: list[int], time_us: int
    ) -> None:
        """Copies were let go."""

    def change(self, group: str, kind: str, member: str, time_us: int) -> None:
        """A member joined, left or failed."""

    def flush(self) -> None:
        """Have everything written."""


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
        host, port = address
        name = options.member or f"{host}:{port}"
        me = MemberInfo(self.session, name, 1, host, port, options.zone)
        self.agreement = Agreement(
            me,
            group=options.group,
            protocol=options.protocol,
            rng=self.rng,
            numbers=self._numbers,
            timing=options.timing,
        )
        self.slow = SlowMembers(options.slow)
        self.in_view: InView | None = None
        self.packer: Packer | None = None
        self.window = Window(options.buffer_bytes, transport.largest)
        self.outcomes = Outcomes(me.label)
        self.past: dict[str, Outcomes] = {}
        self.waiting = 0
        """Deliveries that the application has not taken yet."""
        self.log = log
        self.closed = False
        self._listener = listener
        self.history = Archive(options.history_bytes, self._send_to, self._note_history, transport.largest)
        self.view_events = ViewEvents(self)
        self._time_offset_s = time_offset_s
        self._pacer = Pacer(options.rate_bytes_per_s, transport.now())
        self._data_out: deque[bytes] = deque()
        self._for_all: list[bytes] = []
        self._for_rank: dict[int, list[bytes]] = {}
        self._deliveries: list[Delivery] = []
        self._went_on = False
        self._was_full = False
        self._met: dict[Address, int] = {}
        self._timer: Cancellable | None = None
        self._timer_at = float("inf")
        self._room = transport.largest - OVERHEAD - INSIDE_BYTES

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
        """Whether the application has too much waiting for it."""
        return self.waiting >= self.options.queue_messages

    def start(self, contacts: list[Address]) -> None:
        """Join through contacts, or begin alone if there are none."""
        now = self.transport.now()
        self.transport.start(self.receive)
        self._do(self.agreement.join(contacts, now) if contacts else self.agreement.start_alone(now), now)
        self._after(now)

    def may_send(self, size: int) -> bool:
        """Tell whether a message of this size may be sent now."""
        if self.in_view is None or self.packer is None or self.agreement.is_blocked or self.is_full:
            return False
        own = self.in_view.own
        if self.in_view.tracker.attaches and self.packer.parts - own.stable > ATTACHED_LENGTH // 2:
            return False
        return self.window.takes(size, own.kept_bytes + self.packer.waiting)

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
        if self._was_full and self.waiting <= self.options.queue_messages // 2:
            self._was_full = False
            now = self.transport.now()
            if self.in_view is not None:
                for stream in self.in_view.streams:
                    if stream.lacks:
                        stream.nak_at, stream.nak_tries = now, 0
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
            opened = self.seal.open(datagram)
            if opened is None:
                continue
            try:
                to, frames = unpack(opened.inside)
            except msgspec.DecodeError:
                self.counters.malformed += 1
                continue
            if to not in (EVERYONE, self.session):
                self.counters.misdirected += 1
            elif self.trust.trusted(opened.session):
                self._take(frames, opened.session, address, now)
            else:
                self._take_of_stranger(frames, opened.session, address, now)
        self._after(now)

    def _take_of_stranger(self, frames: list[AnyFrame], session: int, address: Address, now: float) -> None:
        """From who has not answered a challenge nothing is taken but an introduction."""
        for frame in frames:
            if isinstance(frame, Hello | Welcome | Thanks):
                self._introduce(frame, session, address, now)
            else:
                self.counters.untrusted += 1

    def _introduce(self, frame: Hello | Welcome | Thanks, session: int, address: Address, now: float) -> None:
        for answer in self.trust.receive(frame, session, now):
            self._send_to(answer, address, session)
        if self.trust.trusted(session) and self._met.get(address) != session:
            self.seal.keep(session)
            if len(self._met) >= MET_MOST:
                self._met.clear()
            self._met[address] = session
            self._do(self.agreement.met(address, now), now)

    def _take(self, frames: list[AnyFrame], session: int, address: Address, now: float) -> None:
        here = self.in_view
        rank = -1 if here is None else here.ranks.get(session, -1)
        for frame in frames:
            if isinstance(frame, Data | Fragment):
                here = self._in_view_of(frame.view, now)
                if here is not None:
                    here.take(frame, now)
                    if rank >= 0:
                        here.detector.heard(rank, now)
            elif isinstance(frame, Stability | Nak | SentSoFar | Progress | Alive):
                here = self._in_view_of(frame.view, now)
                if here is not None:
                    rank = here.ranks.get(session, -1)
                    if rank >= 0:
                        self._take_control(here, frame, rank, now)
            elif isinstance(frame, Hello | Welcome | Thanks):
                self._introduce(frame, session, address, now)
            elif isinstance(frame, Join) and not self.slow.may_join(frame.member.name, now):
                self._send_to(Refuse(self._ban_of(frame.member.name, now)), address, session)
            else:
                self.view_events.take_other(frame, session, address, now)

    def _ban_of(self, name: str, now: float) -> str:
        until = self.slow.banned_until(name, now) or now
        return f"'{name}' was too slow too often, and may come back in {until - now:.0f} s"

    def _in_view_of(self, view: int, now: float) -> InView | None:
        """Return the view that a frame is for, beginning it if the frame shows that it has begun."""
        here = self.in_view
        if here is not None and here.view.id == view:
            return here
        self._do(self.agreement.saw_frame_of(view, now), now)
        here = self.in_view
        return here if here is not None and here.view.id == view else None

    def _take_control(
        self, here: InView, frame: Stability | Nak | SentSoFar | Progress | Alive, rank: int, now: float
    ) -> None:
        here.detector.heard(rank, now)
        if isinstance(frame, Stability):
            if here.limit is None and not here.take_stability(frame, rank, now):
                self.counters.malformed += 1
        elif isinstance(frame, Nak):
            here.answer(frame, rank, now)
            if frame.source == here.rank:
                self.window.was_lost(now, 4 * here.pace.step)
        elif isinstance(frame, SentSoFar):
            here.take_sent_so_far(frame, rank, now)
        elif isinstance(frame, Progress):
            here.take_progress(frame, rank)
            self._went_on = True
        else:
            here.take_alive(frame, rank, now)
            self._went_on = True

    # What the view asks of its surroundings

    def to_rank(self, frame: AnyFrame, rank: int) -> None:
        """Send a frame to one member of the view."""
        packed = encode(frame)
        if isinstance(frame, Data | Fragment):
            self.counters.repair_bytes += len(packed)
        else:
            self.counters.control_bytes += len(packed)
        self._for_rank.setdefault(rank, []).append(packed)

    def to_all(self, frame: AnyFrame) -> None:
        """Send a frame to all other members of the view."""
        packed = encode(frame)
        self.counters.control_bytes += len(packed)
        self._for_all.append(packed)

    def took(self, stream: Stream, run: Run, now: float) -> None:
        """Deliver a run that has joined its source's prefix, and write it down."""
        here = self.in_view
        if self.log is not None and here is not None:
            self.view_events.log_run(here, stream, run, now)
        if self.options.deliver == "received":
            self._deliver(stream, run)

    def _deliver(self, stream: Stream, run: Run) -> None:
        seq, payloads = stream.messages_of(run)
        self._deliveries.extend(
            map(Delivery, repeat(stream.label), range(seq, seq + len(payloads)), payloads)
        )

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
        self.window.became_stable(size)
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
                case Dissolved():
                    self._dissolve(now)
                case TrustSessions(sessions):
                    for session in sessions - {self.session}:
                        self.trust.trust(session)
                        self.seal.keep(session)
                case JoinFailed(tried, reason):
                    self._listener.join_failed(tried, reason)
                case Left(reason):
                    self._listener.has_left(reason)

    def _check_cut(self, now: float) -> list[Action]:
        here = self.in_view
        if here is None or here.limit is None or not self.agreement.is_blocked or not here.has_cut():
            return []
        return self.agreement.have_cut(now)

    def _send_membership(self, frame: AnyFrame, address: Address, session: int, now: float) -> None:
        known = session or self._met.get(address, 0)
        is_trusted = bool(known) and self.trust.trusted(known)
        if is_trusted:
            self._send_to(frame, address, known)
        if not session or not is_trusted:
            # There may be another process by now, or one that our last THANKS has not come to.
            self._send_to(self.trust.hello(now), address, EVERYONE)

    def _stop_sending(self) -> None:
        """Send what was numbered, then nothing more in this view."""
        now = self.transport.now()
        if self.packer is not None:
            self._put_out(self.packer.flush(), now)
        self._send_data(now, at_once=True)
        if self.in_view is not None:
            self.in_view.stop()

    def _settle(self, gone: tuple[MemberInfo, ...], now: float) -> None:
        here = self.in_view
        if here is not None:
            self.view_events.gone = tuple(member.label for member in gone)
            here.settle(now)
            self.view_events.gone = ()
            self.counters.repairs_asked += here.repairs_asked
            self.counters.repairs_sent += here.repairs_sent
            self._flush_out()
        self.in_view, self.packer = None, None

    def _begin(self, begin: Begin, now: float) -> None:
        """Leave a view settled, and begin the next."""
        self._settle(begin.gone, now)
        view = begin.view
        me = view.member(self.session)
        assert me is not None
        if me.label != self.outcomes.label or not self.counters.views:
            self._new_incarnation(me)
        self.counters.views += 1
        self.in_view = InView(
            view,
            self.session,
            begin.numbers,
            options=self.options,
            around=self,
            rng=self.rng,
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

    def _dissolve(self, now: float) -> None:
        self._settle((), now)
        self._listener.tell(Settled("cut off from the group; coming back as a new member"))

    def _note_history(self) -> None:
        self._went_on = True

    def tell(self, event: Event) -> None:
        """Tell the application of an event."""
        self._listener.tell(event)

    def do(self, actions: list[Action], now: float) -> None:
        """Do what the agreement on views asks for."""
        self._do(actions, now)

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
        if self._data_out:
            at = min(at, self._pacer.ready_at())
        return at

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
        self._flush_out()
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
            self.counters.delivered += len(batch)
            if self.options.deliver != "nothing":
                self.waiting += len(batch)
                self._was_full = self._was_full or self.is_full
                self._listener.deliver(batch)
        if self._went_on:
            self._went_on = False
            self._listener.went_on()

    # Datagrams out

    def _put_out(self, runs: list[Run], now: float) -> None:
        here = self.in_view
        if here is None:
            return
        for run in runs:
            here.add_own(run, now)
            packed = encode(run)
            self.counters.data_bytes += len(packed)
            self._data_out.append(packed)

    def _send_data(self, now: float, *, at_once: bool = False) -> None:
        here, out = self.in_view, self._data_out
        if not out or here is None:
            return
        if self.log is not None:
            self.log.flush()
        copies = len(here.others)
        while out and (at_once or self._pacer.may_send(now)):
            packed = out.popleft()
            if copies:
                self._pacer.sent(copies * len(packed))
                self.transport.send_all(self.seal.close(pack_encoded([packed])), here.others)

    def _flush_out(self) -> None:
        """Send the frames that have gathered, as many in a datagram as fit."""
        here = self.in_view
        if self._for_all:
            frames, self._for_all = self._for_all, []
            if here is not None and here.others:
                for group in self._fitted(frames):
                    self.transport.send_all(self.seal.close(pack_encoded(group)), here.others)
        if self._for_rank:
            by_rank, self._for_rank = self._for_rank, {}
            if here is not None:
                for rank, frames in by_rank.items():
                    to = here.view.members[rank]
                    for group in self._fitted(frames):
                        inside = pack_encoded(group, to.session)
                        self.transport.send(self.seal.close(inside), [to.address])

    def _fitted(self, frames: list[bytes]) -> list[list[bytes]]:
        groups: list[list[bytes]] = []
        room = -1
        for frame in frames:
            if len(frame) > room:
                groups.append([])
                room = self._room
            groups[-1].append(frame)
            room -= len(frame)
        return groups

    def _send_to(self, frame: AnyFrame, address: Address, session: int) -> None:
        inside = pack([frame], session)
        self.counters.control_bytes += len(inside)
        self.transport.send(self.seal.close(inside), [address])
