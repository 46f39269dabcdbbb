"""near_cube: cubefulldist on a hypercube whose neighbours are near each other in the network.

Promise
    That of cubefulldist, whose state, messages and kernels it has.  Only the places of the members differ.
How members are placed
    A hypercube is two halves of one dimension less, and each member has one neighbour in the other half.  So
    the members are divided into two parts that are far from each other, these again, and so on; a member's
    number in the cube is the way to it.  Then members change places in pairs while that makes the cube's
    links shorter.
Cost
    That of cubefulldist in messages, and fewer hops of the network for each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stablecast.overlays.hypercube import Hypercube, hypercube
from stablecast.protocols import cubefulldist
from stablecast.protocols.contract import Placement, Surroundings

Distances = NDArray[np.float64]
Ints = NDArray[np.int64]
EXCHANGES = 2_000
"""Most pairs that change places: each costs a product of matrices."""


def places(around: Surroundings) -> Placement:
    """Give each member its neighbours in a hypercube that follows the network."""
    cube, distances = hypercube(around.sizes.group), around.distances()
    member_at = exchanged(cube, divided(np.arange(cube.size), distances), distances)
    label_of = np.argsort(member_at)
    neighbours = [member_at[cube.neighbours[cube.start[k] : cube.start[k + 1]]] for k in label_of]
    start = np.concatenate([[0], np.cumsum([len(each) for each in neighbours])])
    return {"neighbours": (np.concatenate([np.empty(0, np.int64), *neighbours]), start)}


def divided(members: Ints, distances: Distances) -> Ints:
    """Return members in the order of their numbers in the cube: a part of a power of two, the other."""
    if members.size <= 2:
        return members
    half = 1 << (members.size - 1).bit_length() - 1
    among = distances[np.ix_(members, members)]
    one = among.sum(axis=0).argmax()
    other = among[one].argmax()
    order = members[np.argsort(among[one] - among[other], kind="stable")]
    return np.concatenate([divided(order[:half], distances), divided(order[half:], distances)])


def exchanged(cube: Hypercube, member_at: Ints, distances: Distances) -> Ints:
    """Let the pair of members change places that shortens the links most, as long as there is one."""
    linked = np.zeros((cube.size, cube.size))
    linked[np.repeat(np.arange(cube.size), np.diff(cube.start)), cube.neighbours] = 1
    member_at = member_at.copy()
    for _ in range(EXCHANGES):
        near = distances[np.ix_(member_at, member_at)]
        length = near @ linked  # of the links of a place, if the member of another place had it
        own = np.diag(length)
        saved = own[:, None] + own - length - length.T - 2 * linked * near
        p, q = np.unravel_index(saved.argmax(), saved.shape)
        if saved[p, q] <= 1e-9 * own.sum():
            break
        member_at[[p, q]] = member_at[[q, p]]
    return member_at


PROTOCOL = cubefulldist.PROTOCOL.replace(about=__doc__, paper="none; an example", places=places)
