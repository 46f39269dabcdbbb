"""Drives an engine on a transport: hands it datagrams and the time, and does what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stablecast.engine.engine import Engine, Output
from stablecast.engine.history import Fetch
from stablecast.engine.results import Delivery, Event, TraceFailed
from stablecast.live.trace_file import TraceFile
from stablecast.live.transport import Cancellable, Transport
from stablecast.membership.actions import JoinFailed, Left
from stablecast.membership.view import Address

TIMER_SLACK_S = 0.0002
LATER_S = 0.002
"""A timer is set anew if it is due later by this much: for less, it goes off in vain."""


class Listener(Protocol):
    """The application's side."""

    def deliver(self, batch: list[Delivery]) -> None:
        """Take messages, in order."""

    def tell(self, event: Event) -> None:
        """Take an event."""

    def went_on(self) -> None:
        """Look again: something became stable, there is room to send, a view began, or an answer came."""

    def join_failed(self, tried: tuple[Address, ...], reason: str) -> None:
        """Take note that no view took this process in."""

    def has_left(self, reason: str) -> None:
        """Take note that this process is out of the group."""

    def failed(self, error: Exception) -> None:
        """Take note that the engine has failed, and does nothing any more."""


class Driver:
    """One engine at work.

    Parameters
    ----------
    engine
        Makes all decisions; may be asked anything at any time.
    transport
        Carries datagrams, and keeps the time.
    listener
        Is told what comes of it.
    trace
        Where rows are written, if anywhere.
    """

    def __init__(
        self, engine: Engine, transport: Transport, listener: Listener, *, trace: TraceFile | None = None
    ) -> None:
        self.engine = engine
        self.transport = transport
        self.now = transport.now
        self.closed = False
        self.trace_error = ""
        """Why the trace ended before its time; nothing while it goes on."""
        self._listener = listener
        self._trace = trace
        self._is_doing = False
        self._is_again = False
        self._timer: Cancellable | None = None
        self._timer_at = float("inf")

    def start(self, contacts: list[Address]) -> None:
        """Join through contacts, or begin alone if there are none."""
        self.transport.start(self.receive)
        self._tell_time_of_day()
        self.engine.join(contacts, self.now())
        self._do()

    def flush(self) -> None:
        """Have sent what the engine was given to send; to be called once in a turn in which it was."""
        self.engine.flush(self.now())
        self._do()

    def consumed(self, count: int) -> None:
        """Take note that the application has taken deliveries."""
        if self.engine.consumed(count, self.now()):
            self._do()

    def ask_progress(self) -> None:
        """Ask the others how far they have come with one's own messages."""
        self.engine.ask_progress(self.now())
        self._do()

    def fetch(self, source: str, first: int, last: int) -> Fetch:
        """Ask late-join handlers for messages of before this member joined."""
        fetch = self.engine.fetch(source, first, last, self.now())
        self._do()
        return fetch

    def receive_from(self, receives: bool | Sequence[str]) -> None:
        """Receive from other senders, from a next view on."""
        self.engine.receive_from(receives, self.now())
        self._do()

    def leave(self) -> None:
        """Leave the group; the listener hears when that is done."""
        self.engine.leave(self.now())
        self._do()

    def close(self) -> None:
        """Do nothing any more."""
        if not self.closed:
            self.closed = True
            if self._timer is not None:
                self._timer.cancel()
            self._write(self.engine.output())
            self.transport.close()

    def receive(self, batch: list[tuple[bytes, Address]]) -> None:
        """Take in datagrams."""
        if self.closed:
            return
        try:
            self._tell_time_of_day()
            self.engine.receive(batch, self.now())
        except Exception as error:
            self._fail(error)
        self._do()

    def _on_timer(self) -> None:
        self._timer, self._timer_at = None, float("inf")
        if self.closed:
            return
        try:
            self._tell_time_of_day()
            self.engine.handle_timer(self.now())
        except Exception as error:
            self._fail(error)
        self._do()

    def _tell_time_of_day(self) -> None:
        if self.engine.reads_time_of_day:
            self.engine.tell_time_of_day(self.transport.time_of_day(), self.now())

    def _fail(self, error: Exception) -> None:
        """End as if the process had crashed: a member that works no longer must not hold the others up."""
        self.close()
        self._listener.failed(error)

    def _do(self) -> None:
        """Do what the engine returns; what comes of that in the meantime is done next, not in between."""
        if self._is_doing:
            self._is_again = True
        if self._is_doing or self.closed:
            return
        self._is_doing = self._is_again = True
        try:
            while self._is_again and not self.closed:
                self._is_again = False
                self._do_output(self.engine.output())
        finally:
            self._is_doing = False
        if not self.closed:
            self._set_timer()

    def _do_output(self, output: Output) -> None:
        self._write(output)
        transport, listener = self.transport, self._listener
        for datagram, to, is_for_all in output.datagrams:
            if is_for_all:
                transport.send_all(datagram, to)
            else:
                transport.send(datagram, to)
        for event in output.events:
            match event:
                case JoinFailed(tried, reason):
                    listener.join_failed(tried, reason)
                case Left(reason):
                    listener.has_left(reason)
                case _:
                    listener.tell(event)
        if output.deliveries:
            listener.deliver(output.deliveries)
        if output.went_on:
            listener.went_on()

    def _write(self, output: Output) -> None:
        """Write rows, at the latest before others can know of what they tell: this process may be killed."""
        if self._trace is None:
            return
        error = self._trace.write(output.rows, flush=bool(output.datagrams) or self.closed)
        if error:
            self._trace, self.trace_error = None, error
            self._listener.tell(TraceFailed(error))

    def _set_timer(self) -> None:
        """Have the timer go off when the engine needs it: earlier, it would wake the process for nothing."""
        at = self.engine.next_timer()
        if self._timer_at - TIMER_SLACK_S <= at <= self._timer_at + LATER_S:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at = at
        if at < float("inf"):
            self._timer = self.transport.call_at(max(at, self.now()), self._on_timer)
