"""Local groups, for ``gsgc-local``: how a group is divided into them, and who of one's own has crashed.

The division
    Where it is known which zone each member is in, as views of live groups tell, a zone is a local group, or
    several of about the same size if it has more than ``local_size`` members; members without a zone are in
    a zone of their own.  Otherwise the whole group is divided like one zone.  Members are dealt in an order
    that the seed draws, so whoever has the same zones and the same seed finds the same local groups.
    The first few members of each are its stability controllers, unless these are chosen by load.

The levels above
    The controllers of all local groups form one group of the second level.  With more levels they form
    several, of controllers of as many local groups each; the first few of such a group, taken in turn from
    the groups below, are its controllers and form the groups of the next level, down to one at the uppermost.

A member knows the members of its local group by their rank in it.  Controllers know the members of the groups
that they are in at other levels.

Failure detection (Figure 3) runs among the members of a local group, when ``threshold`` is above 0.  One that
was struck off by anyone is *gone* for good: the sets of those that are gone travel with the gossip and only
grow.  One that finds itself gone takes no part any more.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from stablecast.frontier.sets import add, has, join
from stablecast.overlays import Tree
from stablecast.protocols._gossip import Gossip, go, leave
from stablecast.protocols.contract import (
    IntArray,
    Kernels,
    Outbox,
    Place,
    Placement,
    Places,
    Sizes,
    Surroundings,
    entries,
    kernel,
    set_of,
    strike_off,
)

BY_DRAW, BY_LOAD = 0, 1  # values of ``chosen_by``

# Division


def group_count(sizes: Sizes) -> int:
    """Return how many local groups there are."""
    return sum(_parts(members, sizes) for members in _zone_sizes(sizes))


def local_size(sizes: Sizes) -> int:
    """Return how many members the largest local group has."""
    return max(-(-members // _parts(members, sizes)) for members in _zone_sizes(sizes))


def _zone_sizes(sizes: Sizes) -> Collection[int]:
    """Return how many members each zone has; without zones all are in one."""
    return Counter(sizes.zones).values() if sizes.zones else (sizes.group,)


def _parts(members: int, sizes: Sizes) -> int:
    """Return how many local groups a zone of so many members is cut into."""
    return -(-members // sizes.params["local_size"])


def upper_levels(sizes: Sizes) -> int:
    """Return how many levels there are above the local one."""
    return sizes.params["levels"] - 1


def part_count(sizes: Sizes) -> int:
    """Return of how many groups of the level below a group consists at most: alike at all levels."""
    count = 1
    while count ** upper_levels(sizes) < group_count(sizes):
        count += 1
    return count


def divide(around: Surroundings) -> Placement:
    """Divide the group, by zones, by location or at random, and choose the controllers of all levels."""
    sizes = around.sizes
    n, controllers = sizes.group, sizes.params["controllers"]
    groups = _local_groups(around)
    local_group, rank = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for g, group in enumerate(groups):
        local_group[group], rank[group] = g, np.arange(group.size)
    chosen = _Chosen(n)
    below = [group[:controllers] for group in groups]
    for row in range(upper_levels(sizes)):
        is_last = row == upper_levels(sizes) - 1
        count = 1 if is_last else -(-len(below) // part_count(sizes))
        united = np.array_split(np.arange(len(below)), count)
        below = [chosen.unite([below[g] for g in parts])[:controllers] for parts in united]
    return {
        "local_group": local_group,
        "rank": rank,
        "neighbours": _lists([groups[g] for g in local_group]),
        **chosen.places(),
    }


class _Chosen:
    """What each member is told of the levels above the local one, as these are put together from below."""

    def __init__(self, members: int) -> None:
        self._parts: list[list[int]] = [[] for _ in range(members)]
        self._part_counts: list[list[int]] = [[] for _ in range(members)]
        self._peers: list[list[NDArray[np.int64]]] = [[] for _ in range(members)]

    def unite(self, parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Make one group of the controllers of some; return its members, taken in turn from each."""
        longest = max(part.size for part in parts)
        in_turn = np.array([part[k] for k in range(longest) for part in parts if k < part.size])
        for number, part in enumerate(parts):
            for member in part:
                self._parts[member].append(number)
                self._part_counts[member].append(len(parts))
                self._peers[member].append(in_turn)
        return in_turn

    def places(self) -> Placement:
        """Return the fields of :class:`LocalGroup` that say so."""
        starts = [np.cumsum([0, *(group.size for group in peers)]) for peers in self._peers]
        none = np.zeros(0, np.int64)
        return {
            "reach": np.array([len(parts) for parts in self._parts]),
            "parts": _lists([np.array(parts, np.int64) for parts in self._parts]),
            "part_counts": _lists([np.array(counts, np.int64) for counts in self._part_counts]),
            "peers": _lists([np.concatenate([none, *peers]) for peers in self._peers]),
            "peers_from": _lists(starts),
        }


def _local_groups(around: Surroundings) -> list[NDArray[np.int64]]:
    """Return the members of each local group, the controllers first."""
    sizes = around.sizes
    rng = np.random.default_rng([around.seed, 0x6C6F6361])
    if sizes.params["nearby"] and not sizes.zones:
        parts = np.array_split(_by_location(around.tree), group_count(sizes))
        groups = [rng.permutation(part) for part in parts]
    else:
        order, groups = rng.permutation(sizes.group), []
        zones = sizes.zones or ("",) * sizes.group
        for zone in sorted(set(zones)):
            inside = order[[zones[k] == zone for k in order]]
            count = _parts(inside.size, sizes)
            groups += [inside[g::count] for g in range(count)]
    if sizes.params["chosen_by"] == BY_LOAD:
        by_load = _by_load(around)
        groups = [group[np.argsort(by_load[group], kind="stable")] for group in groups]
    return groups


def _by_load(around: Surroundings) -> NDArray[np.int64]:
    """Return each member's place in an order: who sends no data first, then by the ways to all others."""
    n = around.sizes.group
    sends = np.isin(np.arange(n), around.sizes.leaders)
    place = np.empty(n, np.int64)
    place[np.lexsort((around.distances().sum(axis=0), sends))] = np.arange(n)
    return place


def _lists(rows: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all members' lists one after the other, and where each begins."""
    return np.concatenate(rows), np.cumsum([0, *(row.size for row in rows)])


def _by_location(tree: Tree) -> NDArray[np.int64]:
    """Return the members such that those of one branch of the tree come one after the other."""
    children: list[list[int]] = [[] for _ in range(tree.size)]
    for member, parent in enumerate(tree.parent.tolist()):
        if parent >= 0:
            children[parent].append(member)
    order, stack = [], [0]
    while stack:
        member = stack.pop()
        order.append(member)
        stack.extend(reversed(children[member]))
    return np.array(order)


# Failure detection


def detects_failures(sizes: Sizes) -> bool:
    """Tell whether silent members are struck off."""
    return sizes.params["threshold"] > 0


Gone = Annotated[IntArray, set_of(local_size, when=detects_failures)]
"""The set of those in the local group that were struck off."""
Lives = Annotated[IntArray, entries(local_size, when=detects_failures, wire=local_size)]
"""The paper's Live array, of the local group: steps since each gave a sign of life; a byte for each on the
wire."""


class LocalGroup(Gossip):
    """What a member knows of its local group."""

    local_group: Place
    """Which one it is in."""
    rank: Place
    """Its own rank in its local group."""
    neighbours: Places
    """The members of its local group by rank, the controllers first, itself included."""
    reach: Place
    """At how many levels above the local one it takes part."""
    parts: Places
    """For each of these, the number of the group below that it is from."""
    part_counts: Places
    """For each of these, of how many groups below its group consists."""
    peers: Places
    """The members of its groups at these levels, those of one after the other, the controllers first."""
    peers_from: Places
    """Where each of these groups begins, and their end."""
    gone: Gone
    live: Lives


def around(plain: Kernels, step_locally: Callable[..., None]) -> Kernels:
    """Wrap the plain kernels; ``step_locally`` is a step in the local group, if one is due."""
    plain_init, plain_timer = plain.init, plain.timer
    (LOCAL, on_local), (GLOBAL, on_global), (STABLE, on_stable) = plain.receive.items()

    @kernel
    def init(me: Any, now: int, out: Outbox) -> None:
        if not me.out:
            plain_init(me, now, out)

    @kernel
    def timer(me: Any, now: int, out: Outbox) -> None:
        if me.out:
            return
        if me.params.threshold > 0 and now >= me.next_local:
            _grow_older(me, out)
        if me.leaving:
            step_locally(me, now, out)
            go(me, 1, out)
        else:
            plain_timer(me, now, out)

    @kernel
    def hear_local(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        if me.out:
            return
        if me.params.threshold > 0:
            _learn(me, source, message)
            if has(me.gone, me.rank):
                go(me, 1, out)
                return
        on_local(me, source, message, now, out)

    @kernel
    def hear_global(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        if not me.out:
            on_global(me, source, message, now, out)

    @kernel
    def hear_stable(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        if not me.out:
            on_stable(me, source, message, now, out)

    receive = {LOCAL: hear_local, GLOBAL: hear_global, STABLE: hear_stable}
    return dataclasses.replace(plain, init=init, timer=timer, leave=leave, receive=receive)


@kernel
def _grow_older(me: Any, out: Outbox) -> None:
    """Figure 3: L[j] = L[j] + 1 for all others; strike off those that have been silent for too long."""
    for j in range(me.neighbours.size):
        if j != me.rank and not has(me.gone, j):
            me.live[j] += 1
            if me.live[j] >= me.params.threshold:
                add(me.gone, j)
                strike_off(out, me.neighbours[j], 1)


@kernel
def _learn(me: Any, source: int, message: Any) -> None:
    """Figure 3: L = ArrayMin(L, L'), and L[j] = 0 for the sender; whom anyone struck off is gone."""
    join(me.gone, message.gone)
    for j in range(me.neighbours.size):
        me.live[j] = min(me.live[j], message.live[j])
        if me.neighbours[j] == source:
            me.live[j] = 0


# What the plain kernels call


@kernel
def may_be_silent(me: Any) -> bool:
    """Tell whether silence is not taken for a crash."""
    return bool(me.params.threshold == 0)


@kernel
def has_or_lost_all(W: IntArray, me: Any) -> bool:
    """Tell whether a set holds everyone of the local group who is not gone."""
    for j in range(me.neighbours.size):
        if not has(W, j) and not (me.gone.size > 0 and has(me.gone, j)):
            return False
    return True
