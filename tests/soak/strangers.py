"""A stranger without a key, who records what passes, sends it again, and holds some of it back."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence

from stablecast.engine.seal import Opened, Seal
from stablecast.membership.view import Address
from stablecast.testing.clock import VirtualClock
from stablecast.testing.network import Network

FIRST_KEPT, LAST_KEPT = 500, 2_000
AT_ONCE_MOST = 150
"""Datagrams that it sends again for one fault, at most."""
ELSEWHERE: Address = ("10.9.9.9", 9)
HELD_SHARE = 0.3

Recorded = tuple[bytes, Address, Address]
"""A datagram, where it came from, and where it went."""


class Stranger:
    """Sees every datagram; to be started before any is sent."""

    def __init__(self, network: Network, clock: VirtualClock, seed: int) -> None:
        self.replayed = 0
        self._network = network
        self._clock = clock
        self._rng = random.Random(f"stranger {seed}")
        self._first: list[Recorded] = []
        """How the group came about, and what sessions said that may be gone since."""
        self._last: deque[Recorded] = deque(maxlen=LAST_KEPT)
        self._is_sending = False
        self._holds_until_s = 0.0
        network.tap = self._see

    def replay(self, for_s: float, places: Sequence[Address]) -> None:
        """Send some recorded datagrams again: to whom they were for or to others, also in another's name."""
        record = [*self._first, *self._last]
        if not record:
            return
        begin = self._rng.randrange(len(record))
        chosen = record[begin : begin + AT_ONCE_MOST // 2]  # what followed each other, a view change maybe
        chosen += self._rng.choices(record, k=AT_ONCE_MOST // 2)
        for datagram, sender, to in chosen:
            to = to if self._rng.random() < 0.5 else self._rng.choice(places)
            sender = sender if self._rng.random() < 0.7 else self._rng.choice((*places, ELSEWHERE))
            self._send_after(for_s * self._rng.random(), (datagram, sender, to))

    def hold_back(self, for_s: float) -> None:
        """Keep a share of all datagrams for a while, and let them go one after the other."""
        self._holds_until_s = max(self._holds_until_s, self._clock.now + for_s)

    def _send_after(self, delay_s: float, recorded: Recorded) -> None:
        self._clock.call_at(self._clock.now + delay_s, self._send, recorded)

    def _send(self, recorded: Recorded) -> None:
        datagram, sender, to = recorded
        self.replayed += 1
        self._is_sending = True
        self._network.carry(datagram, sender, [to])
        self._is_sending = False

    def _see(self, datagram: bytes, sender: Address, to: Address) -> bytes | None:
        if self._is_sending:
            return datagram
        (self._first if len(self._first) < FIRST_KEPT else self._last).append((datagram, sender, to))
        if self._clock.now < self._holds_until_s and self._rng.random() < HELD_SHARE:
            left_s = self._holds_until_s - self._clock.now
            self._send_after(left_s * (1 + self._rng.random()), (datagram, sender, to))
            return None
        return datagram


class SealWatch:
    """Sees what a process opens: a datagram counts once, however often it comes."""

    def __init__(self, seal: Seal, complain: Callable[[str], None]) -> None:
        self._complain = complain
        self._seen: set[tuple[int, int]] = set()
        self._open = seal.open
        seal.open = self.open  # type: ignore[method-assign]

    def open(self, datagram: bytes | memoryview) -> Opened | None:
        """Open a datagram as the process does."""
        opened = self._open(datagram)
        if opened is not None:
            seen = (opened.session, opened.counter)
            if seen in self._seen:
                self._complain(f"datagram {opened.counter} of session {opened.session} was opened twice")
            self._seen.add(seen)
        return opened
