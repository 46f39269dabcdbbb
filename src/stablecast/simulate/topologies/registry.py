"""Find a topology by name and hand it the options that it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from stablecast.errors import InvalidInput, unknown_name
from stablecast.simulate.topologies import Topology
from stablecast.simulate.topologies.balanced import balanced
from stablecast.simulate.topologies.random_graph import random_graph
from stablecast.simulate.topologies.random_tree import random_tree
from stablecast.simulate.topologies.transit_stub import transit_stub
from stablecast.simulate.topologies.tree import tree

TOPOLOGIES: dict[str, Callable[..., Topology]] = {
    "tree": tree,
    "random-tree": random_tree,
    "balanced": balanced,
    "random-graph": random_graph,
    "transit-stub": transit_stub,
}


def topology(name: str, **options: float | None) -> Topology:
    """Build the topology of that name; an option that is None keeps the topology's default."""
    if name not in TOPOLOGIES:
        raise unknown_name("topology", name, TOPOLOGIES)
    build = TOPOLOGIES[name]
    taken = inspect.signature(build).parameters
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in taken:
            accepted = ", ".join(_flag(option) for option in taken)
            raise InvalidInput(f"topology '{name}' has no option {_flag(key)} (accepted: {accepted})")
    return build(**given)


def _flag(option: str) -> str:
    """Spell an option as on the command line."""
    return f"--{option.replace('_', '-')}"
