"""A whole member under attack: by strangers, who must change nothing, and by members that send nonsense."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.fuzz_datagrams import Broken, Corpus, Subject, flip, some_inside, strangers
from stablecast.engine import wire
from stablecast.engine.engine import Engine
from stablecast.engine.keys import Key, Keyring
from stablecast.engine.options import Options
from stablecast.live.driver import Driver
from stablecast.testing import Network, VirtualClock

GROUP = "orders"
STRANGER = ("192.0.2.66", 6666)
HELD_BACK = 0.05


class Nobody:
    """An application that takes everything and wants nothing."""

    def __init__(self) -> None:
        self.driver: Driver | None = None

    def deliver(self, batch: list[Any]) -> None:
        assert self.driver is not None
        self.driver.consumed(len(batch))

    def tell(self, event: object) -> None:
        pass

    def went_on(self) -> None:
        pass

    def join_failed(self, tried: object, reason: str) -> None:
        raise Broken(f"joining failed: {reason}")

    def has_left(self, reason: str) -> None:
        pass

    def failed(self, error: Exception) -> None:
        raise error


class Attacked:
    """Three members that have sent each other something; what went to the first was recorded."""

    def __init__(self, seed: int, protocol: str = "gsgc") -> None:
        self.protocol = protocol
        self.draw = random.Random(seed)
        self.clock = VirtualClock()
        self.network = Network(seed=seed, scheduler=self.clock, tap=self._record)
        self.keyring = Keyring((Key(1, self.draw.randbytes(32)),))
        self.seen: list[bytes] = []
        self.unseen: list[bytes] = []
        self.drivers: list[Driver] = []
        for number in range(3):
            self._add(number)
        for number in range(60):
            for driver in self.drivers:
                if driver.engine.own.may_send(50):
                    driver.engine.own.send(bytes(number), driver.now())
                    driver.flush()
            self.clock.run_until(self.clock.now + 0.01)
        self.target = self.drivers[0]
        for driver in self.drivers[1:]:
            self.network.crash(driver.transport.address)
        self.clock.run_until(self.clock.now + 0.05)  # what is on its way arrives

    def _add(self, number: int) -> None:
        listener, transport = Nobody(), self.network.transport()
        engine = Engine(
            Options(group=GROUP, member=f"m{number}", protocol=self.protocol),
            address=transport.address,
            largest=transport.largest,
            rng=random.Random(transport.seed),
            now=transport.now(),
            keyring=self.keyring,
        )
        driver = listener.driver = Driver(engine, transport, listener)
        self.drivers.append(driver)
        driver.start([self.drivers[0].transport.address] if number else [])
        if not self.clock.run_until(
            lambda: engine.view is not None and len(engine.view.members) == number + 1
        ):
            raise Broken("the members do not find together")

    def _record(self, datagram: bytes, sender: object, to: object) -> bytes | None:
        if not self.drivers or to != self.drivers[0].transport.address:
            return datagram
        if self.draw.random() < HELD_BACK:
            self.unseen.append(datagram)
            return None
        self.seen.append(datagram)
        return datagram

    def state(self) -> object:
        """Return what strangers must not change, answers that were sent included."""
        engine, here = self.target.engine, self.target.engine.in_view
        assert here is not None
        return (
            engine.view,
            here.data.prefixes(),
            [stream.highest for stream in here.data.streams],
            list(here.tracker.stable),
            [dict(here.data.has.column(source)) for source in range(here.size)],
            engine.backlog.delivered,
            self.target.transport.stats.datagrams_sent,
            engine.mail.seal.remembered(),
            engine.agreement.state,
        )

    def receive(self, datagram: bytes) -> None:
        """Let a datagram come from somewhere."""
        self.target.receive([(datagram, STRANGER)])


def engine_subject(seed: int) -> Subject:
    """Return a member of a running group, and what strangers may have recorded of its traffic."""
    attacked = Attacked(seed)
    foreign = [seal.close(some_inside(attacked.draw)) for seal in strangers(attacked.draw) for _ in range(5)]
    own = [attacked.target.engine.mail.seal.close(some_inside(attacked.draw)) for _ in range(5)]
    corpus = Corpus(attacked.seen[-2000:], attacked.unseen[-500:], foreign + own)
    return Subject(attacked.receive, attacked.state, corpus)


def nonsense_of_members(*, count: int, seed: int, protocol: str = "gsgc") -> Engine:
    """Have a member send changed frames, well sealed, to another; raises whatever that raises."""
    attacked = Attacked(seed, protocol)
    draw, peer = attacked.draw, attacked.drivers[1].engine
    insides = [
        opened.inside
        for datagram in attacked.seen[-500:]
        if (opened := _reader(attacked).open(datagram)) is not None
    ]
    for number in range(count):
        inside = flip(draw, draw.choice(insides)) if draw.random() < 0.8 else some_inside(draw)
        try:
            attacked.receive(peer.mail.seal.close(inside))
        except Exception as error:
            raise Broken(f"seed {seed}, number {number}: {wire.unpack(inside)!r}") from error
    return attacked.target.engine


def _reader(attacked: Attacked) -> Any:
    from stablecast.engine.seal import Seal

    return Seal(GROUP, 1, keyring=attacked.keyring)
