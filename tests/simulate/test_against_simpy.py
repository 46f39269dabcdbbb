"""The independent SimPy model gives the same times to the picosecond."""

import numpy as np
import pytest

from benchmarks import compare
from benchmarks.simpy_reference import scenarios
from benchmarks.simpy_reference.model import Costs as ReferenceCosts
from stablecast.simulate import Setup, Trigger, costs, simulate, topology
from stablecast.simulate.prepare import initial_received

SHAPES = ((1, 3, 1), (2, 3, 1), (2, 2, 2), (3, 3, 2), (4, 2, 4))


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


@pytest.mark.parametrize("host", ["none", "serial", "per-link", "delay"])
@pytest.mark.parametrize("protocol", ["coordp", "fulldist"])
def test_packets_and_hosts_take_the_same_time_as_in_simpy(protocol, host):
    rng = np.random.default_rng([len(protocol), len(host)])
    for _ in range(12):
        shape = SHAPES[rng.integers(len(SHAPES))]
        mtu_bytes, bandwidth_bps = int(rng.integers(33, 120)), int(rng.integers(1, 200)) * 500_000
        router_us, propagation_us = int(rng.choice([0, 20, 1000])), int(rng.choice([0, 3]))
        # Messages of fulldist meet at routers at the same time, and the order there is not SimPy's.
        router_serial = protocol == "coordp" and bool(rng.integers(2))
        model = costs(
            "links-only" if host == "none" else "lan1997",
            bandwidth_bps=float(bandwidth_bps),
            propagation_us=float(propagation_us),
            router_us=float(router_us),
            router="serial" if router_serial else "delay",
            host_model="serial" if host == "none" else host,
            mtu_bytes=mtu_bytes,
        )
        reference_model = ReferenceCosts(
            bandwidth_bps=bandwidth_bps,
            propagation_ps=propagation_us * 10**6,
            router_ps=router_us * 10**6,
            router_serial=router_serial,
            host=host,
            mtu_bytes=mtu_bytes,
        )
        setup = setup_of(protocol, shape, 1, links_only=False).replace(costs=model)
        arrays = initial_received(setup)
        if protocol == "coordp":
            reference = scenarios.run_coordp(*shape, 1, arrays, costs=reference_model)
        else:
            reference = scenarios.run_fulldist(*shape, arrays, costs=reference_model)
        result = simulate(setup)
        assert round(result.rtt_root_us * 1e6) == reference.root_rtt_ps
        assert round(result.simulated_us * 1e6) == reference.completion_ps
        assert {kind: result.hops[kind] for kind in reference.hops} == reference.hops
        assert result.packet_hops == reference.packets


def test_the_benchmarks_find_no_difference_on_a_small_tree():
    assert compare.compare_coordp((2, 2, 2), 2, reference_runs=1).differences == ()
    assert compare.compare_fulldist((2, 2, 2), reference_runs=1).differences == ()
