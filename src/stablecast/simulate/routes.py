"""Tables of routes: for every target and node, the link that leads on, found once and kept on disk.

A search spreads from each target over the whole graph, so a table takes time that grows with nodes times
links, and memory that grows with the square of the nodes.  Tables of large graphs are therefore kept beside
the compiled code, where the processes of a sweep share them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import CACHE_FOLDER, inlined, kernel
from stablecast.errors import InvalidInput, unknown_name
from stablecast.simulate.topologies import Topology

Ints = NDArray[np.int64]
SmallInts = NDArray[np.int32]
Table = NDArray[np.uint16]

POLICIES = ("hops", "delay")
"""Fewest hops, of equals the least delay; or least delay, of equals the fewest hops."""

NODES_MAX = 32_768
BUCKET_BITS = 8
BUCKETS = 1 << BUCKET_BITS
FAR = np.iinfo(np.int64).max
BLOCKS_A_THREAD = 32
TARGETS_MIN = 16
ONE_THREAD_STEPS = 10_000_000
"""Searches that look at fewer links in all are over before threads would help."""
KEPT_FROM_NODES = 512
ROUTES_FOLDER = CACHE_FOLDER.parent / "routes"
ROUTES_MB = "STABLECAST_ROUTES_MB"
FORMAT = b"routes 1"
"""Part of a kept table's name: an edit that changes tables changes it."""


class Adjacency(NamedTuple):
    """The links that leave each node: those of node v are entries ``start[v] … start[v + 1] - 1``.

    The links of one node are in ascending order of their numbers.
    """

    start: Ints
    link: Ints
    """The link's number."""
    to: Ints
    """The node at its end."""


class Graph(NamedTuple):
    """The links that leave each node, as the searches want them: small, and with the way back."""

    start: Ints
    to: SmallInts
    back: Table
    """Which of the links of the node at its end is this link's other direction."""
    cost: Ints
    """Its delay; where delay comes first, delay times the number of nodes, and 1 for the hop."""


class Search(NamedTuple):
    """Room for a search: what it knows of each node, and the nodes that it has yet to take."""

    cost: Ints
    """The least cost found so far."""
    level: SmallInts
    """The node's hops; where delay comes first, the bucket in which it waits; -1 for none."""
    waiting: SmallInts
    first: SmallInts
    """The first node of each bucket, -1 for none."""
    following: SmallInts
    """The node behind this one in its bucket, -1 for none."""
    previous: SmallInts


def adjacency(topology: Topology) -> Adjacency:
    """List the links that leave each node, those of the tree and the further ones."""
    tree, mesh = topology.tree, topology.mesh
    child, parent = np.arange(1, tree.size), tree.parent[1:]
    pairs = np.stack((child, parent), axis=1)
    if mesh is not None:
        pairs = np.concatenate((pairs, mesh.ends))
    origin, to = pairs.ravel(), pairs[:, ::-1].ravel()
    link = np.argsort(origin, kind="stable")
    start = np.concatenate(([0], np.cumsum(np.bincount(origin, minlength=tree.size))))
    return Adjacency(start, link, to[link])


def link_delays_ps(topology: Topology) -> Ints:
    """Return the propagation delay of each link by its number; 0 where the tree is the whole network."""
    if topology.mesh is None:
        return np.zeros(2 * (topology.tree.size - 1), dtype=np.int64)
    return np.repeat(np.concatenate((topology.mesh.tree_delay_ps[1:], topology.mesh.delay_ps)), 2)


def route_table(topology: Topology, policy: str, *, threads: int | None = None) -> Table:
    """Find the routes between all nodes: entry [target, node] is which of the node's links leads on.

    It counts within the node's part of the :func:`adjacency`; entry [target, target] is 0 and means nothing.
    ``hops`` takes the fewest hops, of equals the least delay; ``delay`` takes the least delay, of equals the
    fewest hops; and both take the lowest link of what is still equal.  Delay is propagation alone.
    ``threads`` is the number of threads, all cores by default; a small graph takes one.
    """
    _check(topology, policy, threads)
    graph = _graph(topology, policy)
    nodes = topology.tree.size
    table = np.zeros((nodes, nodes), dtype=np.uint16)
    if nodes * graph.to.size < ONE_THREAD_STEPS:
        threads = 1
    elif threads is None:
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    block = max(TARGETS_MIN, nodes // (BLOCKS_A_THREAD * threads))
    shift = max(0, int(graph.cost.max(initial=0)).bit_length() - BUCKET_BITS + 1)

    def fill(first: int) -> None:
        last = min(first + block, nodes)
        if policy == "hops":
            route_by_hops(graph, _room(nodes), first, last, table)
        else:
            route_by_delay(graph, _room(nodes), shift, first, last, table)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, range(0, nodes, block)))
    return table


def _check(topology: Topology, policy: str, threads: int | None) -> None:
    if policy not in POLICIES:
        raise unknown_name("routing policy", policy, POLICIES)
    nodes = topology.tree.size
    if nodes > NODES_MAX:
        raise InvalidInput(
            f"a table of routes between {nodes} nodes takes {2 * nodes**2 / 2**30:.1f} GiB"
            f" (accepted: up to {NODES_MAX} nodes, {2 * NODES_MAX**2 / 2**30:.1f} GiB)"
        )
    if threads is not None and threads < 1:
        raise InvalidInput(f"{threads} threads find no routes (accepted: 1 or more)")
    # No route costs more than the way through the root, and a search looks one link beyond it.
    longest_ps = (2**63 - 1) // ((2 * topology.tree.height + 2) * nodes)
    if link_delays_ps(topology).max(initial=0) > longest_ps:
        raise InvalidInput(f"delays of links do not add up in 64 bits (accepted: up to {longest_ps} ps here)")


def _graph(topology: Topology, policy: str) -> Graph:
    start, link, to = adjacency(topology)
    where = np.empty_like(link)
    where[link] = np.arange(link.size)
    back = where[link ^ 1] - start[to]
    delay_ps = link_delays_ps(topology)[link]
    cost = delay_ps if policy == "hops" else delay_ps * topology.tree.size + 1
    return Graph(start, to.astype(np.int32), back.astype(np.uint16), cost)


def _room(nodes: int) -> Search:
    level, waiting, following, previous = (np.full(nodes, -1, dtype=np.int32) for _ in range(4))
    first = np.full(BUCKETS, -1, dtype=np.int32)
    return Search(np.empty(nodes, dtype=np.int64), level, waiting, first, following, previous)


@kernel
def route_by_hops(graph: Graph, search: Search, first: int, last: int, table: Table) -> None:
    """Fill the rows of some targets by breadth-first search.

    All nodes of one level are taken before those of the next, so a node's delay is final when it is taken.
    """
    cost, level, waiting = search.cost, search.level, search.waiting
    for target in range(first, last):
        for v in range(level.size):
            level[v] = -1
        level[target] = 0
        cost[target] = 0
        waiting[0] = target
        found = 1
        for taken in range(level.size):
            v = waiting[taken]
            below = level[v] + 1
            for k in range(graph.start[v], graph.start[v + 1]):
                w = graph.to[k]
                if 0 <= level[w] < below:
                    continue
                through = cost[v] + graph.cost[k]
                if level[w] < 0:
                    level[w] = below
                    waiting[found] = w
                    found += 1
                elif through > cost[w] or (through == cost[w] and graph.back[k] > table[target, w]):
                    continue
                cost[w] = through
                table[target, w] = graph.back[k]


@kernel
def route_by_delay(graph: Graph, search: Search, shift: int, first: int, last: int, table: Table) -> None:
    """Fill the rows of some targets by a search that takes the nodes in the order of their costs, roughly.

    Nodes wait in buckets, a ring of them, by their costs without the last ``shift`` bits; no link costs as
    much as half the ring.  The nodes of the lowest bucket are taken together, and one whose cost falls
    afterwards waits and is taken again: on short links only, so it is rare, and a heap takes twice as long.
    """
    cost, level, waiting = search.cost, search.level, search.waiting
    for target in range(first, last):
        for v in range(cost.size):
            cost[v] = FAR
        cost[target] = 0
        put(search, target, 0)
        bucket = 0
        left = 1
        while left > 0:
            if search.first[bucket] < 0:
                bucket = (bucket + 1) % BUCKETS
                continue
            count = take_all(search, bucket)
            left -= count
            for taken in range(count):
                v = waiting[taken]
                for k in range(graph.start[v], graph.start[v + 1]):
                    w = graph.to[k]
                    through = cost[v] + graph.cost[k]
                    if through < cost[w]:
                        cost[w] = through
                        table[target, w] = graph.back[k]
                        left += level[w] < 0
                        put(search, w, (through >> shift) % BUCKETS)
                    elif through == cost[w] and graph.back[k] < table[target, w]:
                        table[target, w] = graph.back[k]


@inlined
def put(search: Search, node: int, bucket: int) -> None:
    """Let a node wait in a bucket, and no longer where it may have waited."""
    first, following, previous = search.first, search.following, search.previous
    if search.level[node] >= 0:
        if previous[node] >= 0:
            following[previous[node]] = following[node]
        else:
            first[search.level[node]] = following[node]
        if following[node] >= 0:
            previous[following[node]] = previous[node]
    following[node] = first[bucket]
    previous[node] = -1
    if first[bucket] >= 0:
        previous[first[bucket]] = node
    first[bucket] = node
    search.level[node] = bucket


@inlined
def take_all(search: Search, bucket: int) -> int:
    """Empty a bucket into the list of those that are taken next; return how many they are."""
    count = 0
    node = search.first[bucket]
    while node >= 0:
        search.waiting[count] = node
        search.level[node] = -1
        node = search.following[node]
        count += 1
    search.first[bucket] = -1
    return count


def kept_route_table(topology: Topology, policy: str, *, threads: int | None = None) -> Table:
    """Return the routes between all nodes, to be read only, from the disk if the graph is a large one.

    A table that is not there is found and stored; where it cannot be stored it is used from memory.  The
    least recently used tables are removed when all of them take more than ``STABLECAST_ROUTES_MB``, 4096
    MiB by default; a table that is larger than that is not stored.
    """
    _check(topology, policy, threads)
    nodes, room = topology.tree.size, _room_on_disk()
    path = ROUTES_FOLDER / f"{_digest(topology, policy)}.npy"
    table = _opened(path, nodes) if nodes >= KEPT_FROM_NODES else None
    if table is None:
        table = route_table(topology, policy, threads=threads)
        table.flags.writeable = False
        if nodes >= KEPT_FROM_NODES and table.nbytes <= room and _store(path, table):
            _forget_least_used(room, but=path)
            stored = _opened(path, nodes)
            table = table if stored is None else stored
    return table


def _room_on_disk() -> int:
    given = os.environ.get(ROUTES_MB, "4096")
    if not given.isdecimal():
        raise InvalidInput(f"{ROUTES_MB}={given} is no size (accepted: a whole number of MiB, 0 or more)")
    return int(given) << 20


def _digest(topology: Topology, policy: str) -> str:
    digest = hashlib.blake2s(FORMAT + b" " + policy.encode())
    arrays = [topology.tree.parent]
    if topology.mesh is not None:
        arrays += [topology.mesh.ends, topology.mesh.delay_ps, topology.mesh.tree_delay_ps]
    for array in arrays:
        digest.update(f" {array.size} ".encode() + array.astype("<i8").tobytes())
    return digest.hexdigest()


def _opened(path: Path, nodes: int) -> Table | None:
    """Map a stored table and mark it as used; None if there is none, or none that can be read."""
    try:
        table = np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError, EOFError):
        return None
    if table.shape != (nodes, nodes) or table.dtype != np.uint16:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return np.asarray(table)


def _store(path: Path, table: Table) -> bool:
    """Write a table beside its place and rename it, as another process may do at the same time."""
    part: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            part = Path(file.name)
            np.save(file, table)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        return False
    finally:
        if part is not None:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
    return True


def _forget_least_used(room: int, *, but: Path) -> None:
    """Remove tables, and parts that were never finished, until the rest fits; another may do so as well."""
    found = []
    for path in but.parent.glob("*"):
        with contextlib.suppress(OSError):
            found.append((path.stat().st_mtime_ns, path.stat().st_size, path))
    excess = sum(size for _, size, _ in found) - room
    for _, size, path in sorted(found):
        if excess > 0 and path != but:
            with contextlib.suppress(OSError):
                path.unlink()
                excess -= size
