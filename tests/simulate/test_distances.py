"""How far members are from each other: the same by both drivers' networks."""

import numpy as np
import pytest

from stablecast.simulate.distances import member_distances
from stablecast.simulate.network import build_network
from stablecast.simulate.options import Options
from stablecast.simulate.prepare import place_members
from stablecast.testing.reference.driver import _Driver

GRAPH = {"topology": "random-graph", "members": 9, "nodes": 12, "edge_probability": 0.3, "delay_max_us": 30.0}


@pytest.mark.parametrize(
    "network",
    [
        {"topology": "tree", "degree": 2, "height": 3},
        {"topology": "balanced", "nodes": 20, "members": 7},
        GRAPH,
        GRAPH | {"routes": "delay", "seed": 3},
        GRAPH | {"costs": "links-only", "propagation_us": 0.0, "delay_max_us": 0.0},
    ],
)
def test_both_drivers_measure_the_same_distances(network):
    setup = place_members(Options(protocol="coordp", **network).setup())
    fast = member_distances(build_network(setup.topology, setup.costs, setup.routes))
    plain = _Driver(setup, wire_log=False).network.distances_us()
    assert np.array_equal(fast, plain)
    assert np.array_equal(fast, fast.T)
    assert ((fast == 0) == np.eye(len(fast), dtype=bool)).all()
