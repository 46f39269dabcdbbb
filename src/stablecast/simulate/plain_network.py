"""The network of the plain driver: links, routers and hosts as objects, and a calendar of what they do.

It is the model of :mod:`stablecast.simulate.wires` told a second time, for comparison: every server keeps a
queue of its own, every event is one entry of a heap, and a route is found by climbing the tree, or on a
graph by walking back from the target.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.protocols.contract import GROUP
from stablecast.simulate.chance import DETOUR_STREAM, LINK_STREAM, uniform
from stablecast.simulate.costs import PS_PER_US, Costs
from stablecast.simulate.distances import HOP_PS
from stablecast.simulate.plain_nodes import Link, Node, build_nodes
from stablecast.simulate.topologies import Topology

Action = Callable[[], None]


@dataclass(eq=False)
class Letter:
    """A message under way; its copies on different links are the same object."""

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
    riders: list[Letter] = field(default_factory=list)
    """Stability messages that travel inside it."""
    column: int = -1
    """Of data: the column that it is about, a range of numbers, and when the message was handed over."""
    first: int = 0
    last: int = 0
    born_ps: int = 0

    @property
    def execution(self) -> int:
        """The first of its numbers, which is the execution in protocols that have any; 0 for none."""
        return self.numbers[0] if self.numbers else 0


@dataclass(eq=False)
class Entry:
    """An event to come; one without an action was called off."""

    at_ps: int
    action: Action | None


class Calendar:
    """What is to happen: by time, then by the server's number, then in order of arrival."""

    def __init__(self) -> None:
        self.now_ps = 0
        self.handled = 0
        self.before_each: Callable[[int], None] = _ignore
        """Called with the time of each event before it happens."""
        self._heap: list[tuple[int, int, int, Entry]] = []
        self._added = 0

    def add(self, at_ps: int, server: int, action: Action) -> Entry:
        """Let a server do something at a time."""
        entry = Entry(at_ps, action)
        self._added += 1
        heapq.heappush(self._heap, (at_ps, server, self._added, entry))
        return entry

    def step(self, until_ps: int) -> bool:
        """Do what comes next; tell whether there was anything to do by ``until_ps``."""
        while self._heap and self._heap[0][0] <= until_ps:
            at_ps, _, _, entry = heapq.heappop(self._heap)
            if entry.action is not None:
                self.now_ps = at_ps
                self.handled += 1
                self.before_each(at_ps)
                entry.action()
                return True
        return False


class Processor:
    """A server that does one job after the other."""

    def __init__(self, calendar: Calendar, number: int) -> None:
        self.calendar = calendar
        self.number = number
        self.jobs: deque[tuple[int, Action]] = deque()
        self.queue_max = 0

    def put(self, cost_ps: int, action: Action) -> None:
        """Queue a job; ``action`` follows when it is done."""
        self.jobs.append((cost_ps, action))
        self.queue_max = max(self.queue_max, len(self.jobs))
        if len(self.jobs) == 1:
            self._begin()

    def _begin(self) -> None:
        cost_ps, _ = self.jobs[0]
        self.calendar.add(self.calendar.now_ps + cost_ps, self.number, self._end)

    def _end(self) -> None:
        _, action = self.jobs.popleft()
        if self.jobs:
            self._begin()
        action()


class Network:
    """Moves letters between the members of a group and counts what that takes."""

    def __init__(
        self,
        topology: Topology,
        costs: Costs,
        calendar: Calendar,
        deliver: Callable[[int, Letter], None],
        *,
        seed: int,
        routes: str,
        one_by_one: bool,
        loss_until_ps: int,
        sample_ps: int,
        is_silent: Callable[[int], bool],
    ) -> None:
        self.one_by_one = one_by_one
        self.costs = costs
        self.calendar = calendar
        self.deliver = deliver
        self.seed = seed
        self.loss_until_ps = loss_until_ps
        self.is_silent = is_silent
        self.nodes = build_nodes(topology, costs, routes)
        self.homes = [self.nodes[number] for number in topology.member_nodes.tolist()]
        further = 0 if topology.mesh is None else topology.mesh.delay_ps.size
        self._first_router = 2 * (len(self.nodes) - 1) + 2 * further
        first_host = self._first_router + len(self.nodes)
        self.routers = [Processor(calendar, self._first_router + node.number) for node in self.nodes]
        self.hosts = [Processor(calendar, first_host + i) for i in range(topology.member_count)]
        self.first_detour = first_host + topology.member_count
        detours = topology.member_count if costs.has_detours else 0
        self.first_timer = self.first_detour + detours
        self.arrivals: Counter[int] = Counter()
        self.on_links = 0
        self.loads: list[int] = []
        """How many messages were on links, each time that they were counted."""
        self.sample_ps = sample_ps
        calendar.before_each = self._count_load
        self.hops: Counter[int] = Counter()
        self.hop_bytes: Counter[int] = Counter()
        self.sent: Counter[int] = Counter()
        self.sent_bytes: Counter[int] = Counter()
        self.queue_lengths: list[int] = []
        """How many messages a link held, each time that one was put on it."""
        self.dropped = 0
        self.lost = 0

    def host_queue_max(self) -> int:
        """Return the most jobs that one processor ever had."""
        return max(processor.queue_max for processor in self.routers + self.hosts)

    def distances_us(self) -> NDArray[np.float64]:
        """Return how long the ways between all members are; a link counts a nanosecond at least."""
        found = np.zeros((len(self.homes), len(self.homes)))
        for i, home in enumerate(self.homes):
            for j, target in enumerate(self.homes):
                node = home
                while node is not target:
                    link = node.link_towards(target)
                    found[i, j] += max(link.propagation_ps, HOP_PS)
                    node = link.end
        return found / PS_PER_US

    def send_cost_ps(self, size: int) -> float:
        """Host time to send a message."""
        return self.costs.send_us * PS_PER_US + self.costs.send_us_per_byte * PS_PER_US * size

    def _count_load(self, now_ps: int) -> None:
        """Count the messages on links at every sampling time up to now."""
        while (len(self.loads) + 1) * self.sample_ps <= now_ps:
            self.loads.append(self.on_links)

    def post(self, letter: Letter) -> None:
        """Hand a message to its sender's host: as one, or as one for each member."""
        if letter.dest == GROUP and self.one_by_one:
            for member in range(len(self.homes)):
                if member != letter.source:
                    self._hand_over(letter, member)
            self._receive_at_host(letter.source, letter)
        else:
            self._hand_over(letter, letter.dest)

    def _hand_over(self, letter: Letter, dest: int) -> None:
        if dest != letter.source:
            self.sent[letter.kind] += 1
            self.sent_bytes[letter.kind] += letter.size
        launch = partial(self._launch, letter, dest)
        if self.costs.hosts_free:
            launch()
        else:
            self.hosts[letter.source].put(int(self.send_cost_ps(letter.size) + 0.5), launch)

    def _launch(self, letter: Letter, dest: int) -> None:
        """Let a message leave its sender's node; what is for the sender too comes back by its processor."""
        if self.is_silent(letter.source):
            return
        home = self.homes[letter.source]
        if dest == GROUP:
            for link in home.cast:
                self._put_on_link(link, letter, dest)
        elif dest != letter.source:
            self._put_on_link(home.link_towards(self.homes[dest]), letter, dest)
            return
        self._receive_at_host(letter.source, letter)

    def _receive_at_host(self, member: int, letter: Letter) -> None:
        cost_ps = int(self.send_cost_ps(letter.size) * self.costs.receive_factor + 0.5)
        self.hosts[member].put(cost_ps, partial(self.deliver, member, letter))

    def _put_on_link(self, link: Link, letter: Letter, dest: int) -> None:
        """Send one after the other, then wait for the propagation; drop what finds no room."""
        now_ps = self.calendar.now_ps
        while link.leaving_ps and link.leaving_ps[0] <= now_ps:
            link.leaving_ps.popleft()
        if 0 < self.costs.queue_limit <= len(link.leaving_ps):
            self.dropped += 1
            return
        on_wire_ps = int(letter.size * (8e12 / self.costs.bandwidth_bps) + 0.5)
        link.free_at_ps = max(now_ps, link.free_at_ps) + on_wire_ps
        link.leaving_ps.append(link.free_at_ps)
        self.queue_lengths.append(len(link.leaving_ps))
        self.hops[letter.kind] += 1
        self.hop_bytes[letter.kind] += letter.size
        lost = self._loses(link)
        self.lost += lost
        self.on_links += 1
        # A lost message takes its time all the same, and then comes to nothing.
        arrival = partial(self._arrive, link, letter, dest, lost=lost)
        self.calendar.add(link.free_at_ps + link.propagation_ps, link.number, arrival)

    def _loses(self, link: Link) -> bool:
        """Draw whether a link loses the message that it takes now."""
        if self.costs.link_loss == 0:
            return False
        link.taken += 1
        draw = uniform(self.seed, LINK_STREAM + link.number, link.taken)
        return self.calendar.now_ps < self.loss_until_ps and draw < self.costs.link_loss

    def _arrive(self, link: Link, letter: Letter, dest: int, *, lost: bool) -> None:
        """Take a message out of a link: onwards first, then to the member on this node."""
        self.on_links -= 1
        if lost:
            return
        node = link.end
        if dest == GROUP:
            onwards = [other for other in node.cast if other.end is not link.origin]
            here = node.member is not None
        else:
            home = self.homes[dest]
            here = home is node
            onwards = [] if here else [node.link_towards(home)]
        if onwards:
            self._route(node, onwards, letter, dest)
        if here:
            assert node.member is not None
            if not (self.costs.has_detours and self._takes_detour(node.member, letter)):
                self._deliver(node.member, letter)

    def _deliver(self, member: int, letter: Letter) -> None:
        if self.costs.hosts_free:
            self.deliver(member, letter)
        else:
            self._receive_at_host(member, letter)

    def _takes_detour(self, member: int, letter: Letter) -> bool:
        """Draw whether a message comes a second time, and whether it comes late."""
        self.arrivals[member] += 1
        twice, late = (
            uniform(self.seed, DETOUR_STREAM + member, 2 * self.arrivals[member] + k) for k in (0, 1)
        )
        coming = (twice < self.costs.duplicate) + (late < self.costs.reorder)
        for _ in range(coming):
            at_ps = self.calendar.now_ps + self.costs.detour_ps
            self.calendar.add(at_ps, self.first_detour + member, partial(self._deliver, member, letter))
        return late < self.costs.reorder

    def _route(self, node: Node, onwards: list[Link], letter: Letter, dest: int) -> None:
        """Give a message to a node's router, which puts it on its next links."""
        forward = partial(self._forward, onwards, letter, dest)
        cost_ps = self.costs.router_ps
        if cost_ps == 0:
            forward()
        elif self.costs.router == "delay":
            self.calendar.add(self.calendar.now_ps + cost_ps, self._first_router + node.number, forward)
        elif self.costs.processor == "shared" and node.member is not None:
            self.hosts[node.member].put(cost_ps, forward)
        else:
            self.routers[node.number].put(cost_ps, forward)

    def _forward(self, onwards: list[Link], letter: Letter, dest: int) -> None:
        for link in onwards:
            self._put_on_link(link, letter, dest)


def _ignore(now_ps: int) -> None:
    """Do nothing."""
