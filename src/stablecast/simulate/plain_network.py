"""The network of the plain driver: links, routers and hosts as objects, and a calendar of what they do.

It is the model of :mod:`stablecast.simulate.wires` told a second time, for comparison: every server keeps a
queue of its own, every event is one entry of a heap, and a route is found by climbing the tree.
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
from stablecast.simulate.chance import LINK_STREAM, uniform
from stablecast.simulate.costs import PS_PER_US, Costs
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
    execution: int = 0
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


@dataclass(eq=False)
class Link:
    """One direction between a node and its parent."""

    number: int
    end: Node
    free_at_ps: int = 0
    leaving_ps: deque[int] = field(default_factory=deque)
    """When each message that it holds is wholly on the wire, and so makes room."""
    taken: int = 0
    """Counter of its loss draws."""


@dataclass(eq=False)
class Node:
    """A place in the network, with a router and perhaps a member."""

    number: int
    parent: Node | None
    children: list[Node] = field(default_factory=list)
    member: int | None = None
    up: Link | None = None
    """The link to the parent, and the one from it."""
    down: Link | None = None
    cast: list[Link] = field(default_factory=list)
    """Links of the multicast tree that leave from here, in ascending order."""

    def link_towards(self, target: Node) -> Link:
        """Climb from the target: if that leads here, its last step is the way down; else the way is up."""
        step: Node | None = target
        while step is not None and step.parent is not self:
            step = step.parent
        link = self.up if step is None else step.down
        assert link is not None
        return link

    def members_below(self) -> int:
        """Count the members on this node and below it."""
        return (self.member is not None) + sum(child.members_below() for child in self.children)


def build_nodes(topology: Topology) -> list[Node]:
    """Make the nodes and links; those between node ``v`` and its parent are numbered 2v - 2 and 2v - 1."""
    nodes: list[Node] = []
    for number, parent in enumerate(topology.tree.parent.tolist()):
        nodes.append(Node(number, nodes[parent] if number else None))
    for member, number in enumerate(topology.member_nodes.tolist()):
        nodes[number].member = member
    for node in nodes[1:]:
        assert node.parent is not None
        node.parent.children.append(node)
        node.up = Link(2 * node.number - 2, node.parent)
        node.down = Link(2 * node.number - 1, node)
    for node in nodes[1:]:
        assert node.parent is not None
        assert node.up is not None
        assert node.down is not None
        if 0 < node.members_below() < topology.member_count:
            node.cast.append(node.up)
            node.parent.cast.append(node.down)
    for node in nodes:
        node.cast.sort(key=lambda link: link.number)
    return nodes


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
        loss_until_ps: int,
        is_silent: Callable[[int], bool],
    ) -> None:
        self.costs = costs
        self.calendar = calendar
        self.deliver = deliver
        self.seed = seed
        self.loss_until_ps = loss_until_ps
        self.is_silent = is_silent
        self.nodes = build_nodes(topology)
        self.homes = [self.nodes[number] for number in topology.member_nodes.tolist()]
        self._first_router = 2 * (len(self.nodes) - 1)
        first_host = self._first_router + len(self.nodes)
        self.routers = [Processor(calendar, self._first_router + node.number) for node in self.nodes]
        self.hosts = [Processor(calendar, first_host + i) for i in range(topology.member_count)]
        self.first_timer = first_host + topology.member_count
        self.hops: Counter[int] = Counter()
        self.hop_bytes: Counter[int] = Counter()
        self.sent: Counter[int] = Counter()
        self.queue_lengths: list[int] = []
        """How many messages a link held, each time that one was put on it."""
        self.dropped = 0
        self.lost = 0

    def host_queue_max(self) -> int:
        """Return the most jobs that one processor ever had."""
        return max(processor.queue_max for processor in self.routers + self.hosts)

    def send_cost_ps(self, size: int) -> float:
        """Host time to send a message."""
        return self.costs.send_us * PS_PER_US + self.costs.send_us_per_byte * PS_PER_US * size

    def post(self, letter: Letter) -> None:
        """Hand a message to its sender's host."""
        self.sent[letter.kind] += 1
        launch = partial(self._launch, letter)
        if self.costs.hosts_free:
            launch()
        else:
            self.hosts[letter.source].put(int(self.send_cost_ps(letter.size) + 0.5), launch)

    def _launch(self, letter: Letter) -> None:
        """Let a message leave its sender's node; what is for the sender too comes back by its processor."""
        if self.is_silent(letter.source):
            return
        home = self.homes[letter.source]
        if letter.dest == GROUP:
            for link in home.cast:
                self._put_on_link(link, letter)
        elif letter.dest != letter.source:
            self._put_on_link(home.link_towards(self.homes[letter.dest]), letter)
            return
        self._receive_at_host(letter.source, letter)

    def _receive_at_host(self, member: int, letter: Letter) -> None:
        cost_ps = int(self.send_cost_ps(letter.size) * self.costs.receive_factor + 0.5)
        self.hosts[member].put(cost_ps, partial(self.deliver, member, letter))

    def _put_on_link(self, link: Link, letter: Letter) -> None:
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
        # A lost message takes its time all the same, and then comes to nothing.
        arrival = _nothing if lost else partial(self._arrive, link, letter)
        self.calendar.add(link.free_at_ps + self.costs.propagation_ps, link.number, arrival)

    def _loses(self, link: Link) -> bool:
        """Draw whether a link loses the message that it takes now."""
        if self.costs.link_loss == 0:
            return False
        link.taken += 1
        draw = uniform(self.seed, LINK_STREAM + link.number, link.taken)
        return self.calendar.now_ps < self.loss_until_ps and draw < self.costs.link_loss

    def _arrive(self, link: Link, letter: Letter) -> None:
        """Take a message out of a link: onwards first, then to the member on this node."""
        node = link.end
        if letter.dest == GROUP:
            onwards = [other for other in node.cast if other.end is not _origin(link, node)]
            here = node.member is not None
        else:
            home = self.homes[letter.dest]
            here = home is node
            onwards = [] if here else [node.link_towards(home)]
        if onwards:
            self._route(node, onwards, letter)
        if here:
            assert node.member is not None
            if self.costs.hosts_free:
                self.deliver(node.member, letter)
            else:
                self._receive_at_host(node.member, letter)

    def _route(self, node: Node, onwards: list[Link], letter: Letter) -> None:
        """Give a message to a node's router, which puts it on its next links."""
        forward = partial(self._forward, onwards, letter)
        cost_ps = self.costs.router_ps
        if cost_ps == 0:
            forward()
        elif self.costs.router == "delay":
            self.calendar.add(self.calendar.now_ps + cost_ps, self._first_router + node.number, forward)
        elif self.costs.processor == "shared" and node.member is not None:
            self.hosts[node.member].put(cost_ps, forward)
        else:
            self.routers[node.number].put(cost_ps, forward)

    def _forward(self, onwards: list[Link], letter: Letter) -> None:
        for link in onwards:
            self._put_on_link(link, letter)


def _origin(link: Link, end: Node) -> Node | None:
    """Return where a link comes from."""
    if link is end.down:
        return end.parent
    return next(child for child in end.children if child.up is link)


def _nothing() -> None:
    """Do nothing."""
