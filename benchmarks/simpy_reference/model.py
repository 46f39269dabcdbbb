"""The network: trees, costs, links, nodes and hosts. Times are integer picoseconds.

A message travels as packets, one or several. A link direction and a host's processor are FIFO
servers: a `simpy.Store` as the queue and one process that takes from it. Propagation and what is
not a server are pure delays, so each packet under way has a process of its own. A cost of zero is no
event at all: without host costs a packet is received the instant it arrives, and a router without
delay forwards at once.

Where such zero costs make two things happen at one instant, the network comes first: a node
forwards a message before its own member reacts to it, and a multicast is on the sender's links
before the sender handles its own copy.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import simpy
from numpy.typing import NDArray
from simpy.events import ProcessGenerator

PS_PER_US = 10**6
PS_PER_MS = 10**9
PS_PER_S = 10**12

ROOT = 0
NO_PARENT = -1

Kind = Literal["START", "ACK", "INFO", "DATA"]
HostModel = Literal["none", "serial", "per-link", "delay"]
Payload = NDArray[np.int32]
Handler = Callable[["Message"], None]


def tree_parents(degree: int, height: int, fill: int) -> list[int]:
    """Parents in the tree of `degree` that is complete to level `height` - 1.

    Each node of that level has `fill` children. Nodes are numbered breadth first from the root, 0.
    """
    if min(degree, height, fill) < 1:
        raise ValueError(f"degree, height and fill must be at least 1, got {degree}, {height} and {fill}")
    parents = [NO_PARENT]
    level = range(1)
    for depth in range(height):
        children = fill if depth == height - 1 else degree
        parents.extend(parent for parent in level for _ in range(children))
        level = range(level.stop, len(parents))
    return parents


def balanced_parents(node_count: int, *, degree: int = 4) -> list[int]:
    """Parents in a tree filled breadth first, whose inner nodes but the last have `degree` neighbours."""
    if node_count < 1 or degree < 2:
        raise ValueError(f"need at least 1 node and degree 2, got {node_count} and {degree}")
    parents, parent = [NO_PARENT], ROOT
    while len(parents) < node_count:
        parents.extend([parent] * (degree if parent == ROOT else degree - 1))
        parent += 1
    return parents[:node_count]


def _divide_to_nearest(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What the network and the hosts charge for a message."""

    bandwidth_bps: int = 100_000_000
    """Of each link, in each direction."""
    propagation_ps: int = 0
    """Of each link; messages pipeline during it."""
    router_ps: int = PS_PER_MS
    """Time at each node that forwards a packet."""
    router_serial: bool = False
    """Whether a node forwards one packet at a time, and not any number."""
    host: HostModel = "serial"
    """What sending and receiving occupy: nothing, the host's processor, one of the link, or a pure delay."""
    mtu_bytes: int = 0
    """The largest packet; 0 for messages that are one packet each."""
    header_bytes: int = 32
    """Of each packet."""

    def __post_init__(self) -> None:
        if self.bandwidth_bps <= 0:
            raise ValueError(f"bandwidth_bps must be positive, got {self.bandwidth_bps}")
        if min(self.propagation_ps, self.router_ps) < 0:
            raise ValueError(f"delays must not be negative, got {self.propagation_ps} and {self.router_ps}")

    def packet_sizes(self, size_bytes: int) -> list[int]:
        """The packets of a message: full ones, and one for the rest."""
        if not self.mtu_bytes:
            return [size_bytes]
        full, rest = divmod(size_bytes - self.header_bytes, self.mtu_bytes - self.header_bytes)
        sizes = [self.mtu_bytes] * full
        return [*sizes, self.header_bytes + rest] if rest or not sizes else sizes

    def link_ps(self, size_bytes: int) -> int:
        return _divide_to_nearest(size_bytes * 8 * PS_PER_S, self.bandwidth_bps)

    def send_ps(self, size_bytes: int) -> int:
        """338 + 47 u / 400 µs for u bytes."""
        return _divide_to_nearest((338 * 400 + 47 * size_bytes) * PS_PER_US, 400)

    def receive_ps(self, size_bytes: int) -> int:
        """A tenth more than sending."""
        return _divide_to_nearest((338 * 400 + 47 * size_bytes) * PS_PER_US * 11, 400 * 10)


@dataclass(frozen=True, slots=True)
class Message:
    """One message; all its copies in the network are the same object."""

    kind: Kind
    source: int
    destination: int | None
    """None for a multicast to the whole group."""
    size_bytes: int
    requested_ps: int
    """When the member asked for it to be sent."""
    payload: Payload | None = None


@dataclass(frozen=True, slots=True)
class Packet:
    """A part of a message."""

    message: Message
    size_bytes: int
    number: int
    count: int
    """Of the message's packets."""


class Server:
    """Does one job after the other: a time, and then what follows from it."""

    def __init__(self, env: simpy.Environment) -> None:
        self.env = env
        self.jobs = simpy.Store(env)
        env.process(self._serve())

    def put(self, takes_ps: int, then: Callable[[], None]) -> None:
        self.jobs.put((takes_ps, then))

    def _serve(self) -> ProcessGenerator:
        while True:
            takes_ps, then = yield self.jobs.get()
            yield self.env.timeout(takes_ps)
            then()


class Delay:
    """Does any number of jobs at a time."""

    def __init__(self, env: simpy.Environment) -> None:
        self.env = env

    def put(self, takes_ps: int, then: Callable[[], None]) -> None:
        self.env.process(self._wait(takes_ps, then))

    def _wait(self, takes_ps: int, then: Callable[[], None]) -> ProcessGenerator:
        yield self.env.timeout(takes_ps)
        then()


class Link:
    """One direction of an edge: a FIFO server, then the propagation delay."""

    def __init__(self, network: "Network", source: "Node", target: "Node") -> None:
        self.network = network
        self.source = source
        self.target = target
        self.wire = Server(network.env)
        self.propagation = Delay(network.env)

    def put(self, packet: Packet) -> None:
        self.network.packets += 1
        if packet.number == 0:
            self.network.hops[packet.message.kind] += 1
        self.wire.put(self.network.costs.link_ps(packet.size_bytes), partial(self._leave, packet))

    def _leave(self, packet: Packet) -> None:
        if self.network.costs.propagation_ps:
            self.propagation.put(self.network.costs.propagation_ps, partial(self._arrive, packet))
        else:
            self._arrive(packet)

    def _arrive(self, packet: Packet) -> None:
        self.target.arrive(packet, self.source)


class Host:
    """A member's machine: it sends and receives packets, and puts messages together from them."""

    def __init__(self, node: "Node") -> None:
        self.node = node
        self.costs = node.network.costs
        self.handler: Handler | None = None
        self.received: Counter[int] = Counter()
        self.processors: dict[tuple[str, int], Server | Delay] = {}

    def processor(self, does: str, neighbour: int) -> Server | Delay:
        """One for all, or for each direction of each link; the host's own index is the link to itself."""
        of_link = self.costs.host == "per-link" and neighbour != self.node.index
        key = (does, neighbour) if of_link else ("both", self.node.index)
        if key not in self.processors:
            made = Delay if self.costs.host == "delay" else Server
            self.processors[key] = made(self.node.network.env)
        return self.processors[key]

    def send(self, message: Message) -> None:
        sizes = self.costs.packet_sizes(message.size_bytes)
        for number, size_bytes in enumerate(sizes):
            self._send(Packet(message, size_bytes, number, len(sizes)))

    def _send(self, packet: Packet) -> None:
        takes_ps = self.costs.send_ps(packet.size_bytes)
        if self.costs.host == "none":
            self.node.inject(packet)
        elif self.costs.host == "per-link":
            for link in self.node.next_links(packet.message, None):
                self.processor("send", link.target.index).put(takes_ps, partial(link.put, packet))
            if packet.message.destination is None:
                own = partial(self.receive, packet, self.node.index)
                self.processor("send", self.node.index).put(takes_ps, own)
        else:
            self.processor("send", self.node.index).put(takes_ps, partial(self.node.inject, packet))

    def receive(self, packet: Packet, neighbour: int) -> None:
        if self.costs.host == "none":
            self._take(packet)
        else:
            takes_ps = self.costs.receive_ps(packet.size_bytes)
            self.processor("receive", neighbour).put(takes_ps, partial(self._take, packet))

    def _take(self, packet: Packet) -> None:
        if self.handler is None:
            raise RuntimeError(f"node {self.node.index} received {packet.message.kind} but has no handler")
        self.received[id(packet.message)] += 1
        if self.received[id(packet.message)] == packet.count:
            del self.received[id(packet.message)]
            self.handler(packet.message)


class Node:
    """A router with its host. It knows the way to its descendants; all else goes to its parent."""

    def __init__(self, network: "Network", index: int) -> None:
        self.network = network
        self.index = index
        self.host = Host(self)
        made = Server if network.costs.router_serial else Delay
        self.router = made(network.env)
        self.links: list[Link] = []
        self.up: Link | None = None
        self.down: dict[int, Link] = {}

    def unicast(self, kind: Kind, destination: int, size_bytes: int, payload: Payload | None = None) -> None:
        self.host.send(Message(kind, self.index, destination, size_bytes, self.network.now_ps, payload))

    def multicast(self, kind: Kind, size_bytes: int, payload: Payload | None = None) -> None:
        self.host.send(Message(kind, self.index, None, size_bytes, self.network.now_ps, payload))

    def inject(self, packet: Packet) -> None:
        """Put a packet of this node's own member on the network."""
        self._forward(packet, self.next_links(packet.message, None))
        if packet.message.destination is None:
            self.host.receive(packet, self.index)

    def arrive(self, packet: Packet, previous: "Node") -> None:
        """Take a packet from the link that comes from `previous`."""
        message = packet.message
        if message.destination != self.index:
            links = self.next_links(message, previous)
            if links and self.network.costs.router_ps:
                self.router.put(self.network.costs.router_ps, partial(self._forward, packet, links))
            else:
                self._forward(packet, links)
        if message.destination is None or message.destination == self.index:
            self.host.receive(packet, previous.index)

    def _forward(self, packet: Packet, links: list[Link]) -> None:
        for link in links:
            link.put(packet)

    def next_links(self, message: Message, previous: "Node | None") -> list[Link]:
        if message.destination is None:
            return [link for link in self.links if link.target is not previous]
        link = self.down.get(message.destination, self.up)
        if link is None:
            raise ValueError(
                f"there is no node {message.destination} in a network of {len(self.network.nodes)}"
            )
        return [link]


class Network:
    """A tree of nodes given by their parents, and the message copies put on its links, by kind."""

    def __init__(self, env: simpy.Environment, parents: Sequence[int], costs: Costs) -> None:
        self.env = env
        self.costs = costs
        self.hops: Counter[Kind] = Counter()
        self.packets = 0
        """Put on links."""
        self.nodes = [Node(self, index) for index in range(len(parents))]
        for index, parent in enumerate(parents):
            if parent != NO_PARENT:
                self._connect(self.nodes[parent], self.nodes[index])
        self._fill_routes(parents)

    @property
    def now_ps(self) -> int:
        """The time, an int because every delay is one."""
        return int(self.env.now)

    def _connect(self, parent: Node, child: Node) -> None:
        child.up = Link(self, child, parent)
        child.links.append(child.up)
        down = Link(self, parent, child)
        parent.links.append(down)
        parent.down[child.index] = down

    def _fill_routes(self, parents: Sequence[int]) -> None:
        for destination in range(len(parents)):
            node = destination
            while (parent := parents[node]) != NO_PARENT:
                self.nodes[parent].down[destination] = self.nodes[parent].down[node]
                node = parent
