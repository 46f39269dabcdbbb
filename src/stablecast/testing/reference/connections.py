"""Connections in the plain driver: how each receiver stands with each sender, for one who looks at both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.protocols.contract import CLOSE_AT_RECEIVER, CLOSE_AT_SENDER, Machine
from stablecast.protocols.contract import CONNECT as TO_CONNECT
from stablecast.simulate.faults import CONNECT, DISCONNECT, DROP, LOSE_SENDER, Fault
from stablecast.testing.reference.traffic import DataTraffic


@dataclass(eq=False)
class Link:
    """How a receiver stands with a sender."""

    wanted: bool = False
    """Whether the receiver has connected, and neither side has closed it."""
    since_ps: int | None = None
    """Since when it waits to be let in."""
    after: int | None = None
    """The last message before those that it has to have, while the sender counts it; None for none."""


class Connections:
    """All pairs of a column and a member."""

    def __init__(self, traffic: DataTraffic) -> None:
        self._traffic = traffic
        self._links: defaultdict[tuple[int, int], Link] = defaultdict(Link)
        for column, audience in enumerate(traffic.audiences):
            for member in audience:
                self._links[column, member] = Link(wanted=True, after=0)
        self.times_ps: list[int] = []
        """How long each receiver took that was let in."""

    def change(self, fault: Fault, now_ps: int) -> tuple[int, int]:
        """Note what happens to a connection; return what the protocol is told of it, and the column."""
        at_receiver = fault.what in (CONNECT, DISCONNECT, LOSE_SENDER)
        sender, receiver = (fault.side, fault.member) if at_receiver else (fault.member, fault.side)
        column = self._column_of(sender)
        link = self._links[column, receiver]
        if fault.what == CONNECT:
            link.wanted, link.since_ps = True, now_ps
            return TO_CONNECT, column
        if at_receiver:
            self._links[column, receiver] = Link()
            self._traffic.shut(receiver, column)
            return CLOSE_AT_RECEIVER, column
        if fault.what == DROP:
            link.after = None
        return CLOSE_AT_SENDER, column

    def _column_of(self, sender: int) -> int:
        led = self._traffic.stations[sender].column
        assert led is not None
        return led.number

    def note(self, member: int, machine: Machine, now_ps: int) -> bool:
        """Note whom a sender's last call counted in; tell whether a receiver's began to take messages."""
        if machine.counted is not None:
            receiver, after = machine.counted
            link = self._links[self._column_of(member), receiver]
            if link.wanted:  # one that has gone again is not waited for
                link.after = after
        if machine.opened is None:
            return False
        column, after = machine.opened
        link = self._links[column, member]
        assert link.since_ps is not None
        self.times_ps.append(now_ps - link.since_ps)
        link.since_ps = None
        self._traffic.open(member, column, after)
        return True

    def waited_for(self, member: int) -> Iterator[int]:
        """Yield the senders that a member waits for to be let in."""
        for (column, of), link in self._links.items():
            if of == member and link.since_ps is not None:
                yield self._traffic.columns[column].leader

    def too_early(
        self,
        before: NDArray[np.int64],
        stable: NDArray[np.integer[Any]],
        is_required: Callable[[int], bool],
    ) -> int:
        """Return how many messages are newly called stable that receivers lack, once for each of them."""
        found = 0
        for column in np.flatnonzero(stable > before).tolist():
            for (of, member), link in self._links.items():
                if of == column and link.after is not None and is_required(member):
                    received = int(self._traffic.stations[member].received[column])
                    has = max(received, link.after, int(before[column]))
                    found += max(int(stable[column]) - has, 0)
        return found
