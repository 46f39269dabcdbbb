"""A gossiping group on a network that loses, doubles and reorders, with members that come and go.

Machines only: no cost model.  Every message takes a random time.  What is checked after every call is what
the protocol promises: a frontier never goes back, and what nobody has found to be stable before is at
everyone whom the finder counts in.
"""

import heapq
import itertools
import random

import numpy as np
from groups import machines_of, received

from stablecast.protocols import protocol
from stablecast.protocols.contract import GROUP, Sizes
from stablecast.protocols.gsgc import BEGIN

STEP = 100


class GossipGroup:
    def __init__(
        self, n, *, seed, initial=None, senders=2, subgroup=2, share=2, threshold=20, snapshot=BEGIN, **rest
    ):
        self.n, self.initial = n, initial or n
        found = protocol("gsgc")
        params = {"subgroup": subgroup, "step": STEP, "share": share, "threshold": threshold} | rest
        params["snapshot"] = snapshot
        params["initial"] = self.initial if self.initial < n else 0
        sizes = Sizes(n, senders, senders, 4, found.parameter_values(params, n), True)
        self.machines = machines_of(found, sizes, seed=seed)
        self.random = random.Random(seed)
        self.loss = self.doubled = 0.0
        self.delay_max = STEP // 2
        self.sides = [0] * n
        self.alive = [i < self.initial for i in range(n)]
        self.left = [False] * n
        self.sent = np.zeros(senders, np.int64)
        self.declared = np.zeros((n, senders), np.int64)
        self.constructed = np.zeros(senders, np.int64)
        self.false_strikes = 0
        self.base = {j: np.zeros(senders, np.int64) for j in range(self.initial)}
        self.now = 0
        self.events, self.order = [], itertools.count()
        for i in range(self.initial):
            self._after(i, self.machines[i].init(0))

    def send_data(self, column):
        self.sent[column] += 1
        if self.alive[column]:
            self.machines[column].me.received[column] = self.sent[column]

    def deliver_data(self, member, *, everything=False):
        me = self.machines[member].me
        if everything:
            me.received[:] = self.sent
        else:
            for c in range(self.sent.size):
                me.received[c] += self.random.randint(0, int(self.sent[c] - me.received[c]))

    def crash(self, member):
        self.alive[member], self.left[member] = False, True

    def leave(self, member):
        self.left[member] = True
        self._after(member, self.machines[member].leave(self.now))

    def join(self, member):
        self.alive[member] = True
        self._come_in(member)

    def _come_in(self, member):
        """The member asks for what it needs; what it lacks of that comes by :meth:`_serve`."""
        self._after(member, self.machines[member].init(self.now))

    def _serve(self, member):
        """Late-join handlers, and who has it, give a member what it knows to be stable."""
        me = self.machines[member].me
        anyone = np.max([each.me.received for each in self.machines], axis=0)
        np.maximum(me.received, np.minimum(me.stable, anyone), out=me.received)

    def run(self, until):
        while self.events and self.events[0][0] <= until:
            self.now, _, member, message = heapq.heappop(self.events)
            if message is None:
                self._ring(member)
            elif self.alive[member] and self.sides[member] == self.sides[message.source]:
                self._after(member, self.machines[member].receive(message, self.now))
        self.now = until

    def _ring(self, member):
        machine = self.machines[member]
        if self.alive[member] and machine.next_timer() == self.now:
            self._after(member, machine.handle_timer(self.now))

    def _after(self, member, sends):
        machine = self.machines[member]
        returning = False
        for change in machine.changes:
            if change.admitted:
                self.base.setdefault(change.member, self.sent.copy())
                continue
            if change.member == member:
                returning = not self.left[member]
                self.alive[member] &= returning
            elif self.alive[change.member] and not self.left[change.member]:
                self.false_strikes += 1
        self._check(member)
        self._serve(member)
        for sent in sends:
            for target in range(self.n) if sent.dest == GROUP else [sent.dest]:
                self._post(member, target, sent)
        if returning:
            self._come_in(member)
        elif machine.next_timer() is not None:
            heapq.heappush(self.events, (machine.next_timer(), next(self.order), member, None))

    def _post(self, source, target, sent):
        copies = 1 + (self.random.random() < self.doubled)
        for _ in range(copies):
            if self.random.random() >= self.loss or source == target:
                at = self.now + self.random.randint(1, self.delay_max)
                heapq.heappush(self.events, (at, next(self.order), target, received(sent, source)))

    def _check(self, member):
        me = self.machines[member].me
        assert (me.stable >= self.declared[member]).all(), "a frontier went back"
        self.declared[member] = me.stable
        found = me.stable > self.constructed
        for j, other in enumerate(self.machines):
            if self._counts_in(me, j) and self.alive[j]:
                assert not (found & (me.stable > other.me.received)).any(), (
                    f"member {member} calls stable what {j} lacks"
                )
        if not self.false_strikes:
            # Nobody was taken for gone: what is stable is at all first members, and what was sent after a
            # member was admitted is at that one too.
            for j, base in self.base.items():
                if self.alive[j]:
                    has = np.maximum(self.machines[j].me.received, base)
                    assert not (found & (me.stable > has)).any(), f"{member} calls stable what {j} lacks"
        np.maximum(self.constructed, me.stable, out=self.constructed)

    def _counts_in(self, me, j):
        if not me.status.size:
            return True
        return me.status[j] % 2 == 1 and self.machines[j].me.status[j] == me.status[j]

    def is_settled(self):
        live = [c for c in range(self.sent.size) if self.alive[c]]
        return all(
            (self.machines[i].me.stable[live] >= self.sent[live]).all()
            for i in range(self.n)
            if self.alive[i]
        )
