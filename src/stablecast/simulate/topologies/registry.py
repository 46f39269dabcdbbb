"""Find a topology by name and hand it the options that it takes."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stablecast.errors import InvalidInput, unknown_name
from stablecast.simulate.knobs import NETWORK, check_knobs, knob
from stablecast.simulate.topologies import Topology
from stablecast.simulate.topologies.balanced import balanced
from stablecast.simulate.topologies.random_graph import random_graph
from stablecast.simulate.topologies.random_tree import random_tree
from stablecast.simulate.topologies.sites import sites
from stablecast.simulate.topologies.star import star
from stablecast.simulate.topologies.transit_stub import transit_stub
from stablecast.simulate.topologies.tree import tree

TOPOLOGIES: dict[str, Callable[..., Topology]] = {
    "tree": tree,
    "random-tree": random_tree,
    "balanced": balanced,
    "random-graph": random_graph,
    "transit-stub": transit_stub,
    "star": star,
    "sites": sites,
}


def _shape(help: str, name: str, **more: Any) -> Any:
    """Declare an option of some topologies, whose defaults are those of their functions."""
    return knob(None, f"{help} ({_takers(name)}).", panel=NETWORK, implied=_defaults(name), **more)


def _takers(option: str) -> str:
    return ", ".join(
        name for name, build in TOPOLOGIES.items() if option in inspect.signature(build).parameters
    )


def _defaults(option: str) -> str:
    """Return the most common default of an option, and those of the topologies that have another one."""
    found = {}
    for name, build in TOPOLOGIES.items():
        taken = inspect.signature(build).parameters
        if option in taken:
            default = taken[option].default
            implied = IMPLIED_BY.get((name, option)) or IMPLIED.get(option, "")
            found[name] = implied if default is None else _shown(default)
    common = Counter(found.values()).most_common(1)[0][0]
    others = [f"{name}: {default}" for name, default in found.items() if default != common]
    return "; ".join([common, *others])


def _shown(default: float) -> str:
    return ("no", "yes")[default] if isinstance(default, bool) else f"{default:,g}"


IMPLIED = {"fill": "the degree", "nodes": "the members, or 200", "members": "all nodes"}
"""What holds for options whose default is not a number."""
IMPLIED_BY = {("tree", "nodes"): "all of its height and fill"}
"""Of some topologies, if it differs."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a topology may be told; each takes some of these."""

    degree: int | None = _shape("Children of an inner node; of a balanced tree, its neighbours", "degree")
    spread_last: bool | None = _shape(
        "Spread the last level evenly over the one above, and do not fill one node after the other",
        "spread_last",
    )
    height: int | None = _shape("Levels below the root", "height")
    fill: int | None = _shape("Children of each node of the last level but one", "fill")
    nodes: int | None = _shape("Number of nodes", "nodes")
    members: int | None = _shape(
        "Number of members; if there are more nodes, the seed draws which of them hold a member", "members"
    )
    edge_probability: float | None = _shape("Probability that two nodes are linked", "edge_probability")
    extra_links: int | None = _shape(
        "So many more links from transit nodes to stubs, and as many between stubs", "extra_links"
    )
    sites: int | None = _shape("Local networks that are far apart", "sites")
    delay_max_us: float | None = _shape("Longest delay of a link in microseconds", "delay_max_us")

    def __post_init__(self) -> None:
        check_knobs(self)


SEED = "seed"
PAPER_COSTS = {"random-graph": "links-only"}
"""Costs of the paper that a topology is from, where they are not those of the first one."""


def topology(name: str, **options: float | None) -> Topology:
    """Build the topology of that name; an option that is None, or a flag that is not set, keeps its default.

    A ``seed`` may be given to every topology; one that draws nothing does without.
    """
    if name not in TOPOLOGIES:
        raise unknown_name("topology", name, TOPOLOGIES)
    build = TOPOLOGIES[name]
    taken = inspect.signature(build).parameters
    given = {key: value for key, value in options.items() if value is not None and value is not False}
    for key in given:
        if key not in taken and key != SEED:
            accepted = ", ".join(_flag(option) for option in taken)
            raise InvalidInput(f"topology '{name}' has no option {_flag(key)} (accepted: {accepted})")
    return build(**{key: value for key, value in given.items() if key in taken})


def _flag(option: str) -> str:
    """Spell an option as on the command line."""
    return f"--{option.replace('_', '-')}"
