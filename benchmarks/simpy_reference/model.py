"""The network: trees, costs, links, nodes and hosts. Times are integer picoseconds.

A link direction and a host's processor are FIFO servers: a `simpy.Store` as the queue and one
process that takes from it. Propagation and routing are pure delays, so each message under way has
a process of its own. A cost of zero is no event at all: without host costs a message is handled
the instant it arrives, and a router without delay forwards at once.

Where such zero costs make two things happen at one instant, the network comes first: a node
forwards a message before its own member reacts to it, and a multicast is on the sender's links
before the sender handles its own copy.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
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
    """Parents in a tree filled level by level, whose inner nodes have `degree` neighbours.

    The nodes of a last level that is not full are spread evenly over the level above.
    """
    if node_count < 1 or degree < 2:
        raise ValueError(f"need at least 1 node and degree 2, got {node_count} and {degree}")
    parents = [NO_PARENT]
    level = range(1)
    while len(parents) < node_count:
        children = degree if level.start == ROOT else degree - 1
        size = min(len(level) * children, node_count - len(parents))
        parents.extend(level[k * len(level) // size] for k in range(size))
        level = range(level.stop, len(parents))
    return parents


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
    """Delay at each node that forwards a message, for any number of messages at a time."""
    host: bool = True
    """Whether sending and receiving occupy the host's processor."""

    def __post_init__(self) -> None:
        if self.bandwidth_bps <= 0:
            raise ValueError(f"bandwidth_bps must be positive, got {self.bandwidth_bps}")
        if min(self.propagation_ps, self.router_ps) < 0:
            raise ValueError(f"delays must not be negative, got {self.propagation_ps} and {self.router_ps}")

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


class Link:
    """One direction of an edge: a FIFO server, then the propagation delay."""

    def __init__(self, network: "Network", source: "Node", target: "Node") -> None:
        self.network = network
        self.source = source
        self.target = target
        self.queue = simpy.Store(network.env)
        network.env.process(self._serve())

    def put(self, message: Message) -> None:
        self.network.hops[message.kind] += 1
        self.queue.put(message)

    def _serve(self) -> ProcessGenerator:
        env, costs = self.network.env, self.network.costs
        while True:
            message = yield self.queue.get()
            yield env.timeout(costs.link_ps(message.size_bytes))
            if costs.propagation_ps:
                env.process(self._propagate(message))
            else:
                self.target.arrive(message, self.source)

    def _propagate(self, message: Message) -> ProcessGenerator:
        yield self.network.env.timeout(self.network.costs.propagation_ps)
        self.target.arrive(message, self.source)


class Job(Enum):
    SEND = "send"
    RECEIVE = "receive"


class Host:
    """A member's machine: one processor that serves sends and receives in the order they come."""

    def __init__(self, node: "Node") -> None:
        self.node = node
        self.handler: Handler | None = None
        self.jobs = simpy.Store(node.network.env)
        if node.network.costs.host:
            node.network.env.process(self._process_jobs())

    def send(self, message: Message) -> None:
        if self.node.network.costs.host:
            self.jobs.put((Job.SEND, message))
        else:
            self.node.inject(message)

    def receive(self, message: Message) -> None:
        if self.node.network.costs.host:
            self.jobs.put((Job.RECEIVE, message))
        else:
            self._handle(message)

    def _process_jobs(self) -> ProcessGenerator:
        env, costs = self.node.network.env, self.node.network.costs
        while True:
            job, message = yield self.jobs.get()
            if job is Job.SEND:
                yield env.timeout(costs.send_ps(message.size_bytes))
                self.node.inject(message)
            else:
                yield env.timeout(costs.receive_ps(message.size_bytes))
                self._handle(message)

    def _handle(self, message: Message) -> None:
        if self.handler is None:
            raise RuntimeError(f"node {self.node.index} received {message.kind} but has no handler")
        self.handler(message)


class Node:
    """A router with its host. It knows the way to its descendants; all else goes to its parent."""

    def __init__(self, network: "Network", index: int) -> None:
        self.network = network
        self.index = index
        self.host = Host(self)
        self.links: list[Link] = []
        self.up: Link | None = None
        self.down: dict[int, Link] = {}

    def unicast(self, kind: Kind, destination: int, size_bytes: int, payload: Payload | None = None) -> None:
        self.host.send(Message(kind, self.index, destination, size_bytes, self.network.now_ps, payload))

    def multicast(self, kind: Kind, size_bytes: int, payload: Payload | None = None) -> None:
        self.host.send(Message(kind, self.index, None, size_bytes, self.network.now_ps, payload))

    def inject(self, message: Message) -> None:
        """Put a message of this node's own member on the network."""
        for link in self._next_links(message, None):
            link.put(message)
        if message.destination is None:
            self.host.receive(message)

    def arrive(self, message: Message, previous: "Node") -> None:
        """Take a message from the link that comes from `previous`."""
        if message.destination != self.index:
            links = self._next_links(message, previous)
            if links and self.network.costs.router_ps:
                self.network.env.process(self._route(message, links))
            else:
                for link in links:
                    link.put(message)
        if message.destination is None or message.destination == self.index:
            self.host.receive(message)

    def _route(self, message: Message, links: list[Link]) -> ProcessGenerator:
        yield self.network.env.timeout(self.network.costs.router_ps)
        for link in links:
            link.put(message)

    def _next_links(self, message: Message, previous: "Node | None") -> list[Link]:
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
