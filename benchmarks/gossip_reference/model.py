"""One round of gossip as the GSGC paper describes its simulations. Times are seconds.

Network (section 4): a tree in which an inner node has four neighbours, filled breadth first. A message
waits for the sending host's processor, for every link on its way, and for the receiving host's processor,
each a FIFO; a node between two links delays it by 1 ms. A FIFO server with known service times needs no
queue: it is the time from which it is free, as long as jobs are given to it in order of time. The heap sees
to that.

Gossip (section 3.1): once a step, at a phase of its own, a member sends whom it has heard from to b members
drawn from its whole group. One that draws itself sends a message less.
"""

from __future__ import annotations

import heapq
import random
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

NEIGHBOURS = 4
PROPAGATION_S, ROUTER_S = 0.005, 0.001
Job = Callable[[float], None]


def tree(nodes: int) -> list[int]:
    """The parent of each node; the root is its own."""
    parents, room = [0], [(0, NEIGHBOURS)]
    for parent, children in room:
        for _ in range(children):
            if len(parents) == nodes:
                return parents
            room.append((len(parents), NEIGHBOURS - 1))
            parents.append(parent)
    raise AssertionError("there is always room below the last node")


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What a message meets."""

    size_bytes: float
    bandwidth_bps: float = 30_000.0
    queue_limit: int = 0
    """Messages that a link holds, the one on the wire included; 0 for any number."""
    omissions: int = 0
    """Messages of each step that are dropped at their senders, chosen at random."""

    @property
    def wire_s(self) -> float:
        return self.size_bytes * 8 / self.bandwidth_bps

    @property
    def send_s(self) -> float:
        return (338 + 47 * self.size_bytes / 400) / 1e6


def message_bytes(members: int, senders: int = 50) -> float:
    """Section 4.1: a header, a number for each sender, a bit for each member, and the round."""
    return 32 + 4 * senders + -(-members // 8) + 4


@dataclass
class Network:
    """The servers, and the heap of what happens next."""

    parents: Sequence[int]
    conditions: Conditions
    heap: list[tuple[float, int, Job]] = field(default_factory=list)
    lost: int = 0

    def __post_init__(self) -> None:
        self._order = count()
        self._host_free = [0.0] * len(self.parents)
        self._departures: dict[tuple[int, int], list[float]] = {}
        self._above: list[list[int]] = []
        for node, parent in enumerate(self.parents):
            self._above.append([node] if node == parent else [node, *self._above[parent]])

    def at(self, time: float, job: Job) -> None:
        heapq.heappush(self.heap, (time, next(self._order), job))

    def send(self, now: float, source: int, dest: int, then: Job) -> None:
        """Hand a message to its sender's host; `then` follows when the receiver's host is done with it."""
        way = self._way(source, dest)
        left = self._occupy_host(source, now, self.conditions.send_s)
        self.at(left, lambda time: self._hop(time, way, 0, then))

    def _way(self, source: int, dest: int) -> list[int]:
        up, down = self._above[source], self._above[dest]
        common = next(node for node in up if node in down)
        return up[: up.index(common)] + down[: down.index(common) + 1][::-1]

    def _occupy_host(self, node: int, now: float, takes_s: float) -> float:
        self._host_free[node] = max(now, self._host_free[node]) + takes_s
        return self._host_free[node]

    def _hop(self, now: float, way: list[int], k: int, then: Job) -> None:
        link = self._departures.setdefault((way[k], way[k + 1]), [])
        del link[: bisect_left(link, now)]
        if self.conditions.queue_limit and len(link) >= self.conditions.queue_limit:
            self.lost += 1
            return
        link.append(max(now, link[-1] if link else now) + self.conditions.wire_s)
        arrival = link[-1] + PROPAGATION_S
        if k + 2 < len(way):
            self.at(arrival + ROUTER_S, lambda time: self._hop(time, way, k + 1, then))
        else:
            self.at(arrival, lambda time: self._receive(time, way[-1], then))

    def _receive(self, now: float, node: int, then: Job) -> None:
        self.at(self._occupy_host(node, now, 1.1 * self.conditions.send_s), then)


class Group:
    """Members that gossip among themselves until the first has heard from all."""

    def __init__(self, network: Network, nodes: Sequence[int], subgroup: int, step_s: float) -> None:
        self.network, self.nodes, self.subgroup, self.step_s = network, nodes, subgroup, step_s
        self.heard = [1 << k for k in range(len(nodes))]
        self.everyone = (1 << len(nodes)) - 1
        self.done_s: float | None = 0.0 if len(nodes) == 1 else None

    def begin(self, rng: random.Random) -> None:
        self._rng, self._sent, self._dropped = rng, 0, set[int]()
        self.network.at(0.0, self._choose_drops)
        for k in range(len(self.nodes)):
            self.network.at(rng.random() * self.step_s, lambda time, k=k: self._step(time, k))  # type: ignore[misc]

    def _choose_drops(self, now: float) -> None:
        """Choose, as a step begins, which of the messages sent in it are dropped."""
        each_step = range(len(self.nodes) * self.subgroup)
        self._sent = 0
        self._dropped = set(self._rng.sample(each_step, self.network.conditions.omissions))
        self.network.at(now + self.step_s, self._choose_drops)

    def _step(self, now: float, k: int) -> None:
        for dest in self._rng.sample(range(len(self.nodes)), self.subgroup):
            if dest != k:
                self._sent += 1
                if self._sent - 1 not in self._dropped:
                    self._tell(now, k, dest)
        self.network.at(now + self.step_s, lambda time: self._step(time, k))

    def _tell(self, now: float, k: int, dest: int) -> None:
        known = self.heard[k]
        self.network.send(now, self.nodes[k], self.nodes[dest], lambda time: self._hear(time, dest, known))

    def _hear(self, now: float, k: int, known: int) -> None:
        self.heard[k] |= known
        if self.heard[k] == self.everyone and self.done_s is None:
            self.done_s = now


def rounds_s(
    parents: Sequence[int],
    groups: Sequence[Sequence[int]],
    *,
    subgroup: int,
    step_s: float,
    conditions: Conditions,
    seed: int,
) -> list[float]:
    """Let groups, given by their members' nodes, gossip on one network; return the time of each one's round.

    A group that is done gossips on.
    """
    network, rng = Network(parents, conditions), random.Random(seed)
    gossiping = [Group(network, nodes, subgroup, step_s) for nodes in groups]
    for group in gossiping:
        group.begin(rng)
    while any(group.done_s is None for group in gossiping):
        time, _, job = heapq.heappop(network.heap)
        job(time)
    return [group.done_s for group in gossiping if group.done_s is not None]
