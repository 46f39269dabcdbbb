"""The scenarios that are compared: the protocols `coordp` and `fulldist`, and unicast traffic.

`coordp` and `fulldist` are sections 3.1 and 3.2 of "Hierarchical Message Stability Tracking
Protocols". Rows of `arrays` are the members' own arrays R_i.
"""

import time
from dataclasses import dataclass

import numpy as np
import simpy
from numpy.typing import NDArray
from simpy.events import ProcessGenerator

from .model import (
    PS_PER_MS,
    PS_PER_S,
    ROOT,
    Costs,
    Kind,
    Message,
    Network,
    Node,
    balanced_parents,
    tree_parents,
)

HEADER_BYTES = 32
ENTRY_BYTES = 4

LAN = Costs()
LINKS_ONLY = Costs(propagation_ps=10**6, router_ps=0, host="none")
WAN = Costs(bandwidth_bps=30_000, propagation_ps=5 * PS_PER_MS)

# With a stagger of a round 45 ms, some unicasts reach a link at the same instant, and which of them
# goes first moves the sum of latencies by about 1 in 10^5. With this one the seeds tried have no such
# ties, so results can be compared to the picosecond.
TIE_FREE_STAGGER_PS = 45 * PS_PER_MS + 7919


@dataclass(frozen=True)
class StabilityResult:
    completion_ps: int
    """When the last member handled its last INFO."""
    hops: dict[Kind, int]
    """Message copies put on links."""
    wall_s: float
    """Of the event loop alone."""
    root_rtt_ps: int
    """At the root, last execution: from its first message to its knowing the result."""
    packets: int
    """Put on links."""
    stable: NDArray[np.int32]
    """Row i is what member i knows to be stable."""


@dataclass(frozen=True)
class UnicastResult:
    completion_ps: int
    """When the last message was received."""
    hops: dict[Kind, int]
    wall_s: float
    latency_sum_ps: int
    """Over all messages, from the request to send to the end of the receive."""
    received: int


def run_coordp(
    degree: int,
    height: int,
    fill: int,
    executions: int,
    arrays: NDArray[np.int32],
    *,
    costs: Costs = LAN,
) -> StabilityResult:
    """Run `executions` of CoordP one after the other, the root as coordinator."""
    if executions < 1:
        raise ValueError(f"executions must be at least 1, got {executions}")
    network = _tree_network(degree, height, fill, arrays, costs)
    coordinator = Coordinator(network.nodes[ROOT], arrays[ROOT], executions)
    others = [CoordpMember(node, arrays[node.index]) for node in network.nodes[1:]]
    coordinator.start()
    wall_s = _run(network.env)
    members: list[CoordpMember] = [coordinator, *others]
    if any(member.info_count != executions for member in members):
        raise RuntimeError("a member did not finish every execution")
    return StabilityResult(
        completion_ps=max(member.finished_ps for member in members),
        hops=dict(network.hops),
        wall_s=wall_s,
        root_rtt_ps=members[ROOT].finished_ps - members[ROOT].began_ps,
        packets=network.packets,
        stable=np.stack([member.stable for member in members]),
    )


def run_fulldist(
    degree: int, height: int, fill: int, arrays: NDArray[np.int32], *, costs: Costs = LAN
) -> StabilityResult:
    """Run one execution of FullDist, which the root begins."""
    network = _tree_network(degree, height, fill, arrays, costs)
    members = [FulldistMember(node, arrays[node.index]) for node in network.nodes]
    members[ROOT].multicast_info()
    wall_s = _run(network.env)
    if any(member.info_count != len(members) for member in members):
        raise RuntimeError("a member did not receive every INFO")
    return StabilityResult(
        completion_ps=max(member.finished_ps for member in members),
        hops=dict(network.hops),
        wall_s=wall_s,
        root_rtt_ps=members[ROOT].finished_ps - members[ROOT].began_ps,
        packets=network.packets,
        stable=np.stack([member.stable for member in members]),
    )


def run_unicast(
    dest: NDArray[np.integer],
    *,
    costs: Costs = WAN,
    step_ps: int = 9 * PS_PER_S,
    stagger_ps: int = 45 * PS_PER_MS,
) -> UnicastResult:
    """Send `dest.shape[2]` unicasts a step from every member of a balanced tree.

    At step s member i sends at s * step_ps + i * stagger_ps to the destinations dest[s, i].
    """
    if dest.ndim != 3 or (dest == np.arange(dest.shape[1])[:, None]).any():
        raise ValueError("dest must be [step, member, message], and no member may send to itself")
    node_count = dest.shape[1]
    network = Network(simpy.Environment(), balanced_parents(node_count), costs)
    size_bytes = 236 + -(-node_count // 8)
    sinks = [UnicastSink(node) for node in network.nodes]
    for node in network.nodes:
        destinations = dest[:, node.index].tolist()
        network.env.process(_send_steps(node, destinations, size_bytes, node.index * stagger_ps, step_ps))
    wall_s = _run(network.env)
    return UnicastResult(
        completion_ps=max(sink.last_ps for sink in sinks),
        hops=dict(network.hops),
        wall_s=wall_s,
        latency_sum_ps=sum(sink.latency_sum_ps for sink in sinks),
        received=sum(sink.received for sink in sinks),
    )


def _tree_network(degree: int, height: int, fill: int, arrays: NDArray[np.int32], costs: Costs) -> Network:
    parents = tree_parents(degree, height, fill)
    if arrays.shape != (len(parents), len(parents)):
        raise ValueError(f"arrays must be {len(parents)} square for this tree, got {arrays.shape}")
    return Network(simpy.Environment(), parents, costs)


def _run(env: simpy.Environment) -> float:
    started_s = time.perf_counter()
    env.run()
    return time.perf_counter() - started_s


class CoordpMember:
    """A member of CoordP: answers START with its array, takes INFO as the stable array."""

    def __init__(self, node: Node, array: NDArray[np.int32]) -> None:
        self.node = node
        self.array = array
        self.array_bytes = HEADER_BYTES + ENTRY_BYTES * len(array)
        self.stable = np.zeros_like(array)
        self.info_count = 0
        self.began_ps = 0
        self.finished_ps = 0
        node.host.handler = self.handle

    def handle(self, message: Message) -> None:
        if message.kind == "START":
            self.node.unicast("ACK", ROOT, self.array_bytes, self.array)
        else:
            self.take_info(message)

    def take_info(self, message: Message) -> None:
        assert message.payload is not None
        self.stable = message.payload
        self.info_count += 1
        self.finished_ps = self.node.network.now_ps


class Coordinator(CoordpMember):
    """The root of CoordP: collects its own START and every ACK, then multicasts the minimum."""

    def __init__(self, node: Node, array: NDArray[np.int32], executions: int) -> None:
        super().__init__(node, array)
        self.executions = executions
        self.missing = 0
        self.minimum = array.copy()

    def start(self) -> None:
        self.missing = len(self.node.network.nodes)
        self.minimum = self.array.copy()
        self.node.multicast("START", HEADER_BYTES)

    def handle(self, message: Message) -> None:
        if message.kind == "INFO":
            self.take_info(message)
            if self.info_count < self.executions:
                self.start()
            return
        if message.kind == "ACK":
            assert message.payload is not None
            np.minimum(self.minimum, message.payload, out=self.minimum)
        else:
            self.began_ps = self.node.network.now_ps
        self.missing -= 1
        if self.missing == 0:
            self.node.multicast("INFO", self.array_bytes, self.minimum)


class FulldistMember:
    """A member of FullDist: multicasts its array after the root has, keeps the minimum of all."""

    def __init__(self, node: Node, array: NDArray[np.int32]) -> None:
        self.node = node
        self.array = array
        self.stable = array.copy()
        self.info_count = 0
        self.began_ps = 0
        self.finished_ps = 0
        node.host.handler = self.handle

    def multicast_info(self) -> None:
        self.node.multicast("INFO", HEADER_BYTES + ENTRY_BYTES * len(self.array), self.array)

    def handle(self, message: Message) -> None:
        assert message.payload is not None
        np.minimum(self.stable, message.payload, out=self.stable)
        if self.info_count == 0:
            self.began_ps = self.node.network.now_ps
        self.info_count += 1
        self.finished_ps = self.node.network.now_ps
        if message.source == ROOT and self.node.index != ROOT:
            self.multicast_info()


class UnicastSink:
    """Counts what a member receives and how long it took."""

    def __init__(self, node: Node) -> None:
        self.network = node.network
        self.received = 0
        self.last_ps = 0
        self.latency_sum_ps = 0
        node.host.handler = self.handle

    def handle(self, message: Message) -> None:
        self.received += 1
        now_ps = self.network.now_ps
        self.last_ps = now_ps
        self.latency_sum_ps += now_ps - message.requested_ps


def _send_steps(
    node: Node, destinations: list[list[int]], size_bytes: int, first_ps: int, step_ps: int
) -> ProcessGenerator:
    env = node.network.env
    for step, targets in enumerate(destinations):
        yield env.timeout(first_ps + step * step_ps - env.now)
        for target in targets:
            node.unicast("DATA", target, size_bytes)
