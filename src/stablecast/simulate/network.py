"""The static part of a simulation as flat arrays: links, routes, hosts and their costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import inlined
from stablecast.compiling.structs import zero_records
from stablecast.overlays import Tree
from stablecast.simulate.costs import HOST_MODELS, PS_PER_US, Costs
from stablecast.simulate.routes import adjacency, kept_route_table
from stablecast.simulate.source_trees import NO_BRANCHES, SHARED_TREE, SOURCE_TREE, find_branches
from stablecast.simulate.topologies import Topology

if TYPE_CHECKING:
    from stablecast.simulate.state import Sim

DELAY, SERIAL, SHARED = 0, 1, 2
"""Router models: a pure delay, a serial server of its own, the host's processor."""

ONE_PROCESSOR, PER_LINK, PURE_DELAY = 0, 1, 2
"""Host models: one serial processor, one for each direction of each link and one more, none."""

LINK = np.dtype(
    [
        ("to", np.int64),  # the node at its end
        ("ps_per_byte", np.float64),
        ("propagation_ps", np.int64),
        ("loss", np.float64),
    ],
    align=True,
)
NODE = np.dtype(
    [
        ("member", np.int64),  # the member on it, -1 where there is none
        ("up_link", np.int64),  # the link to the parent, -1 at the root
        ("down_link", np.int64),  # the link from the parent, -1 at the root
        ("entry", np.int64),  # depth-first number; those below lie between entry and leave
        ("leave", np.int64),
        ("first_child", np.int64),
        ("child_count", np.int64),
        ("cast_start", np.int64),  # the links that a multicast takes from here, in Network.cast_link
        ("cast_stop", np.int64),
    ],
    align=True,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """Nodes, directed links and costs.

    Servers are numbered in one sequence, which is also the order of simultaneous events: links, routers
    (one a node), hosts (one a member; with a processor for each link behind them as many as links for
    sending, and as many for receiving), detours (one a member, where there are any), timers (one a member).
    """

    link_count: int
    node_count: int
    member_count: int
    links: Annotated[Any, LINK, "links"]
    nodes: Annotated[Any, NODE, "nodes"]
    cast_link: Annotated[NDArray[np.int64], "cast_links"]
    by_table: bool
    """Whether routes are looked up; on a tree they follow from the nodes' numbers."""
    way_start: Annotated[NDArray[np.int64], "way_starts"]
    """Where the links that leave each node begin in ``way_link``; then, for each target and node, which of
    them leads there."""
    way_link: Annotated[NDArray[np.int64], "ways"]
    routes: Annotated[NDArray[np.uint16], "targets", "nodes"]
    by_source: bool
    """Whether a multicast takes the tree of its source, see :mod:`stablecast.simulate.source_trees`."""
    way_to: Annotated[NDArray[np.int32], "ways"]
    way_back: Annotated[NDArray[np.uint16], "ways"]
    pruned: bool
    wanted: Annotated[NDArray[np.uint8], "sources", "octets"]
    member_node: Annotated[NDArray[np.int64], "members"]
    queue_limit: int
    router_model: int
    router_ps: int
    hosts_free: bool
    host_model: int
    host_count: int
    """Servers of hosts."""
    send_ps: float
    send_ps_per_byte: float
    receive_factor: float


@inlined
def next_link(sim: Network, node: int, target: int) -> int:
    """Return the link that leads from a node towards another; on a tree down if it lies below, else up."""
    if sim.by_table:
        return int(sim.way_link[sim.way_start[node] + sim.routes[target, node]])
    nodes = sim.nodes
    where = nodes[target].entry
    if where < nodes[node].entry or where >= nodes[node].leave:
        return int(nodes[node].up_link)
    low = nodes[node].first_child
    high = low + nodes[node].child_count - 1
    while low < high:
        middle = (low + high + 1) // 2
        if nodes[middle].entry <= where:
            low = middle
        else:
            high = middle - 1
    return int(nodes[low].down_link)


@inlined
def send_cost_ps(sim: Sim, size: int) -> int:
    """Host time to send a message of ``size`` bytes."""
    return int(sim.send_ps + sim.send_ps_per_byte * size + 0.5)


@inlined
def receive_cost_ps(sim: Sim, size: int) -> int:
    """Host time to receive a message of ``size`` bytes."""
    return int((sim.send_ps + sim.send_ps_per_byte * size) * sim.receive_factor + 0.5)


def build_network(
    topology: Topology, costs: Costs, routes: str = "hops", multicast_tree: str = SHARED_TREE
) -> Network:
    """Lay a topology out as arrays and put the costs on it."""
    tree, mesh = topology.tree, topology.mesh
    further = 0 if mesh is None else 2 * mesh.delay_ps.size
    ways = None if mesh is None else adjacency(topology)
    nowhere = np.zeros(1, np.int64)
    host_model = ONE_PROCESSOR if costs.hosts_free else HOST_MODELS.index(costs.host_model)
    link_count = 2 * (tree.size - 1) + further
    model = DELAY if costs.router == "delay" else SHARED if costs.processor == "shared" else SERIAL
    nodes = _nodes(tree, topology)
    cast_link = _cast_links(tree, nodes)
    table = np.zeros((1, 1), np.uint16) if mesh is None else kept_route_table(topology, routes)
    branches = NO_BRANCHES
    by_source = ways is not None and multicast_tree == SOURCE_TREE
    if ways is not None and by_source:
        branches = find_branches(ways, table, topology.member_nodes)
    return Network(
        link_count=link_count,
        node_count=tree.size,
        member_count=topology.member_count,
        links=_links(topology, costs, nodes),
        nodes=nodes,
        cast_link=cast_link,
        by_table=mesh is not None,
        way_start=nowhere if ways is None else ways.start.astype(np.int64),
        way_link=nowhere if ways is None else ways.link.astype(np.int64),
        routes=table,
        by_source=by_source,
        **branches._asdict(),
        member_node=topology.member_nodes.astype(np.int64),
        queue_limit=costs.queue_limit,
        router_model=model,
        router_ps=costs.router_ps,
        hosts_free=costs.hosts_free,
        host_model=host_model,
        host_count=topology.member_count + (2 * link_count if host_model == PER_LINK else 0),
        send_ps=float(costs.send_us * PS_PER_US),
        send_ps_per_byte=float(costs.send_us_per_byte * PS_PER_US),
        receive_factor=float(costs.receive_factor),
    )


def _nodes(tree: Tree, topology: Topology) -> Any:
    """Number the two links between each node and its parent, and lay out the tree for routing."""
    nodes = zero_records(tree.size, NODE)
    nodes.member = -1
    nodes.member[topology.member_nodes] = np.arange(topology.member_count)
    nodes.up_link = 2 * (np.arange(tree.size) - 1)
    nodes.down_link = nodes.up_link + 1
    nodes[0].up_link = nodes[0].down_link = -1
    nodes.entry = tree.entry
    nodes.leave = tree.entry + tree.subtree_size
    nodes.first_child = tree.first_child
    nodes.child_count = tree.child_count
    return nodes


def _links(topology: Topology, costs: Costs, nodes: Any) -> Any:
    tree, mesh = topology.tree, topology.mesh
    further = 0 if mesh is None else 2 * mesh.delay_ps.size
    links = zero_records(2 * (tree.size - 1) + further, LINK)
    links.to[nodes.up_link[1:]] = tree.parent[1:]
    links.to[nodes.down_link[1:]] = np.arange(1, tree.size)
    links.ps_per_byte = 8e12 / costs.bandwidth_bps
    links.propagation_ps = costs.propagation_ps
    links.loss = costs.link_loss
    if mesh is not None:
        first = 2 * (tree.size - 1)
        links.to[first::2], links.to[first + 1 :: 2] = mesh.ends[:, 1], mesh.ends[:, 0]
        links.propagation_ps += np.concatenate(
            (np.repeat(mesh.tree_delay_ps[1:], 2), np.repeat(mesh.delay_ps, 2))
        )
    return links


def _cast_links(tree: Tree, nodes: Any) -> NDArray[np.int64]:
    """List the links of the multicast tree at each node: those with members on both sides."""
    below = (nodes.member >= 0).astype(np.int64)
    starts = tree.level_starts
    for level in range(tree.height, 0, -1):
        of_level = slice(starts[level], starts[level + 1])
        np.add.at(below, tree.parent[of_level], below[of_level])
    child = 1 + np.flatnonzero((below[1:] > 0) & (below[1:] < below[0]))
    origin = np.concatenate((tree.parent[child], child))
    link = np.concatenate((nodes.down_link[child], nodes.up_link[child]))
    order = np.lexsort((link, origin))
    stop = np.cumsum(np.bincount(origin, minlength=tree.size))
    nodes.cast_start[1:] = stop[:-1]
    nodes.cast_stop = stop
    return link[order].astype(np.int64)
