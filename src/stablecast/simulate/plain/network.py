"""The network of a plain simulation: links, routers and hosts as objects, and a calendar of what they do.

It is the model of :mod:`stablecast.simulate.wires` told a second time: every server keeps a queue of its own,
every event is one entry of a heap, and a route is found by climbing the tree, or on a graph by walking back
from the target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stablecast.protocols.contract import GROUP
from stablecast.simulate.chance import DETOUR_STREAM, LINK_STREAM, uniform
from stablecast.simulate.costs import PS_PER_US, Costs
from stablecast.simulate.distances import HOP_PS
from stablecast.simulate.plain.calendar import Action, Timeline
from stablecast.simulate.plain.hosts import Hosts, Processor
from stablecast.simulate.plain.letters import Letter, Packet, cut
from stablecast.simulate.plain.nodes import Link, Node, build_nodes, source_tree
from stablecast.simulate.topologies import Topology


class Network:
    """Moves letters, whole or in packets, between the members of a group and counts what that takes."""

    def __init__(
        self,
        topology: Topology,
        costs: Costs,
        calendar: Timeline,
        deliver: Callable[[int, Letter], None],
        *,
        seed: int,
        routes: str,
        multicast_tree: str,
        one_by_one: bool,
        loss_until_ps: int,
        sample_ps: int,
        is_silent: Callable[[int], bool],
        wire: bool = False,
    ) -> None:
        self.wire = wire
        """Whether it tells of each packet how long it waited and was served."""
        self.on_post: Callable[[Letter], None] | None = None
        """Called with each letter before it is sent, if there is something to call."""
        self.handled: Packet | None = None
        """The packet with which the letter that is delivered now has come."""
        self.one_by_one = one_by_one
        self.costs = costs
        self._byte_ps = 8e12 / costs.bandwidth_bps
        self.calendar = calendar
        self.deliver = deliver
        self.seed = seed
        self.loss_until_ps = loss_until_ps
        self.is_silent = is_silent
        self.nodes = build_nodes(topology, costs, routes)
        self.homes = [self.nodes[number] for number in topology.member_nodes.tolist()]
        self.multicast_tree = multicast_tree
        self._source_trees: dict[int, dict[int, list[Link]]] = {}
        further = 0 if topology.mesh is None else topology.mesh.delay_ps.size
        self._first_router = 2 * (len(self.nodes) - 1) + 2 * further
        first_host = self._first_router + len(self.nodes)
        self.routers = [Processor(calendar, self._first_router + node.number) for node in self.nodes]
        self.hosts = Hosts(
            costs, calendar, first=first_host, members=topology.member_count, links=self._first_router
        )
        self.first_detour = self.hosts.end
        detours = topology.member_count if costs.has_detours else 0
        self.first_timer = self.first_detour + detours
        self.arrivals: Counter[int] = Counter()
        self.on_links = 0
        self.loads: list[int] = []
        """How many packets were on links, each time that they were counted."""
        self.sample_ps = sample_ps
        if sample_ps:
            calendar.before_each = self._count_load
        self.hops: Counter[int] = Counter()
        self.packet_hops: Counter[int] = Counter()
        self.hop_bytes: Counter[int] = Counter()
        self.sent: Counter[int] = Counter()
        self.sent_bytes: Counter[int] = Counter()
        self.host_ps: Counter[int] = Counter()
        self.carried_hop_bytes = 0
        self.carried_host_ps = 0
        self.queue_max = 0
        """Most packets that a link held when one was put on it; their sum, and how often it was counted."""
        self.queue_sum = 0
        self.queue_counts = 0
        self.dropped = 0
        self.lost = 0

    def host_queue_max(self) -> int:
        """Return the most jobs that one processor ever had."""
        return max(processor.queue_max for processor in self.routers + self.hosts.processors)

    def busiest_member(self) -> tuple[int, int]:
        """Return the member whose processor has had the most to do, and the picoseconds of that."""
        busy_ps = [processor.busy_ps for processor in self.hosts.own]
        return busy_ps.index(max(busy_ps)), max(busy_ps)

    def mean_busy_ps(self) -> float:
        """Return what members' processors have had to do, on average."""
        return sum(processor.busy_ps for processor in self.hosts.own) / len(self.hosts.own)

    def busiest_link_ps(self) -> int:
        """Return the picoseconds that the busiest link was taken for."""
        return max((link.busy_ps for node in self.nodes for link in node.links()), default=0)

    def distances_us(self) -> NDArray[np.float64]:
        """Return how long the ways between all members are; a link counts a nanosecond at least."""
        found = np.zeros((len(self.homes), len(self.homes)))
        for i, home in enumerate(self.homes):
            for j, target in enumerate(self.homes):
                for link in self._way(home, target):
                    found[i, j] += max(link.propagation_ps, HOP_PS)
        return found / PS_PER_US

    def hops_to(self, member: int, dest: int) -> int:
        """Return the hops of a message to a member, or to all."""
        if dest == GROUP and not self.one_by_one:
            return sum(len(node.cast) for node in self.nodes) // 2
        dests = range(len(self.homes)) if dest == GROUP else [dest]
        return sum(len(self._way(self.homes[member], self.homes[each])) for each in dests)

    def host_uses(self, dest: int) -> float:
        """Return how many times the sending cost of a message hosts take, on both sides."""
        members = len(self.homes)
        if dest != GROUP:
            return 1.0 + self.costs.receive_factor
        return (members - 1 if self.one_by_one else 1) + members * self.costs.receive_factor

    def _way(self, home: Node, target: Node) -> list[Link]:
        way = []
        while home is not target:
            way.append(home.link_towards(target))
            home = way[-1].end
        return way

    def _count_load(self, now_ps: int) -> None:
        """Count the packets on links at every sampling time up to now."""
        while (len(self.loads) + 1) * self.sample_ps <= now_ps:
            self.loads.append(self.on_links)

    def post(self, letter: Letter) -> None:
        """Hand a message to its sender's host: as one, or as one for each member."""
        if self.on_post is not None:
            self.on_post(letter)
        if letter.dest == GROUP and self.one_by_one:
            self.post_to_each(letter, [k for k in range(len(self.homes)) if k != letter.source])
            for packet in cut(letter, letter.source, self.costs):
                self._receive_at_host(letter.source, None, packet)
        else:
            self._hand_over(letter, letter.dest)

    def post_to_each(self, letter: Letter, dests: Sequence[int]) -> None:
        """Hand a message to its sender's host once for each of these members."""
        if self.costs.mtu_bytes or self.costs.hosts_free or self.hosts.per_link:
            for member in dests:
                self._hand_over(letter, member)
            return
        # The same for packets that are alike: as many jobs of one processor.
        self.sent[letter.kind] += len(dests)
        self.sent_bytes[letter.kind] += len(dests) * letter.size
        processor = self.hosts.own[letter.source]
        for member in dests:
            packet = cut(letter, member, self.costs)[0]
            cost_ps = self._work_ps(packet, 1.0)
            processor.put(cost_ps, self._after(cost_ps, packet, self._launch, None))

    def _hand_over(self, letter: Letter, dest: int) -> None:
        if dest != letter.source:
            self.sent[letter.kind] += 1
            self.sent_bytes[letter.kind] += letter.size
        packets = cut(letter, dest, self.costs)
        for packet in packets:
            if self.costs.hosts_free and len(packets) == 1:
                self._launch(packet, None)
            else:
                self._send(packet)

    def _send(self, packet: Packet) -> None:
        """Let the sender's host send a packet: once, or by each link that it leaves by and to itself."""
        source = packet.letter.source
        ways: list[Link | None] = [None]
        if self.hosts.per_link:
            ways = [*self._ways(packet), None] if self._comes_back(packet) else [*self._ways(packet)]
        for way in ways:
            cost_ps = self._work_ps(packet, 1.0)
            self.hosts.send(source, way, cost_ps, self._after(cost_ps, packet, self._launch, way))

    def _after(self, cost_ps: int, packet: Packet, then: Callable[..., None], *where: object) -> Action:
        """Return what follows on a server's work on a packet, which begins when the server is free."""
        if not self.wire:
            return partial(then, packet, *where)
        given_ps = self.calendar.now_ps

        def follow() -> None:
            then(packet.served(self.calendar.now_ps - given_ps - cost_ps, cost_ps), *where)

        return follow

    @staticmethod
    def _comes_back(packet: Packet) -> bool:
        """Tell whether a packet is for its sender, too."""
        if packet.dest == GROUP:
            return packet.letter.comes_back
        return packet.dest == packet.letter.source

    def _ways(self, packet: Packet) -> list[Link]:
        """Return the links by which a packet leaves its sender's node."""
        home: Node = self.homes[packet.letter.source]
        if packet.dest == GROUP:
            return self._branches(home, packet.letter.source, None)
        return [] if packet.dest == packet.letter.source else [home.link_towards(self.homes[packet.dest])]

    def _launch(self, packet: Packet, way: Link | None) -> None:
        """Let a packet leave its sender's node; what is for the sender too comes back by its processor.

        With ``way`` it leaves by that link alone, which is then not the one to the sender itself.
        """
        source = packet.letter.source
        if self.is_silent(source):
            return
        if way is not None:
            self._put_on_link(way, packet)
            return
        for link in [] if self.hosts.per_link else self._ways(packet):
            self._put_on_link(link, packet)
        if self._comes_back(packet):
            self._receive_at_host(source, None, packet)

    def _branches(self, node: Node, source: int, came_by: Link | None) -> list[Link]:
        """Return the links of the multicast tree that a message takes from a node, in ascending order."""
        if self.multicast_tree == "shared":
            return [link for link in node.cast if came_by is None or link.end is not came_by.origin]
        if source not in self._source_trees:
            self._source_trees[source] = source_tree(self.homes[source], self.homes)
        return self._source_trees[source].get(node.number, [])

    def _receive_at_host(self, member: int, link: Link | None, packet: Packet) -> None:
        cost_ps = self._work_ps(packet, self.costs.receive_factor)
        self.hosts.receive(member, link, cost_ps, self._after(cost_ps, packet, self._take, member))

    def _work_ps(self, packet: Packet, factor: float) -> int:
        """Return the time of a host, which is counted, and what the protocol's bytes in data are of it."""
        cost_ps = self.hosts.cost_ps(packet.size, factor)
        self.host_ps[packet.letter.kind] += cost_ps
        if packet.bare_size != packet.size:
            bare_ps = 0 if packet.bare_size is None else self.hosts.cost_ps(packet.bare_size, factor)
            self.carried_host_ps += cost_ps - bare_ps
        return cost_ps

    def _take(self, packet: Packet, member: int) -> None:
        """Let a member have a packet; it handles the message when it has all of them."""
        self.handled = packet
        if packet.letter.is_received_by(member, packet.count):
            self.deliver(member, packet.letter)

    def _put_on_link(self, link: Link, packet: Packet) -> None:
        """Send one after the other, then wait for the propagation; drop what finds no room."""
        now_ps = self.calendar.now_ps
        while link.leaving_ps and link.leaving_ps[0] <= now_ps:
            link.leaving_ps.popleft()
        if 0 < self.costs.queue_limit <= len(link.leaving_ps):
            self.dropped += 1
            return
        begin_ps = link.free_at_ps if link.free_at_ps > now_ps else now_ps
        takes_ps = int(packet.size * self._byte_ps + 0.5)
        if self.wire:
            packet = packet.served(begin_ps - now_ps, takes_ps)
        link.free_at_ps = begin_ps + takes_ps
        link.busy_ps += takes_ps
        link.leaving_ps.append(link.free_at_ps)
        length = len(link.leaving_ps)
        if length > self.queue_max:
            self.queue_max = length
        self.queue_sum += length
        self.queue_counts += 1
        kind = packet.letter.kind
        if packet.number == 0:
            self.hops[kind] += 1
        self.packet_hops[kind] += 1
        self.hop_bytes[kind] += packet.size
        if packet.bare_size != packet.size:
            self.carried_hop_bytes += packet.size - (packet.bare_size or 0)
        self.on_links += 1
        # A lost packet takes its time all the same, and then comes to nothing.
        loses = self.costs.link_loss > 0 and self._loses(link)
        arrives = self._vanish if loses else partial(self._arrive, link, packet)
        self.calendar.add(link.free_at_ps + link.propagation_ps, link.number, arrives)

    def _loses(self, link: Link) -> bool:
        """Draw whether a link loses the packet that it takes now."""
        link.taken += 1
        draw = uniform(self.seed, LINK_STREAM + link.number, link.taken)
        loses = self.calendar.now_ps < self.loss_until_ps and draw < self.costs.link_loss
        self.lost += loses
        return loses

    def _vanish(self) -> None:
        """Take a packet out of a link that was lost on it."""
        self.on_links -= 1

    def _arrive(self, link: Link, packet: Packet) -> None:
        """Take a packet out of a link: onwards first, then to the member on this node."""
        self.on_links -= 1
        node, dest = link.end, packet.dest
        if dest == GROUP:
            onwards = self._branches(node, packet.letter.source, link)
            here = node.member is not None
        else:
            home = self.homes[dest]
            here = home is node
            onwards = [] if here else [node.link_towards(home)]
        if onwards:
            self._route(node, onwards, packet)
        if here:
            assert node.member is not None
            whole = packet.letter.is_whole_at(node.member, packet.count)
            if not (self.costs.has_detours and whole and self._takes_detour(node.member, link, packet)):
                self._deliver(node.member, link, packet)

    def _deliver(self, member: int, link: Link, packet: Packet) -> None:
        if self.costs.hosts_free:
            self._take(packet, member)
        else:
            self._receive_at_host(member, link, packet)

    def _takes_detour(self, member: int, link: Link, packet: Packet) -> bool:
        """Draw whether a message comes a second time, and whether the last packet of it comes late."""
        self.arrivals[member] += 1
        twice, late = (
            uniform(self.seed, DETOUR_STREAM + member, 2 * self.arrivals[member] + k) for k in (0, 1)
        )
        again = self._like(packet) if twice < self.costs.duplicate else []
        for each in [*again, packet] if late < self.costs.reorder else again:
            at_ps = self.calendar.now_ps + self.costs.detour_ps
            self.calendar.add(at_ps, self.first_detour + member, partial(self._deliver, member, link, each))
        return late < self.costs.reorder

    def _like(self, packet: Packet) -> list[Packet]:
        """Return the packets of a letter that has come with one of them, to come once more."""
        packets = cut(packet.letter, packet.dest, self.costs)
        return [each.served(packet.queue_ps, packet.service_ps) for each in packets] if self.wire else packets

    def _route(self, node: Node, onwards: list[Link], packet: Packet) -> None:
        """Give a packet to a node's router, which puts it on its next links."""
        cost_ps = self.costs.router_ps
        forward = self._after(cost_ps, packet, self._forward, onwards)
        if cost_ps == 0:
            forward()
        elif self.costs.router == "delay":
            self.calendar.add(self.calendar.now_ps + cost_ps, self._first_router + node.number, forward)
        elif self.costs.processor == "shared" and node.member is not None:
            self.hosts.own[node.member].put(cost_ps, forward)
        else:
            self.routers[node.number].put(cost_ps, forward)

    def _forward(self, packet: Packet, onwards: list[Link]) -> None:
        for link in onwards:
            self._put_on_link(link, packet)
