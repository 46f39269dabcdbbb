"""A group of machines on a perfect network: messages arrive at once, in order, or as the test says."""

from collections import deque

import numpy as np

from stablecast.overlays import complete_tree
from stablecast.protocols import protocol
from stablecast.protocols.contract import GROUP, Machine, Received, Sizes


class MachineGroup:
    def __init__(self, name, degree=2, height=2, fill=None):
        tree = complete_tree(degree, height, fill=fill)
        found = protocol(name)
        n = tree.size
        place = found.places_of(tree, Sizes(n, n, n, 4, found.parameter_values({}, n), True), 0)
        self.kinds = found.kinds
        self.machines = [
            Machine(found, index=i, group_size=n, place=place.of(i), columns=n) for i in range(n)
        ]
        self.under_way = deque()
        self.log = []

    def __len__(self):
        return len(self.machines)

    def start(self):
        self._post(0, self.machines[0].start(0))

    def _post(self, source, sends):
        for sent in sends:
            targets = range(len(self)) if sent.dest == GROUP else [sent.dest]
            for target in targets:
                self.under_way.append((source, target, sent))

    def deliver(self, entry):
        source, target, sent = entry
        self.log.append((self.kinds[sent.kind], source, target, sent.execution))
        sends = self.machines[target].receive(Received(sent.kind, source, sent.execution, sent.array), 0)
        self._post(target, sends)

    def deliver_all(self, *, keep=lambda kind, source, target: True):
        """Deliver until nothing is under way; return what ``keep`` did not let through."""
        held_back = []
        while self.under_way:
            entry = self.under_way.popleft()
            if keep(self.kinds[entry[2].kind], entry[0], entry[1]):
                self.deliver(entry)
            else:
                held_back.append(entry)
        return held_back

    def set_received(self, table):
        for machine, row in zip(self.machines, table, strict=True):
            machine.me.received[:] = row

    def stable(self):
        return np.array([machine.me.stable for machine in self.machines])
