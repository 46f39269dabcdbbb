"""Links that are down: which datagrams do not pass, while faults of several kinds overlap."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from stablecast.membership.view import Address
from stablecast.testing.network import Network
from tests.soak.faults import Fault

Link = tuple[Address, Address]
"""From where to where."""


class Links:
    """Takes links down and up; one is down while any fault keeps it down."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._down: Counter[Link] = Counter()

    def take_down(self, links: Iterable[Link]) -> None:
        """Let nothing pass on these."""
        for link in links:
            self._down[link] += 1
            silent = replace(self._network.faults, loss=1.0)
            self._network.set_link(*link, silent, both_ways=False)

    def bring_up(self, links: Iterable[Link]) -> None:
        """Undo it."""
        for link in links:
            self._down[link] -= 1
            if not self._down[link]:
                self._network.set_link(*link, None, both_ways=False)


def links_of(fault: Fault, places: Sequence[Address]) -> list[Link]:
    """Return the links that a fault concerns, among processes at these addresses."""
    shuffled = list(places)
    random.Random(fault.who).shuffle(shuffled)
    first, second, half = shuffled[0], shuffled[1], len(shuffled) // 2
    one_way = fault.kind == "one-way"
    match "bridge" if fault.kind == "bridge" else fault.how:
        case "link":
            return [(first, second)] if one_way else both_ways([first], [second])
        case "one-way":
            return [(first, second)]
        case "mute":
            return between([first], shuffled[1:])
        case "deaf":
            return between(shuffled[1:], [first])
        case "member":
            return both_ways([first], shuffled[1:])
        case "half" if one_way:
            return between(shuffled[:half], shuffled[half:])
        case "half":
            return both_ways(shuffled[:half], shuffled[half:])
        case _:  # a bridge: the first hears everyone
            return both_ways(shuffled[1 : half + 1], shuffled[half + 1 :])


def between(senders: Sequence[Address], receivers: Sequence[Address]) -> list[Link]:
    """Return all links from some to others."""
    return [(sender, receiver) for sender in senders for receiver in receivers]


def both_ways(one: Sequence[Address], other: Sequence[Address]) -> list[Link]:
    """Return all links between two sides."""
    return between(one, other) + between(other, one)
