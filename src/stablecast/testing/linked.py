"""A network in memory whose datagrams travel over links, routers and hosts, as simulated ones do.

What the plain network in memory cannot do happens here by itself: datagrams wait for each other, those that
share a link slow each other down, and a queue that is full drops what comes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from stablecast.membership.view import Address
from stablecast.simulate.costs import Costs
from stablecast.simulate.plain.letters import Letter
from stablecast.simulate.plain.network import Network as Links
from stablecast.simulate.source_trees import SHARED_TREE
from stablecast.simulate.topologies import Topology
from stablecast.testing.clock import Scheduler
from stablecast.testing.endpoint import MemoryTransport
from stablecast.testing.network import Network

PS_PER_S = 10**12
DATAGRAM = 0


class _ClockCalendar:
    """What the links want to happen, set on a clock."""

    def __init__(self, network: Network) -> None:
        self.before_each: Callable[[int], None] | None = None
        self._network = network

    @property
    def _scheduler(self) -> Scheduler:
        return self._network.scheduler

    @property
    def now_ps(self) -> int:
        """The clock's time."""
        return round(self._scheduler.time() * PS_PER_S)

    def add(self, at_ps: int, server: int, action: Callable[[], None]) -> object:
        """Let a server do something at a time; servers of the same instant in the order of these calls."""
        return self._scheduler.call_at(at_ps / PS_PER_S, action)


@dataclass(eq=False, slots=True)
class Parcel(Letter):
    """A datagram under way."""

    sender: Address = ("", 0)
    to: Address = ("", 0)


class LinkedNetwork(Network):
    """A network in memory with links.

    Each new address is on the next host of the topology; when all have one, hosts get a second process and
    so on.  Processes on one host reach each other without links.  Losses, delays and the like that are given
    as for the plain network come on top of what the links do; without them a datagram takes the time that
    its links, routers and hosts take.

    Parameters
    ----------
    topology
        The network: ``stablecast.simulate.topology("star", members=8)``.
    costs
        What links, routers and hosts take, how long queues are, and what links lose:
        ``stablecast.simulate.costs("lan", queue_limit=20)``.
    seed, more
        As of the plain network.
    """

    def __init__(self, topology: Topology, costs: Costs, seed: int = 0, **more: Any) -> None:
        super().__init__(seed, **{"delay_s": (0.0, 0.0)} | more)
        self.costs = costs
        self._hosts = topology.member_count
        self._host_of: dict[Address, int] = {}
        self.on_links = Links(
            topology,
            costs,
            _ClockCalendar(self),
            self._deliver,
            seed=seed,
            routes="hops",
            multicast_tree=SHARED_TREE,
            one_by_one=False,
            loss_until_ps=1 << 62,
            sample_ps=0,
            is_silent=lambda host: False,
        )
        """The links, with their counts: ``dropped`` by full queues, ``queue_max``, ``lost``."""

    def transport(self, name_or_address: Address | str | None = None) -> MemoryTransport:
        """Return a new process's transport; see the plain network."""
        transport = super().transport(name_or_address)
        self._host_of.setdefault(transport.address, len(self._host_of) % self._hosts)
        return transport

    def _put_on_its_way(self, datagram: bytes, sender: Address, to: Address, delay: float) -> None:
        source, dest = self._host_of.get(sender), self._host_of.get(to)
        if source is None or dest is None or source == dest:
            super()._put_on_its_way(datagram, sender, to, delay)
            return
        size = len(datagram) + self.costs.header_bytes
        parcel = Parcel(DATAGRAM, source, dest, size, payload=datagram, sender=sender, to=to)
        if delay > 0:
            self.scheduler.call_at(self.scheduler.time() + delay, partial(self.on_links.post, parcel))
        else:
            self.on_links.post(parcel)

    def _deliver(self, host: int, letter: Letter) -> None:
        assert isinstance(letter, Parcel)
        self._arrive(letter.payload, letter.sender, letter.to)
