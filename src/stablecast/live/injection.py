"""Faults on purpose: a transport that loses, repeats, delays and cuts off what passes through it."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from stablecast.errors import InvalidInput
from stablecast.live.transport import Cancellable, Receive, Transport, TransportStats
from stablecast.membership.view import Address

AT_ONCE = (0.0,)


@dataclass(frozen=True, kw_only=True, slots=True)
class Faults:
    """What may happen to a datagram on its way; probabilities from 0 to 1, times in seconds."""

    loss: float = 0.0
    duplicate: float = 0.0
    """How probably it comes twice."""
    reorder: float = 0.0
    """How probably it is held back longer than others, so that they overtake it."""
    delay_s: tuple[float, float] = (0.0, 0.0)
    """Least and most; a span alone lets datagrams overtake each other too."""
    held_back_s: tuple[float, float] = (0.001, 0.005)
    """Least and most in addition, for what is held back."""

    def __post_init__(self) -> None:
        for name in ("loss", "duplicate", "reorder"):
            _check_probability(name, getattr(self, name))
        for name in ("delay_s", "held_back_s"):
            least, most = getattr(self, name)
            if not 0.0 <= least <= most < float("inf"):
                raise InvalidInput(f"{name} of {(least, most)} (accepted: least and most seconds, from 0)")

    def delays(self, draw: Callable[[], float]) -> tuple[float, ...]:
        """Return how long each copy of a datagram takes; none if it is lost.

        ``draw`` gives numbers from 0 to 1, 1 left out.
        """
        if self.loss and draw() < self.loss:
            return ()
        if self.duplicate and draw() < self.duplicate:
            return (self._delay(draw), self._delay(draw))
        return (self._delay(draw),)

    def _delay(self, draw: Callable[[], float]) -> float:
        least, most = self.delay_s
        delay = least if least == most else least + (most - least) * draw()
        if self.reorder and draw() < self.reorder:
            least, most = self.held_back_s
            delay += least + (most - least) * draw()
        return delay


def _check_probability(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise InvalidInput(f"{name} of {value} is not a probability (accepted: 0 to 1)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Injection(Faults):
    """Faults with the seed that they are drawn from."""

    seed: int = 0
    send_omission: float = 0.0
    """How probably what goes to all leaves for nobody."""

    def __post_init__(self) -> None:
        Faults.__post_init__(self)
        _check_probability("send_omission", self.send_omission)


@dataclass(slots=True)
class Injected:
    """What was done to datagrams so far."""

    lost: int = 0
    omitted: int = 0
    """Datagrams to all that left for nobody."""
    duplicated: int = 0
    delayed: int = 0
    blocked: int = 0
    """Cut off on their way out or in."""


class InjectedTransport:
    """Puts faults between a process and its transport, on the way out, for each destination by itself.

    ``send_all`` goes to one member after the other, since IP multicast would lose for all or none.
    """

    def __init__(self, inner: Transport, injection: Injection) -> None:
        self.injected = Injected()
        self._inner = inner
        self._injection = injection
        self._draw = random.Random(injection.seed).random
        self._blocked: frozenset[Address] = frozenset()
        self._delayed: list[tuple[float, int, bytes, Address]] = []
        self._count = 0
        self._timer: Cancellable | None = None
        self._timer_when = 0.0
        self._closed = False

    @property
    def kind(self) -> str:
        """What carries the datagrams."""
        return self._inner.kind

    @property
    def address(self) -> Address:
        """Where this process is reached."""
        return self._inner.address

    @property
    def has_ip_multicast(self) -> bool:
        """Whether one copy goes to everyone: no, each member's is disturbed by itself."""
        return False

    @property
    def largest(self) -> int:
        """The most bytes that a datagram should have."""
        return self._inner.largest

    @property
    def stats(self) -> TransportStats:
        """Counters of what really went out and came in."""
        return self._inner.stats

    @property
    def seed(self) -> int | None:
        """That of the transport within: faults are drawn from a seed of their own."""
        return self._inner.seed

    def block(self, addresses: Iterable[Address]) -> None:
        """Cut these off too, both ways, with what is delayed on its way to them."""
        self._blocked |= frozenset(addresses)

    def unblock(self) -> None:
        """Cut nobody off any more."""
        self._blocked = frozenset()

    def start(self, receive: Receive) -> None:
        """Have everything that arrives, but from those cut off, handed to ``receive``."""

        def receive_unblocked(batch: list[tuple[bytes, Address]]) -> None:
            if self._blocked:
                kept = [entry for entry in batch if entry[1] not in self._blocked]
                self.injected.blocked += len(batch) - len(kept)
                batch = kept
            if batch:
                receive(batch)

        self._inner.start(receive_unblocked)

    def send(self, datagram: bytes, to: Sequence[Address]) -> None:
        """Send a datagram to each of these addresses, or not, or twice, or later."""
        if self._closed:
            return
        at_once: list[Address] = []
        for address in to:
            if address in self._blocked:
                self.injected.blocked += 1
                continue
            delays = self._injection.delays(self._draw)
            if delays == AT_ONCE:
                at_once.append(address)
            else:
                self._disturb(datagram, address, delays, at_once)
        if at_once:
            self._inner.send(datagram, at_once)

    def send_all(self, datagram: bytes, members: Sequence[Address]) -> None:
        """Send a datagram to each member, or to none."""
        if self._injection.send_omission and self._draw() < self._injection.send_omission:
            self.injected.omitted += 1
            return
        self.send(datagram, members)

    def now(self) -> float:
        """Return the transport's time."""
        return self._inner.now()

    def time_of_day(self) -> float:
        """Return the transport's time of day."""
        return self._inner.time_of_day()

    def call_at(self, when: float, callback: Callable[[], object]) -> Cancellable:
        """Have something called by the transport's clock."""
        return self._inner.call_at(when, callback)

    def close(self) -> None:
        """Close the transport within; what is delayed is lost."""
        self._closed = True
        self._delayed.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._inner.close()

    def _disturb(
        self, datagram: bytes, address: Address, delays: tuple[float, ...], at_once: list[Address]
    ) -> None:
        self.injected.lost += not delays
        self.injected.duplicated += len(delays) > 1
        for delay in delays:
            if delay == 0.0:
                at_once.append(address)
                continue
            self.injected.delayed += 1
            self._count += 1
            heapq.heappush(self._delayed, (self.now() + delay, self._count, datagram, address))
            self._set_timer()

    def _set_timer(self) -> None:
        when = self._delayed[0][0]
        if self._timer is not None:
            if self._timer_when <= when:
                return
            self._timer.cancel()
        self._timer_when = when
        self._timer = self._inner.call_at(when, self._send_delayed)

    def _send_delayed(self) -> None:
        # A loop's timer may come a little early by its own clock, so its time counts if it is later.
        now = max(self.now(), self._timer_when)
        self._timer = None
        while self._delayed and self._delayed[0][0] <= now:
            _, _, datagram, address = heapq.heappop(self._delayed)
            if address in self._blocked:
                self.injected.blocked += 1
            else:
                self._inner.send(datagram, (address,))
        if self._delayed:
            self._set_timer()
