"""Hops, rounds and messages processed equal the closed forms for every tree, in the paper and out of it."""

import pytest

from stablecast.papers.hierarchical.theory import PROTOCOLS, hops, processed_max, rounds
from stablecast.simulate import Setup, costs, simulate, topology

SHAPES = [(b, p, z) for b in range(1, 6) for p in range(1, 5) for z in range(1, b + 1) if b**p < 300]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_counts_equal_the_closed_forms_on_every_small_tree(protocol):
    for shape in SHAPES:
        built = topology("tree", degree=shape[0], height=shape[1], fill=shape[2])
        result = simulate(Setup(protocol=protocol, topology=built, tracked=min(4, built.member_count)))
        assert result.completed
        assert result.hops == hops(protocol, *shape), shape
        assert result.rounds == rounds(protocol, *shape), shape
        assert result.processed_max == processed_max(protocol, *shape), shape


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("preset", ["links-only", "lan1997", "wan1997"])
def test_counts_do_not_depend_on_the_costs(protocol, preset):
    built = topology("tree", degree=3, height=3, fill=2)
    result = simulate(Setup(protocol=protocol, topology=built, costs=costs(preset, propagation_us=1)))
    assert result.hops == hops(protocol, 3, 3, 2)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_repeated_executions_cost_the_same_each(protocol):
    from stablecast.simulate import Trigger

    built = topology("tree", degree=2, height=3)
    result = simulate(Setup(protocol=protocol, topology=built, trigger=Trigger(executions=5)))
    assert result.executions == 5
    assert result.hops == {kind: 5 * count for kind, count in hops(protocol, 2, 3, 2).items()}
