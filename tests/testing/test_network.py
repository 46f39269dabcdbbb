import asyncio
import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stablecast.testing
from stablecast.errors import BindFailed, InvalidInput
from stablecast.live.transport import Transport
from stablecast.testing import Faults, Network, VirtualClock, run

PERFECT = {"delay_s": (0.001, 0.001)}


class Group:
    """Some transports on a network with a virtual clock, and what each received when."""

    def __init__(self, size=3, **settings):
        self.clock = VirtualClock()
        self.network = Network(scheduler=self.clock, **settings)
        self.ends: list[Transport] = [self.network.transport() for _ in range(size)]
        self.log = [[] for _ in self.ends]
        self.batches = [[] for _ in self.ends]
        for place in range(size):
            self.ends[place].start(lambda batch, place=place: self._take(place, batch))

    def _take(self, place, batch):
        self.batches[place].append(len(batch))
        for datagram, sender in batch:
            self.log[place].append((self.clock.now, datagram, sender))

    def send(self, source, datagram, *to):
        self.ends[source].send(datagram, [self.ends[place].address for place in to])

    def run(self, seconds=1.0):
        self.clock.run_until(self.clock.now + seconds)

    def received(self, place):
        return [datagram for _, datagram, _ in self.log[place]]


def test_the_package_s_example_does_what_it_says():
    assert doctest.testmod(stablecast.testing).failed == 0


def test_a_datagram_takes_the_time_it_is_given_and_tells_its_sender():
    group = Group(delay_s=(0.25, 0.25))
    group.send(0, b"x", 1, 2)
    group.run()
    assert group.log[1] == group.log[2] == [(0.25, b"x", ("10.0.0.1", 7000))]
    assert group.network.datagrams.delivered == 2


def test_equal_delays_keep_the_order():
    group = Group(**PERFECT)
    sent = [bytes([number]) for number in range(100)]
    for datagram in sent:
        group.send(0, datagram, 1)
    group.run()
    assert group.received(1) == sent


@given(
    seed=st.integers(0, 1_000),
    loss=st.floats(0, 0.9),
    duplicate=st.floats(0, 0.9),
    reorder=st.floats(0, 0.9),
)
def test_the_same_seed_gives_the_same_run_and_every_datagram_is_accounted_for(seed, loss, duplicate, reorder):
    def play():
        group = Group(seed=seed, loss=loss, duplicate=duplicate, reorder=reorder)
        for number in range(30):
            group.send(number % 3, bytes([number]), 0, 1, 2)
        group.run()
        return group.log, group.network.datagrams

    log, counts = play()
    assert (log, counts) == play()
    assert counts.delivered == sum(map(len, log)) == counts.sent - counts.lost + counts.duplicated
    assert counts.sent == 90


def test_another_seed_gives_another_run():
    logs = []
    for seed in (1, 2):
        group = Group(seed=seed)
        group.send(0, b"x", 1, 2)
        group.run()
        logs.append(group.log)
    assert logs[0] != logs[1]


def test_loss_and_duplicates_are_as_frequent_as_asked_for():
    group = Group(seed=3, loss=0.3, duplicate=0.2)
    for _ in range(5_000):
        group.send(0, b"x", 1)
    group.run()
    assert abs(group.network.datagrams.lost / 5_000 - 0.3) < 0.03
    assert abs(group.network.datagrams.duplicated / 3_500 - 0.2) < 0.03


def test_what_is_held_back_is_overtaken():
    group = Group(seed=3, reorder=0.2, **PERFECT)
    sent = [bytes([number]) for number in range(100)]
    for datagram in sent:
        group.send(0, datagram, 1)
    group.run()
    assert group.received(1) != sent
    assert sorted(group.received(1)) == sent


def test_a_partition_cuts_both_ways_and_what_is_on_its_way_until_it_is_healed():
    group = Group(4, **PERFECT)
    group.send(0, b"on its way", 2)
    group.network.partition(group.ends[:2], [group.ends[2].address])
    group.send(0, b"a", 1, 2, 3)
    group.send(2, b"b", 0, 3)
    group.send(3, b"c", 0, 2)
    group.run()
    assert [group.received(place) for place in range(4)] == [[], [b"a"], [], []]
    group.network.heal()
    group.send(0, b"d", 2)
    group.run()
    assert group.received(2) == [b"d"]
    assert group.network.datagrams.blocked == 7


def test_those_that_a_partition_does_not_name_stay_together():
    group = Group(4, **PERFECT)
    group.network.partition([group.ends[0]])
    group.send(1, b"x", 0, 2, 3)
    group.run()
    assert [len(log) for log in group.log] == [0, 0, 1, 1]


def test_a_link_can_be_worse_than_the_network_in_one_direction_or_both():
    group = Group(**PERFECT)
    one, other = group.ends[0], group.ends[1]
    group.network.set_link(one, other, Faults(loss=1.0), both_ways=False)
    group.send(0, b"x", 1, 2)
    group.send(1, b"y", 0)
    group.run()
    assert [group.received(place) for place in range(3)] == [[b"y"], [], [b"x"]]
    group.network.set_link(one, other, None)
    group.network.set_link(one, group.ends[2], Faults(delay_s=(0.5, 0.5)))
    group.send(0, b"z", 1, 2)
    group.send(2, b"z", 0)
    group.run()
    assert [round(log[-1][0], 9) for log in group.log] == [1.5, 1.001, 1.5]


def test_a_crashed_process_hears_and_says_nothing_and_its_timers_never_fire():
    group = Group(**PERFECT)
    crashed = group.ends[1]
    group.send(0, b"x", 1)
    crashed.call_at(0.5, lambda: pytest.fail("fired"))
    group.network.crash(crashed)
    group.send(1, b"y", 0)
    group.run()
    assert group.log == [[], [], []]
    assert group.network.datagrams.nowhere == 1
    again = group.network.transport(crashed.address)
    assert again.address == crashed.address
    assert again.seed != crashed.seed


def test_a_paused_process_gets_everything_late_and_first_of_all_what_was_buffered():
    group = Group(**PERFECT)
    paused = group.ends[1]
    events = []
    paused.start(lambda batch: events.append(("datagrams", group.clock.now, len(batch))))
    paused.call_at(0.25, lambda: events.append(("timer", group.clock.now)))
    paused.call_at(0.5, lambda: pytest.fail("was cancelled")).cancel()
    late = paused.call_at(0.5, lambda: pytest.fail("was cancelled late"))
    group.network.pause(paused)
    for _ in range(70):
        group.send(0, b"x", 1)
    group.send(1, b"held", 0)
    group.run()
    assert events == []
    assert group.received(0) == []
    late.cancel()
    group.network.resume(paused)
    assert events == []
    group.run()
    assert events == [("datagrams", 1.0, 64), ("timer", 1.0), ("datagrams", 1.0, 6)]
    assert group.log[0] == [(1.001, b"held", paused.address)]


def test_a_process_that_is_paused_again_at_once_stays_paused():
    group = Group(**PERFECT)
    group.network.pause(group.ends[1])
    group.send(0, b"x", 1)
    group.run()
    group.network.resume(group.ends[1])
    group.network.pause(group.ends[1])
    group.run()
    assert group.received(1) == []
    group.network.resume(group.ends[1])
    group.network.resume(group.ends[1])
    group.run()
    assert group.received(1) == [b"x"]


def test_a_paused_process_keeps_no_more_than_its_buffer_holds():
    group = Group(buffered=10, **PERFECT)
    group.network.pause(group.ends[1])
    for number in range(15):
        group.send(0, bytes([number]), 1)
    group.run()
    group.network.resume(group.ends[1])
    group.run()
    assert group.received(1) == [bytes([number]) for number in range(10)]
    assert group.network.datagrams.dropped_full == group.ends[1].stats.dropped_full == 5


def test_a_process_that_crashes_or_closes_while_paused_does_not_come_back():
    group = Group(**PERFECT)
    for place, end in [(1, "crash"), (2, "close")]:
        group.network.pause(group.ends[place])
        group.send(0, b"x", place)
        group.run()
        group.network.resume(group.ends[place])
        getattr(group.ends[place], end)()
    group.run()
    assert group.log == [[], [], []]


def test_what_comes_before_a_process_starts_waits_for_it():
    group = Group(1, **PERFECT)
    newcomer = group.network.transport("newcomer")
    for _ in range(3):
        group.ends[0].send(b"x", [newcomer.address])
    group.run()
    batches = []
    newcomer.start(lambda batch: batches.append(len(batch)))
    group.run()
    assert batches == [3]


def test_a_tap_sees_and_changes_what_is_sent():
    changes = {b"drop": None, b"old": b"new"}
    seen = []

    def tap(datagram, sender, to):
        seen.append((datagram, sender, to))
        return changes.get(datagram, datagram)

    group = Group(tap=tap, **PERFECT)
    for datagram in (b"drop", b"old", b"same"):
        group.send(0, datagram, 1)
    group.run()
    assert group.received(1) == [b"new", b"same"]
    assert seen[0] == (b"drop", group.ends[0].address, group.ends[1].address)


def test_a_closed_transport_sends_and_receives_nothing_and_closes_again():
    group = Group(**PERFECT)
    group.send(0, b"x", 1)
    group.ends[1].close()
    group.ends[1].close()
    group.send(1, b"y", 0)
    group.run()
    assert group.log == [[], [], []]


def test_a_datagram_too_large_for_udp_is_an_error_that_is_counted():
    group = Group(**PERFECT)
    group.send(0, bytes(65_508), 1, 2)
    group.run()
    assert group.ends[0].stats.errors == 2
    assert group.network.datagrams.sent == 0


def test_addresses_are_unique_and_places_are_found_by_name_address_or_text():
    network = Network(scheduler=VirtualClock())
    ends = [network.transport() for _ in range(300)]
    assert len({end.address for end in ends}) == 300
    assert len({end.seed for end in ends}) == 300
    alice, other = network.transport("alice"), network.transport("192.0.2.1:5")
    assert other.address == ("192.0.2.1", 5)
    network.partition(["alice"], ["192.0.2.1:5", ends[0]])
    network.crash("alice")
    with pytest.raises(InvalidInput, match="any more"):
        network.pause(alice)
    with pytest.raises(InvalidInput, match=r"'bob' .*alice"):
        network.crash("bob")
    with pytest.raises(BindFailed, match=r"192\.0\.2\.1:5"):
        network.transport(("192.0.2.1", 5))


@pytest.mark.parametrize(
    "settings",
    [{"loss": 1.1}, {"duplicate": -0.1}, {"reorder": 2}, {"delay_s": (2, 1)}, {"delay_s": (-1, 1)}],
)
def test_faults_that_make_no_sense_are_refused(settings):
    with pytest.raises(InvalidInput, match=next(iter(settings))):
        Network(scheduler=VirtualClock(), **settings)


def test_without_a_loop_or_a_clock_a_network_says_what_it_needs():
    with pytest.raises(InvalidInput, match="VirtualClock"):
        Network().transport()


def test_the_network_goes_by_the_event_loop_that_runs():
    async def main():
        network = Network(loss=0.5, seed=4)
        one, other = network.transport(), network.transport()
        answered = asyncio.Event()
        other.start(lambda batch: other.send(b"pong", [batch[0][1]]))
        one.start(lambda batch: answered.set())
        tries = 0
        while not answered.is_set():
            tries += 1
            one.send(b"ping", [other.address])
            await asyncio.sleep(1.0)
        return tries, one.now()

    assert run(main()) == run(main())
    tries, seconds = run(main())
    assert tries == seconds > 1
