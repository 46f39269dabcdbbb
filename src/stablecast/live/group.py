"""A live group for asyncio: join, multicast, wait for stability, take deliveries, leave."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TypeVar

from stablecast.errors import BufferFull, DrainTimedOut, GroupClosed, InvalidInput, JoinFailed
from stablecast.live.attached import UNSTABLE_MOST
from stablecast.live.engine import Engine
from stablecast.live.explain import describe, explain, laggards, spread
from stablecast.live.history import Wanted, fetch
from stablecast.live.keys import Keyring
from stablecast.live.levels import Level
from stablecast.live.options import check_payload
from stablecast.live.receipt import Receipt
from stablecast.live.results import (
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
from stablecast.live.stats import Stats
from stablecast.live.transport import format_address
from stablecast.membership.view import Address, View

EVENTS_KEPT = 10_000
LEAVE_S = 1.0
ASK_FIRST_S = 0.002
ASK_MOST_S = 0.25

T = TypeVar("T")


class Group:
    """A process's membership of a group; made by :func:`stablecast.join`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._engine: Engine
        self._batches: deque[list[Delivery]] = deque()
        self._rest: Iterator[Delivery] = iter(())
        self._reader: asyncio.Future[None] | None = None
        self._history_turn = asyncio.Lock()
        self._events: list[deque[Event]] = []
        self._event_waiters: list[asyncio.Future[None]] = []
        self._stable_waiters: dict[str, list[tuple[int, int, Receipt, asyncio.Future[Outcome]]]] = {}
        self._order = itertools.count()
        self._room_waiters: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._news: set[asyncio.Future[None]] = set()
        self._flush_due = False
        self._joined: asyncio.Future[None] = self._loop.create_future()
        self._left: asyncio.Future[str] = self._loop.create_future()
        self._closing: asyncio.Future[None] | None = None
        self._on_close: list[Callable[[], None]] = []
        self.metrics_address: Address | None = None
        """Where metrics are served, if they are."""

    def _attach(self, engine: Engine) -> None:
        self._engine = engine

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
        here = self._engine.in_view
        return () if here is None else tuple(here.labels)

    @property
    def frontier(self) -> dict[str, int]:
        """For each source, the last message that is known to be everywhere."""
        here = self._engine.in_view
        return {} if here is None else {stream.label: stream.stable_seq for stream in here.streams}

    # Sending

    async def send(self, payload: bytes) -> Receipt:
        """Multicast a message; waits while this member's share of the buffers is used up."""
        check_payload(payload)
        self._check_open()
        if self._room_waiters or not self._engine.may_send(len(payload)):
            await self._wait_for_room(len(payload))
            while not self._engine.may_send(len(payload)):  # a view change may have come in between
                await self._wait_for_room(len(payload), first=True)
            self._loop.call_soon(self._let_senders_on)
        return self._send(payload)

    def send_nowait(self, payload: bytes) -> Receipt:
        """Multicast a message, or raise ``BufferFull`` where ``send`` would wait."""
        check_payload(payload)
        self._check_open()
        if self._room_waiters or not self._engine.may_send(len(payload)):
            raise BufferFull(self._why_not(len(payload)))
        return self._send(payload)

    def _send(self, payload: bytes) -> Receipt:
        engine = self._engine
        if type(payload) is not bytes:
            payload = bytes(payload)
        seq = engine.send(payload)
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush)
        outcomes = engine.outcomes
        return Receipt(self, MessageId(outcomes.label, seq), engine.transport.now(), outcomes.present)

    def _flush(self) -> None:
        self._flush_due = False
        if not self._engine.closed:
            self._engine.flush()

    async def _wait_for_room(self, size: int, *, first: bool = False) -> None:
        """Wait for one's turn, behind those who wait already; or in front of them, if it was one's turn."""
        engine = self._engine
        blocked = engine.in_view is None or engine.agreement.is_blocked
        if engine.options.on_full == "error" and not blocked and not engine.may_send(size):
            raise BufferFull(self._why_not(size))
        turn: asyncio.Future[None] = self._loop.create_future()
        entry = (size, turn)
        if first:
            self._room_waiters.appendleft(entry)
        else:
            self._room_waiters.append(entry)
        try:
            await turn
        except asyncio.CancelledError:
            with contextlib.suppress(ValueError):
                self._room_waiters.remove(entry)
            self._loop.call_soon(self._let_senders_on)
            raise
        self._check_open()

    def _why_not(self, size: int) -> str:
        engine = self._engine
        own = 0 if engine.in_view is None else engine.in_view.own.kept_bytes
        if engine.is_full:
            return f"{engine.waiting} deliveries wait to be read (accepted: {engine.options.queue_messages})"
        if engine.parts_with(size) > UNSTABLE_MOST:
            return f"{engine.parts_with(size)} parts would be unstable (accepted: {UNSTABLE_MOST})"
        return f"{own} bytes are not stable yet (accepted at present: {int(engine.window.size)})"

    def _let_senders_on(self) -> None:
        """Let the first that waits send, if there is room; once its message is counted, it wakes the next."""
        while self._room_waiters:
            size, turn = self._room_waiters[0]
            if not turn.done() and not self._engine.may_send(size):
                return
            self._room_waiters.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    # Waiting for stability

    async def _wait_stable(self, receipt: Receipt, timeout: float | None) -> Outcome:
        found = receipt._outcome
        if found is not None:
            return found
        self._check_open()
        waiter: asyncio.Future[Outcome] = self._loop.create_future()
        heap = self._stable_waiters.setdefault(receipt.id.source, [])
        heapq.heappush(heap, (receipt.id.seq, next(self._order), receipt, waiter))
        try:
            async with asyncio.timeout(timeout):
                return await waiter
        except TimeoutError:
            return self._timed_out(receipt)

    def _timed_out(self, receipt: Receipt) -> TimedOut:
        now = self._engine.transport.now()
        return TimedOut(receipt.id, laggards(self._engine, receipt.id, now), now - receipt.sent_at)

    async def _wait_level(self, receipt: Receipt, level: Level, timeout: float | None) -> Reached | TimedOut:
        engine, wait, ask_at = self._engine, ASK_FIRST_S, 0.0
        end = float("inf") if timeout is None else engine.transport.now() + timeout
        while True:
            now = engine.transport.now()
            known = spread(engine, receipt.id, receipt._outcome)
            if known is not None and level.holds(known):
                return Reached(receipt.id, tuple(sorted(known.has)), now - receipt.sent_at)
            if (known is not None and known.is_final) or now >= end:
                return self._timed_out(receipt)
            self._check_open()
            if now >= ask_at:  # not at every news: an answer is one, so that would go round and round
                ask_at, wait = now + wait, min(2 * wait, ASK_MOST_S)
                engine.ask_progress()
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
        return explain(self._engine, MessageId(*id))

    def stats(self) -> Stats:
        """Return how this member is doing."""
        return describe(self._engine)

    # Deliveries and events

    async def batches(self) -> AsyncIterator[list[Delivery]]:
        """Yield deliveries as they come, as many at once as there are; ends when the group is closed."""
        rest = list(self._rest)
        if rest:
            yield rest
        while batch := await self._next_batch():
            yield batch

    async def deliveries(self) -> AsyncIterator[Delivery]:
        """Yield messages, FIFO for each source and exactly once; ends when the group is closed."""
        while True:
            for delivery in self._rest:  # who stops in between leaves the rest to the next reader
                yield delivery
            batch = await self._next_batch()
            if not batch:
                return
            self._rest = iter(batch)

    async def _next_batch(self) -> list[Delivery]:
        """Wait for deliveries; there are none once the group is closed."""
        while not self._batches:
            if self._engine.closed:
                return []
            if self._reader is not None and not self._reader.done():
                raise InvalidInput(
                    "somebody else reads this group's deliveries already (accepted: one reader)"
                )
            self._reader = self._loop.create_future()
            await self._reader
        batch = self._batches.popleft()
        self._engine.consumed(len(batch))
        return batch

    def events(self) -> AsyncIterator[Event]:
        """Return what happens in the group from this call on; who does not read loses the oldest."""
        mine: deque[Event] = deque(maxlen=EVENTS_KEPT)
        self._events.append(mine)
        self._engine.view_events.tells_releases = True
        return self._read_events(mine)

    async def _read_events(self, mine: deque[Event]) -> AsyncIterator[Event]:
        try:
            while True:
                while mine:
                    yield mine.popleft()
                if self._engine.closed:
                    return
                waiter: asyncio.Future[None] = self._loop.create_future()
                self._event_waiters.append(waiter)
                await waiter
        finally:
            self._events = [queue for queue in self._events if queue is not mine]
            self._engine.view_events.tells_releases = bool(self._events)

    async def history(self, source: str, first: int, last: int) -> list[Delivery] | HistoryGone:
        """Ask late-join handlers for messages of before this member joined, by number, both included."""
        wanted = Wanted.checked(source, first, last)
        self._check_open()
        async with self._history_turn:
            return await fetch(self._engine, wanted, self._news_while_open)

    async def _news_while_open(self, timeout: float) -> None:
        await self._some_news(timeout)
        self._check_open()

    # The engine's news

    def deliver(self, batch: list[Delivery]) -> None:
        """Take messages from the engine."""
        self._batches.append(batch)
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def tell(self, event: Event) -> None:
        """Take an event from the engine."""
        if isinstance(event, ViewChanged) and not self._joined.done():
            self._joined.set_result(None)
        for queue in self._events:
            queue.append(event)
        waiters, self._event_waiters = self._event_waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def went_on(self) -> None:
        """Wake those whose message is stable, and those who wait for room."""
        for source in list(self._stable_waiters):
            self._wake_stable(source)
        if self._room_waiters:
            self._let_senders_on()
        for news in self._news:
            if not news.done():
                news.set_result(None)

    def _wake_stable(self, source: str) -> None:
        heap = self._stable_waiters[source]
        while heap and (outcome := heap[0][2]._outcome) is not None:
            waiter = heapq.heappop(heap)[3]
            if not waiter.done():
                waiter.set_result(outcome)
        if not heap:
            del self._stable_waiters[source]

    def join_failed(self, tried: tuple[Address, ...], reason: str) -> None:
        """Take note that no view took this process in."""
        if not self._joined.done():
            asked = ", ".join(format_address(address) for address in tried)
            self._joined.set_exception(JoinFailed(f"cannot join '{self.name}' through {asked}: {reason}"))

    def has_left(self, reason: str) -> None:
        """Take note that this process is out of the group."""
        if not self._left.done():
            self._left.set_result(reason)

    # The end

    async def drain(self, timeout: float | None = None) -> None:
        """Wait until one's own messages are stable, then leave."""
        self._check_open()
        engine = self._engine
        engine.flush()
        try:
            async with asyncio.timeout(timeout):
                while engine.packer is None or engine.outcomes.stable_seq < engine.packer.messages:
                    await self._news_while_open(1.0)
        except TimeoutError:
            sent = 0 if engine.packer is None else engine.packer.messages
            missing = sent - engine.outcomes.stable_seq
            raise DrainTimedOut(f"{missing} messages are not stable after {timeout:g} s") from None
        await self.close()

    async def close(self) -> None:
        """Leave, and close everything, in bounded time; may be called again."""
        if self._closing is None:
            self._closing = self._loop.create_future()
            try:
                await self._say_goodbye()
            finally:
                self._shut()
                self._closing.set_result(None)
        else:
            await asyncio.shield(self._closing)

    async def _say_goodbye(self) -> None:
        if self._engine.closed or self._engine.view is None:
            return
        self._engine.flush()
        self._engine.leave()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await asyncio.shield(self._left)

    def _shut(self) -> None:
        self._engine.close()
        for close in self._on_close:
            close()
        error = GroupClosed(f"group '{self.name}' was closed")
        waiters: list[asyncio.Future[None]] = [turn for _, turn in self._room_waiters]
        for turn in waiters:
            if not turn.done():
                turn.set_exception(error)
        for heap in self._stable_waiters.values():
            for _, _, _, waiter in heap:
                if not waiter.done():
                    waiter.set_exception(error)
        self._room_waiters.clear()
        self._stable_waiters.clear()
        ending = [*self._event_waiters, *self._news]
        if self._reader is not None:
            ending.append(self._reader)
        for future in ending:
            if not future.done():
                future.set_result(None)

    def _check_open(self) -> None:
        if self._engine.closed or self._closing is not None:
            raise GroupClosed(f"group '{self.name}' was closed")

    def rotate_key(self, key: Keyring | bytes | str) -> None:
        """Seal with another key from now on, and take whatever the ring lists."""
        self._engine.seal.rotate(Keyring.of(key))

    async def __aenter__(self) -> Group:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
