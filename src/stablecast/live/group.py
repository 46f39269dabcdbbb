"""A live group for asyncio: join, multicast, wait for stability, take deliveries, leave."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Future
from threading import get_ident
from typing import TYPE_CHECKING
from weakref import WeakSet

from stablecast.engine.explain import describe, explain, laggards, spread
from stablecast.engine.forks import Process
from stablecast.engine.keys import Keyring
from stablecast.engine.levels import Level
from stablecast.engine.options import checked_payload
from stablecast.engine.results import (
    DeliveriesGivenUp,
    Delivery,
    Event,
    Explanation,
    HistoryGone,
    MessageId,
    Outcome,
    Reached,
    TimedOut,
    ViewChanged,
)
from stablecast.engine.stats import Stats
from stablecast.errors import DrainTimedOut, GroupClosed, InvalidInput, JoinFailed, NotHere
from stablecast.live.event_stream import EventStream
from stablecast.live.inbox import Inbox
from stablecast.live.receipt import Receipt
from stablecast.live.sending import FromThreads, Sending
from stablecast.live.stable_waiters import StableWaiters
from stablecast.live.words import log_event
from stablecast.membership.view import Address, View, format_address

if TYPE_CHECKING:
    from stablecast.live.driver import Driver
    from stablecast.live.notes import Notes

LEAVE_S = 1.0
ASK_FIRST_S = 0.002
ASK_MOST_S = 0.25
NEWS_S = 1.0
"""Seconds without news after which something is looked at again, in case."""

_log = logging.getLogger(__name__)


class Group:
    """A process's membership of a group; made by :func:`stablecast.join`.

    It belongs to the event loop on which it was joined, and to that loop's thread: other threads use
    ``send_threadsafe``.  A fork of the process cannot use it.
    """

    def __init__(self, make_driver: Callable[[GroupListener], Driver]) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = get_ident()
        self._forks = Process.forks
        self._streams: WeakSet[EventStream] = WeakSet()
        self._stable = StableWaiters(self._loop)
        self._news: set[asyncio.Future[None]] = set()
        self._joined: asyncio.Future[None] = self._loop.create_future()
        self._left: asyncio.Future[str] = self._loop.create_future()
        self._closing: asyncio.Future[None] | None = None
        self._is_open = True
        self._why_closed = ""
        self._on_close: list[Callable[[], None]] = []
        self.metrics_address: Address | None = None
        """Where metrics are served, if they are."""
        self._notes: Notes | None = None
        """What observers are told has happened; None while nobody can ask."""
        self._driver = make_driver(GroupListener(self))
        self._engine = engine = self._driver.engine
        self._inbox = Inbox(
            self.name,
            most=engine.options.queue_messages,
            consumed=self._driver.consumed,
            on_given_up=lambda count: self._tell(DeliveriesGivenUp(count)),
        )
        self._sending = Sending(self._driver, self._check_open)
        self._now, self._own, self._open_run = self._driver.now, engine.own, engine.own.open_run
        self._threads = FromThreads(self._loop, self.send)

    def __repr__(self) -> str:
        state = "closed" if self._driver.closed else self._engine.agreement.state
        view = f"view of {', '.join(self.members)}" if self.members else "no view"
        return f"<Group '{self.name}': '{self.me}' at {self.address}, {state}, {view}>"

    # Who is in

    @property
    def name(self) -> str:
        """The group's name."""
        return self._engine.options.group

    @property
    def me(self) -> str:
        """Label of this member; it changes when it comes back as a new incarnation."""
        return self._engine.label

    @property
    def address(self) -> str:
        """Where others reach this member, and may join through it."""
        return format_address(self._engine.agreement.me.address)

    @property
    def view(self) -> View | None:
        """The present view, None while there is none."""
        return self._engine.view

    @property
    def members(self) -> tuple[str, ...]:
        """Labels of the present members."""
        return self._engine.labels

    @property
    def frontier(self) -> dict[str, int]:
        """For each source, the last message that is known to be everywhere."""
        return self._engine.frontier

    @property
    def trace_error(self) -> str:
        """Why the trace ended before its time; nothing while it goes on, or if there is none."""
        return self._driver.trace_error

    # Sending

    async def send(self, payload: bytes) -> Receipt:
        """Multicast a message; waits while this member's share of the buffers is used up."""
        run = self._open_run
        if type(payload) is bytes and len(payload) < run.left and get_ident() == self._thread:
            payloads = run.payloads
            run.left -= len(payload) + run.each
            payloads.append(payload)
            return Receipt(self, run.before + len(payloads), self._now(), self._own.outcomes.present)
        payload = checked_payload(payload)
        self._check_open()
        if not self._sending.may_go(len(payload)):
            await self._sending.turn(len(payload))
        return self._send(payload)

    def send_nowait(self, payload: bytes) -> Receipt:
        """Multicast a message, or raise ``BufferFull`` where ``send`` would wait for room."""
        payload = checked_payload(payload)
        self._check_open()
        self._sending.check_room(len(payload))
        return self._send(payload)

    def send_threadsafe(self, payload: bytes) -> Future[Receipt]:
        """Multicast a message from another thread, as ``send`` does.

        Messages of one thread are sent in the order of its calls.  The future has the receipt; cancelling it
        sends nothing, unless that was under way.  The loop's own thread must not wait for it.
        """
        payload = checked_payload(payload)
        self._check_fork()
        return self._threads.put(payload)

    def _send(self, payload: bytes) -> Receipt:
        now = self._now()
        seq = self._sending.send(payload, now)
        return Receipt(self, seq, now, self._own.outcomes.present)

    # Waiting for stability

    async def _wait_stable(self, receipt: Receipt, timeout: float | None) -> Outcome:
        found = receipt.outcome
        if found is not None:
            return found
        self._check_open()
        try:
            async with asyncio.timeout(timeout):
                return await self._stable.wait(receipt)
        except TimeoutError:
            return self._timed_out(receipt)

    def _timed_out(self, receipt: Receipt) -> TimedOut:
        now = self._driver.now()
        return TimedOut(receipt.id, laggards(self._engine, receipt.id, now), now - receipt.sent_at)

    async def _wait_level(self, receipt: Receipt, level: Level, timeout: float | None) -> Reached | TimedOut:
        if self._engine.options.bimodal is not None:
            raise InvalidInput(
                f"level {level} is not accepted in bimodal delivery, where nobody learns who has a message"
                " (accepted: receipt.stable)"
            )
        wait, ask_at = ASK_FIRST_S, 0.0
        end = float("inf") if timeout is None else self._driver.now() + timeout
        while True:
            now = self._driver.now()
            known = spread(self._engine, receipt.id, receipt.outcome)
            if known is not None and level.holds(known):
                return Reached(receipt.id, tuple(sorted(known.has)), now - receipt.sent_at)
            if (known is not None and known.is_final) or now >= end:
                return self._timed_out(receipt)
            self._check_open()
            if now >= ask_at:  # not at every news: an answer is one, so that would go round and round
                ask_at, wait = now + wait, min(2 * wait, ASK_MOST_S)
                self._driver.ask_progress()
            await self._some_news(min(ask_at, end) - now)

    async def _some_news(self, timeout: float) -> None:
        news: asyncio.Future[None] = self._loop.create_future()
        self._news.add(news)
        try:
            async with asyncio.timeout(timeout):
                await news
        except TimeoutError:
            pass
        finally:
            self._news.discard(news)

    def explain(self, id: MessageId | tuple[str, int]) -> Explanation:
        """Tell who still lacks a message, since when, and when each was last heard of."""
        self._check_place()
        return explain(self._engine, MessageId(*id), self._driver.now())

    def stats(self) -> Stats:
        """Return how this member is doing."""
        self._check_place()
        return describe(self._engine, self._driver.now())

    # Deliveries and events

    def batches(self) -> AsyncGenerator[list[Delivery], None]:
        """Yield deliveries as they come, as many at once as there are; ends when the group is closed."""
        self._check_place()
        self._inbox.want()
        return self._inbox.batches()

    def deliveries(self) -> AsyncGenerator[Delivery, None]:
        """Yield messages, FIFO for each source and exactly once; ends when the group is closed."""
        self._check_place()
        self._inbox.want()
        return self._inbox.deliveries()

    def events(self) -> EventStream:
        """Return what happens in the group from this call on; who does not read loses the oldest."""
        self._check_place()
        stream = EventStream(self._loop)
        if self._driver.closed:
            stream.end()
        self._streams.add(stream)
        self._engine.tell_releases(True)
        return stream

    async def history(self, source: str, first: int, last: int) -> list[Delivery] | HistoryGone:
        """Ask late-join handlers for messages of before this member joined, by number, both included."""
        self._check_open()
        fetch = self._driver.fetch(source, first, last)
        try:
            while not fetch.is_done:
                await self._news_while_open(NEWS_S)
        finally:
            self._engine.stop_fetch(fetch)
        return fetch.gone or fetch.found

    async def receive_from(self, receives: bool | Sequence[str]) -> None:
        """Receive from all senders (``True``), from none, or from those of some names and patterns.

        It returns when the group has agreed, in a view that says so.  From that view's first message on this
        member gets what they send, and they wait for it.
        """
        self._check_open()
        self._driver.receive_from(receives)
        while not self._engine.agreement.receives_as_wanted:
            await self._news_while_open(NEWS_S)

    async def _news_while_open(self, timeout: float) -> None:
        await self._some_news(timeout)
        self._check_open()

    # The engine's news, which come through a GroupListener

    def _deliver(self, batch: list[Delivery]) -> None:
        self._inbox.put(batch)

    def _tell(self, event: Event) -> None:
        log_event(event, self.name, self.me)
        if self._notes is not None:
            self._notes.take(event)
        if isinstance(event, ViewChanged) and not self._joined.done():
            self._joined.set_result(None)
        streams = list(self._streams)
        self._engine.tell_releases(bool(streams))
        for stream in streams:
            stream.put(event)

    def _went_on(self) -> None:
        """Wake those whose message is stable, and those who wait for room."""
        self._stable.wake()
        self._sending.let_on()
        for news in self._news:
            if not news.done():
                news.set_result(None)

    def _join_failed(self, tried: tuple[Address, ...], reason: str) -> None:
        if not self._joined.done():
            asked = ", ".join(format_address(address) for address in tried)
            self._joined.set_exception(JoinFailed(f"cannot join '{self.name}' through {asked}: {reason}"))

    def _has_left(self, reason: str) -> None:
        _log.info("%s/%s: has left the group: %s", self.name, self.me, reason)
        if not self._left.done():
            self._left.set_result(reason)

    def _failed(self, error: Exception) -> None:
        what = "%s/%s: this member has failed, and is out of the group: %r"
        _log.critical(what, self.name, self.me, error, exc_info=error)
        self._why_closed = f": its engine failed with {error!r}"
        self._shut()
        if not self._joined.done():
            self._joined.set_exception(self._closed_error())

    # The end

    async def drain(self, timeout: float | None = None) -> None:
        """Wait until one's own messages are stable, then leave."""
        self._check_open()
        engine = self._engine
        self._driver.flush()
        try:
            async with asyncio.timeout(timeout):
                while not engine.own.is_settled:
                    await self._news_while_open(NEWS_S)
        except TimeoutError:
            missing = engine.own.sent - engine.own.outcomes.stable_seq
            raise DrainTimedOut(f"{missing} messages are not stable after {timeout:g} s") from None
        await self.close()

    async def close(self) -> None:
        """Leave, and close everything, in bounded time; may be called again."""
        self._check_place()
        if self._closing is None:
            self._closing = self._loop.create_future()
            self._is_open = False
            self._own.withdraw()
            try:
                await self._say_goodbye()
            finally:
                self._shut()
                self._closing.set_result(None)
        else:
            await asyncio.shield(self._closing)

    async def _say_goodbye(self) -> None:
        if self._driver.closed or self._engine.view is None:
            return
        self._driver.flush()
        self._driver.leave()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await asyncio.shield(self._left)

    def _shut(self) -> None:
        self._is_open = False
        self._own.withdraw()
        self._driver.close()
        for close in self._on_close:
            close()
        error = self._closed_error()
        self._threads.end()
        self._sending.fail(error)
        self._stable.fail(error)
        self._inbox.end()
        for stream in list(self._streams):
            stream.end()
        for news in self._news:
            if not news.done():
                news.set_result(None)

    def _check_open(self) -> None:
        self._check_place()
        if not self._is_open:
            raise self._closed_error()

    def _closed_error(self) -> GroupClosed:
        return GroupClosed(f"group '{self.name}' was closed{self._why_closed}")

    def _check_place(self) -> None:
        """Refuse calls from where nothing of this may be touched, before anything is."""
        self._check_fork()
        running = asyncio._get_running_loop()
        if get_ident() != self._thread:
            raise NotHere(
                f"group '{self.name}' was joined in another thread "
                "(accepted: calls in that thread, and send_threadsafe in any)"
            )
        if running is not self._loop and (running is not None or self._loop.is_closed()):
            raise NotHere(f"group '{self.name}' was joined on another event loop (accepted: that one)")

    def _check_fork(self) -> None:
        if self._forks != Process.forks:
            raise NotHere(
                f"group '{self.name}' was joined by the process that this one was forked from: both would "
                "speak as one member (accepted: to join in this process)"
            )

    def rotate_key(self, key: Keyring | bytes | str) -> None:
        """Seal with another key from now on, and take whatever the ring lists."""
        self._check_place()
        self._engine.rotate(Keyring.of(key))

    async def __aenter__(self) -> Group:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class GroupListener:
    """What the engine tells a group, so that none of it is among the application's methods."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def deliver(self, batch: list[Delivery]) -> None:
        """Take messages from the engine."""
        self._group._deliver(batch)

    def tell(self, event: Event) -> None:
        """Take an event from the engine."""
        self._group._tell(event)

    def went_on(self) -> None:
        """Look again: something became stable, there is room to send, or a view began."""
        self._group._went_on()

    def join_failed(self, tried: tuple[Address, ...], reason: str) -> None:
        """Take note that no view took this process in."""
        self._group._join_failed(tried, reason)

    def has_left(self, reason: str) -> None:
        """Take note that this process is out of the group."""
        self._group._has_left(reason)

    def failed(self, error: Exception) -> None:
        """Take note that the engine has failed."""
        self._group._failed(error)
