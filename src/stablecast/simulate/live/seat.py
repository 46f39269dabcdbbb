"""One member of a simulated live group, as its driver knows it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from stablecast.engine.engine import Engine
from stablecast.membership.view import Address
from stablecast.simulate.costs import PS_PER_US
from stablecast.simulate.live.meter import Handed
from stablecast.simulate.plain.calendar import Entry


class Way(NamedTuple):
    """How long a datagram was under way until it came to a member, and when that was."""

    datagram: bytes
    queue_ps: int
    service_ps: int
    at_ps: int


@dataclass(eq=False, slots=True)
class Seat:
    """One member, and what its driver knows of it."""

    number: int
    name: str
    address: Address
    zone: str = ""
    clock_ahead_s: float = 0.0
    """By how much its clock on the wall is wrong."""
    receives: bool | list[str] = True
    """Whose messages it receives."""
    engine: Engine | None = None
    """None before it joins, and after it crashed or left."""
    timer: Entry | None = None
    pending: deque[int] = field(default_factory=deque)
    """When messages were handed over that the engine does not take yet."""
    waiting: deque[Handed] = field(default_factory=deque)
    """What was sent and is not known to be stable."""
    side: int = 0
    """Of a partition."""
    socket: list[tuple[bytes, Address]] | None = None
    """What waits for it while it is paused; None while it runs."""
    ways: list[Way] = field(default_factory=list)
    """How what it is to take next has come, for a wire trace."""

    def tell_ways(self, now_ps: int) -> None:
        """Tell how long the datagrams were under way that it takes now; a pause counts as waiting."""
        wire = None if self.engine is None else self.engine.wire
        for way in self.ways:
            waited_ps = way.queue_ps + now_ps - way.at_ps
            if wire is not None:
                wire.was_under_way(way.datagram, waited_ps // PS_PER_US, way.service_ps // PS_PER_US)
        self.ways.clear()
