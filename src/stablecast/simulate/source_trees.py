"""Multicast trees rooted at each source, on a graph: who forwards what, without a tree being stored.

Theory
    A node's parent in the tree of a source is its next hop towards that source.  The route of a node depends
    on the node and the target alone, and every hop comes closer to the target, so each node has one parent
    and the parents form a tree: a multicast comes to each node once.  This is the reverse path; DVMRP, dense
    mode and the shortest-path trees of sparse mode take the same.  Both directions of a link have the same
    delay, so the way down is as short as the way up, by hops and by delay.
    Forward paths, from the source towards each member, would be as short, but need not form a tree: where two
    ways are equally short, the one towards one member and the one towards another may part and meet again,
    and the node where they meet would get the message twice.
What is stored
    The parents are in the table of routes already.  The link from node v to node w belongs to the tree of a
    source at node s if w's route to s begins with the same link's other direction; ``way_back`` tells which
    of w's links that is.  A node looks at all its links to find its branches.  The trees of all sources
    therefore take no memory, however many members multicast.
    Branches without members are left out.  That takes one bit for each source and node, a sixteenth of the
    table of routes, and none where every node holds a member.
What can go wrong
    A node of a dense graph looks at many links for each multicast that it forwards.  Lists of branches would
    take four bytes for each source and node, more than the table of routes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import inlined, kernel
from stablecast.simulate.routes import Adjacency, Ints, SmallInts, Table

if TYPE_CHECKING:
    from stablecast.simulate.network import Network

Bits = NDArray[np.uint8]

SHARED_TREE, SOURCE_TREE = "shared", "source"
TREES = (SHARED_TREE, SOURCE_TREE)
"""One tree for all sources, that of the network's numbers; or one for each, of the routes to it."""


class Branches(NamedTuple):
    """What the nodes find their branches by, for each entry of the adjacency; empty for a shared tree."""

    way_to: SmallInts
    """The node at the link's end."""
    way_back: Table
    """Which of the links of that node is this link's other direction."""
    pruned: bool
    """Whether some nodes hold no member, so that branches may have to be left out."""
    wanted: Bits
    """For each source, a bit for each node: whether a member is on it or below it in the source's tree."""


NO_BRANCHES = Branches(np.zeros(1, np.int32), np.zeros(1, np.uint16), False, np.zeros((1, 1), np.uint8))


@inlined
def is_branch(sim: Network, source: int, way: int) -> bool:
    """Tell whether a link, by its place in the adjacency, leads down the tree of a member."""
    root = sim.member_node[source]
    there = sim.way_to[way]
    if there == root or sim.routes[root, there] != sim.way_back[way]:
        return False
    return not sim.pruned or has_bit(sim.wanted, source, there)


@inlined
def has_branches(sim: Network, source: int, node: int) -> bool:
    """Tell whether a node forwards what a member multicasts."""
    for way in range(sim.way_start[node], sim.way_start[node + 1]):
        if is_branch(sim, source, way):
            return True
    return False


@inlined
def has_bit(bits: Bits, row: int, number: int) -> bool:
    """Tell whether a bit is set."""
    return bool((bits[row, number >> 3] >> (number & 7)) & 1)


def find_branches(ways: Adjacency, routes: Table, member_nodes: Ints) -> Branches:
    """Prepare the trees of all members, under the routes of a run."""
    where = np.empty_like(ways.link)
    where[ways.link] = np.arange(ways.link.size)
    to = ways.to.astype(np.int32)
    back = (where[ways.link ^ 1] - ways.start[ways.to]).astype(np.uint16)
    nodes, members = ways.start.size - 1, member_nodes.size
    if members == nodes:
        return Branches(to, back, False, NO_BRANCHES.wanted)
    wanted = np.zeros((members, (nodes + 7) // 8), np.uint8)
    mark_wanted(ways.start, to, routes, member_nodes, wanted)
    return Branches(to, back, True, wanted)


@kernel
def mark_wanted(start: Ints, to: SmallInts, routes: Table, member_nodes: Ints, wanted: Bits) -> None:
    """Mark, for each source, the nodes on the ways from all members to it; a marked one ends a way."""
    for source in range(member_nodes.size):
        root = member_nodes[source]
        for node in member_nodes:
            while node != root and not has_bit(wanted, source, node):
                wanted[source, node >> 3] |= np.uint8(1 << (node & 7))
                node = to[start[node] + routes[root, node]]
