"""A new coordinator and a rebuilt tree, on machines: scenarios by hand, and random crashes with losses."""

import numpy as np
import pytest
from groups import machines_of, received
from hypothesis import given, settings
from hypothesis import strategies as st
from lossy_group import Faults, LossyGroup

from stablecast.overlays import complete_tree
from stablecast.protocols import protocol, protocol_names
from stablecast.protocols.contract import GROUP, Sizes
from stablecast.protocols.layers.succession import REIGN

SUCCEEDING = protocol_names(lambda found: found.runs.successors)
SEEDS = st.integers(0, 2**32 - 1)


class ByHand:
    """A group of 13 in a tree of degree 3, 1 to 3 under 0, 4 to 6 under 1; the test delivers its messages."""

    def __init__(self, name, *, relay=False, resend=0):
        found = protocol(name)
        params = {"resend": resend} | ({"relay": int(relay)} if found.options.get("tree_degree") else {})
        sizes = Sizes(13, 2, 2, 4, found.parameter_values(params, 13), True)
        self.kinds, self.machines = found.kinds, machines_of(found, sizes, tree=complete_tree(3, 2))
        for number, machine in enumerate(self.machines):
            machine.me.received[:] = (10 + number, 40 - number)
        self.alive, self.under_way, self.log = set(range(13)), [], []
        self.finished = {}

    def start(self, member):
        self.after(member, self.machines[member].start(0))

    def after(self, member, sends):
        machine = self.machines[member]
        there = np.array([self.machines[i].me.received for i in self.alive])
        assert (machine.me.stable <= there.min(axis=0)).all(), f"member {member} is early"
        if machine.finished:
            self.finished[member] = machine.finished
        for sent in sends:
            for target in range(13) if sent.dest == GROUP else [sent.dest]:
                self.under_way.append((member, target, sent))

    def crash(self, member):
        """The process is gone; what it has sent is still under way."""
        self.alive.discard(member)

    def lose_what_it_sent(self, member, *, but=()):
        self.under_way = [each for each in self.under_way if each[0] != member or each[1] in but]

    def tell(self, *members, of):
        for member in members:
            self.after(member, self.machines[member].gone(of, 0))

    def tell_all(self, of):
        self.tell(*sorted(self.alive), of=of)

    def deliver(self, *, only=lambda kind, source, target: True):
        """Deliver until nothing of that sort is under way."""
        while True:
            chosen = [e for e in self.under_way if only(self.kinds[e[2].kind], e[0], e[1])]
            if not chosen:
                return
            source, target, sent = chosen[0]
            self.under_way.remove(chosen[0])
            if target in self.alive:
                self.log.append((self.kinds[sent.kind], source, target))
                self.after(target, self.machines[target].receive(received(sent, source), 0))

    def all_finished(self, execution):
        return all(self.finished.get(member) == execution for member in self.alive)

    def all_know(self):
        there = [self.machines[i].me.received for i in sorted(self.alive)]
        return all((self.machines[i].me.stable == np.min(there, axis=0)).all() for i in self.alive)

    def sent(self, kind):
        return [(source, target) for each, source, target in self.log if each == kind]


GROUPS = [("coordp", False), ("s_coordp", False), ("s_coordp", True)]
each_group = pytest.mark.parametrize(("name", "relay"), GROUPS)


@each_group
def test_the_coordinator_crashes_before_start_reaches_anyone(name, relay):
    group = ByHand(name, relay=relay)
    group.start(0)
    group.crash(0)
    group.lose_what_it_sent(0)
    group.tell_all(of=0)
    group.start(1)
    group.deliver()
    assert group.all_finished(REIGN + 1)
    assert group.all_know()


@each_group
def test_the_coordinator_crashes_after_some_acks(name, relay):
    group = ByHand(name, relay=relay)
    group.start(0)
    group.deliver(only=lambda kind, source, target: kind == "START" or source in (3, 10, 11, 12))
    group.crash(0)
    group.tell_all(of=0)
    group.start(1)
    group.deliver()
    assert group.all_finished(REIGN + 1)
    assert group.all_know()


@each_group
def test_the_coordinator_crashes_when_the_result_has_reached_half(name, relay):
    group = ByHand(name, relay=relay)
    group.start(0)
    group.deliver(only=lambda kind, source, target: kind != "INFO")
    group.deliver(only=lambda kind, source, target: target == 0)
    group.crash(0)
    group.lose_what_it_sent(0, but=(2, 5, 7, 8, 9, 12))
    group.deliver()
    assert 0 < len(group.finished.keys() & group.alive) < 12
    group.tell_all(of=0)
    group.start(1)
    group.deliver()
    assert group.all_finished(REIGN + 1)


@each_group
def test_a_result_of_the_dead_coordinator_that_comes_late_is_ignored_by_those_who_know_of_a_later_one(
    name, relay
):
    group = ByHand(name, relay=relay)
    group.start(0)
    group.deliver(only=lambda kind, source, target: kind != "INFO")
    group.deliver(only=lambda kind, source, target: target == 0)
    group.crash(0)
    group.tell_all(of=0)
    group.start(1)
    group.deliver(only=lambda kind, source, target: source != 0)
    before = dict(group.finished)
    group.deliver()
    assert group.finished == before
    assert group.all_finished(REIGN + 1)


@pytest.mark.parametrize("relay", [False, True])
@pytest.mark.parametrize("order", [([0], [4, 5, 6]), ([4, 5, 6], [0]), ([4], [0], [6], [5])])
def test_an_inner_member_crashes_before_it_has_acknowledged(relay, order):
    """Member 1 has START, and has passed it on; its children's reports are lost with it."""
    group = ByHand("s_coordp", relay=relay)
    group.start(0)
    group.deliver(only=lambda kind, source, target: kind == "START")
    group.crash(1)
    others = sorted(group.alive - {0, 4, 5, 6})
    for some in order:
        group.deliver()
        group.tell(*some, of=1)
    assert not group.all_finished(1)
    group.tell(*others, of=1)
    group.deliver()
    assert group.all_finished(1)
    assert group.all_know()
    assert {(4, 0), (5, 0), (6, 0)} <= set(group.sent("ACK"))


@pytest.mark.parametrize("relay", [False, True])
def test_an_inner_member_crashes_before_start_has_reached_it(relay):
    group = ByHand("s_coordp", relay=relay)
    group.crash(1)
    group.start(0)
    group.deliver()
    group.tell_all(of=1)
    group.deliver()
    assert group.all_finished(1)
    assert group.all_know()


@pytest.mark.parametrize("relay", [False, True])
def test_the_report_of_an_inner_member_that_crashes_afterwards_counts_for_all_below_it(relay):
    group = ByHand("s_coordp", relay=relay)
    group.start(0)
    group.deliver(only=lambda kind, source, target: kind == "START")
    group.deliver(only=lambda kind, source, target: target == 1 or source == 1)
    group.crash(1)
    group.tell_all(of=1)
    asked = len(group.sent("START"))
    group.deliver(only=lambda kind, source, target: kind != "INFO")
    assert len(group.sent("START")) == asked, "those below were asked once more"
    group.deliver()
    assert group.all_finished(1)
    report = [10, 28]  # members 0 and 12; what member 1 reported for itself and its children is above
    assert group.machines[0].me.stable.tolist() == report


@pytest.mark.parametrize("relay", [False, True])
def test_a_report_that_comes_before_its_receiver_knows_that_it_is_for_it_is_kept(relay):
    """The children are told first and report to the root; the root is told when these reports are in."""
    group = ByHand("s_coordp", relay=relay)
    group.machines[5].me.received[:] = (2, 3)
    group.start(0)
    group.deliver(only=lambda kind, source, target: kind == "START")
    group.crash(1)
    group.tell(4, 5, 6, of=1)
    group.deliver()
    assert not group.finished
    group.tell(0, of=1)
    assert group.machines[0].me.phase > 1, "it waits for reports that it has"
    group.tell(*group.alive - {0, 4, 5, 6}, of=1)
    group.deliver()
    assert group.all_finished(1)
    assert group.machines[12].me.stable.tolist() == [2, 3]


@pytest.mark.parametrize("relay", [False, True])
def test_with_relays_the_result_reaches_those_below_a_member_that_crashed_before_it_passed_it_on(relay):
    group = ByHand("s_coordp", relay=relay)
    group.start(0)
    group.deliver(only=lambda kind, source, target: kind != "INFO")
    group.crash(1)
    group.deliver()
    group.tell_all(of=1)
    group.deliver()
    assert group.all_finished(1)


@each_group
def test_two_coordinators_crash_one_after_the_other(name, relay):
    group = ByHand(name, relay=relay)
    group.start(0)
    group.deliver(only=lambda kind, source, target: kind == "START")
    group.crash(0)
    group.tell_all(of=0)
    group.start(1)
    group.deliver(only=lambda kind, source, target: kind == "START")
    group.crash(1)
    group.tell_all(of=1)
    group.start(2)
    group.deliver()
    assert group.all_finished(2 * REIGN + 1)
    assert group.all_know()


@each_group
def test_members_that_hear_of_the_successor_before_their_detectors_tell_them_answer_it(name, relay):
    """Only the successor is told; the others learn from the number of its execution."""
    group = ByHand(name, relay=relay)
    group.start(0)
    group.deliver(only=lambda kind, source, target: kind == "START")
    group.crash(0)
    group.tell(1, of=0)
    group.start(1)
    group.deliver()
    assert group.all_finished(REIGN + 1)
    group.tell(*sorted(group.alive - {1}), of=0)
    group.deliver()
    assert group.all_finished(REIGN + 1)


@each_group
def test_told_in_different_orders_of_two_that_are_gone(name, relay):
    group = ByHand(name, relay=relay)
    group.start(0)
    group.deliver(only=lambda kind, source, target: kind == "START")
    group.crash(0)
    group.crash(1)
    group.tell(4, 6, 8, 10, of=0)
    group.tell(2, 5, 7, 9, of=1)
    group.deliver()
    group.tell(2, of=0)
    group.start(2)
    group.deliver()
    group.tell(4, 6, 8, 10, 3, 11, 12, of=1)
    group.tell(3, 5, 7, 9, 11, 12, of=0)
    group.deliver()
    assert group.all_finished(2 * REIGN + 1)
    assert group.all_know()


def test_nobody_answers_the_start_of_a_coordinator_that_is_gone():
    group = ByHand("coordp")
    group.start(0)
    group.crash(0)
    group.tell_all(of=0)
    group.deliver()
    assert not group.sent("ACK")


def test_a_coordinator_that_hears_of_a_later_one_steps_down():
    """What a detector that errs would bring about; resends of the first would go on for ever."""
    group = ByHand("coordp", resend=40)
    group.start(0)
    assert group.machines[0].next_timer() is not None
    group.tell(1, of=0)
    group.start(1)
    group.deliver(only=lambda kind, source, target: kind == "START")
    assert group.machines[0].next_timer() is None


def test_executions_of_a_successor_are_behind_all_others():
    group = ByHand("coordp")
    for _ in range(3):
        group.start(0)
    group.tell(2, of=0)
    group.tell(2, of=1)
    group.start(2)
    group.start(2)
    started = {sent.numbers[0] for source, _, sent in group.under_way if source in (0, 2)}
    assert started == {1, 2, 3, 2 * REIGN + 1, 2 * REIGN + 2}


@pytest.mark.parametrize("name", SUCCEEDING)
@given(
    n=st.integers(2, 40),
    seed=SEEDS,
    loss=st.floats(0, 0.4),
    duplicate=st.floats(0, 0.3),
    told_after=st.integers(0, 300),
    executions=st.integers(1, 3),
    data=st.data(),
)
@settings(max_examples=100, deadline=None)
def test_survivors_finish_once_told_whoever_crashes(
    name, n, seed, loss, duplicate, told_after, executions, data
):
    """Up to five crash, the first members among them, before the execution or in it."""
    others = data.draw(st.lists(st.integers(0, n - 1), max_size=5, unique=True))
    first = list(range(data.draw(st.integers(0, 3))))
    failing = [member for member in dict.fromkeys(first + others) if member < n][: min(5, n - 1)]
    at = {member: data.draw(st.integers(0, 150)) for member in failing}
    faults = Faults(loss, duplicate, crashes=at, told_after=told_after)
    print(f"LossyGroup({name!r}, {n}, seed={seed}, faults={faults}, executions={executions}).run()")
    group = LossyGroup(name, n, seed=seed, faults=faults, executions=executions)
    assert group.run(), f"finished {group.finished}, alive {group.alive}, started {group.started}"
