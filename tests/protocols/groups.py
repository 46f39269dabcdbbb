"""A group of machines on a perfect network: messages arrive at once, in order, or as the test says."""

from collections import deque

import numpy as np

from stablecast.overlays import complete_tree, tree_from_parents
from stablecast.protocols import protocol
from stablecast.protocols.contract import GROUP, Machine, Received, Sizes, Surroundings


def machines_of(found, sizes, *, tree=None, seed=0):
    """Return the machines of a group whose members form a tree in the network, by default a star."""
    n = sizes.group
    tree = tree_from_parents([-1] + [0] * (n - 1)) if tree is None else tree
    places = found.places(Surroundings(tree, sizes, seed, lambda: np.zeros((n, n))))
    return [Machine(found, index=i, sizes=sizes, places=places, seed=seed) for i in range(n)]


def received(sent, source):
    """Return a message as it reaches a machine."""
    return Received(sent.kind, source, sent.numbers, sent.array)


class MachineGroup:
    def __init__(self, name, degree=2, height=2, fill=None):
        tree = complete_tree(degree, height, fill=fill)
        found = protocol(name)
        n = tree.size
        self.kinds = found.kinds
        self.machines = machines_of(found, Sizes(n, n, n, 4, found.parameter_values({}, n), True), tree=tree)
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
        self.log.append((self.kinds[sent.kind], source, target, sent.numbers[0]))
        self._post(target, self.machines[target].receive(received(sent, source), 0))

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
