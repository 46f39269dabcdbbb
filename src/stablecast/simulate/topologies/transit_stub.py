"""Transit-stub graphs, after the model of GT-ITM: domains that carry traffic, and stubs that hang on them.

The shape is that of the 200 nodes which ns2's documentation makes with GT-ITM: one transit domain of 8 nodes,
each with 4 stubs of 6 nodes, so 25 nodes for a transit node.  Other numbers of nodes keep that proportion.

References
----------
E. W. Zegura, K. L. Calvert, S. Bhattacharjee, How to Model an Internetwork, INFOCOM 1996.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stablecast.errors import InvalidInput
from stablecast.simulate.costs import PS_PER_US
from stablecast.simulate.routes import NODES_MAX
from stablecast.simulate.topologies import Topology, draw_members
from stablecast.simulate.topologies.random_graph import LONGEST_US, number_graph

Ints = NDArray[np.int64]
Pairs = list[tuple[int, int]]

NODES_A_TRANSIT_NODE = 25
TRANSIT_NODES = 8
"""The most that a transit domain has."""
STUBS = 4
"""Of each transit node."""
TRANSIT_PROBABILITY, STUB_PROBABILITY = 0.8, 0.5
"""That two nodes of a transit domain are linked, and two of a stub."""
DELAY_MAX_US = 20_000.0
STUB_SHARE = 10
"""A link that is not between transit nodes takes at most this part of the longest delay."""


class Domain(NamedTuple):
    """Consecutive nodes that are linked among themselves."""

    first: int
    size: int
    gate: int
    """The transit node that a stub hangs on; -1 for a transit domain."""

    @property
    def is_stub(self) -> bool:
        """Whether it is a stub, and not a transit domain."""
        return self.gate >= 0


def transit_stub(
    *,
    nodes: int | None = None,
    members: int | None = None,
    extra_links: int = 0,
    delay_max_us: float = DELAY_MAX_US,
    seed: int = 0,
) -> Topology:
    """Link the nodes of each domain at random, then the domains.

    The domains follow from the number of nodes (:func:`plan_domains`), the links from the seed
    (:func:`draw_links`).  A link between transit nodes has a delay drawn evenly from half of ``delay_max_us``
    to all of it, any other one from 0 to a tenth of it, in whole picoseconds.

    The root is the transit node with the fewest hops to all the others together, of equals the first; it
    always holds a member, so that member 0 is on a central node.  The nodes are then numbered as those of a
    random graph: the tree has the fewest hops from the root to every node.  Without a number of nodes there
    are as many as members, or 200.
    """
    if nodes is None:
        nodes = 200 if members is None else members
    _check(nodes, delay_max_us)
    domains = plan_domains(nodes)
    _check_extra(domains, extra_links)
    rng = np.random.default_rng([seed, 0x74737475])
    pairs = draw_links(rng, domains, extra_links)
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    backbone = transit_count(domains)
    delay_ps = _draw_delays(rng, ends[:, 1] < backbone, delay_max_us)
    tree, mesh = number_graph(nodes, ends, delay_ps, root=central_node(backbone, pairs))
    label = f"transit-stub {nodes} nodes"
    if extra_links:
        label += f" extra {extra_links}"
    if delay_max_us != DELAY_MAX_US:
        label += f" delay {delay_max_us:g} us"
    drawn = draw_members(tree, members, seed=seed, with_root=True)
    return Topology("transit-stub", f"{label} seed {seed}", tree, drawn, mesh=mesh)


def plan_domains(nodes: int) -> list[Domain]:
    """Divide the nodes into domains: first the transit domains, then the stubs.

    There is a transit node for every 25 nodes, rounded, and at least one.  They form as few transit domains
    of at most 8 nodes as can be.  The other nodes are divided among 4 stubs for each transit node.  Sizes of
    domains of a kind differ by one at most, the larger ones first; stubs without nodes are left out.
    """
    backbone = max(1, (2 * nodes + NODES_A_TRANSIT_NODE) // (2 * NODES_A_TRANSIT_NODE))
    sizes = _even_parts(backbone, -(-backbone // TRANSIT_NODES))
    transit = [Domain(sum(sizes[:i]), size, -1) for i, size in enumerate(sizes)]
    stubs, first = [], backbone
    for i, size in enumerate(_even_parts(nodes - backbone, STUBS * backbone)):
        if size:
            stubs.append(Domain(first, size, i % backbone))
        first += size
    return transit + stubs


def transit_count(domains: list[Domain]) -> int:
    """Return the number of transit nodes, which are the first of all nodes."""
    return sum(domain.size for domain in domains if not domain.is_stub)


def _even_parts(total: int, parts: int) -> list[int]:
    return [total // parts + (i < total % parts) for i in range(parts)]


def draw_links(rng: np.random.Generator, domains: list[Domain], extra_links: int) -> Pairs:
    """Draw all links, each once and the lower node first.

    - In a domain every two nodes are linked with the same probability; it is drawn again until connected.
    - Every two transit domains have one link, between nodes drawn from them.
    - Every stub has one link, from a node drawn from it to its transit node.
    - Extra links: so many from any transit node to any stub, and as many between nodes of two stubs.
    """
    transit = [domain for domain in domains if not domain.is_stub]
    stubs = [domain for domain in domains if domain.is_stub]
    pairs = [pair for domain in domains for pair in _draw_domain(rng, domain)]
    for i, later in enumerate(transit):
        pairs += [(_draw_node(rng, earlier), _draw_node(rng, later)) for earlier in transit[:i]]
    pairs += [(stub.gate, _draw_node(rng, stub)) for stub in stubs]
    return pairs + _draw_extra(rng, domains, set(pairs), extra_links)


def _draw_domain(rng: np.random.Generator, domain: Domain) -> Pairs:
    """Draw the links of one domain until they connect it."""
    probability = STUB_PROBABILITY if domain.is_stub else TRANSIT_PROBABILITY
    while True:
        low, high = np.nonzero(np.triu(rng.random((domain.size, domain.size)) < probability, k=1))
        pairs = list(zip(low.tolist(), high.tolist(), strict=True))
        if (hops_between(domain.size, pairs) >= 0).all():
            return [(domain.first + one, domain.first + other) for one, other in pairs]


def _draw_node(rng: np.random.Generator, domain: Domain) -> int:
    return domain.first + int(rng.integers(domain.size))


def _draw_extra(
    rng: np.random.Generator, domains: list[Domain], linked: set[tuple[int, int]], count: int
) -> Pairs:
    """Draw the extra links, again where there is one already or both ends are in one stub."""
    backbone = transit_count(domains)
    domain_of = np.repeat(np.arange(len(domains)), [domain.size for domain in domains])
    nodes = domain_of.size
    extra: Pairs = []
    for lowest, highest in ((0, backbone), (backbone, nodes)):
        wanted = len(extra) + count
        while len(extra) < wanted:
            one, other = sorted((int(rng.integers(lowest, highest)), int(rng.integers(backbone, nodes))))
            if domain_of[one] != domain_of[other] and (one, other) not in linked:
                linked.add((one, other))
                extra.append((one, other))
    return extra


def _draw_delays(rng: np.random.Generator, is_transit: NDArray[np.bool_], delay_max_us: float) -> Ints:
    """Draw the delay of each link, long ones between transit nodes and short ones elsewhere."""
    longest_ps = round(delay_max_us * PS_PER_US)
    least = np.where(is_transit, longest_ps // 2, 0)
    most = np.where(is_transit, longest_ps, longest_ps // STUB_SHARE)
    return rng.integers(least, most, dtype=np.int64, endpoint=True)


def central_node(backbone: int, pairs: Pairs) -> int:
    """Return the transit node with the fewest hops to all the others together, of equals the first."""
    among = [pair for pair in pairs if max(pair) < backbone]
    return int(hops_between(backbone, among).sum(axis=1).argmin())


def hops_between(size: int, pairs: Pairs) -> Ints:
    """Return the fewest hops between each two nodes; -1 where there is no way."""
    near = np.zeros((size, size), dtype=np.float32)
    for one, other in pairs:
        near[one, other] = near[other, one] = 1
    hops = np.where(np.eye(size, dtype=np.bool_), 0, -1)
    level, reached = 0, np.eye(size, dtype=np.bool_)
    while reached.any():
        level += 1
        reached = (reached.astype(np.float32) @ near > 0) & (hops < 0)
        hops[reached] = level
    return hops.astype(np.int64)


def _check(nodes: int, delay_max_us: float) -> None:
    if not 1 <= nodes <= NODES_MAX:
        raise InvalidInput(f"{nodes} nodes make no transit-stub graph (accepted: 1 to {NODES_MAX})")
    if not 0 <= delay_max_us <= LONGEST_US:
        raise InvalidInput(
            f"longest delay {delay_max_us} µs is not a link's (accepted: 0 to {LONGEST_US:.0f} µs)"
        )


def _check_extra(domains: list[Domain], extra_links: int) -> None:
    """Refuse more extra links than half the pairs that are free, so that a draw soon finds such a pair."""
    sizes = [domain.size for domain in domains if domain.is_stub]
    to_transit = transit_count(domains) * sum(sizes) - len(sizes)
    between_stubs = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
    room = min(to_transit, between_stubs) // 2
    if not 0 <= extra_links <= room:
        raise InvalidInput(f"{extra_links} extra links do not fit the graph (accepted: 0 to {room})")
