"""What datagrams of a schedule travel over: links with queues, of each host's own or shared by all."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from stablecast.overlays import Tree
from stablecast.simulate import Costs, costs, topology
from stablecast.simulate.topologies import Topology

SHARE = 0.2
"""Of schedules that have links."""
BANDWIDTHS_BPS = (2e6, 10e6, 100e6)
MEMBER_BPS = 0.3e6
"""What a member's own traffic may take of a link that all share, at least."""
LASTS_S = 10.0
"""In which all that is sent can pass the narrowest link."""


@dataclass(frozen=True)
class LinkModel:
    """The links of a run."""

    is_shared: bool
    """Whether there are two sites and one link between them; otherwise all are on one switch."""
    hosts: int
    bandwidth_bps: float
    propagation_us: float
    queue_limit: int

    @property
    def topology(self) -> Topology:
        """The network."""
        return _two_sites(self.hosts) if self.is_shared else topology("star", members=self.hosts)

    @property
    def costs(self) -> Costs:
        """What its links and hosts take."""
        return costs(
            "lan",
            bandwidth_bps=self.bandwidth_bps,
            propagation_us=self.propagation_us,
            queue_limit=self.queue_limit,
        )


def draw_links(seed: int, members: int, bytes_each: float) -> LinkModel | None:
    """Draw the links of a seed's schedule, in which each member sends so many bytes to each; None if none."""
    rng = random.Random(f"links {seed}")
    if rng.random() >= SHARE:
        return None
    is_shared = rng.random() < 0.5
    receivers = members * members / 2 if is_shared else members
    least = members * MEMBER_BPS + 8 * bytes_each * receivers / LASTS_S
    return LinkModel(
        is_shared=is_shared,
        hosts=rng.choice((members, max(2, members // 2))),
        bandwidth_bps=max(rng.choice(BANDWIDTHS_BPS), least),
        propagation_us=rng.choice((25.0, 1_000.0, 10_000.0)),
        queue_limit=rng.choice((8, 30, 100)),
    )


def _two_sites(hosts: int) -> Topology:
    """Return two switches with half of the hosts each, and one link between them."""
    parents = np.array([-1, 0, *sorted(k % 2 for k in range(hosts))], np.int64)
    nodes = np.arange(2, hosts + 2, dtype=np.int64)
    return Topology("two-sites", f"two sites of {hosts} hosts", Tree(parents), nodes)
