"""Messages under way in a plain simulation, and the packets that they are cut into."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.simulate.costs import Costs


@dataclass(eq=False, slots=True)
class Letter:
    """A message under way; its copies and packets on different links are of the same object."""

    kind: int
    source: int
    """The member that sent it."""
    dest: int
    """A member, or ``GROUP``."""
    size: int
    """Bytes on the wire."""
    numbers: tuple[int, ...] = ()
    """Of a protocol's message: its whole numbers, and its arrays, one behind the other."""
    depth: int = 0
    """Messages in the chain that led to it, itself included."""
    array: NDArray[np.integer[Any]] | None = None
    entries: dict[int, int] | None = None
    """What travels of its array, by place, where that are changed entries."""
    carried: int = 0
    """Of data: how many of its bytes are the protocol's."""
    riders: list[Letter] = field(default_factory=list)
    """Stability messages that travel inside it."""
    column: int = -1
    """Of data: the column that it is about, a range of numbers, and when the message was handed over."""
    first: int = 0
    last: int = 0
    born_ps: int = 0
    payload: bytes = b""
    """Of a datagram: what it is."""
    comes_back: bool = True
    """Of a message to all: whether its sender gets it, too."""
    came: Counter[int] | None = None
    """By member, its packets that came to the member's node, and those that the member received."""
    got: Counter[int] | None = None

    @property
    def execution(self) -> int:
        """The first of its numbers, which is the execution in protocols that have any; 0 for none."""
        return self.numbers[0] if self.numbers else 0

    def is_whole_at(self, member: int, count: int) -> bool:
        """Count a packet, of so many, at a member's node; tell whether all have come."""
        if count == 1:
            return True
        if self.came is None:
            self.came = Counter()
        self.came[member] += 1
        return self.came[member] % count == 0

    def is_received_by(self, member: int, count: int) -> bool:
        """Count a packet, of so many, that a member received; tell whether it has all of them."""
        if count == 1:
            return True
        if self.got is None:
            self.got = Counter()
        self.got[member] += 1
        return self.got[member] % count == 0


@dataclass(eq=False, slots=True)
class Packet:
    """A part of a message under way, or all of it."""

    letter: Letter
    dest: int
    """A member, or ``GROUP``."""
    size: int
    """Bytes on the wire."""
    bare_size: int | None
    """The same without what data carries of the protocol; None if the packet holds nothing else."""
    number: int
    """Its place in the message, from 0, and how many packets that has."""
    count: int
    queue_ps: int = 0
    """In a network that tells of it: how long it has waited and was served on its way so far."""
    service_ps: int = 0

    def served(self, queue_ps: int, service_ps: int) -> Packet:
        """Return the packet as it comes out of a server; other copies of it may be elsewhere."""
        return replace(self, queue_ps=self.queue_ps + queue_ps, service_ps=self.service_ps + service_ps)


def cut(letter: Letter, dest: int, costs: Costs) -> list[Packet]:
    """Cut a message into packets, each with a header; all but the last are full."""
    if costs.mtu_bytes == 0:
        return [Packet(letter, dest, letter.size, letter.size - letter.carried, 0, 1)]
    sizes, bare = (packet_sizes(size, costs) for size in (letter.size, letter.size - letter.carried))
    return [
        Packet(letter, dest, size, without, number, len(sizes))
        for number, (size, without) in enumerate(zip_longest(sizes, bare))
    ]


def packet_sizes(size: int, costs: Costs) -> list[int]:
    """Return the bytes of each packet of a message."""
    room, left, sizes = costs.mtu_bytes - costs.header_bytes, size - costs.header_bytes, []
    while left > room:
        sizes.append(costs.mtu_bytes)
        left -= room
    return [*sizes, costs.header_bytes + left]
