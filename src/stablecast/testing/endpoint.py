"""A process's end of the in-memory network."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from stablecast.live.transport import LARGEST_UDP, Cancellable, Receive, TransportStats
from stablecast.membership.view import Address
from stablecast.testing.clock import Scheduler

DATAGRAMS_A_WAKE_UP = 64
BEGINNING_S = 1_780_000_000.0
"""The time of day at which clocks begin that are right."""


class Carrier(Protocol):
    """The network, as its transports see it."""

    largest: int
    buffered: int

    @property
    def scheduler(self) -> Scheduler:
        """The clock."""

    def carry(self, datagram: bytes, sender: Address, to: Sequence[Address]) -> None:
        """Take a datagram to others."""

    def let_go(self, address: Address) -> None:
        """Forget a transport."""


class ProcessTimer:
    """A timer of a process, which fires late if the process is paused, and never once it has crashed."""

    __slots__ = ("_callback", "_transport", "scheduled")

    def __init__(self, transport: MemoryTransport, callback: Callable[[], object]) -> None:
        self._transport = transport
        self._callback: Callable[[], object] | None = callback
        self.scheduled: Cancellable | None = None

    def cancel(self) -> None:
        """Let it not happen."""
        self._callback = None
        if self.scheduled is not None:
            self.scheduled.cancel()
            self.scheduled = None

    def fire(self) -> None:
        """Call it, once, or put it off."""
        transport = self._transport
        if transport.crashed:
            self.cancel()
        elif transport.paused:
            transport.late.append(self)
        else:
            callback, self._callback, self.scheduled = self._callback, None, None
            if callback is not None:
                callback()


class MemoryTransport:
    """Carries datagrams within a ``Network``; ``network.transport()`` makes them."""

    kind = "memory"
    has_ip_multicast = False

    def __init__(self, network: Carrier, address: Address, seed: int) -> None:
        self.address = address
        self.largest = network.largest
        self.stats = TransportStats()
        self.seed: int | None = seed
        self.clock_ahead_s = 0.0
        """By how much its clock on the wall is wrong."""
        self.paused = False
        self.crashed = False
        self.late: list[ProcessTimer] = []
        """Timers whose time came while it was paused."""
        self._network = network
        self._scheduler = network.scheduler
        self._receive: Receive | None = None
        self._inbox: deque[tuple[bytes, Address]] = deque()
        self._held: deque[tuple[bytes, Sequence[Address]]] = deque()
        self._resuming = False
        self._closed = False

    def __repr__(self) -> str:
        return f"<MemoryTransport {self.address[0]}:{self.address[1]}>"

    def start(self, receive: Receive) -> None:
        """Have everything that has come or comes handed to ``receive``."""
        self._receive = receive
        if self._inbox:
            self._scheduler.call_at(self.now(), self._wake_up)

    def send(self, datagram: bytes, to: Sequence[Address]) -> None:
        """Send a datagram to each of these addresses; while paused, when it goes on."""
        if self._closed:
            return
        if self.paused:
            self._hold(datagram, to)
        elif len(datagram) > LARGEST_UDP:
            self.stats.errors += len(to)
        else:
            self.stats.datagrams_sent += len(to)
            self.stats.bytes_sent += len(to) * len(datagram)
            self._network.carry(datagram, self.address, to)

    def send_all(self, datagram: bytes, members: Sequence[Address]) -> None:
        """Send a datagram to each member."""
        self.send(datagram, members)

    def now(self) -> float:
        """Return the network's time."""
        return self._scheduler.time()

    def time_of_day(self) -> float:
        """Return what this process's clock shows: the network's time since a day of 2026, as it is set."""
        return BEGINNING_S + self.now() + self.clock_ahead_s

    def call_at(self, when: float, callback: Callable[[], object]) -> ProcessTimer:
        """Have something called, unless this process is paused or has crashed."""
        timer = ProcessTimer(self, callback)
        timer.scheduled = self._scheduler.call_at(when, timer.fire)
        return timer

    def close(self) -> None:
        """Send and receive nothing any more; timers still fire."""
        if not self._closed:
            self._closed = True
            self._inbox.clear()
            self._held.clear()
            self._network.let_go(self.address)

    def crash(self) -> None:
        """End without a word."""
        self.crashed = True
        self.late.clear()
        self.close()

    def pause(self) -> None:
        """Stop as by SIGSTOP."""
        self.paused = True
        self._resuming = False

    def resume(self) -> None:
        """Go on, a moment later at the same instant, as a process does."""
        if self.paused and not self._resuming:
            self._resuming = True
            self._scheduler.call_at(self.now(), self._go_on)

    def take(self, datagram: bytes, sender: Address) -> bool:
        """Receive a datagram, or keep it; False if the buffer is full."""
        if self._receive is not None and not self.paused and not self._inbox:
            self._hand_on([(datagram, sender)])
            return True
        if len(self._inbox) >= self._network.buffered:
            self.stats.dropped_full += 1
            return False
        self._inbox.append((datagram, sender))
        return True

    def _hold(self, datagram: bytes, to: Sequence[Address]) -> None:
        if len(self._held) >= self._network.buffered:
            self._held.popleft()
            self.stats.dropped_full += 1
        self._held.append((datagram, tuple(to)))

    def _go_on(self) -> None:
        if not self._resuming:  # Paused again meanwhile.
            return
        self.paused = self._resuming = False
        held, self._held = self._held, deque()
        for datagram, to in held:
            self.send(datagram, to)
        # An event loop that wakes up reads its sockets first, once, and then looks at its timers.
        self._wake_up()
        late, self.late = self.late, []
        for timer in late:
            timer.fire()

    def _wake_up(self) -> None:
        """Hand on what is buffered, one batch for each time that a reader would be called."""
        if self.paused or self._closed or self._receive is None or not self._inbox:
            return
        batch = [self._inbox.popleft() for _ in range(min(DATAGRAMS_A_WAKE_UP, len(self._inbox)))]
        if self._inbox:
            self._scheduler.call_at(self.now(), self._wake_up)
        self._hand_on(batch)

    def _hand_on(self, batch: list[tuple[bytes, Address]]) -> None:
        self.stats.datagrams_received += len(batch)
        self.stats.bytes_received += sum([len(datagram) for datagram, _ in batch])
        if self._receive is not None:
            self._receive(batch)
