"""The nodes and links of a plain simulation's network as objects, and the ways between them on a graph."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

from stablecast.simulate.costs import Costs
from stablecast.simulate.topologies import Topology


@dataclass(eq=False)
class Link:
    """One direction between two nodes."""

    number: int
    origin: Node
    end: Node
    propagation_ps: int
    free_at_ps: int = 0
    busy_ps: int = 0
    """What its packets have taken, those that wait included."""
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
    further: list[Link] = field(default_factory=list)
    """Links that are not of the tree."""
    routes: dict[int, Link] | None = None
    """On a graph: the link towards each node."""

    def link_towards(self, target: Node) -> Link:
        """Climb from the target: if that leads here, its last step is the way down; else the way is up."""
        if self.routes is not None:
            return self.routes[target.number]
        if not self.children:
            assert self.up is not None
            return self.up
        step: Node | None = target
        while step is not None and step.parent is not self:
            step = step.parent
        link = self.up if step is None else step.down
        assert link is not None
        return link

    def links(self) -> list[Link]:
        """Return the links that leave from here."""
        tree_links = [self.up, *(child.down for child in self.children)]
        return [link for link in tree_links if link is not None] + self.further

    def members_below(self) -> int:
        """Count the members on this node and below it."""
        return (self.member is not None) + sum(child.members_below() for child in self.children)


def build_nodes(topology: Topology, costs: Costs, routes: str) -> list[Node]:
    """Make the nodes and links; those between node ``v`` and its parent are numbered 2v - 2 and 2v - 1."""
    mesh = topology.mesh
    delays = [0] * topology.tree.size if mesh is None else mesh.tree_delay_ps.tolist()
    nodes: list[Node] = []
    for number, parent in enumerate(topology.tree.parent.tolist()):
        nodes.append(Node(number, nodes[parent] if number else None))
    for member, number in enumerate(topology.member_nodes.tolist()):
        nodes[number].member = member
    for node in nodes[1:]:
        assert node.parent is not None
        node.parent.children.append(node)
        delay_ps = costs.propagation_ps + delays[node.number]
        node.up = Link(2 * node.number - 2, node, node.parent, delay_ps)
        node.down = Link(2 * node.number - 1, node.parent, node, delay_ps)
    if mesh is not None:
        for k, (ends, delay_ps) in enumerate(
            zip(mesh.ends.tolist(), mesh.delay_ps.tolist(), strict=True), start=len(nodes) - 1
        ):
            a, b = nodes[ends[0]], nodes[ends[1]]
            a.further.append(Link(2 * k, a, b, costs.propagation_ps + delay_ps))
            b.further.append(Link(2 * k + 1, b, a, costs.propagation_ps + delay_ps))
        find_routes(nodes, routes, costs.propagation_ps)
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


def find_routes(nodes: list[Node], policy: str, base_ps: int) -> None:
    """Find the way from every node to every other: walk back from the target, the nearest node first.

    A node's distance is its hops and its delay, in the order that the policy looks at them; of the links that
    lead to the least, the one with the lowest number is taken.
    """
    leading: dict[int, list[Link]] = {node.number: [] for node in nodes}
    for node in nodes:
        for link in node.links():
            leading[link.end.number].append(link)
        node.routes = {}
    for target in nodes:
        best = {target.number: (0, 0)}
        heap = [((0, 0), target.number)]
        while heap:
            distance, number = heapq.heappop(heap)
            if distance > best[number]:
                continue
            for link in leading[number]:
                delay_ps = link.propagation_ps - base_ps
                step = (1, delay_ps) if policy == "hops" else (delay_ps, 1)
                candidate = (distance[0] + step[0], distance[1] + step[1])
                origin, routes = link.origin.number, link.origin.routes
                assert routes is not None
                if origin not in best or candidate < best[origin]:
                    best[origin] = candidate
                    routes[target.number] = link
                    heapq.heappush(heap, (candidate, origin))
                elif (
                    candidate == best[origin]
                    and origin != target.number
                    and link.number < routes[target.number].number
                ):
                    routes[target.number] = link


def source_tree(root: Node, homes: list[Node]) -> dict[int, list[Link]]:
    """Return the links by which a multicast leaves each node: the ways from all members to the root, back."""
    found: dict[int, dict[int, Link]] = {}
    for node in homes:
        while node is not root:
            up = node.link_towards(root)
            node = up.end
            down = next(link for link in node.links() if link.number == up.number ^ 1)
            found.setdefault(node.number, {})[down.number] = down
    return {number: [links[k] for k in sorted(links)] for number, links in found.items()}
