"""The application's side of sending: room in the buffers, turns on the event loop, messages of other threads.

Room
    Who finds no room waits in a queue, and the first of it goes on when there is some.  Once its message is
    counted it wakes the next.
Turns
    Messages that are sent in one turn of the loop go together.  After ``TURN_BYTES`` in one turn, each
    message counted with ``MESSAGE_BYTES`` more, the next ``send`` lets the loop turn, so that a task that
    only sends lets others have their turn as well.  It does so before its message is sent: who cancels it
    cancels it whole.
Runs
    Room and turns are looked at once for many small messages: the first of them, and each that completes a
    run, asks; those that follow go into the run under construction without asking (``Own.grant``).
Threads
    What other threads send is queued, and sent by a task on the loop, one after the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future

from stablecast.errors import BufferFull, GroupClosed
from stablecast.live.driver import Driver
from stablecast.live.receipt import Receipt

TURN_BYTES = 1 << 20
MESSAGE_BYTES = 1 << 10
STALLED_S = 5.0
"""A sender that has waited for so long is warned of in the log."""

CLOSED = "the group was closed before the message was sent"

_log = logging.getLogger(__name__)


class Sending:
    """Decides when a message may be handed to the engine."""

    def __init__(self, driver: Driver, check: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._driver = driver
        self._engine = driver.engine
        self._own = driver.engine.own
        self._check = check
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._flush_due = False
        self._sent = 0
        self._turn_began_at = 0
        self._let_on = 0
        self._stall_timer: asyncio.TimerHandle | None = None

    def may_go(self, size: int) -> bool:
        """Tell whether a message of this size may be sent at once."""
        return not self._is_turn_over() and not self._waiters and self._own.may_send(size)

    def _is_turn_over(self) -> bool:
        return (
            self._flush_due
            and self._sent + MESSAGE_BYTES * (self._own.sent - self._turn_began_at) >= TURN_BYTES
        )

    async def turn(self, size: int) -> None:
        """Wait until a message of this size, which may not go at once, may be sent."""
        self._own.check_sends()
        if self._is_turn_over():
            await asyncio.sleep(0)
            self._check()
        if self._waiters or not self._own.may_send(size):
            await self._wait_for_room(size)
            while not self._own.may_send(size):  # a view change may have come in between
                await self._wait_for_room(size, first=True)
            self._loop.call_soon(self.let_on)

    def check_room(self, size: int) -> None:
        """Raise ``BufferFull`` where ``turn`` would wait for room."""
        self._own.check_sends()
        if self._waiters or not self._own.may_send(size):
            raise BufferFull(self._own.why_not(size))

    def send(self, payload: bytes, now: float) -> int:
        """Hand a message to the engine, and have it sent with those that follow in this turn; its number."""
        if not self._flush_due:
            self._check()  # once in a turn: the loop may be closed, and another one run
            self._loop.call_soon(self._flush)
            self._flush_due = True
            self._sent, self._turn_began_at = 0, self._own.sent
        own = self._own
        seq = own.send(payload, now)
        self._sent += len(payload)
        if not self._waiters:
            own.grant()
            self._sent += own.open_run.left
        return seq

    def let_on(self) -> None:
        """Let the first that waits send, if there is room; once its message is counted, it wakes the next."""
        while self._waiters:
            size, turn = self._waiters[0]
            if not turn.done() and not self._own.may_send(size):
                return
            self._waiters.popleft()
            if not turn.done():
                self._let_on += 1
                turn.set_result(None)
                return

    def fail(self, error: Exception) -> None:
        """Let nobody wait any more."""
        for _, turn in self._waiters:
            if not turn.done():
                turn.set_exception(error)
        self._waiters.clear()
        self._stop_stall_timer()

    def _flush(self) -> None:
        self._flush_due = False
        if not self._driver.closed:
            self._driver.flush()

    async def _wait_for_room(self, size: int, *, first: bool = False) -> None:
        """Wait for one's turn, behind those who wait already; or in front of them, if it was one's turn."""
        engine = self._engine
        if engine.options.on_full == "error" and not engine.is_blocked and not self._own.may_send(size):
            raise BufferFull(self._own.why_not(size))
        self._own.withdraw()  # nobody overtakes those who wait
        turn: asyncio.Future[None] = self._loop.create_future()
        entry = (size, turn)
        if first:
            self._waiters.appendleft(entry)
        else:
            self._waiters.append(entry)
        self._start_stall_timer()
        try:
            await turn
        except asyncio.CancelledError:
            with contextlib.suppress(ValueError):
                self._waiters.remove(entry)
            self._loop.call_soon(self.let_on)
            raise
        finally:
            if not self._waiters:
                self._stop_stall_timer()
        self._check()

    # Senders that wait for long

    def _why_they_wait(self) -> str:
        return self._own.why_not(self._waiters[0][0] if self._waiters else 0)

    def _start_stall_timer(self) -> None:
        if self._stall_timer is None:
            _log.debug("%s/%s: senders wait: %s", self._group, self._engine.label, self._why_they_wait())
            self._look_again()

    def _look_again(self) -> None:
        self._stall_timer = self._loop.call_later(STALLED_S, self._warn_of_stall, self._let_on)

    def _stop_stall_timer(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None

    def _warn_of_stall(self, let_on: int) -> None:
        """Warn, once until nobody waits any more, if nobody was let on since the timer was set."""
        if let_on != self._let_on:
            self._look_again()
        else:
            what = "%s/%s: senders have waited for %g s: %s"
            _log.warning(what, self._group, self._engine.label, STALLED_S, self._why_they_wait())

    @property
    def _group(self) -> str:
        return self._engine.options.group


class FromThreads:
    """Messages that other threads want to have sent, in the order in which they came.

    Parameters
    ----------
    loop
        The group's loop.
    send
        Sends one message on it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, send: Callable[[bytes], Awaitable[Receipt]]) -> None:
        self._loop = loop
        self._send = send
        self._waiting: deque[tuple[bytes, Future[Receipt]]] = deque()
        self._is_told = False
        self._is_over = False
        self._task: asyncio.Task[None] | None = None

    def put(self, payload: bytes) -> Future[Receipt]:
        """Take a message, from any thread."""
        future: Future[Receipt] = Future()
        self._waiting.append((payload, future))
        # Both marks are set before the queue is looked at, so no message is overlooked.
        if self._is_over:
            self._fail()
        elif not self._is_told:
            self._is_told = True
            try:
                self._loop.call_soon_threadsafe(self._start)
            except RuntimeError:  # the loop is closed
                self.end()
        return future

    def end(self) -> None:
        """Send nothing any more."""
        self._is_over = True
        self._fail()

    def _start(self) -> None:
        self._is_told = False
        if self._task is None and not self._is_over:
            self._task = self._loop.create_task(self._send_all(), name="stablecast-threads")

    async def _send_all(self) -> None:
        try:
            while self._waiting:
                payload, future = self._waiting.popleft()
                if future.set_running_or_notify_cancel():
                    await self._send_one(payload, future)
        except BaseException:  # the loop ends
            self.end()
            raise
        finally:
            self._task = None

    async def _send_one(self, payload: bytes, future: Future[Receipt]) -> None:
        try:
            future.set_result(await self._send(payload))
        except BaseException as error:
            is_ours = isinstance(error, Exception)
            future.set_exception(error if is_ours else GroupClosed(CLOSED))
            if not is_ours:
                raise

    def _fail(self) -> None:
        with contextlib.suppress(IndexError):  # two threads may do this at once
            while True:
                _, future = self._waiting.popleft()
                if future.set_running_or_notify_cancel():
                    future.set_exception(GroupClosed(CLOSED))
