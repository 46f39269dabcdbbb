"""A discrete-event network simulator that runs the protocols' own kernels.

>>> from stablecast.simulate import Setup, simulate, topology
>>> result = simulate(Setup(protocol="s_coordp", topology=topology("tree", degree=3, height=5)))
>>> result.members, result.rounds, result.hops["total"]
(364, 7, 1089)
"""

from stablecast.simulate.costs import PRESETS, Costs, costs
from stablecast.simulate.result import Result
from stablecast.simulate.run import simulate
from stablecast.simulate.setup import Setup, Traffic, Trigger
from stablecast.simulate.topologies.registry import TOPOLOGIES, topology

__all__ = [
    "PRESETS",
    "TOPOLOGIES",
    "Costs",
    "Result",
    "Setup",
    "Traffic",
    "Trigger",
    "costs",
    "simulate",
    "topology",
]
