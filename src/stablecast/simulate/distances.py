"""How far members are from each other in the network, for protocols that place themselves by that."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel
from stablecast.compiling.structs import Structure
from stablecast.errors import InvalidInput
from stablecast.simulate.costs import PS_PER_US
from stablecast.simulate.network import Network, next_link

MEMBERS_MAX = 20_000
HOP_PS = 1_000
"""What a link counts at least, so that of ways without delay the one of fewer links is shorter."""


class Ways(Structure, Network):
    """The network as compiled code sees it."""


def member_distances(net: Network) -> NDArray[np.float64]:
    """Return the propagation delays of the ways between all members, in microseconds.

    A link counts a nanosecond at least.
    """
    if net.member_count > MEMBERS_MAX:
        raise InvalidInput(
            f"distances between {net.member_count:,} members (accepted: up to {MEMBERS_MAX:,} members)"
        )
    found = np.zeros((net.member_count, net.member_count))
    _measure(Ways(net), found)
    return found / PS_PER_US


@kernel
def _measure(ways: Ways, found: NDArray[np.float64]) -> None:
    # The routes to one member are one row of the table, so that all ways to it are found together.
    for j in range(ways.member_count):
        for i in range(ways.member_count):
            node = ways.member_node[i]
            while node != ways.member_node[j]:
                link = next_link(ways, node, ways.member_node[j])
                found[i, j] += max(ways.links[link].propagation_ps, HOP_PS)
                node = ways.links[link].to
