"""Local networks that are far apart: data centres, or zones of a cloud, around a core."""

from __future__ import annotations

import numpy as np

from stablecast.errors import InvalidInput
from stablecast.overlays import Tree
from stablecast.simulate.costs import PS_PER_US
from stablecast.simulate.topologies import Mesh, Topology
from stablecast.simulate.topologies.random_graph import LONGEST_US

DELAY_US = 10_000.0


def sites(*, sites: int = 4, members: int = 40, delay_max_us: float = DELAY_US) -> Topology:
    """Build so many sites, with members that follow each other in each, of about the same number.

    A site is a star: every member has a link of its own to the site's switch.  Each switch has one link to a
    core, which takes ``delay_max_us`` more than the others.  Switches and core hold no members.
    """
    if not 1 <= sites <= members:
        raise InvalidInput(f"{sites} sites for {members} members (accepted: 1 to {members})")
    if not 0 <= delay_max_us <= LONGEST_US:
        raise InvalidInput(
            f"longest delay {delay_max_us} µs is not a link's (accepted: 0 to {LONGEST_US:.0f} µs)"
        )
    site_of = np.arange(members) * sites // members
    parents = np.concatenate(([-1], np.zeros(sites, np.int64), 1 + site_of))
    delay_ps = np.zeros(parents.size, np.int64)
    delay_ps[1 : 1 + sites] = round(delay_max_us * PS_PER_US)
    mesh = Mesh(np.zeros((0, 2), np.int64), np.zeros(0, np.int64), delay_ps)
    label = f"sites {sites} of {members} members, {delay_max_us:g} us"
    nodes = np.arange(1 + sites, parents.size, dtype=np.int64)
    return Topology("sites", label, Tree(parents), nodes, mesh=mesh, sites=tuple(site_of.tolist()))
