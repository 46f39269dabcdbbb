"""A network in memory: datagrams between transports of one process, with faults drawn from a seed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from stablecast.errors import BindFailed, InvalidInput
from stablecast.live.injection import Faults
from stablecast.live.transport import LARGEST, parse_address
from stablecast.membership.view import Address, format_address
from stablecast.testing.clock import Scheduler
from stablecast.testing.endpoint import MemoryTransport

PORT = 7000
Place = Address | str | MemoryTransport
"""A transport, its address, or the name that it was made with."""
Tap = Callable[[bytes, Address, Address], bytes | None]
"""Is shown each datagram that is sent, with sender and destination, and returns what goes on, if anything."""


@dataclass(slots=True)
class Datagrams:
    """What happened to datagrams so far, each destination counted by itself."""

    sent: int = 0
    bytes_sent: int = 0
    largest: int = 0
    """Bytes of the largest one."""
    delivered: int = 0
    lost: int = 0
    duplicated: int = 0
    blocked: int = 0
    """Cut off by a partition, or taken out by the tap."""
    nowhere: int = 0
    """Sent to where nobody is, or to a crashed process."""
    dropped_full: int = 0
    """Came to a process whose buffer was full."""


class Network:
    """Makes transports that reach each other; the same seed gives the same run.

    Parameters
    ----------
    seed
        What all faults and delays are drawn from.
    loss, duplicate, reorder, delay_s
        As in ``Faults``; ``network.faults`` replaces them later on, ``set_link`` for some links.
    largest
        The most bytes that datagrams should have.
    buffered
        How many datagrams wait for a process that does not take them, before further ones are dropped.
    tap
        Is shown each datagram that is sent, and returns it, another one, or None; may be set later on.
    scheduler
        The clock: a ``VirtualClock``, or None for the event loop that runs when the first transport is made.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        loss: float = 0.0,
        duplicate: float = 0.0,
        reorder: float = 0.0,
        delay_s: tuple[float, float] = (0.0005, 0.002),
        largest: int = LARGEST,
        buffered: int = 1_000,
        tap: Tap | None = None,
        scheduler: Scheduler | None = None,
    ) -> None:
        self.seed = seed
        self.faults = Faults(loss=loss, duplicate=duplicate, reorder=reorder, delay_s=delay_s)
        self.links: dict[tuple[Address, Address], Faults] = {}
        self.largest = largest
        self.buffered = buffered
        self.tap = tap
        self.datagrams = Datagrams()
        self._scheduler = scheduler
        self._draw = random.Random(seed).random
        self._transports: dict[Address, MemoryTransport] = {}
        self._names: dict[str, Address] = {}
        self._made = 0
        self._sides: dict[Address, int] = {}

    @property
    def scheduler(self) -> Scheduler:
        """The clock that everything here goes by."""
        if self._scheduler is None:
            try:
                self._scheduler = asyncio.get_running_loop()
            except RuntimeError:
                raise InvalidInput("no event loop runs (accepted: scheduler=VirtualClock())") from None
        return self._scheduler

    def transport(self, name_or_address: Address | str | None = None) -> MemoryTransport:
        """Return a new process's transport, at ``10.0.0.1:7000`` and so on unless an address is given.

        A name is for ``partition`` and the like; an address may be ``host:port``.  An address can be used
        again after its transport was closed or has crashed.
        """
        self._made += 1
        name, address = self._name_and_address(name_or_address)
        if address in self._transports:
            raise BindFailed(f"cannot bind {format_address(address)}: it is in use on this network")
        if name is not None:
            self._names[name] = address
        seed = random.Random(f"{self.seed} {self._made}").getrandbits(64)
        transport = MemoryTransport(self, address, seed)
        self._transports[address] = transport
        return transport

    def partition(self, *sides: Collection[Place]) -> None:
        """Let nothing pass between these sides, nor what is on its way; those not named are one more side."""
        self._sides = {self._address(place): number for number, side in enumerate(sides, 1) for place in side}

    def heal(self) -> None:
        """Let everything pass between all sides again."""
        self._sides = {}

    def set_link(self, one: Place, other: Place, faults: Faults | None, *, both_ways: bool = True) -> None:
        """Give a pair, or one direction of it, faults of its own; None for those of the network."""
        pair = (self._address(one), self._address(other))
        for link in [pair, pair[::-1]] if both_ways else [pair]:
            if faults is None:
                self.links.pop(link, None)
            else:
                self.links[link] = faults

    def crash(self, place: Place) -> None:
        """End a process without a word: nothing in or out any more, and none of its timers fires."""
        self._living(place).crash()

    def pause(self, place: Place) -> None:
        """Stop a process as SIGSTOP does: what comes is buffered, and timers do not fire."""
        self._living(place).pause()

    def resume(self, place: Place) -> None:
        """Let a paused process go on: it takes what has come, and late timers fire."""
        self._living(place).resume()

    def set_clock(self, place: Place, ahead_s: float) -> None:
        """Set a process's clock on the wall: so many seconds ahead of the network's time, or behind it."""
        self._living(place).clock_ahead_s = ahead_s

    def carry(self, datagram: bytes, sender: Address, to: Sequence[Address]) -> None:
        """Take a datagram from a transport to others; transports call this."""
        counts, links = self.datagrams, self.links
        counts.sent += len(to)
        counts.bytes_sent += len(to) * len(datagram)
        counts.largest = max(counts.largest, len(datagram))
        for address in to:
            carried: bytes | None = datagram
            if self.tap is not None:
                carried = self.tap(datagram, sender, address)
            if carried is None or (self._sides and self._cut_off(sender, address)):
                counts.blocked += 1
                continue
            faults = links.get((sender, address), self.faults) if links else self.faults
            delays = faults.delays(self._draw)
            counts.lost += not delays
            counts.duplicated += len(delays) > 1
            for delay in delays:
                self._put_on_its_way(carried, sender, address, delay)

    def _put_on_its_way(self, datagram: bytes, sender: Address, to: Address, delay: float) -> None:
        self.scheduler.call_at(self.scheduler.time() + delay, self._arrive, datagram, sender, to)

    def let_go(self, address: Address) -> None:
        """Forget a transport that is closed or has crashed; transports call this."""
        self._transports.pop(address, None)

    def _arrive(self, datagram: bytes, sender: Address, to: Address) -> None:
        transport = self._transports.get(to)
        if transport is None:
            self.datagrams.nowhere += 1
        elif self._sides and self._cut_off(sender, to):
            self.datagrams.blocked += 1
        elif transport.take(datagram, sender):
            self.datagrams.delivered += 1
        else:
            self.datagrams.dropped_full += 1

    def _cut_off(self, sender: Address, to: Address) -> bool:
        return self._sides.get(sender, 0) != self._sides.get(to, 0)

    def _name_and_address(self, given: Address | str | None) -> tuple[str | None, Address]:
        if isinstance(given, tuple):
            return None, given
        if given is not None and ":" in given:
            return None, parse_address(given)
        return given, (f"10.0.{self._made >> 8}.{self._made & 255}", PORT)

    def _address(self, place: Place) -> Address:
        if isinstance(place, MemoryTransport):
            return place.address
        if isinstance(place, tuple):
            return place
        if place in self._names:
            return self._names[place]
        if ":" in place:
            return parse_address(place)
        raise InvalidInput(f"no transport is called '{place}' (known: {', '.join(self._names) or 'none'})")

    def _living(self, place: Place) -> MemoryTransport:
        address = self._address(place)
        if address not in self._transports:
            raise InvalidInput(f"no process is at {format_address(address)} any more, or yet")
        return self._transports[address]
