"""The independent SimPy model gives the same times to the picosecond."""

import numpy as np
import pytest

from benchmarks import compare
from benchmarks.simpy_reference import scenarios
from stablecast.simulate import Setup, Trigger, costs, simulate, topology
from stablecast.simulate.prepare import initial_received


def setup_of(protocol, shape, executions, *, links_only):
    model = costs("links-only", propagation_us=1) if links_only else costs("lan1997")
    built = topology("tree", degree=shape[0], height=shape[1], fill=shape[2])
    return Setup(protocol=protocol, topology=built, costs=model, trigger=Trigger(executions=executions))


@pytest.mark.parametrize("links_only", [False, True])
@pytest.mark.parametrize("shape", [(1, 3, 1), (2, 3, 1), (3, 3, 2), (4, 2, 4)])
def test_coordp_takes_the_same_time_as_in_simpy(shape, links_only):
    setup = setup_of("coordp", shape, 3, links_only=links_only)
    model = scenarios.LINKS_ONLY if links_only else scenarios.LAN
    reference = scenarios.run_coordp(*shape, 3, initial_received(setup), costs=model)
    result = simulate(setup)
    assert round(result.simulated_us * 1e6) == reference.completion_ps
    assert {kind: result.hops[kind] for kind in reference.hops} == reference.hops
    assert (reference.stable == initial_received(setup).min(axis=0)).all()


@pytest.mark.parametrize("links_only", [False, True])
@pytest.mark.parametrize("shape", [(1, 3, 1), (2, 3, 1), (2, 2, 2), (3, 3, 2), (4, 2, 4)])
def test_fulldist_takes_the_same_time_as_in_simpy(shape, links_only):
    setup = setup_of("fulldist", shape, 1, links_only=links_only)
    model = scenarios.LINKS_ONLY if links_only else scenarios.LAN
    reference = scenarios.run_fulldist(*shape, initial_received(setup), costs=model)
    result = simulate(setup)
    assert round(result.simulated_us * 1e6) == reference.completion_ps
    assert result.hops["INFO"] == sum(reference.hops.values())
    assert np.unique(reference.stable, axis=0).shape[0] == 1


def test_the_benchmarks_find_no_difference_on_a_small_tree():
    assert compare.compare_coordp((2, 2, 2), 2, reference_runs=1).differences == ()
    assert compare.compare_fulldist((2, 2, 2), reference_runs=1).differences == ()
