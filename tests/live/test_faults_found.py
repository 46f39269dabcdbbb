"""What fault schedules have found, each as a scenario of its own."""

import random

from stablecast.engine.engine import Engine
from stablecast.engine.options import Options
from stablecast.engine.results import MemberFailed, Stable, StableInSmallerView
from stablecast.live.driver import Driver
from stablecast.live.injection import Faults
from stablecast.live.trace_file import TraceFile
from stablecast.membership.actions import Timing
from stablecast.membership.agreement import Agreement
from stablecast.membership.messages import Elsewhere
from stablecast.testing import Network, VirtualClock

DEAF = Faults(loss=1.0)


class Process:
    """An engine with an application that reads at once, and a log that keeps everything."""

    def __init__(self, network, place, seeds=(), **options):
        self.transport = network.transport(place)
        self.events, self.logged, self.deliveries, self.left = [], [], [], None
        self.engine = Engine(
            Options(group="orders", **options),
            address=self.transport.address,
            largest=self.transport.largest,
            rng=random.Random(self.transport.seed),
            now=self.transport.now(),
            traces=True,
        )
        self.driver = Driver(self.engine, self.transport, self, trace=TraceFile(self))
        self.driver.start([seed.transport.address for seed in seeds])

    def deliver(self, batch):
        self.deliveries += batch
        self.transport.call_at(self.transport.now(), lambda: self.driver.consumed(len(batch)))

    def tell(self, event):
        self.events.append(event)

    def went_on(self):
        pass

    def join_failed(self, tried, reason):
        raise AssertionError(reason)

    def has_left(self, reason):
        self.left = reason

    def failed(self, error):
        raise error

    def flush(self):
        pass

    def send(self, *logged):
        self.logged.append(("send", *logged))

    def receive(self, *logged):
        self.logged.append(("receive", *logged))

    def stable(self, *logged):
        self.logged.append(("stable", *logged))

    def release(self, *logged):
        self.logged.append(("release", *logged))

    def change(self, *logged):
        self.logged.append(("change", *logged))

    def multicast(self, payload):
        assert self.engine.own.may_send(len(payload))
        seq = self.engine.own.send(payload, self.transport.now())
        self.driver.flush()
        return seq

    def changes(self, line="orders"):
        return [entry[2:4] for entry in self.logged if entry[:2] == ("change", line)]

    @property
    def labels(self):
        return () if self.engine.in_view is None else tuple(self.engine.in_view.labels)


def group_of(count, *, seed=1, network_options=None, **options):
    """Return a clock, a network and processes in one view."""
    clock = VirtualClock()
    network = Network(seed, scheduler=clock, **(network_options or {}))
    first = Process(network, "m0", member="m0", **options)
    processes = [
        first,
        *(Process(network, f"m{k}", [first], member=f"m{k}", **options) for k in range(1, count)),
    ]
    assert clock.run_until(lambda: all(len(process.labels) == count for process in processes))
    return clock, network, processes


def test_who_lost_the_last_word_of_an_introduction_still_gets_in():
    clock = VirtualClock()
    network = Network(1, scheduler=clock)
    first = Process(network, "m0", member="m0")
    sent = []

    def lose_thanks(datagram, sender, to):
        if sender != first.transport.address:
            sent.append(datagram)
            return None if len(sent) == 2 else datagram
        return datagram

    network.tap = lose_thanks
    second = Process(network, "m1", [first], member="m1")
    assert clock.run_until(lambda: len(second.labels) == 2, limit=2.0)


def test_a_process_that_takes_over_an_address_is_found_there_by_those_who_knew_the_one_before():
    clock, network, (first, second, third) = group_of(3, fail_after=1.0)
    address = first.transport.address
    network.partition([first.transport])
    assert clock.run_until(lambda: len(second.labels) == len(third.labels) == 2)
    network.crash(first.transport)
    network.heal()
    again = Process(network, address, member="m0")  # it knows nobody: the others find it where they look
    assert clock.run_until(lambda: len(again.labels) == 3 == len(second.labels))


def test_a_member_that_answers_a_late_frame_from_the_same_view_is_not_taken_for_gone():
    clock, _network, processes = group_of(3)
    leader, member = processes[0].engine.agreement, processes[1]
    view = leader.view
    frame = Elsewhere((view.epoch, leader.me.session), view.id)
    processes[0].engine.views.do(
        leader.receive(frame, member.engine.session, member.transport.address, clock.now), clock.now
    )
    clock.run_until(clock.now + 2.0)
    assert isinstance(leader, Agreement)
    assert leader.view is view
    assert not [event for event in processes[0].events if isinstance(event, MemberFailed)]


def test_a_message_is_not_called_stable_at_a_member_that_left_without_it():
    clock, network, (_first, second, third) = group_of(3)
    network.set_link(second.transport, third.transport, DEAF, both_ways=False)
    seq = second.multicast(b"not for m2")
    third.driver.leave()
    assert clock.run_until(lambda: second.labels == ("m0", "m1"))
    outcome = second.engine.own.outcomes.of(seq, 0.0)
    assert isinstance(outcome, StableInSmallerView)
    assert (outcome.members, outcome.gone) == (("m0", "m1"), ("m2",))
    assert not third.deliveries
    later = second.multicast(b"for both")
    assert clock.run_until(lambda: second.engine.own.outcomes.stable_seq == later)
    assert isinstance(second.engine.own.outcomes.of(later, 0.0), Stable)


def test_traces_tell_a_large_message_by_its_whole_size_even_if_parts_of_it_were_let_go_before():
    clock, _network, processes = group_of(2, network_options={"largest": 600, "loss": 0.1})
    processes[0].multicast(bytes(20_000))
    assert clock.run_until(
        lambda: all(process.engine.in_view.data.kept_bytes() == 0 for process in processes)
    )
    assert clock.run_until(lambda: len(processes[1].deliveries) == 1)
    received = [entry for entry in processes[1].logged if entry[0] == "receive"]
    assert received[0][4:6] == (1, [20_000])
    released = [entry for process in processes for entry in process.logged if entry[0] == "release"]
    assert [entry[6] for entry in released] == [[20_000], [20_000]]


def test_a_leader_that_leaves_is_in_the_trace_though_it_led_the_change_without_it():
    clock, _network, (first, second, third) = group_of(3)
    first.driver.leave()
    assert clock.run_until(lambda: len(second.labels) == len(third.labels) == 2)
    assert ("leave", "m0") in [*second.changes(), *third.changes()]


def test_who_leaves_with_nobody_to_tell_writes_down_that_it_left():
    clock, network, (first, second) = group_of(2, timing=Timing(join_timeout=0.5))
    network.crash(second.transport)
    first.driver.leave()
    assert clock.run_until(lambda: first.left is not None)
    assert ("leave", "m0") in first.changes()


def test_a_minority_departs_from_the_group_before_it_settles_alone():
    clock, network, (_first, _second, third) = group_of(3, fail_after=1.0)
    network.partition([third.transport])
    third.multicast(b"nobody gets this")
    assert clock.run_until(lambda: third.labels == ("m2",))
    assert third.changes()[-1] == ("leave", "m2")
    claims = [entry for entry in third.logged if entry[0] in ("stable", "release") and entry[1] == "orders"]
    assert not [entry for entry in claims if entry[3] == "m2"]
    assert isinstance(third.engine.own.outcomes.of(1, 0.0), StableInSmallerView)


def test_a_leader_that_alone_lacks_what_nobody_keeps_any_more_steps_aside():
    options = {"policy": "two-buffers", "copies": 1, "short_s": 0.05, "fail_after": 1.0}
    timing = Timing(flush_timeout=2.0)
    clock, network, processes = group_of(4, timing=timing, **options)
    leader, *others = processes
    source = others[-1]
    for process in others:
        network.set_link(process.transport, leader.transport, DEAF, both_ways=False)
    for _ in range(10):
        source.multicast(b"kept by few")
        clock.run_until(clock.now + 0.01)
    assert clock.run_until(lambda: all(len(process.deliveries) == 10 for process in others))
    clock.run_until(clock.now + 0.5)
    for process in others[:-1]:
        for stream in process.engine.in_view.data.streams:  # as if the few who kept them were others
            stream.drop(clock.now, lambda run: False)
        network.set_link(process.transport, leader.transport, None, both_ways=False)
    network.crash(source.transport)
    assert clock.run_until(lambda: all(len(process.labels) == 3 for process in processes[:-1]))
    assert leader.engine.label.startswith("m0#2")


def test_who_gave_up_waiting_for_a_view_is_not_in_it_under_the_same_incarnation():
    clock, network, (_first, _second, third) = group_of(3, fail_after=1.0)
    search = third.engine.agreement
    network.partition([third.transport])
    assert clock.run_until(lambda: third.labels == ("m2",))
    network.heal()
    assert clock.run_until(lambda: search.state == "joining")
    assert clock.run_until(lambda: search.coming_view is not None)
    accepted = search.coming_view.member(third.engine.session).incarnation
    network.partition([third.transport])
    assert clock.run_until(lambda: third.labels != () and len(third.labels) == 1)
    assert search.me.incarnation > accepted


def test_what_arrives_after_a_member_has_told_what_it_has_is_not_taken_in():
    clock, network, (first, second, third) = group_of(3)
    held = []

    def hold_data_back(datagram, sender, to):
        if sender == third.transport.address and to == second.transport.address and len(datagram) > 500:
            held.append(datagram)
            return None
        return None if sender == third.transport.address and len(datagram) > 500 else datagram

    network.tap = hold_data_back
    third.multicast(bytes(600))
    clock.run_until(clock.now + 0.001)
    network.crash(third.transport)
    assert held
    assert clock.run_until(lambda: second.engine.agreement.is_blocked)
    before = len(second.deliveries)
    second.driver.receive([(held[0], third.transport.address)])
    assert len(second.deliveries) == before
    assert clock.run_until(lambda: len(first.labels) == len(second.labels) == 2)
    assert [d.id for d in first.deliveries] == [d.id for d in second.deliveries]
