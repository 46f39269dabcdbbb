"""The networks of the buffering paper's simulations, its C for each, and the exact P_fail on each.

The paper's tree is lost with its drawing; under the main reading it is a binary tree, filled level by level,
with a member on every node and the sender at the root.  The transit-stub network has 200 nodes, or as many
as members, and the sender on a central one; a multicast takes the links of a shortest-path tree from it.  A
random graph with a mean degree of 4 may stand beside them.

Links have 100 Mbps and take 5 ms, or what the transit-stub network gives them; hosts take no time.  What
other readings change, and C with it, is in ``readings``; a claim that needs C or P_fail asks for those of the
run itself (:func:`copies_of`, :func:`p_fail_of`), so that it is the same under every reading.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from stablecast.papers.buffering.tree_odds import (
    printed_smallest_c_on_tree,
    smallest_c_on_tree,
    tree_failure,
)
from stablecast.pipeline.point import Point, simulation
from stablecast.simulate.topologies.registry import topology

TREE, GRAPH, TRANSIT = "tree", "random-graph", "transit-stub"
TOPOLOGIES = (TREE, TRANSIT)
"""The networks of Figures 2 and 3, the tree first; ``GRAPH`` may be added."""
TITLES = {TREE: "binary tree", GRAPH: "random graph, mean degree 4", TRANSIT: "transit-stub network"}
TRANSIT_NODES = 200
"""Of the transit-stub network, unless there are more members."""
HUNDRED = 100
"""The members of Figures 4, 5 and 6."""
SIZES = (20, 40, 60, 80, HUNDRED, 200, 500)
"""Of Figures 2 and 3; the paper's end at about 100."""
QUICK_SIZES = (20, 60, HUNDRED, 200)
LARGE_SIZES = (1000, 4000, 12_000)
"""Beyond the paper."""
CHILDREN = 2
DEFAULT_COPIES = 6.0
"""Of ``simulate``, which a run's options leave out."""
TARGET = 0.001
"""P_fail for which the paper sets C."""
LOW_LOSS, HIGH_LOSS = 0.001, 0.015
PERIOD_S = 0.1
ORIGINAL, HASHED = "rounds", "bufferers"
NAMES = {ORIGINAL: "original (pbcast-ipmc)", HASHED: "optimised (pbcast-hash)"}
ABOUT = "Links of 100 Mbps, of 5 ms on the tree; a round of gossip every 100 ms; one sender, at the root."


def shape(kind: str, members: int, children: int = CHILDREN) -> dict[str, Any]:
    """Return the options of a network of that many members, one on every node but on transit-stub."""
    if kind == TREE:
        height, room = 0, 1
        while room < members:
            height, room = height + 1, 1 + children * room
        return {"topology": "tree", "degree": children, "height": height, "nodes": members}
    if kind == TRANSIT:
        return {"topology": TRANSIT, "nodes": max(TRANSIT_NODES, members), "members": members}
    return {"topology": "random-graph", "members": members, "edge_probability": round(4 / members, 6)}


@cache
def sending_tree(
    kind: str, members: int, seed: int, children: int = CHILDREN
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the tree that a multicast of member 0 takes: parents, from the sender on, and member nodes."""
    options = shape(kind, members, children)
    built = topology(options.pop("topology"), **options, **({} if kind == TREE else {"seed": seed}))
    neighbours: list[list[int]] = [[] for _ in range(built.tree.size)]
    for node in range(1, built.tree.size):
        parent = int(built.tree.parent[node])
        neighbours[node].append(parent)
        neighbours[parent].append(node)
    order, parents = [int(built.member_nodes[0])], [-1]
    place = {order[0]: 0}
    for node in order:
        for near in neighbours[node]:
            if near not in place:
                place[near] = len(order)
                order.append(near)
                parents.append(place[node])
    return tuple(parents), tuple(sorted(place[int(node)] for node in built.member_nodes))


@cache
def copies(
    kind: str, members: int, link_loss: float, seed: int = 0, children: int = CHILDREN, *, exact: bool = False
) -> float:
    """Return the paper's C for P_fail of 0.1 %, rounded up to thousandths.

    By equation (3), or ``exact`` for the network, where a lost link loses a message for all below it.
    """
    parents, places = sending_tree(kind, members, 0 if kind == TREE else seed, children)
    smallest = smallest_c_on_tree if exact else printed_smallest_c_on_tree
    found = smallest(parents, link_loss, TARGET, places)
    return math.ceil((members if found is None else found) * 1000) / 1000


@cache
def p_fail(
    kind: str, members: int, link_loss: float, C: float, seed: int = 0, children: int = CHILDREN
) -> float:
    """Return the exact P_fail of the network, where a lost link loses a message for all below it."""
    parents, places = sending_tree(kind, members, 0 if kind == TREE else seed, children)
    return tree_failure(parents, C, link_loss, places)


def network_of(options: Mapping[str, Any]) -> tuple[str, int, float, int, int]:
    """Return the network of a run: its kind, members, link loss, seed, and the children of a node."""
    kind = str(options.get("topology", TREE))
    members = int(options["nodes" if kind == TREE else "members"])
    children = int(options.get("degree", CHILDREN))
    return kind, members, float(options.get("link_loss", 0.0)), int(options.get("seed", 0)), children


def copies_of(options: Mapping[str, Any]) -> float:
    """Return the C of a run that keeps messages at few members."""
    return float(options.get("copies", DEFAULT_COPIES))


def p_fail_of(options: Mapping[str, Any]) -> float:
    """Return the exact P_fail of a run's network with the run's C."""
    kind, members, loss, seed, children = network_of(options)
    return p_fail(kind, members, loss, copies_of(options), seed, children)


def of(
    kind: str,
    members: int,
    policy: str,
    *,
    rate_per_s: float,
    link_loss: float = LOW_LOSS,
    messages: int = 1000,
    seed: int = 0,
    **options: Any,
) -> Point:
    """Return a run on one of the networks, with the paper's C where few members keep a message."""
    if policy not in (ORIGINAL, "until-stable"):
        options = {"copies": copies(kind, members, link_loss, seed), **options}
    fields = {
        **shape(kind, members),
        **common(policy, messages, rate_per_s, seed),
        "link_loss": link_loss,
        **({} if kind == TREE else {"cast": "multicast"}),
        **({"propagation_us": 0.0} if kind == TRANSIT else {}),
        **options,
    }
    return _point(tuple(fields.items()))


def star(
    members: int, policy: str, *, messages: int, rate_per_s: float = 100.0, seed: int = 0, **options: Any
) -> Point:
    """Return a run with the sender in the middle and every other member a link away from it."""
    fields = {
        "topology": "balanced",
        "members": members,
        "degree": members - 1,
        **common(policy, messages, rate_per_s, seed),
        **options,
    }
    return _point(tuple(fields.items()))


def common(policy: str, messages: int, rate_per_s: float, seed: int) -> dict[str, Any]:
    """Return the options that all runs have."""
    return {
        "protocol": "bimodal",
        "policy": policy,
        "messages": messages,
        "rate_per_s": rate_per_s,
        "seed": seed,
        "costs": "links-only",
        "propagation_us": 5000.0,
        "no_push": True,
    }


@cache
def _point(fields: tuple[tuple[str, Any], ...]) -> Point:
    """Return a run by its options; claims and figures ask for the same ones often."""
    return simulation(**dict(fields))
