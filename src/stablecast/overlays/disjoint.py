"""Node-disjoint paths in a hypercube: how many there are between two nodes, and between any two.

Paths from a node to several others that share only their first node form a *fan*.  All questions here are
asked of fans: the paths between a and b are, apart from the link a-b, a fan from a to the neighbours of b
that avoids b.  A fan grows by one path at a time, found breadth first among the steps that the paths so far
leave open (Ford and Fulkerson with every node split in two, so that at most one path goes through it).

That any two of many nodes are joined by k paths is decided by Even's algorithm: the first k are tried in
pairs, and for each further one a fan of k paths to those before it.  For if fewer than k nodes separate two
of them, let the later of the two be as early as possible: then those before it that are left lie together,
on the other side.

References
----------
S. Even, An algorithm for determining whether the connectivity of a graph is at least k, SIAM Journal on
Computing 4, 1975.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel
from stablecast.errors import InvalidInput
from stablecast.overlays.hypercube import Hypercube, Ints, Nodes

NOBODY = -1
UNSEEN = -1
Flags = NDArray[np.bool_]


def disjoint_paths(cube: Hypercube, a: int, b: int) -> int:
    """Return the number of paths between two nodes that have only these two in common."""
    if a == b:
        raise InvalidInput(f"paths from node {a} to itself cannot be counted (accepted: two different nodes)")
    room = _room(cube.size)
    return int(_pair(cube.neighbours, cube.start, a, b, cube.size, *room))


def disjoint_paths_of_all(cube: Hypercube) -> Ints:
    """Return the numbers of disjoint paths between any two nodes, and 0 on the diagonal."""
    result = np.zeros((cube.size, cube.size), dtype=np.int64)
    _all_pairs(cube.neighbours, cube.start, result, *_room(cube.size))
    return result


def are_joined(cube: Hypercube, nodes: Ints, paths: int) -> bool:
    """Tell whether at least so many disjoint paths join any two of the nodes given, adjacent ones included.

    Adjacent ones need no trial where more than ``paths`` nodes are given.  If, without their link,
    ``paths - 2`` others separated a from b, these and b would separate a from a third node, or these and a
    would separate b from it.
    """
    room = _room(cube.size)
    tried = min(len(nodes), paths)
    return bool(_are_joined(cube.neighbours, cube.start, nodes, tried, paths, *room))


def _room(size: int) -> tuple[Flags, Ints, Ints, Ints]:
    """Return what the kernels write to: the fan's ends, and three arrays for its search."""
    before, reached_from, queue = (np.empty(k * size, dtype=np.int64) for k in (1, 2, 2))
    return np.zeros(size, dtype=np.bool_), before, reached_from, queue


@kernel
def _all_pairs(
    neighbours: Nodes, start: Ints, result: Ints, ends: Flags, before: Ints, reached_from: Ints, queue: Ints
) -> None:
    for a in range(ends.size):
        for b in range(a):
            result[a, b] = _pair(neighbours, start, a, b, ends.size, ends, before, reached_from, queue)
            result[b, a] = result[a, b]


@kernel
def _are_joined(
    neighbours: Nodes,
    start: Ints,
    nodes: Ints,
    tried: int,
    paths: int,
    ends: Flags,
    before: Ints,
    reached_from: Ints,
    queue: Ints,
) -> bool:
    """Try the first nodes in pairs and for each further one a fan to all before it."""
    for j in range(tried):
        for i in range(j):
            if _pair(neighbours, start, nodes[i], nodes[j], paths, ends, before, reached_from, queue) < paths:
                return False
    for j in range(nodes.size):
        if j >= tried:
            found = _fan(neighbours, start, nodes[j], NOBODY, paths, ends, before, reached_from, queue)
            if found < paths:
                return False
        ends[nodes[j]] = True
    return True


@kernel
def _pair(
    neighbours: Nodes,
    start: Ints,
    a: int,
    b: int,
    limit: int,
    ends: Flags,
    before: Ints,
    reached_from: Ints,
    queue: Ints,
) -> int:
    """Count the disjoint paths between two nodes, up to a limit."""
    direct = 0
    for e in range(start[b], start[b + 1]):
        ends[neighbours[e]] = neighbours[e] != a
        direct += neighbours[e] == a
    found = direct + _fan(neighbours, start, a, b, limit - direct, ends, before, reached_from, queue)
    for e in range(start[b], start[b + 1]):
        ends[neighbours[e]] = False
    return found


@kernel
def _fan(
    neighbours: Nodes,
    start: Ints,
    source: int,
    avoided: int,
    limit: int,
    ends: Flags,
    before: Ints,
    reached_from: Ints,
    queue: Ints,
) -> int:
    """Count the paths of the largest fan to the ends that are marked, up to a limit.

    ``before`` holds, for a node on a path, the one that precedes it there.
    """
    for v in range(ends.size):
        before[v] = NOBODY
    found = 0
    while found < limit:
        end = _search(neighbours, start, source, avoided, ends, before, reached_from, queue)
        if end == NOBODY:
            break
        _reroute(source, end, before, reached_from)
        found += 1
    return found


@kernel
def _search(
    neighbours: Nodes,
    start: Ints,
    source: int,
    avoided: int,
    ends: Flags,
    before: Ints,
    reached_from: Ints,
    queue: Ints,
) -> int:
    """Look for a further path and return its end, or nobody.

    State 2v is the entrance of node v and state 2v + 1 its exit.  From the exit the search goes to the
    neighbours' entrances and, if a path goes through v, to its entrance.  From the entrance it goes to the
    exit or, if a path goes through v, back along that path.
    """
    for state in range(2 * ends.size):
        reached_from[state] = UNSEEN
    queue[0] = 2 * source + 1
    reached_from[queue[0]] = queue[0]
    head, tail = 0, 1
    while head < tail:
        state = queue[head]
        v = state // 2
        head += 1
        if state % 2 == 0:
            following = 2 * v + 1 if before[v] == NOBODY else 2 * before[v] + 1
            tail = _push(following, state, tail, reached_from, queue)
            continue
        for e in range(start[v], start[v + 1]):
            u = int(neighbours[e])
            if u in (source, avoided):
                continue
            tail = _push(2 * u, state, tail, reached_from, queue)
            if ends[u] and before[u] == NOBODY:
                return u
        if v != source and before[v] != NOBODY:
            tail = _push(2 * v, state, tail, reached_from, queue)
    return NOBODY


@kernel
def _push(state: int, origin: int, tail: int, reached_from: Ints, queue: Ints) -> int:
    """Put a state into the queue unless it was seen, and return the queue's new end."""
    if reached_from[state] != UNSEEN:
        return tail
    reached_from[state] = origin
    queue[tail] = state
    return tail + 1


@kernel
def _reroute(source: int, end: int, before: Ints, reached_from: Ints) -> None:
    """Take the path that was found into the fan: what it undoes, it leaves without a predecessor."""
    state = 2 * end
    while state != 2 * source + 1:
        origin = reached_from[state]
        if state % 2 == 0:
            before[state // 2] = NOBODY if origin // 2 == state // 2 else origin // 2
        state = origin
