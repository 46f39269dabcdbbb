import asyncio

import pytest

from stablecast.errors import InvalidInput
from stablecast.live.injection import InjectedTransport, Injection
from stablecast.live.transport import Transport
from stablecast.live.udp import UdpTransport
from stablecast.testing import Network, VirtualClock


class Pair:
    """A transport with faults, and two that tell what arrives from it, on a network without any."""

    def __init__(self, **faults):
        self.clock = VirtualClock()
        network = Network(scheduler=self.clock, delay_s=(0.0, 0.0))
        self.sender = InjectedTransport(network.transport(), Injection(**faults))
        self.others = [network.transport() for _ in range(2)]
        self.to = [other.address for other in self.others]
        self.log = {address: [] for address in self.to}
        for other in self.others:
            other.start(
                lambda batch, log=self.log[other.address]: log.extend((self.clock.now, d) for d, _ in batch)
            )

    def send(self, count=1):
        for number in range(count):
            self.sender.send(number.to_bytes(2), self.to)

    def received(self, place):
        return [datagram for _, datagram in self.log[self.to[place]]]


def numbers(count):
    return [number.to_bytes(2) for number in range(count)]


def test_without_faults_everything_passes_in_order_at_once():
    pair = Pair()
    pair.send(100)
    pair.clock.run_until(0.0)
    assert pair.received(0) == pair.received(1) == numbers(100)


def test_each_destination_loses_by_itself_and_the_same_for_the_same_seed():
    runs = []
    for _ in range(2):
        pair = Pair(loss=0.3, seed=7)
        pair.send(1_000)
        pair.clock.run_until(1.0)
        runs.append(pair.log)
    assert runs[0] == runs[1]
    assert pair.received(0) != pair.received(1)
    assert pair.sender.injected.lost == 2_000 - len(pair.received(0)) - len(pair.received(1))
    assert abs(pair.sender.injected.lost / 2_000 - 0.3) < 0.05


def test_what_goes_to_all_may_leave_for_nobody_and_what_goes_to_one_always_leaves():
    pair = Pair(send_omission=0.5, seed=3)
    for number in range(100):
        pair.sender.send_all(number.to_bytes(2), pair.to)
    pair.clock.run_until(1.0)
    assert pair.received(0) == pair.received(1)
    assert 20 < pair.sender.injected.omitted == 100 - len(pair.received(0)) < 80
    pair.send(5)
    pair.clock.run_until(2.0)
    assert pair.received(0)[-5:] == numbers(5)


def test_duplicates_come_twice_and_delays_are_within_their_bounds():
    pair = Pair(duplicate=1.0, delay_s=(0.1, 0.2), seed=7)
    pair.send(50)
    pair.clock.run_until(1.0)
    assert sorted(pair.received(0)) == sorted(2 * numbers(50))
    times = [when for when, _ in pair.log[pair.to[0]]]
    assert 0.1 <= min(times) < max(times) <= 0.2
    assert (pair.sender.injected.duplicated, pair.sender.injected.delayed) == (100, 200)


def test_what_is_held_back_is_overtaken_and_the_rest_keeps_its_order():
    pair = Pair(reorder=0.2, seed=7)
    pair.send(100)
    pair.clock.run_until(1.0)
    received = pair.received(0)
    at_once = [datagram for when, datagram in pair.log[pair.to[0]] if when == 0.0]
    assert received != sorted(received) == numbers(100)
    assert at_once == sorted(at_once)
    assert 60 < len(at_once) < 95


def test_who_is_blocked_is_cut_off_both_ways_with_what_is_delayed():
    pair = Pair(delay_s=(0.1, 0.1))
    heard = []
    pair.sender.start(heard.extend)
    pair.send()
    pair.sender.block(pair.to[:1])
    pair.send()
    for other in pair.others:
        other.send(b"answer", [pair.sender.address])
    pair.clock.run_until(1.0)
    assert (len(pair.received(0)), len(pair.received(1))) == (0, 2)
    assert heard == [(b"answer", pair.to[1])]
    assert pair.sender.injected.blocked == 3
    pair.sender.unblock()
    pair.send()
    pair.clock.run_until(2.0)
    assert (len(pair.received(0)), len(pair.received(1))) == (1, 3)


def test_closing_loses_what_is_delayed():
    pair = Pair(delay_s=(0.1, 0.1))
    pair.send()
    pair.sender.close()
    pair.sender.close()
    pair.send()
    pair.clock.run_until(1.0)
    assert pair.received(0) == []


@pytest.mark.parametrize(
    "faults", [{"loss": -1}, {"held_back_s": (1.0, float("inf"))}, {"delay_s": (1.0, 0.0)}]
)
def test_faults_that_make_no_sense_are_refused(faults):
    with pytest.raises(InvalidInput, match=next(iter(faults))):
        Injection(**faults)


def test_real_sockets_lose_and_delay_too():
    async def scenario():
        receiver = await UdpTransport.open(("127.0.0.1", 0))
        sender: Transport = InjectedTransport(
            await UdpTransport.open(("127.0.0.1", 0)), Injection(loss=0.5, delay_s=(0.0, 0.002), seed=7)
        )
        enough = asyncio.Event()
        received = []

        def take(batch):
            received.extend(datagram for datagram, _ in batch)
            if len(received) == 200 - sender.injected.lost:
                enough.set()

        receiver.start(take)
        for datagram in numbers(200):
            sender.send_all(datagram, [receiver.address])
        async with asyncio.timeout(20):
            await enough.wait()
        sender.close()
        receiver.close()
        return received

    received = asyncio.run(scenario())
    assert 60 < len(received) < 140
    assert received != sorted(received)
    assert len(set(received)) == len(received)
