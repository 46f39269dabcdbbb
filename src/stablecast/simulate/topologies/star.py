"""A local network: every member has a link of its own to a switch, which holds no member."""

from __future__ import annotations

import numpy as np

from stablecast.errors import InvalidInput
from stablecast.overlays import Tree
from stablecast.simulate.topologies import Topology


def star(*, members: int = 8) -> Topology:
    """Build a star of so many members; a message between two of them takes two hops."""
    if members < 1:
        raise InvalidInput(f"{members} members make no star (accepted: 1 or more)")
    parents = np.zeros(members + 1, np.int64)
    parents[0] = -1
    return Topology("star", f"star {members}", Tree(parents), np.arange(1, members + 1, dtype=np.int64))
