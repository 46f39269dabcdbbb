"""A group of machines on a network that loses, doubles and reorders messages, and with members that fail.

Time goes on in whole numbers; messages take a drawn time each, so that any may overtake any.  What members
have received grows while the protocol runs, and every declaration is checked against it.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np
from groups import machines_of, received

from stablecast.overlays.tree import Tree
from stablecast.protocols import protocol
from stablecast.protocols.contract import GROUP, Role, Sizes
from stablecast.protocols.layers.succession import REIGN

RESEND = 40
"""Longer than a round trip mostly is, so that some resends are needless and most are not."""


@dataclass
class Faults:
    loss: float = 0.0
    duplicate: float = 0.0
    delay_max: int = 15
    crashes: dict[int, int] = field(default_factory=dict)
    """When each of these members fails."""
    told_after: int = 30
    """How long it takes at most until a member hears of a failure."""
    lossy_until: int = 1 << 60


class LossyGroup:
    """Runs executions of a protocol until all who are alive have finished them, or the time is over."""

    def __init__(self, name, n, *, seed, faults=None, executions=1, columns=3, pulls=False):
        self.faults = faults or Faults()
        self.rng = np.random.default_rng(seed)
        found = protocol(name)
        params = {"resend": RESEND}
        params |= {parameter.name: executions for parameter in found.having(Role.EXECUTIONS)}
        params |= {parameter.name: int(pulls) for parameter in found.having(Role.PULL)}
        sizes = Sizes(n, columns, columns, 4, found.parameter_values(params, n), True)
        tree = Tree(np.concatenate(([-1], np.arange(n - 1) // 3)).astype(np.int64))
        self.machines = machines_of(found, sizes, tree=tree, seed=seed)
        self.found, self.executions, self.n = found, executions, n
        self.now, self.events, self.added = 0, [], 0
        self.alive = [True] * n
        self.finished = [0] * n
        self.started = 0
        self.starter = 0
        self.ahead = {}
        """For each member that started executions, how many there were before its own."""
        self.told_of = [set() for _ in range(n)]
        self.lost = 0
        for machine in self.machines:
            machine.me.received[:] = self.rng.integers(0, 5, columns)
        for member, at in self.faults.crashes.items():
            self.add(at, self.crash, member)
            for other in range(n):
                if other != member:
                    told = at + int(self.rng.integers(0, self.faults.told_after + 1))
                    self.add(told, self.tell, other, member)

    def add(self, at, action, *args):
        self.added += 1
        heapq.heappush(self.events, (at, self.added, action, args))

    def run(self, until=200_000):
        """Run; return whether everyone who is alive has finished."""
        if self.found.runs.by_timers:
            for member in range(self.n):
                self.add(int(self.rng.integers(0, 10)), self.init, member)
        else:
            self.add(0, self.start)
        while self.events and self.events[0][0] <= until:
            self.now, _, action, args = heapq.heappop(self.events)
            action(*args)
            self.grow()
            if self.is_over() and not any(event[2] == self.crash for event in self.events):
                return True
        return self.is_over()

    def is_over(self):
        return all(
            done >= self.executions for done, alive in zip(self.finished, self.alive, strict=True) if alive
        )

    def grow(self):
        if self.rng.random() < 0.2:
            self.machines[int(self.rng.integers(self.n))].me.received[:] += self.rng.integers(0, 2, 3)

    def start(self):
        if self.alive[self.starter]:
            self.started += 1
            self.call_start()

    def call_start(self):
        sends = self.machines[self.starter].start(self.now)
        self.ahead[self.starter] = self.started - sends[0].numbers[0] % REIGN
        self.after(self.starter, sends)

    def take_over(self, member):
        """Start executions in place of one that is gone, and begin the last one anew if someone lacks it."""
        self.starter = member
        left = zip(self.finished, self.alive, strict=True)
        if self.started and any(done < self.started for done, alive in left if alive):
            self.call_start()
        elif self.started < self.executions:
            self.start()

    def ordinal(self, execution):
        if not self.found.runs.successors or execution == 0:
            return execution
        return execution % REIGN + self.ahead[execution // REIGN]

    def init(self, member):
        if self.alive[member]:
            self.after(member, self.machines[member].init(self.now))

    def crash(self, member):
        self.alive[member] = False

    def tell(self, member, gone):
        if self.alive[member]:
            self.after(member, self.machines[member].gone(gone, self.now))
            self.told_of[member].add(gone)
            succeeds = self.told_of[member] >= set(range(member)) and member > self.starter
            if succeeds and self.found.runs.successors:
                self.take_over(member)

    def deliver(self, target, source, sent):
        if self.alive[target]:
            self.after(target, self.machines[target].receive(received(sent, source), self.now))

    def ring(self, member, due):
        if self.alive[member] and self.machines[member].next_timer() == due:
            self.after(member, self.machines[member].handle_timer(self.now))

    def after(self, member, sends):
        machine = self.machines[member]
        self.check(member)
        finished = self.ordinal(machine.finished)
        if finished > self.finished[member] or (finished and member == self.starter):
            self.finished[member] = finished
            through = member == self.starter and finished == self.started
            if through and not self.found.runs.by_timers and self.started < self.executions:
                self.add(self.now, self.start)
        for sent in sends:
            targets = range(self.n) if sent.dest == GROUP else [sent.dest]
            for target in targets:
                self.post(member, target, sent)
        due = machine.next_timer()
        if due is not None:
            self.add(due, self.ring, member, due)

    def post(self, source, target, sent):
        if target == source:
            self.add(self.now, self.deliver, target, source, sent)
            return
        for _ in range(1 + (self.rng.random() < self.faults.duplicate)):
            if self.now < self.faults.lossy_until and self.rng.random() < self.faults.loss:
                self.lost += 1
            else:
                delay = 1 + int(self.rng.integers(self.faults.delay_max))
                self.add(self.now + delay, self.deliver, target, source, sent)

    def check(self, member):
        """What a member calls stable is at everyone who is alive."""
        there = [one.me.received for one, alive in zip(self.machines, self.alive, strict=True) if alive]
        stable = self.machines[member].me.stable
        assert (stable <= np.array(there)).all(), f"member {member} is early at {self.now}"
