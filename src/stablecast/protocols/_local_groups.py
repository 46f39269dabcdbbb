"""Local groups, for ``gsgc-local``: how a group is divided into them, and who of one's own has crashed.

The division
    Where it is known which zone each member is in, as views of live groups tell, a zone is a local group, or
    several of about the same size if it has more than ``local_size`` members; members without a zone are in
    a zone of their own.  Otherwise the whole group is divided like one zone.  Members are dealt in an order
    that the seed draws, so whoever has the same zones and the same seed finds the same local groups.
    The first few members of each are its stability controllers.

A member knows the members of its local group by their rank in it.  Controllers know the controllers of all
local groups.

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


def divide(around: Surroundings) -> Placement:
    """Divide the group, by zones, by location or at random, and draw the controllers."""
    sizes = around.sizes
    n, controllers = sizes.group, sizes.params["controllers"]
    groups = _local_groups(around)
    everyone = np.concatenate([group[:controllers] for group in groups])
    local_group, rank = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for g, group in enumerate(groups):
        local_group[group], rank[group] = g, np.arange(group.size)
    return {
        "local_group": local_group,
        "group_count": np.full(n, len(groups)),
        "rank": rank,
        "neighbours": _lists([groups[g] for g in local_group]),
        "controllers": _lists([everyone if k < controllers else everyone[:0] for k in rank]),
    }


def _local_groups(around: Surroundings) -> list[NDArray[np.int64]]:
    """Return the members of each local group, the controllers first."""
    sizes = around.sizes
    rng = np.random.default_rng([around.seed, 0x6C6F6361])
    if sizes.params["nearby"] and not sizes.zones:
        parts = np.array_split(_by_location(around.tree), group_count(sizes))
        return [rng.permutation(part) for part in parts]
    order, groups = rng.permutation(sizes.group), []
    zones = sizes.zones or ("",) * sizes.group
    for zone in sorted(set(zones)):
        inside = order[[zones[k] == zone for k in order]]
        count = _parts(inside.size, sizes)
        groups += [inside[g::count] for g in range(count)]
    return groups


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
    group_count: Place
    """How many there are."""
    rank: Place
    """Its own rank in its local group."""
    neighbours: Places
    """The members of its local group by rank, the controllers first, itself included."""
    controllers: Places
    """The controllers of all local groups, if it is one of them."""
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
