"""A hypercube that follows the network: fewer hops and shorter rounds than one that is placed at random."""

import numpy as np
import pytest
from outside_files import NEAR_CUBE

from stablecast.overlays.hypercube import hypercube
from stablecast.simulate import simulate
from stablecast.simulate.options import Options

NETWORKS = {
    "random-graph": {"nodes": 100, "members": 100, "edge_probability": 0.04},
    "tree": {"degree": 3, "height": 4},
    "transit-stub": {"members": 100},
}


def run(protocol, seed, **options):
    return simulate(Options(protocol=str(protocol), seed=seed, **options).setup())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("network", NETWORKS)
def test_it_takes_fewer_hops_and_less_time_than_a_random_placement(network, seed):
    options = NETWORKS[network] | {"topology": network}
    near, random = run(NEAR_CUBE, seed, **options), run("cubefulldist", seed, **options)
    print(
        f"{network}, seed {seed}: {near.hops['total']:,} of {random.hops['total']:,} hops,"
        f" {near.rtt_last_us / 1e3:.1f} of {random.rtt_last_us / 1e3:.1f} ms"
    )
    assert near.completed
    assert random.completed
    assert near.hops["total"] < random.hops["total"]
    assert near.rtt_last_us < random.rtt_last_us
    assert near.rtt_root_us < random.rtt_root_us


@pytest.mark.parametrize("members", [1, 2, 3, 5, 6, 7, 8, 12, 13, 31, 33])
def test_the_cube_is_the_same_but_for_who_is_where(members):
    setup = Options(protocol=str(NEAR_CUBE), topology="balanced", members=members).setup()
    from stablecast.simulate.prepare import place_members, prepare

    placed = place_members(setup)
    _, rows = prepare(placed, placed.found_protocol)
    degrees = sorted(rows[k].neighbours.size for k in range(members))
    assert degrees == sorted(np.diff(hypercube(members).start).tolist())
    links = {(k, int(j)) for k in range(members) for j in rows[k].neighbours}
    assert all((j, k) in links and j != k for k, j in links)
    assert simulate(setup).completed
