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
    The engine puts the pieces together and decides nothing by itself.  Some outlast views (``process``);
    others are of one view: what has come and is missing, what everyone has, who lives (``in_view``).  Frames
    go to them by way of ``reception``, views begin and end in ``views``, and ``host`` does what a view asks
    for.  Every entry takes in what there is, then lets go of what has become stable, and sends what has
    gathered.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from stablecast.engine.care import LeaveOut
from stablecast.engine.choice import check_receivers
from stablecast.engine.history import Fetch
from stablecast.engine.host import Host
from stablecast.engine.in_view import InView
from stablecast.engine.keys import Keyring
from stablecast.engine.options import Options
from stablecast.engine.outgoing import Datagram
from stablecast.engine.process import Process
from stablecast.engine.reception import Reception
from stablecast.engine.results import Delivery, Event, QueueFull
from stablecast.engine.rows import Row
from stablecast.engine.sealing import SEALED, Sealing
from stablecast.engine.stats import Releases
from stablecast.engine.timers import timers
from stablecast.engine.views import Views
from stablecast.membership.actions import JoinFailed, Left, Randomness
from stablecast.membership.view import FROM_ALL, Address, View

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
    traces, wire
        Whether rows are wanted, and whether those of a wire trace.
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
        wire: bool = False,
        time_offset_s: float = 0.0,
        sealing: Sealing = SEALED,
        ip_multicast: bool = False,
    ) -> None:
        process = Process.make(
            options,
            address=address,
            largest=largest,
            rng=rng,
            now=now,
            keyring=keyring,
            traces=traces,
            wire=wire,
            time_offset_s=time_offset_s,
            sealing=sealing,
        )
        self._host = Host(process)
        self.views = Views(process, self._host, day_offset_s=time_offset_s, ip_multicast=ip_multicast)
        """What begins and ends the views that this process is in."""
        self._reception = Reception(process, self._host, self.views)
        self.options, self.session = options, process.me.session
        self.agreement, self.mail, self.own = self.views.agreement, process.mail, process.own
        self.counters, self.backlog, self.tracing = process.counters, process.backlog, process.tracing
        self.wire = process.wire
        """What writes down datagrams and timers, if anything does."""
        self.reads_time_of_day = options.choice is not None and options.choice.reads_time_of_day
        self._care, self._fetches, self._names = process.care, process.fetches, process.names

    # What there is to know

    @property
    def in_view(self) -> InView | None:
        """Return this process in its view, None while it has none."""
        return self._host.in_view

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

    def releases(self) -> Releases:
        """Return how often messages were let go, and after how long."""
        return self._host.releases

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
        rows = [] if self.tracing is None else self.tracing.take()
        out = self.mail.out
        datagrams, out.datagrams = out.datagrams, []
        deliveries, is_full = self.backlog.hand_over()
        host = self._host
        if is_full:
            host.events.append(QueueFull(self.backlog.waiting))
        events, host.events = host.events, []
        went_on, host.went_on = host.went_on, False
        return Output(rows, datagrams, events, deliveries, went_on)

    def next_timer(self) -> float:
        """Return when ``handle_timer`` is to be called; infinite if not at all."""
        at = self.mail.out.ready_at()
        due = self.agreement.next_timer()
        if due is not None and due < at:
            at = due
        here = self._host.in_view
        if here is None:
            return at
        if self._fetches:
            at = min(at, self._fetches.next_timer())
        return min(at, here.next_timer())

    # The application's calls

    def join(self, contacts: list[Address], now: float) -> None:
        """Join through contacts, or begin alone if there are none."""
        self.views.do(
            self.agreement.join(contacts, now) if contacts else self.agreement.start_alone(now), now
        )
        self._after(now)

    def tell_time_of_day(self, seconds: float, now: float) -> None:
        """Be told what the clock on the wall shows, in seconds since 1970; it may have been set back."""
        self.views.day_offset_s = seconds - now
        if self.in_view is not None:
            self.in_view.tracker.set_clock(self.views.day_offset_s)

    def begin_in(self, view: View, contacts: list[Address], now: float) -> None:
        """Begin in a view that all its members are given, instead of joining one after the other.

        It is for drivers that make all members, such as a simulation; ``contacts`` are those of ``join``.
        """
        self.views.do(self.agreement.begin_in(view, contacts, now), now)
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
        self._host.went_on = True
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
        self._fetches.add(fetch)
        self._after(now)
        return fetch

    def stop_fetch(self, fetch: Fetch) -> None:
        """Ask no more."""
        self._fetches.remove(fetch)

    def rotate(self, keyring: Keyring) -> None:
        """Seal with another key from now on, and take whatever the ring lists."""
        self.mail.seal.rotate(keyring)

    def tell_releases(self, is_wanted: bool) -> None:
        """Have each release among the events, or no longer."""
        self._host.tells_releases = is_wanted

    def receive_from(self, receives: bool | Sequence[str], now: float) -> None:
        """Receive from other senders; it is so when ``agreement.receives_as_wanted``."""
        patterns = replace(self.options, receives=receives).patterns
        if patterns != FROM_ALL and self.options.choice is not None:
            check_receivers(self.options.choice.protocol)
        self.views.do(self.agreement.receive_from(patterns, now), now)
        self._after(now)

    def leave(self, now: float) -> None:
        """Leave the group; ``Left`` is among the events when that is done."""
        self.views.do(self.agreement.leave(now), now)
        self._after(now)

    # Datagrams and time

    def receive(self, batch: list[tuple[bytes, Address]], now: float) -> None:
        """Take in datagrams that came together, each with its sender's address."""
        if self.wire is not None:
            self.wire.now = now
        self._reception.receive(batch, now)
        self._after(now)

    def handle_timer(self, now: float) -> None:
        """Do what is due."""
        if self.wire is not None:
            self.wire.now = now
            self.wire.go_off()
        due = self.agreement.next_timer()
        if due is not None and now >= due:
            self.views.do(self.agreement.handle_timer(now), now)
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
            self.views.do(self.agreement.suspect(suspect.sessions, now), now)
        if here is not self.in_view or here.data.limit is not None:
            return
        for news in self._care.look(here, now):
            if isinstance(news, LeaveOut):
                self.views.do(self.agreement.leave_out(news.session, news.reason, now), now)
            else:
                self._host.events.append(news)

    def _after(self, now: float) -> None:
        """Let go and send: the end of every entry."""
        if self.wire is not None:
            self.wire.now = now
        here = self._host.in_view
        if here is not None:
            if here.tracker.rose:
                here.data.sweep(now)
            if self.agreement.is_blocked:
                self.views.do(self.views.check_cut(now), now)
            if here.data.took_in:
                here.data.took_in = False
                self.counters.peak_bytes = max(self.counters.peak_bytes, here.data.kept_bytes())
        here = self._host.in_view
        if here is not None and self._fetches and self._fetches.ask(here, now):
            self._host.went_on = True
        if self.mail.out.has_data:
            self.views.send_data(now)
        self.mail.out.flush(here)
        if self.wire is not None:
            self.wire.end_call(timers(self.agreement, self.mail.out, self._fetches, here))
